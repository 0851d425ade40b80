package load

import (
	"bytes"
	"math/rand/v2"
	"strconv"

	"sqsgate/cmd/sqsload/ledger"
)

// minBody has room for the name of a message in its body.
const minBody = 80

const bodyPrefix = "sqsload/"

// bodies makes message bodies and knows its own again:
//
//	sqsload/<run>/<producer>/<number>/<group>/<filler up to the size>
//
// The filler is random letters, so that storage cannot compress it much, cut
// from one block at a place that follows from the message's name, so that a
// damaged body is seen.
type bodies struct {
	prefix []byte // with the run
	filler []byte
	size   int
}

const (
	alphabet    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-" // 64
	fillerSpots = 16 << 10
)

func newBodies(run string, size int) *bodies {
	b := &bodies{prefix: []byte(bodyPrefix + run + "/"), size: size, filler: make([]byte, fillerSpots+size)}
	for i := range b.filler {
		b.filler[i] = alphabet[rand.N(len(alphabet))]
	}
	return b
}

// spot is where the filler of a message begins.
func spot(id ledger.ID) int { return (id.Producer*7919 + id.Seq*104729) % fillerSpots }

func (b *bodies) append(to []byte, id ledger.ID) []byte {
	start := len(to)
	to = b.appendName(to, id)
	from := b.filler[spot(id):]
	return append(to, from[:b.size-(len(to)-start)]...)
}

func (b *bodies) appendName(to []byte, id ledger.ID) []byte {
	to = append(to, b.prefix...)
	for _, n := range [...]int{id.Producer, id.Seq, id.Group} {
		to = append(strconv.AppendInt(to, int64(n), 10), '/')
	}
	return to
}

// parse reads a message's name. ours is false for a message of another run or
// program; whole is false if the body is not the one it was sent with.
func (b *bodies) parse(body []byte) (id ledger.ID, ours, whole bool) {
	rest, ok := bytes.CutPrefix(body, b.prefix)
	if !ok {
		return id, false, false
	}
	for _, n := range [...]*int{&id.Producer, &id.Seq, &id.Group} {
		end := bytes.IndexByte(rest, '/')
		if end < 0 {
			return id, false, false
		}
		v, err := strconv.Atoi(string(rest[:end]))
		if err != nil {
			return id, false, false
		}
		*n, rest = v, rest[end+1:]
	}
	if id.Producer < 0 || id.Seq < 0 {
		return id, false, false
	}
	return id, true, len(body) == b.size && bytes.Equal(rest, b.filler[spot(id):][:len(rest)])
}
