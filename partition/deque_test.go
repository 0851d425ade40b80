package partition

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestDequeAgreesWithSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d deque[int]
		var want []int
		for i := range rapid.IntRange(0, 200).Draw(t, "steps") {
			if len(want) > 0 && rapid.IntRange(0, 2).Draw(t, "pop") == 0 {
				if got := d.pop(); got != want[0] {
					t.Fatalf("popped %d, want %d", got, want[0])
				}
				want = want[1:]
			} else {
				d.push(i)
				want = append(want, i)
			}
			if d.len() != len(want) || !slices.Equal(d.items(), want) {
				t.Fatalf("holds %v, want %v", d.items(), want)
			}
		}
	})
}
