// Package need says what a test needs of the machine it runs on.
//
// Each function looks for one thing, such as [Root] or [Runc]. Where the thing
// is missing the test is skipped with one line that names it; where its word
// stands in the comma list GPUHOOK_REQUIRE the test fails instead, so that a
// continuous-integration machine cannot lose tests silently. A word that this
// package does not know fails every test: a misspelt requirement is none.
//
// Every skip is also appended to the file that GPUHOOK_SKIPS names, one line
// of word, test and reason, so that "make test" can print them at its end.
//
// The package changes nothing on the machine, downloads nothing and keeps no
// state. Setting things up is the work of package lab. It needs Linux 4.18.
package need
