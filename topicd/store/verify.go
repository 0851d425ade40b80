package store

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// blame finds the file an error of pebble is about; pebble names it in the
// details of the error and not always in its text.
func blame(fsys vfs.FS, dir string, err error) string {
	if info := pebble.ExtractDataCorruptionInfo(err); info != nil && info.Path != "" {
		return info.Path
	}
	text := fmt.Sprintf("%+v", err)
	if m := regexp.MustCompile(`replaying wal (\d+)`).FindStringSubmatch(text); m != nil {
		return fsys.PathJoin(dir, strings.Repeat("0", max(0, 6-len(m[1])))+m[1]+".log")
	}
	if m := regexp.MustCompile(`(MANIFEST|OPTIONS)-\d+|\b\d{6,}\.(sst|log|blob)\b|marker\.[a-z-]+\.\S+`).FindString(text); m != "" {
		return fsys.PathJoin(dir, m)
	}
	if m := regexp.MustCompile(`\b(\d{6,})\b`).FindString(text); m != "" {
		return fsys.PathJoin(dir, m+".sst")
	}
	return dir
}

// checkManifest refuses a MANIFEST with damage before its end. Pebble takes
// the first bad chunk for the torn end of the last write and would go on
// without the tables named later, deleting them as garbage.
func checkManifest(fsys vfs.FS, dir string) error {
	name, err := currentManifest(fsys, dir)
	if err != nil || name == "" {
		return err
	}
	path := fsys.PathJoin(dir, name)
	data, err := readFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{File: path, Err: errors.New("the file is missing")}
	}
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	r := record.NewReader(strings.NewReader(string(data)), 0)
	good := int64(0)
	for {
		rec, err := r.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, rec)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			break
		}
		good = r.Offset()
	}
	if good == 0 || anyChunk(data[good:], good) {
		return &DamagedError{File: path, Err: errors.New("a record in the middle of the file is not readable")}
	}
	return nil
}

// anyChunk reports whether a whole chunk of a log stands somewhere after the
// unreadable one: then the break is no torn end.
func anyChunk(data []byte, base int64) bool {
	const block, header = 32 << 10, 7
	table := crc32.MakeTable(crc32.Castagnoli)
	for i := 1; i+header < len(data); i++ {
		n := int(binary.LittleEndian.Uint16(data[i+4:]))
		if n == 0 || i+header+n > len(data) || (base+int64(i))%block+header+int64(n) > block {
			continue
		}
		crc := crc32.Checksum(data[i+6:i+header+n], table)
		// The masking is that of the LevelDB log format.
		if (crc>>15|crc<<17)+0xa282ead8 == binary.LittleEndian.Uint32(data[i:]) {
			return true
		}
	}
	return false
}

// currentManifest returns the name that the manifest marker points to; ""
// when there is no database yet.
func currentManifest(fsys vfs.FS, dir string) (string, error) {
	names, err := fsys.List(dir)
	if err != nil {
		return "", fmt.Errorf("listing %s: %w", dir, err)
	}
	slices.Sort(names)
	name := ""
	orphan := ""
	for _, n := range names {
		// marker.manifest.NNNNNN.MANIFEST-NNNNNN; the highest number counts.
		if rest, ok := strings.CutPrefix(n, "marker.manifest."); ok {
			if _, target, ok := strings.Cut(rest, "."); ok {
				name = target
			}
		}
		// A crash while the database is created can leave a MANIFEST without
		// marker; tables and logs come later.
		if strings.HasSuffix(n, ".sst") || strings.HasSuffix(n, ".log") {
			orphan = n
		}
	}
	if name == "" && orphan != "" {
		return "", &DamagedError{
			File: fsys.PathJoin(dir, "marker.manifest.*"),
			Err:  fmt.Errorf("the marker is missing, yet %s exists", orphan),
		}
	}
	return name, nil
}

func readFile(fsys vfs.FS, path string) (data []byte, err error) {
	f, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return io.ReadAll(f)
}

// verifyTables checks the checksums of the live tables, newest first.
func (s *Store) verifyTables() error {
	levels, err := s.db.SSTables()
	if err != nil {
		return openError(s.opts.FS, s.opts.Dir, err)
	}
	budget := s.opts.VerifyBytes
	seen := make(map[string]bool)
	for _, level := range levels {
		for _, t := range level {
			name := fmt.Sprintf("%06d.sst", uint64(t.BackingSSTNum))
			if seen[name] || budget < 0 {
				continue
			}
			seen[name] = true
			budget -= int64(t.Size)
			path := s.opts.FS.PathJoin(s.opts.Dir, name)
			err := s.verifyTable(path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // compacted away since the listing
			}
			if err != nil {
				return &DamagedError{File: path, Err: err}
			}
		}
	}
	return nil
}

func (s *Store) verifyTable(path string) error {
	f, err := s.opts.FS.Open(path)
	if err != nil {
		return err
	}
	readable, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return errors.Join(err, f.Close())
	}
	po := s.pebbleOptions()
	po.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), readable, po.MakeReaderOptions())
	if err != nil {
		return errors.Join(err, readable.Close())
	}
	return errors.Join(r.ValidateBlockChecksums(), r.Close())
}

// verifyPartitions holds the last message of every partition against the end
// offset: both are written in one batch, so a difference means lost files.
func (s *Store) verifyPartitions() error {
	from, to := []byte{spaceTopic}, []byte{spaceTopic + 1}
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return openError(s.opts.FS, s.opts.Dir, err)
	}
	for ok := it.First(); ok; {
		topic := binary.BigEndian.Uint64(it.Key()[1:])
		err = errors.Join(err, s.verifyTopic(topic))
		_, next := topicSpan(topic)
		ok = it.SeekGE(next)
	}
	if ierr := errors.Join(it.Error(), it.Close()); ierr != nil {
		return openError(s.opts.FS, s.opts.Dir, ierr)
	}
	return err
}

func (s *Store) verifyTopic(topic uint64) error {
	states, err := s.States(topic)
	if err != nil {
		return openError(s.opts.FS, s.opts.Dir, err)
	}
	from, to := kindSpan(topic, kindMessage)
	it, err := s.db.NewIter(&pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return openError(s.opts.FS, s.opts.Dir, err)
	}
	var damage error
	for part, st := range states {
		last := int64(-1)
		if it.SeekLT(partitionKey(topic, kindMessage, part+1, "")) && binary.BigEndian.Uint32(it.Key()[topicPrefixLen:]) == part {
			last = messageOffset(it.Key())
		}
		if st.End > st.Start && last != st.End-1 {
			damage = &DamagedError{
				File: s.opts.Dir,
				Err:  fmt.Errorf("topic %d partition %d ends at %d but its last message is %d", topic, part, st.End, last),
			}
		}
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return openError(s.opts.FS, s.opts.Dir, err)
	}
	return damage
}
