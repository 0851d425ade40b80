package topicd

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/topicd/store"
)

// partitionInflightBytes bounds what all sessions together have on the way to
// one partition; beyond it the sessions stop reading their streams.
const partitionInflightBytes = 30_000_000

// partition is one partition of a topic.
type partition struct {
	topic    *topic
	id       uint32
	inflight *gate
	quota    quota

	// The write side belongs to the store's committer and finisher.
	wmu    sync.Mutex
	owners map[string]*producerOwner // producers with a session or writes in flight
	next   store.State               // as of the last Apply
	sealed bool                      // split: takes no more writes

	load      writeLoad
	dedup     dedupIndex
	splitting bool  // waits for its split
	marked    int64 // bytes ever written as of the last mark

	// The read side: what is durable.
	mu        sync.Mutex
	start     int64
	end       int64 // offset after the last durable message
	writtenMs int64 // write time of the last durable message
	bytes     int64 // bytes of data ever written
	dropped   int64 // bytes of data before start
	firstMs   int64 // write time of the message at start; 0 = not known
	written   windows
	tail      tail
	readBytes map[string]*windows       // by consumer
	commits   map[string]int64          // by consumer
	readers   map[string]*partSession   // by consumer: who has the partition now
	direct    map[*partSession]struct{} // who reads it without a consumer
	waiting   map[*partSession]struct{} // who wants to know of the next message
}

// producerOwner is the session that may write under a producer id, and the
// highest sequence number applied under it.
type producerOwner struct {
	session *writeSession // nil once closed
	seqNo   int64
}

func newPartition(t *topic, c *partitionConfig) *partition {
	return &partition{
		topic: t, id: c.ID, sealed: !c.Active, inflight: newGate(partitionInflightBytes),
		written: newWindows(),
		owners:  make(map[string]*producerOwner),
		commits: make(map[string]int64), readBytes: make(map[string]*windows),
		readers: make(map[string]*partSession),
		direct:  make(map[*partSession]struct{}),
		waiting: make(map[*partSession]struct{}),
	}
}

func (p *partition) restore(st store.State) {
	p.next = st
	p.marked = st.Bytes
	p.start, p.end, p.writtenMs, p.bytes, p.dropped = st.Start, st.End, st.WrittenMs, st.Bytes, st.Dropped
	p.tail.start = st.End
}

func (p *partition) config() *partitionConfig {
	return &p.topic.config.Load().Partitions[p.id]
}

// bounds returns the first offset kept and the one after the last durable message.
func (p *partition) bounds() (start, end int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.start, p.end
}

// committed returns the consumer's offset: never below the first one kept.
func (p *partition) committed(consumer string) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.commits[consumer], p.start)
}

// ended tells whether the consumer is done with the partition: it was split and
// all its messages are committed.
func (p *partition) ended(consumer string) bool {
	// The end is final once the configuration shows the split.
	if p.config().Active {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(p.commits[consumer], p.start) >= p.end
}

// parentsEnded tells whether the consumer is done with what the partition came from.
func (p *partition) parentsEnded(consumer string) bool {
	cfg := p.topic.config.Load()
	for _, id := range cfg.Partitions[p.id].Parents {
		if !cfg.parts[id].ended(consumer) {
			return false
		}
	}
	return true
}

// notify tells everybody who reads the partition of something that happened to it.
func (p *partition) notify(kind eventKind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, ps := range p.readers {
		ps.session.post(readEvent{kind: kind, ps: ps})
	}
	for ps := range p.direct {
		ps.session.post(readEvent{kind: kind, ps: ps})
	}
}

// publish makes synced messages visible and wakes readers. Called by the
// store's finisher, in offset order.
func (p *partition) publish(msgs []*store.Message, memory, data int64) {
	cache := &p.topic.srv.tails
	p.mu.Lock()
	p.tail.append(msgs)
	last := msgs[len(msgs)-1]
	p.end = last.Offset + 1
	p.writtenMs = last.WrittenMs
	p.bytes += data
	p.written.add(time.Now(), data)
	for ps := range p.waiting {
		ps.session.markReady(ps)
	}
	clear(p.waiting)
	p.mu.Unlock()
	cache.add(p, len(msgs), memory)
}

// countRead counts bytes sent to a consumer.
func (p *partition) countRead(consumer string, n int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.readBytes[consumer]
	if w == nil {
		fresh := newWindows()
		w = &fresh
		p.readBytes[consumer] = w
	}
	w.add(time.Now(), n)
}

// bytesRead is what was sent to a consumer lately.
func (p *partition) bytesRead(consumer string) *Ydb_Topic.MultipleWindowsStat {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.readBytes[consumer]; w != nil {
		return w.describe(time.Now())
	}
	return &Ydb_Topic.MultipleWindowsStat{}
}

// wait has ps woken by the next message at or after offset from. It returns
// false when there is one already.
func (p *partition) wait(ps *partSession, from int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.end > from {
		return false
	}
	p.waiting[ps] = struct{}{}
	return true
}

func (p *partition) unwait(ps *partSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.direct, ps)
	delete(p.waiting, ps)
}

// read appends to dst durable messages from offset from on, up to about
// maxBytes; it returns where the next read goes on.
func (p *partition) read(dst []*store.Message, from int64, maxBytes int) ([]*store.Message, int64, error) {
	p.mu.Lock()
	from = max(from, p.start)
	if from >= p.end {
		p.mu.Unlock()
		return dst, from, nil
	}
	if from >= p.tail.start {
		dst = p.tail.read(dst, from, maxBytes)
		p.mu.Unlock()
	} else {
		// Not beyond the tail: what follows is cheaper from there.
		end := min(p.end, p.tail.start)
		p.mu.Unlock()
		n := len(dst)
		var err error
		dst, err = p.topic.srv.store.Read(dst, p.topic.id, p.id, from, end, maxBytes)
		if err != nil {
			return dst, from, err
		}
		p.topic.srv.metrics.readFromStore.Add(float64(len(dst) - n))
		if len(dst) == n {
			return dst, end, nil
		}
	}
	return dst, dst[len(dst)-1].Offset + 1, nil
}

// tail holds the latest durable messages of a partition.
type tail struct {
	start int64 // offset of the first message held; the partition's end when empty
	msgs  []*store.Message
	head  int // msgs[:head] have been dropped
}

func (t *tail) append(msgs []*store.Message) {
	if t.head > 0 && t.head*2 >= len(t.msgs) {
		n := copy(t.msgs, t.msgs[t.head:])
		clear(t.msgs[n:])
		t.msgs, t.head = t.msgs[:n], 0
	}
	t.msgs = append(t.msgs, msgs...)
}

func (t *tail) read(dst []*store.Message, from int64, maxBytes int) []*store.Message {
	size := 0
	for _, m := range t.msgs[t.head+int(from-t.start):] {
		if size >= maxBytes {
			break
		}
		size += len(m.Data) + messageOverhead
		dst = append(dst, m)
	}
	return dst
}

func (t *tail) drop(n int) {
	clear(t.msgs[t.head : t.head+n])
	t.head += n
	t.start += int64(n)
	if t.head == len(t.msgs) {
		t.msgs, t.head = t.msgs[:0], 0
		if cap(t.msgs) > 1024 {
			t.msgs = nil
		}
	}
}

// messageOverhead is what a message costs beside its data in a response, bytes.
const messageOverhead = 64

// tailCache bounds the tails of all partitions together: the oldest messages
// leave first. Only the store's finisher adds, so it needs no lock.
type tailCache struct {
	max   int64
	used  int64
	items []tailItem
	head  int
	size  atomic.Int64 // used, for others to look at
}

type tailItem struct {
	p      *partition
	n      int
	memory int64
}

func (c *tailCache) add(p *partition, n int, memory int64) {
	if c.head > 1024 && c.head*2 >= len(c.items) {
		rest := copy(c.items, c.items[c.head:])
		clear(c.items[rest:])
		c.items, c.head = c.items[:rest], 0
	}
	c.items = append(c.items, tailItem{p, n, memory})
	c.used += memory
	for c.used > c.max && c.head < len(c.items) {
		it := c.items[c.head]
		c.items[c.head] = tailItem{}
		c.head++
		c.used -= it.memory
		it.p.mu.Lock()
		it.p.tail.drop(it.n)
		it.p.mu.Unlock()
	}
	c.size.Store(c.used)
}

// clock gives the write time of a partition's next message: Unix
// milliseconds that never fall.
func (p *partition) clock(now time.Time) int64 {
	return max(now.UnixMilli(), p.next.WrittenMs)
}

// seekTime returns the first offset from from on that was written at or
// after ms.
func (p *partition) seekTime(from, ms int64) (int64, error) {
	start, end := p.bounds()
	return p.topic.srv.store.Seek(p.topic.id, p.id, max(from, start), end, ms)
}
