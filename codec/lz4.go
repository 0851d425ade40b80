package codec

import (
	"bytes"

	"github.com/pierrec/lz4/v4"
)

// unlz4 decodes one or several LZ4 frames, as the program lz4 and most
// libraries' stream writers make them, with their checksums verified. The raw
// block format, which does not say how long its data is, is another thing.
//
// The reader holds two blocks of what the frame's header says, at most 4 MiB
// each (8 MiB in the legacy format).
func unlz4(stored []byte, limit int) ([]byte, error) {
	r := lz4.NewReader(bytes.NewReader(stored))
	defer r.Reset(nil) // gives the blocks back, after an error too
	return readAll(r, usualRatio*len(stored), limit)
}
