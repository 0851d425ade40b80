package partition

import (
	"crypto/md5"
	"strconv"
)

// maxNonce bounds the search for a producer id. A lane's part of the key space
// is met once in (key space / part) tries, so the search ends early but for
// partitions split more than a dozen times.
const maxNonce = 1 << 17

// producerID returns prefix followed by the first nonce with which the MD5 of
// the whole lies in want. YDB takes the boundary of a split from the MD5
// positions of the partition's producers. Where the search fails the position
// is that of the last try: writing is right everywhere, only the split
// boundary is less good.
func producerID(prefix string, want span) string {
	buf := make([]byte, 0, len(prefix)+8)
	buf = append(buf, prefix...)
	for nonce := uint64(0); ; nonce++ {
		id := strconv.AppendUint(buf, nonce, 36)
		if nonce == maxNonce || want.contains(positionOf(md5.Sum(id))) {
			return string(id)
		}
	}
}
