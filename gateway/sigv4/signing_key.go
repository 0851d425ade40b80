package sigv4

import (
	"crypto/hmac"
	"crypto/sha256"
	"strings"
	"sync"
)

// digest is a SHA-256 sum, or a key of that size.
type digest = [sha256.Size]byte

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// derive makes the key that signs the requests of one day, region and service.
func derive(secret, date, region, service string) digest {
	key := mac([]byte("AWS4"+secret), date)
	key = mac(key, region)
	key = mac(key, service)
	return digest(mac(key, terminator))
}

// derived remembers derived keys.
type derived struct {
	most int

	mu   sync.RWMutex
	keys map[derivedID]digest
}

// derivedID names a derived key. The service is always the verifier's.
type derivedID struct{ accessKeyID, date, region string }

// clone is an id to keep: the strings are parts of a request's headers.
func (id derivedID) clone() derivedID {
	return derivedID{strings.Clone(id.accessKeyID), strings.Clone(id.date), strings.Clone(id.region)}
}

func newDerived(most int) *derived {
	return &derived{most: most, keys: make(map[derivedID]digest)}
}

func (d *derived) get(id derivedID) (digest, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	key, found := d.keys[id]
	return key, found
}

// put remembers a key with which a signature was right. In a full cache it takes
// the place of any other: a day's keys are used all day, and soon back.
func (d *derived) put(id derivedID, key digest) {
	id = id.clone()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.keys) >= d.most {
		for other := range d.keys {
			delete(d.keys, other)
			break
		}
	}
	d.keys[id] = key
}
