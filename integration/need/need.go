package need

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// T is the part of [testing.TB] that this package uses. Programs that are not
// tests, such as the demonstration, bring their own.
type T interface {
	Helper()
	Name() string
	Skipf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// The environment variables that this package reads.
const (
	RequireVar = "GPUHOOK_REQUIRE" // comma list of words that must not be skipped
	SkipsVar   = "GPUHOOK_SKIPS"   // file to which one line per skip is appended
)

// Words lists every word that GPUHOOK_REQUIRE may hold.
func Words() []string {
	return []string{
		"root", "mntns", "userns", "overlay", "cgroup1", "cgroup2", "bpf", "harden",
		"network", "cc", "packages", "driver-files", "busybox", "musl", "emulation",
		"runc", "runc-module", "crun", "systemd-box", "docker", "podman", "containerd", "crio",
		"gpu",
	}
}

// Lacks ends the test: it was looking for the thing that word names and reason
// says what is missing. The test is skipped, or fails where the word is required.
func Lacks(t T, word, reason string) {
	t.Helper()
	known := Words()
	required := words(os.Getenv(RequireVar))
	if unknown := unknownWords(required, known); len(unknown) > 0 {
		t.Fatalf("%s names %q; known words are %s", RequireVar, unknown, strings.Join(known, ", "))
	}
	if !slices.Contains(known, word) {
		t.Fatalf("need %q: no such word; add it to need.Words", word)
	}
	if slices.Contains(required, word) {
		t.Fatalf("need %s: %s (required by %s)", word, reason, RequireVar)
	}
	if err := record(os.Getenv(SkipsVar), word, t.Name(), reason); err != nil {
		t.Fatalf("record a skip: %v", err)
	}
	t.Skipf("need %s: %s", word, reason)
}

// check ends the test when reason is not empty. The words of GPUHOOK_REQUIRE
// are looked at even when nothing is missing.
func check(t T, word, reason string) {
	t.Helper()
	if reason != "" {
		Lacks(t, word, reason)
		return
	}
	if unknown := unknownWords(words(os.Getenv(RequireVar)), Words()); len(unknown) > 0 {
		t.Fatalf("%s names %q; known words are %s", RequireVar, unknown, strings.Join(Words(), ", "))
	}
}

// words splits a comma list, dropping spaces and empty words.
func words(list string) []string {
	var out []string
	for word := range strings.SplitSeq(list, ",") {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	return out
}

// unknownWords returns those of got that known does not hold.
func unknownWords(got, known []string) []string {
	var out []string
	for _, word := range got {
		if !slices.Contains(known, word) {
			out = append(out, word)
		}
	}
	return out
}

// record appends one line to the file of skips. A single write of less than a
// page with O_APPEND keeps lines of parallel test processes whole.
func record(file, word, test, reason string) (err error) {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	reason = strings.ReplaceAll(reason, "\n", " ")
	_, err = fmt.Fprintf(f, "%s\t%s\t%s\n", word, test, reason)
	return err
}
