package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// size is a number of bytes on the command line: 1024, 1KiB, 256k, 1M.
type size int

// UnmarshalText reads a size.
func (s *size) UnmarshalText(text []byte) error {
	number := strings.ToLower(string(text))
	number = strings.TrimSuffix(strings.TrimSuffix(number, "ib"), "b")
	unit := 1
	if rest, ok := strings.CutSuffix(number, "k"); ok {
		number, unit = rest, 1<<10
	} else if rest, ok := strings.CutSuffix(number, "m"); ok {
		number, unit = rest, 1<<20
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > math.MaxInt32/unit {
		return fmt.Errorf("%q is no size, like 1024, 1KiB or 256k", text)
	}
	*s = size(n * unit)
	return nil
}
