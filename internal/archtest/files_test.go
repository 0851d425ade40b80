package archtest

import (
	"path"
	"slices"
	"testing"
)

const maxLines = 600

func TestFileLength(t *testing.T) {
	for _, s := range tree(t) {
		if !s.generated && s.lines > maxLines {
			t.Errorf("%s has %d lines, more than %d", s.path, s.lines, maxLines)
		}
	}
}

func TestEveryPackageHasDoc(t *testing.T) {
	documented := map[string]bool{}
	for _, s := range tree(t) {
		has := path.Base(s.path) == "doc.go" && s.doc != ""
		documented[s.pkg] = documented[s.pkg] || has
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("%s has no doc.go with a package comment", pkg)
		}
	}
}

// A folder is a concept; these words are none.
func TestPackageNames(t *testing.T) {
	empty := []string{"common", "helper", "helpers", "misc", "model", "models", "types", "util", "utils"}
	for _, s := range tree(t) {
		if slices.Contains(empty, path.Base(s.pkg)) {
			t.Errorf("%s: %s says nothing", s.path, path.Base(s.pkg))
		}
	}
}
