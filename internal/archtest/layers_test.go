package archtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// layer says what the packages below a folder may import of this module. The
// longest folder that fits a package counts.
type layer struct {
	folder string
	may    []string
}

// leaves are the internal packages that every layer may use. They know only
// each other.
var leaves = []string{"internal/invariant", "internal/logread", "internal/logwrite", "internal/topicid", "internal/ydbstatus"}

var layers = []layer{
	{"cmd/sqsgate", []string{"config", "internal/app"}},
	{"cmd/sqsload", []string{"cmd/sqsload"}},
	{"internal/app", []string{"config", "gateway", "consumer", "partition", "codec", "topicd", "internal"}},
	{"gateway", append([]string{"gateway", "consumer", "partition", "codec"}, leaves...)},
	{"consumer", append([]string{"consumer", "codec"}, leaves...)},
	{"consumer/lease", []string{"internal/invariant"}},
	{"partition", append([]string{"partition", "codec"}, leaves...)},
	{"codec", []string{"codec"}},
	{"config", nil},
	{"worker", []string{"codec"}}, // for clients; no server package imports it
	{"topicd", []string{"topicd"}},
	{"internal", leaves},
	{"e2e", nil}, // only tests
}

// Tests may look further: they start the embedded server and talk to it.
func TestLayers(t *testing.T) {
	for _, breach := range breaches(tree(t)) {
		t.Error(breach)
	}
}

// The rules find what they are for.
func TestLayersBite(t *testing.T) {
	for _, bad := range []source{
		{path: "gateway/x.go", pkg: "gateway", imports: []string{module + "/topicd"}},
		{path: "gateway/wire/x.go", pkg: "gateway/wire", imports: []string{module + "/internal/app"}},
		{path: "topicd/store/x.go", pkg: "topicd/store", imports: []string{module + "/codec"}},
		{path: "consumer/lease/x.go", pkg: "consumer/lease", imports: []string{module + "/consumer"}},
		{path: "worker/x.go", pkg: "worker", imports: []string{module + "/consumer"}},
		{path: "gateway/x.go", pkg: "gateway", imports: []string{module + "/worker"}},
		{path: "util/x.go", pkg: "util"},
	} {
		if got := breaches([]source{bad}); len(got) != 1 {
			t.Errorf("%s with %v: breaches %v, want one", bad.path, bad.imports, got)
		}
	}
}

func breaches(sources []source) (found []string) {
	for _, s := range sources {
		if s.test {
			continue
		}
		rule, ok := layerOf(s.pkg)
		if !ok {
			found = append(found, fmt.Sprintf("%s: package %s has no place in the layers", s.path, s.pkg))
			continue
		}
		for _, imported := range s.imports {
			own, ours := strings.CutPrefix(imported, module+"/")
			if ours && !slices.ContainsFunc(rule.may, func(p string) bool { return within(own, p) }) {
				found = append(found, fmt.Sprintf("%s imports %s, which %s may not", s.path, own, rule.folder))
			}
		}
	}
	return found
}

func layerOf(pkg string) (best layer, ok bool) {
	for _, l := range layers {
		if within(pkg, l.folder) && (!ok || len(l.folder) > len(best.folder)) {
			best, ok = l, true
		}
	}
	return best, ok
}

// Libraries that one place alone may use.
func TestLibrariesInOnePlace(t *testing.T) {
	rules := []struct {
		library string
		places  []string
	}{
		{"github.com/ydb-platform/ydb-go-sdk", []string{"internal/ydbtopic", "topicd/topictest", "e2e"}},
		{"github.com/fullstorydev/grpchan", []string{"internal/ydbtopic"}},
		{"github.com/cockroachdb/pebble", []string{"topicd", "e2e"}},
		{"github.com/aws", []string{"cmd/sqsload", "e2e", "worker"}},
		{"github.com/alecthomas/kong", []string{"config", "cmd"}},
		{"github.com/gorilla/mux", []string{"gateway"}},
		{"testing", []string{"topicd/topictest", "e2e"}},
		{"log", nil}, // slog it is
		{"C", nil},   // builds without a C compiler
	}
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		for _, imported := range s.imports {
			for _, r := range rules {
				if !within(imported, r.library) || imported == "log/slog" {
					continue
				}
				if !slices.ContainsFunc(r.places, func(p string) bool { return within(s.pkg, p) }) {
					t.Errorf("%s imports %s, which belongs in %v", s.path, imported, r.places)
				}
			}
		}
	}
}

// The pure core has no I/O, clock, goroutine or randomness, so it may use only
// what cannot have them. time is there for its types, hash/maphash for hash
// tables: like the seeds of maps, its own decide where things are, not what is
// found.
func TestPureCore(t *testing.T) {
	allowed := []string{
		"bytes", "cmp", "container/heap", "crypto/md5", "encoding/binary", "errors", "fmt", "hash", "hash/crc32", "hash/maphash", "iter",
		"maps", "math", "math/big", "math/bits", "slices", "sort", "strconv", "strings", "time",
		module + "/internal/invariant",
	}
	found := 0
	for _, s := range tree(t) {
		pure := within(s.pkg, "consumer/lease") || s.path == "partition/map.go" || s.path == "partition/hash.go"
		if s.test || !pure {
			continue
		}
		found++
		for _, imported := range s.imports {
			if !slices.Contains(allowed, imported) {
				t.Errorf("%s imports %s", s.path, imported)
			}
		}
	}
	if found == 0 {
		t.Error("the pure core is not where this test looks for it")
	}
}
