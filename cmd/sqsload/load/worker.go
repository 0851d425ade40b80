package load

import (
	"context"
	"strconv"
	"time"

	"sqsgate/cmd/sqsload/ledger"
	"sqsgate/cmd/sqsload/sqs"
)

const (
	longPoll     = time.Second
	firstBackoff = 20 * time.Millisecond
	lastBackoff  = time.Second
)

// nobody stands for a message that the ledger has nothing to do with.
var nobody = ledger.ID{Producer: -1} //nolint:gochecknoglobals // a constant, if structs could be

// worker is one connection and the goroutine that uses it.
type worker struct {
	index int
	run   *run
	conn  *sqs.Conn
	meter *meter
	timer *time.Timer

	seq      int // of the next message
	owed     int // messages sent and not received, by its own count
	backoff  time.Duration
	ids      []ledger.ID // of the messages sent or received last, that are the run's own
	names    []ledger.ID // of all received last
	outgoing []sqs.Outgoing
	incoming []sqs.Incoming
	text     []byte // holds what outgoing points to
}

func newWorker(r *run, index int) *worker {
	w := &worker{
		index: index, run: r,
		conn:  sqs.NewConn(r.options.Endpoint, r.options.Timeout, r.options.Signer),
		meter: newMeter(),
		timer: time.NewTimer(time.Hour),
	}
	w.timer.Stop()
	return w
}

// work repeats step until the time is over or step has no more to do.
func (w *worker) work(ctx context.Context, pace pacer, until time.Time, step func(due time.Time) (more bool)) {
	for {
		now := time.Now()
		due := pace.due(now)
		if !due.Before(until) || !now.Before(until) || !pause(ctx, w.timer, due) || !step(due) {
			return
		}
		if w.backoff > 0 && !pause(ctx, w.timer, time.Now().Add(w.backoff)) {
			return
		}
	}
}

// failed slows the worker down while the server does not serve: a refused
// connection costs so little that a tight loop would eat the cores.
func (w *worker) failed(c call, err error, at time.Time) {
	w.meter.failedCall(c, err, at)
	w.backoff = min(max(2*w.backoff, firstBackoff), lastBackoff)
}

// step is one operation of the scenario.
func (w *worker) step(due time.Time) (more bool) {
	o := w.run.options
	switch o.Scenario {
	case Send, SendBatch:
		return w.send(due, o.batch()) > 0
	case Life, LifeBatch:
		return w.life(due)
	case Drain:
		return w.take(due, batchSize) > 0 || w.backoff > 0
	}
	return false
}

// life sends, receives as many, deletes them. What comes may be another's; what
// a receive leaves behind makes the worker skip a send, so that the queue stays
// short.
func (w *worker) life(due time.Time) (more bool) {
	n, start := w.run.options.batch(), due
	if w.owed < 2*n {
		tried := w.send(due, n)
		if w.owed <= 0 {
			return tried > 0
		}
		start = time.Now()
	}
	if deleted := w.take(start, n); deleted > 0 {
		w.meter.done(callLife, due, time.Now(), deleted)
	}
	return true
}

// send sends n messages in one call, fewer at the end of the run's bound, and
// returns how many it tried.
func (w *worker) send(due time.Time, n int) (tried int) {
	n = w.run.reserve(n)
	if n == 0 {
		return 0
	}
	w.prepare(n)
	if n == 1 {
		err := w.conn.Send(w.run.queue, w.outgoing[0])
		w.sent(due, err, nil)
		return n
	}
	refused, err := w.conn.SendBatch(w.run.queue, w.outgoing)
	w.sent(due, err, refused)
	return n
}

// prepare makes the next n messages. A batch of a FIFO queue is of several
// groups, and a group's messages come from every worker that it belongs to.
func (w *worker) prepare(n int) {
	o := w.run.options
	w.ids, w.outgoing = w.ids[:0], w.outgoing[:0]
	if need := n * (o.BodyBytes + 64); cap(w.text) < need {
		w.text = make([]byte, 0, need) // outgoing keeps slices of it: it must not move
	}
	w.text = w.text[:0]
	for range n {
		id := ledger.ID{Producer: w.index, Seq: w.seq, Group: -1}
		if o.FIFO {
			id.Group = (w.index + w.seq*o.Connections) % o.Groups
		}
		w.seq++
		m := sqs.Outgoing{Body: w.cut(func(b []byte) []byte { return w.run.bodies.append(b, id) })}
		if o.FIFO {
			m.Group = w.cut(func(b []byte) []byte { return strconv.AppendInt(append(b, 'g'), int64(id.Group), 10) })
			m.Deduplication = w.cut(func(b []byte) []byte {
				b = strconv.AppendInt(append(append(b, w.run.name...), '-'), int64(id.Producer), 10)
				return strconv.AppendInt(append(b, '-'), int64(id.Seq), 10)
			})
		}
		w.ids, w.outgoing = append(w.ids, id), append(w.outgoing, m)
	}
}

func (w *worker) cut(make func([]byte) []byte) []byte {
	start := len(w.text)
	w.text = make(w.text)
	return w.text[start:]
}

// sent books the answer to a send of w.ids.
func (w *worker) sent(due time.Time, err error, refused []sqs.Refusal) {
	now := time.Now()
	if err != nil {
		w.failed(callSend, err, now)
		certain := definite(err)
		for _, id := range w.ids {
			if certain {
				w.run.ledger.Refused(id)
			} else {
				w.run.ledger.Unsure(id)
			}
		}
		return
	}
	w.backoff = 0
	for _, r := range refused {
		w.meter.failed(callSend, r.Code, now)
		if r.SenderFault {
			w.run.ledger.Refused(w.ids[r.Index])
		} else {
			w.run.ledger.Unsure(w.ids[r.Index])
		}
		w.ids[r.Index] = nobody
	}
	for _, id := range w.ids {
		if id != nobody {
			w.run.ledger.Sent(id)
		}
	}
	ok := len(w.ids) - len(refused)
	w.owed += ok
	w.meter.done(callSend, due, now, ok)
}

// take receives up to n messages, deletes them and returns how many it deleted.
func (w *worker) take(due time.Time, n int) (deleted int) {
	asked := time.Now()
	var err error
	w.incoming, err = w.conn.Receive(w.run.queue, n, longPoll, w.incoming[:0])
	answered := time.Now()
	if err != nil {
		w.failed(callReceive, err, answered)
		return 0
	}
	w.backoff = 0
	w.meter.done(callReceive, due, answered, len(w.incoming))
	if len(w.incoming) == 0 {
		w.owed = 0 // another has them
		return 0
	}
	w.owed -= len(w.incoming)
	w.book(asked, answered)
	return w.delete(n == 1)
}

// book names the messages received and tells the ledger.
func (w *worker) book(asked, answered time.Time) {
	w.names, w.ids = w.names[:0], w.ids[:0]
	for _, m := range w.incoming {
		id, ours, whole := w.run.bodies.parse(m.Body)
		switch {
		case !ours || !w.run.ledger.Knows(id):
			w.run.ledger.Foreign()
			id = nobody
		case !whole:
			w.run.ledger.Corrupt(id)
		}
		w.names = append(w.names, id)
		if id != nobody {
			w.ids = append(w.ids, id)
		}
	}
	w.run.ledger.Received(w.ids, asked, answered)
}

// delete deletes what book has named.
func (w *worker) delete(single bool) (deleted int) {
	for _, id := range w.ids {
		w.run.ledger.Deleting(id)
	}
	start := time.Now()
	var refused []sqs.Refusal
	var err error
	if single {
		err = w.conn.Delete(w.run.queue, w.incoming[0].Receipt)
	} else {
		refused, err = w.conn.DeleteBatch(w.run.queue, w.incoming)
	}
	end := time.Now()
	if err != nil {
		w.failed(callDelete, err, end)
		return 0
	}
	for _, r := range refused {
		w.meter.failed(callDelete, r.Code, end)
		w.names[r.Index] = nobody
	}
	for _, id := range w.names {
		if id != nobody {
			w.run.ledger.Deleted(id, end)
		}
	}
	deleted = len(w.incoming) - len(refused)
	w.meter.done(callDelete, start, end, deleted)
	return deleted
}
