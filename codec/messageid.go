package codec

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// depthShift leaves 48 bits for the offset in a sequence number. A partition
// never gets that far, and 15 bits of split depth are more than keys have.
const depthShift = 48

// MessageID returns the id of the message at offset of a partition. It follows
// native YDB's rule, so both SQS endpoints name a message alike: an upper-case
// UUID made of the MD5 of "<database>/<topic path>/<partition>/<offset>", both
// paths absolute.
func MessageID(database, topicPath string, partition, offset int64) string {
	b := make([]byte, 0, len(database)+len(topicPath)+44)
	b = append(b, database...)
	b = append(b, '/')
	b = append(b, topicPath...)
	b = append(b, '/')
	b = strconv.AppendInt(b, partition, 10)
	b = append(b, '/')
	b = strconv.AppendInt(b, offset, 10)
	sum := md5.Sum(b)

	sum[6] = sum[6]&0x5f | 0x50
	sum[8] = sum[8]&0xbf | 0x80
	var id [36]byte
	hex.Encode(id[0:], sum[0:4])
	hex.Encode(id[9:], sum[4:6])
	hex.Encode(id[14:], sum[6:8])
	hex.Encode(id[19:], sum[8:10])
	hex.Encode(id[24:], sum[10:16])
	id[8], id[13], id[18], id[23] = '-', '-', '-', '-'
	return strings.ToUpper(string(id[:]))
}

// SequenceNumber returns the SequenceNumber of the message at offset of a
// partition that is depth splits away from a first one: 20 decimal digits that
// grow within a message group, over splits too.
func SequenceNumber(depth int, offset int64) string {
	return fmt.Sprintf("%020d", int64(depth)<<depthShift+offset)
}
