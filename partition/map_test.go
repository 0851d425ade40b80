package partition

import (
	"bytes"
	"crypto/md5"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestGroupHash(t *testing.T) {
	for group, want := range map[string]string{
		"":                   "d41d8cd98f00b204e9800998ecf8427e",
		"a":                  "0cc175b9c0f1b6a831c399e269772661",
		"message_group_id_1": "26a87e5c",
		"message_group_id_2": "d2d2c3f6",
		"user-1":             "d6d77053",
	} {
		h := GroupHash(group)
		if got := hex.EncodeToString(h[:])[:len(want)]; got != want {
			t.Errorf("hash of %q: %s, want %s", group, got, want)
		}
	}
}

func key(s string) [16]byte {
	var k [16]byte
	b, err := hex.DecodeString(s)
	if err != nil {
		panic(err)
	}
	copy(k[:], b)
	return k
}

// The borders YDB draws when it creates a topic of n partitions are those its
// arithmetic rule has for topics without ranges, less one.
func TestFixedTopicSlices(t *testing.T) {
	fixed := func(n int) *Map {
		infos := make([]Info, n)
		for i := range infos {
			infos[i] = Info{ID: int64(n - 1 - i), Active: true}
		}
		m, err := NewMap(infos)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, c := range []struct {
		n    int
		key  string
		want int64
	}{
		{1, "ffffffffffffffffffffffffffffffff", 0},
		{2, "7ffffffffffffffffffffffffffffffe", 0},
		{2, "7fffffffffffffffffffffffffffffff", 1},
		{2, "ffffffffffffffffffffffffffffffff", 1}, // h/slice is 2 and is held to 1
		{4, "3ffffffffffffffffffffffffffffffe", 0},
		{4, "3fffffffffffffffffffffffffffffff", 1},
		{4, "7ffffffffffffffffffffffffffffffd", 1},
		{4, "7ffffffffffffffffffffffffffffffe", 2},
		{4, "bffffffffffffffffffffffffffffffd", 3},
	} {
		if got, ok := fixed(c.n).ForHash(key(c.key)); !ok || got != c.want {
			t.Errorf("n=%d %s: partition %d, want %d", c.n, c.key, got, c.want)
		}
	}
	m := fixed(2)
	for group, want := range map[string]int64{"message_group_id_1": 0, "message_group_id_2": 1} {
		if got, _ := m.ForGroup(group); got != want {
			t.Errorf("%s: partition %d, want %d", group, got, want)
		}
	}
}

// The division the server makes, with big integers.
func TestFixedTopicAgreesWithDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 300).Draw(t, "n")
		infos := make([]Info, n)
		for i := range infos {
			infos[i] = Info{ID: int64(10 * i), Active: true}
		}
		m, err := NewMap(infos)
		if err != nil {
			t.Fatal(err)
		}
		h := md5.Sum(rapid.SliceOf(rapid.Byte()).Draw(t, "group"))
		all := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
		slice := new(big.Int).Div(all, big.NewInt(int64(n)))
		want := min(new(big.Int).Div(new(big.Int).SetBytes(h[:]), slice).Int64(), int64(n-1))
		if got, _ := m.ForHash(h); got != 10*want {
			t.Fatalf("partition %d, want %d", got, 10*want)
		}
	})
}

func TestMapErrors(t *testing.T) {
	a, b := []byte{0x40}, []byte{0x80}
	for name, infos := range map[string][]Info{
		"nothing":      nil,
		"none active":  {{ID: 0}},
		"negative id":  {{ID: -1, Active: true}},
		"id twice":     {{ID: 1, Active: true}, {ID: 1}},
		"gap":          {{ID: 0, Active: true, To: a}, {ID: 1, Active: true, From: b}},
		"overlap":      {{ID: 0, Active: true, To: b}, {ID: 1, Active: true, From: a}},
		"two last":     {{ID: 0, Active: true}, {ID: 1, Active: true, From: a}},
		"two first":    {{ID: 0, Active: true, To: a}, {ID: 1, Active: true, To: a}},
		"no first":     {{ID: 0, Active: true, From: a}},
		"no last":      {{ID: 0, Active: true, To: a}},
		"empty range":  {{ID: 0, Active: true, To: a}, {ID: 1, Active: true, From: a, To: a}, {ID: 2, Active: true, From: a}},
		"own ancestor": {{ID: 0, Parents: []int64{1}}, {ID: 1, Active: true, Parents: []int64{0}}},
	} {
		if _, err := NewMap(infos); !errors.Is(err, ErrMap) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestMapDepth(t *testing.T) {
	m, err := NewMap([]Info{
		{ID: 0, Children: []int64{1, 2}},
		{ID: 1, Active: true, To: []byte{0x80}, Parents: []int64{0}},
		{ID: 2, Parents: []int64{0}, Children: []int64{3, 4}},
		{ID: 3, Active: true, From: []byte{0x80}, To: []byte{0xC0}, Parents: []int64{2}},
		{ID: 4, Active: true, From: []byte{0xC0}, Parents: []int64{2}},
		{ID: 9, Parents: []int64{8}}, // 8 is gone after its retention
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[int64]int{0: 0, 1: 1, 2: 1, 3: 2, 4: 2, 9: 1, 77: 0} {
		if got := m.Depth(id); got != want {
			t.Errorf("depth of %d: %d, want %d", id, got, want)
		}
	}
	if got := fmt.Sprint(m.Active()); got != "[1 3 4]" {
		t.Errorf("active %s", got)
	}
	if i, ok := m.Info(3); !ok || i.From[0] != 0x80 {
		t.Errorf("info %v %v", i, ok)
	}
	if _, ok := m.Info(5); ok {
		t.Error("found partition 5")
	}
}

// topology draws a topic that was split at random points.
func topology(t *rapid.T) []Info {
	infos := []Info{{ID: 0, Active: true}}
	active := []int{0}
	for range rapid.IntRange(0, 12).Draw(t, "splits") {
		k := rapid.IntRange(0, len(active)-1).Draw(t, "which")
		parent := &infos[active[k]]
		mid := rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "mid")
		if bytes.Compare(mid, parent.From) <= 0 || len(parent.To) > 0 && bytes.Compare(mid, parent.To) >= 0 {
			continue
		}
		left := Info{ID: int64(len(infos)), Active: true, From: parent.From, To: mid, Parents: []int64{parent.ID}}
		right := Info{ID: left.ID + 1, Active: true, From: mid, To: parent.To, Parents: []int64{parent.ID}}
		parent.Active, parent.Children = false, []int64{left.ID, right.ID}
		infos = append(infos, left, right)
		active[k] = int(left.ID)
		active = append(active, int(right.ID))
	}
	return rapid.Permutation(infos).Draw(t, "order")
}

// Every key belongs to exactly one active partition, the one whose range holds
// it byte for byte; the spans of the partitions and of their lanes agree.
func TestMapPlacesEveryKeyOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		infos := topology(t)
		m, err := NewMap(infos)
		if err != nil {
			t.Fatal(err)
		}
		var h [16]byte
		copy(h[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "key"))
		if rapid.Bool().Draw(t, "at a border") {
			i := infos[rapid.IntRange(0, len(infos)-1).Draw(t, "border")]
			h = [16]byte{}
			copy(h[:], i.From)
		}
		var owners []int64
		for _, i := range infos {
			if i.Active && bytes.Compare(h[:], i.From) >= 0 && (len(i.To) == 0 || bytes.Compare(h[:], i.To) < 0) {
				owners = append(owners, i.ID)
			}
		}
		got, ok := m.ForHash(h)
		if !ok || len(owners) != 1 || owners[0] != got {
			t.Fatalf("key %x: map says %d (%v), ranges say %v", h, got, ok, owners)
		}
		s, ok := m.span(got)
		if !ok || !s.contains(positionOf(h)) {
			t.Fatalf("key %x is outside of the span of its partition", h)
		}
		lanes := rapid.IntRange(1, 16).Draw(t, "lanes")
		held := 0
		for i := range lanes {
			if s.part(i, lanes).contains(positionOf(h)) {
				held++
			}
		}
		if wide := !s.last.sub(s.first).less(position{lo: 256}); wide && held != 1 {
			t.Fatalf("key %x is in %d lanes of its partition", h, held)
		}
	})
}

func TestMapNeverPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.SliceOfN(rapid.Byte(), 0, 18)
		id := rapid.Int64Range(-1, 5)
		infos := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Info {
			return Info{
				ID: id.Draw(t, "id"), Active: rapid.Bool().Draw(t, "active"),
				From: bound.Draw(t, "from"), To: bound.Draw(t, "to"),
				Parents: rapid.SliceOfN(id, 0, 2).Draw(t, "parents"),
			}
		}), 0, 6).Draw(t, "infos")
		if m, err := NewMap(infos); err == nil {
			if _, ok := m.ForGroup("g"); !ok {
				t.Fatal("a valid map does not place a group")
			}
		}
	})
}

func TestProducerIDLiesInItsLane(t *testing.T) {
	infos := []Info{{ID: 0, Active: true, To: []byte{0x30}}, {ID: 1, Active: true, From: []byte{0x30}, To: []byte{0x31}}, {ID: 2, Active: true, From: []byte{0x31}}}
	m, err := NewMap(infos)
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		s, _ := m.span(info.ID)
		for i := range 8 {
			part := s.part(i, 8)
			id := producerID("sqsgate/0123456789abcdef/1/1/0/", part)
			h := md5.Sum([]byte(id))
			if !part.contains(positionOf(h)) {
				t.Errorf("partition %d lane %d: %s lies at %x", info.ID, i, id, h)
			}
			if len(id) > 64 {
				t.Errorf("%s is long", id)
			}
		}
	}
}

func BenchmarkForGroup(b *testing.B) {
	infos := make([]Info, 100)
	for i := range infos {
		infos[i] = Info{ID: int64(i), Active: true}
	}
	m, err := NewMap(infos)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m.ForGroup("message_group_id_1")
	}
}
