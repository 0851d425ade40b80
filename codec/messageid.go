package codec

import (
	"crypto/md5"
	"strconv"
)

// depthShift leaves 48 bits for the offset in a sequence number. A partition
// never gets that far, and 15 bits of split depth are more than keys have.
const depthShift = 48

// MessageID returns the id of the message at offset of a partition. It follows
// native YDB's rule, so both SQS endpoints name a message alike: an upper-case
// UUID made of the MD5 of "<database>/<topic path>/<partition>/<offset>", both
// paths absolute.
func MessageID(database, topicPath string, partition, offset int64) string {
	var short [256]byte // most are, and then stay off the heap
	b := append(short[:0], database...)
	b = append(b, '/')
	b = append(b, topicPath...)
	b = append(b, '/')
	b = strconv.AppendInt(b, partition, 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, offset, 10)
	sum := md5.Sum(b)

	sum[6] = sum[6]&0x5f | 0x50
	sum[8] = sum[8]&0xbf | 0x80
	const digits = "0123456789ABCDEF"
	var id [36]byte
	at := 0
	for i, c := range sum {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			id[at] = '-'
			at++
		}
		id[at], id[at+1] = digits[c>>4], digits[c&15]
		at += 2
	}
	return string(id[:])
}

// SequenceNumber returns the SequenceNumber of the message at offset of a
// partition that is depth splits away from a first one: 20 decimal digits that
// grow within a message group, over splits too.
func SequenceNumber(depth int, offset int64) string {
	var b [20]byte
	n := int64(depth)<<depthShift + offset
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return string(b[:])
}
