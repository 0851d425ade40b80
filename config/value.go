package config

import (
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"strings"
)

// Secret is text that is never printed or logged.
type Secret string

const mask = "********"

// String hides the secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString hides the secret from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// LogValue hides the secret from logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Bytes is an amount of memory. As text it is a number with an optional unit
// B, KiB, MiB or GiB.
type Bytes int64

// UnmarshalText reads a number with an optional unit.
func (b *Bytes) UnmarshalText(text []byte) error {
	s, shift := string(text), 0
	for _, unit := range []struct {
		suffix string
		shift  int
	}{{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"B", 0}} {
		if rest, ok := strings.CutSuffix(s, unit.suffix); ok {
			s, shift = strings.TrimSpace(rest), unit.shift
			break
		}
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 || n > math.MaxInt64>>shift {
		return fmt.Errorf("%q is no size: want a number with B, KiB, MiB or GiB", text)
	}
	*b = Bytes(n << shift)
	return nil
}

// String uses the largest unit that leaves a whole number.
func (b Bytes) String() string {
	for _, unit := range []struct {
		suffix string
		shift  int
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if b != 0 && b&(1<<unit.shift-1) == 0 {
			return strconv.FormatInt(int64(b>>unit.shift), 10) + unit.suffix
		}
	}
	return strconv.FormatInt(int64(b), 10) + "B"
}
