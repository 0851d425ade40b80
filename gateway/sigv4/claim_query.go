package sigv4

import (
	"strconv"
	"time"
)

// Parameters of the presigned form.
const (
	paramAlgorithm  = "X-Amz-Algorithm"
	paramCredential = "X-Amz-Credential"
	paramDate       = "X-Amz-Date"
	paramExpires    = "X-Amz-Expires"
	paramSigned     = "X-Amz-SignedHeaders"
	paramSignature  = "X-Amz-Signature"
)

// maxExpires is the longest life of a presigned request, in seconds: a week.
const maxExpires = 604800

// readQuery reads the presigned form. A security token needs no care: it is a
// parameter like others, signed and without a meaning here.
func (c *claim) readQuery() error {
	var values [6]string
	for i, name := range [len(values)]string{paramAlgorithm, paramCredential, paramDate, paramExpires, paramSigned, paramSignature} {
		count := 0
		for _, q := range c.query {
			if q.name == name {
				values[i] = q.value
				count++
			}
		}
		if count > 1 {
			return refuse(Incomplete, "The query-string parameter '%s' is given more than once.", name)
		}
		if values[i] == "" {
			return refuse(Incomplete, "AWS query-string parameters must include '%s'. Re-examine the query-string parameters.", name)
		}
		values[i] = decoded(values[i])
	}
	name, credential, date, expires, signed, signature := values[0], values[1], values[2], values[3], values[4], values[5]
	if name != algorithm {
		return refuse(Incomplete, "Unsupported AWS 'algorithm': '%s'", clip(name, maxEcho))
	}
	seconds, err := strconv.ParseUint(expires, 10, 32)
	if err != nil || seconds < 1 || seconds > maxExpires {
		return refuse(Incomplete, "X-Amz-Expires must be a number of seconds from 1 to %d, got '%s'", maxExpires, clip(expires, maxEcho))
	}
	c.expires = time.Duration(seconds) * time.Second
	if err := c.setCredential(credential); err != nil {
		return err
	}
	if err := c.setSigned(signed); err != nil {
		return err
	}
	if err := c.setSignature(signature); err != nil {
		return err
	}
	return c.setTime(date)
}
