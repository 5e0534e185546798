package devices

import (
	"context"
	"os"
	"testing"
)

func TestNameMIG(t *testing.T) {
	t.Parallel()
	h := stand(t, migTree()...)
	inv := inventory(t, h)
	list, err := inv.MIGDevices(h, inv.GPUs[0])
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	got, warnings := inv.NameMIG(t.Context(), h, list, MIGSource{SMI: smi(smiList, &asked)})
	want := []MIGDevice{{GI: 2, UUID: migA}, {Position: 1, GI: 2, CI: 1, UUID: migB}, {Position: 2, GI: 10, UUID: migC}}
	same(t, "NameMIG", got, want)
	if len(warnings) != 0 || list[0].UUID != "" {
		t.Errorf("warnings %v, the list given is now %v", warnings, list)
	}
	fails := func(context.Context, ...string) ([]byte, error) { return nil, os.ErrNotExist }
	for _, src := range []MIGSource{{}, {SMI: fails}} {
		got, warnings = inv.NameMIG(t.Context(), h, list, src)
		same(t, "NameMIG without nvidia-smi", got, list)
		if len(warnings) != 1 || warnings[0].Code != "mig-uuids" {
			t.Errorf("warnings %v, want one of mig-uuids", warnings)
		}
	}
	if got, warnings := inv.NameMIG(t.Context(), h, nil, MIGSource{SMI: fails}); got != nil || warnings != nil {
		t.Errorf("NameMIG of nothing = %v, %v", got, warnings)
	}
}
