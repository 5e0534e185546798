package cdispec

import "tags.cncf.io/container-device-interface/pkg/parser"

func validKind(kind string) bool {
	vendor, class := parser.ParseQualifier(kind)
	return parser.ValidateVendorName(vendor) == nil && parser.ValidateClassName(class) == nil
}
