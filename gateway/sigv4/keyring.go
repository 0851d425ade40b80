package sigv4

import (
	"fmt"
	"slices"
	"strings"
)

// Key is an access key and what its holder may do.
type Key struct {
	AccessKeyID string
	Secret      string
	// Principal is the holder's name, as SenderId shows it; default AccessKeyID.
	Principal string
	// Queues are the beginnings of the queue names the key is good for; none = all.
	Queues []string
	// Actions are the actions the key is good for; none = all. As in AWS policies
	// the action of one message covers its batch.
	Actions []string
}

// maxName bounds access key ids, as AWS does, and principals, in bytes.
const maxName = 128

func (k *Key) validate() error {
	switch {
	case !visible(k.AccessKeyID) || strings.ContainsAny(k.AccessKeyID, ",/="):
		return fmt.Errorf("sigv4: access key id %q is not 1 to %d visible characters without , / =", k.AccessKeyID, maxName)
	case k.Secret == "":
		return fmt.Errorf("sigv4: access key %s has no secret", k.AccessKeyID)
	case !visible(k.Principal):
		return fmt.Errorf("sigv4: principal %q of access key %s is not 1 to %d visible characters", k.Principal, k.AccessKeyID, maxName)
	case slices.Contains(k.Queues, ""):
		return fmt.Errorf("sigv4: access key %s has an empty queue prefix; leave the list out to allow all queues", k.AccessKeyID)
	case slices.Contains(k.Actions, ""):
		return fmt.Errorf("sigv4: access key %s has an empty action; leave the list out to allow all actions", k.AccessKeyID)
	}
	return nil
}

func visible(s string) bool {
	for i := range len(s) {
		if s[i] <= ' ' || s[i] > '~' {
			return false
		}
	}
	return s != "" && len(s) <= maxName
}

// keyring finds keys by their ids. It is immutable.
type keyring map[string]*Key

func newKeyring(keys []Key) (keyring, error) {
	ring := make(keyring, len(keys))
	for _, k := range keys {
		if k.Principal == "" {
			k.Principal = k.AccessKeyID
		}
		if err := k.validate(); err != nil {
			return nil, err
		}
		if ring[k.AccessKeyID] != nil {
			return nil, fmt.Errorf("sigv4: access key %s is there twice", k.AccessKeyID)
		}
		k.Queues = slices.Clone(k.Queues)
		k.Actions = slices.Clone(k.Actions)
		for i, action := range k.Actions {
			k.Actions[i] = single(action)
		}
		ring[k.AccessKeyID] = &k
	}
	return ring, nil
}

// single is the action of one message that a batch action repeats.
func single(action string) string { return strings.TrimSuffix(action, "Batch") }

// Identity is the holder of the key that signed a request. The zero Identity is
// nobody, who may do nothing.
type Identity struct {
	AccessKeyID string
	Principal   string
	key         *Key
}

// AllowsAction tells whether the holder may call an action, if only on some queues.
func (i Identity) AllowsAction(action string) bool {
	return i.key != nil && (len(i.key.Actions) == 0 || slices.Contains(i.key.Actions, single(action)))
}

// Allows tells whether the holder may call an action on a queue.
func (i Identity) Allows(action, queueName string) bool {
	if !i.AllowsAction(action) {
		return false
	}
	if len(i.key.Queues) == 0 {
		return true
	}
	return slices.ContainsFunc(i.key.Queues, func(prefix string) bool { return strings.HasPrefix(queueName, prefix) })
}
