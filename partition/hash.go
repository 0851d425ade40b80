package partition

import "crypto/md5"

// GroupHash returns the key of a message group: the MD5 of its id, as YDB's own
// SQS takes it. YDB also places producers by the MD5 of their id.
func GroupHash(group string) [16]byte {
	return md5.Sum([]byte(group))
}
