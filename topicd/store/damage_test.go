package store

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// filled makes a store on disk with tables and a log, and returns its directory.
func filled(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	s := mustOpen(t, Options{Dir: dir, MemTableBytes: 256 << 10})
	m := &model{p: &testPartition{topic: 7}}
	for from := int64(0); from < 3000; from += 20 {
		if err := m.put(from, 20).run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.db.Flush(); err != nil {
		t.Fatal(err)
	}
	for from := int64(3000); from < 3200; from += 20 {
		if err := m.put(from, 20).run(t.Context(), s); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// newest returns the last file of the pattern.
func newest(t *testing.T, dir, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("no %s in %s (%v)", pattern, dir, err)
	}
	return names[len(names)-1]
}

// A store with damage does not open, and the error names the file.
func TestDamageIsRefused(t *testing.T) {
	flip := func(at func(size int) int) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			t.Helper()
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for i := range 16 {
				data[at(len(data))+i] ^= 0xff
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	truncate := func(t *testing.T, path string) {
		t.Helper()
		if err := os.Truncate(path, 100); err != nil {
			t.Fatal(err)
		}
	}
	middle := func(size int) int { return size / 2 }
	early := func(size int) int { return min(40, size/2) }
	for _, tc := range []struct {
		name, file string
		damage     func(t *testing.T, path string)
	}{
		{"table flipped", "*.sst", flip(middle)},
		{"table cut", "*.sst", truncate},
		{"table missing", "*.sst", remove},
		{"manifest flipped early", "MANIFEST-*", flip(early)},
		{"manifest missing", "MANIFEST-*", remove},
		{"manifest marker missing", "marker.manifest.*", remove},
		// Logs are recycled: what is beyond the last write is an older log.
		{"log flipped before its last blocks", "*.log", flip(func(int) int { return 40_000 })},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := filled(t)
			path := newest(t, dir, tc.file)
			tc.damage(t, path)
			s, err := Open(Options{Dir: dir})
			if err == nil {
				_ = s.Close()
				t.Fatalf("the store opened with %s damaged", path)
			}
			var damaged *DamagedError
			if !errors.As(err, &damaged) {
				t.Fatalf("not a DamagedError: %v", err)
			}
			want := filepath.Base(path)
			if strings.HasPrefix(want, "marker.") {
				want = "marker.manifest"
			}
			if !strings.Contains(damaged.File, want) {
				t.Errorf("the error names %q, damaged was %q: %v", damaged.File, want, err)
			}
			t.Log(err)
		})
	}
}

func TestNewerVersionIsRefused(t *testing.T) {
	dir := filled(t)
	s := mustOpen(t, Options{Dir: dir})
	if err := s.db.Set(formatKey(), []byte{FormatVersion + 1}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(Options{Dir: dir}); !errors.Is(err, ErrVersion) {
		t.Errorf("opening a newer store: %v", err)
	}
}

// The torn end of the last write is no damage.
func TestTornLogEndIsAccepted(t *testing.T) {
	dir := filled(t)
	path := newest(t, dir, "*.log")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, info.Size()-info.Size()/4); err != nil {
		t.Fatal(err)
	}
	s := mustOpen(t, Options{Dir: dir})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
