package store

import (
	"context"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A store that pebble gave up on is abandoned with the goroutines inside.
		goleak.IgnoreAnyFunction("sqsgate/topicd/store.pebbleLogger.Fatalf"))
}

// putOp writes messages of one partition at the next offsets.
type putOp struct {
	p    *testPartition
	msgs []*Message
	done chan error
}

type testPartition struct {
	topic uint64
	id    uint32
	state State
}

func newPutOp(p *testPartition, msgs ...*Message) *putOp {
	return &putOp{p: p, msgs: msgs, done: make(chan error, 1)}
}

func (o *putOp) Size() int {
	n := 0
	for _, m := range o.msgs {
		n += len(m.Data)
	}
	return n
}

func (o *putOp) Apply(b *Batch) {
	for _, m := range o.msgs {
		m.Offset = o.p.state.End
		o.p.state.End++
		b.PutMessage(o.p.topic, o.p.id, m)
		if m.Producer != "" {
			b.PutProducer(o.p.topic, o.p.id, m.Producer, Producer{SeqNo: m.SeqNo, WriteMs: m.WrittenMs})
		}
	}
	b.PutState(o.p.topic, o.p.id, o.p.state)
}

func (o *putOp) Done(err error) { o.done <- err }

func (o *putOp) run(ctx context.Context, s *Store) error {
	if err := s.Submit(ctx, o); err != nil {
		return err
	}
	select {
	case err := <-o.done:
		return err
	case <-s.Failed():
		return s.Err()
	}
}

// funcOp is an op without payload.
type funcOp struct {
	apply func(*Batch)
	done  chan error
}

func (*funcOp) Size() int        { return 0 }
func (o *funcOp) Apply(b *Batch) { o.apply(b) }
func (o *funcOp) Done(err error) { o.done <- err }

func apply(tb testing.TB, s *Store, f func(*Batch)) {
	tb.Helper()
	op := &funcOp{apply: f, done: make(chan error, 1)}
	if err := s.Submit(tb.Context(), op); err != nil {
		tb.Fatal(err)
	}
	if err := <-op.done; err != nil {
		tb.Fatal(err)
	}
}

func mustOpen(tb testing.TB, o Options) *Store {
	tb.Helper()
	s, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func memOptions(fs vfs.FS) Options {
	return Options{Dir: "data", FS: fs, MemTableBytes: 256 << 10, CacheBytes: 1 << 20}
}
