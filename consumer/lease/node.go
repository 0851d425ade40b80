package lease

// node is the part of a message's state that exists only while something
// beyond "waiting in the log" is known: a timer, or a receive to remember. A
// node is in at most one list: a slot of the wheel, or the requeue ring.
type node struct {
	at    int64 // deadline, due time or move sequence, by status; 0 = lease given back
	first int64 // first receive; before it, on FIFO queues, the write time
	last  int64 // latest receive
	ref   uint32
	prev  uint32
	next  uint32
	list  uint16 // 0 = in none
	// receives saturates at maxReceives.
	receives uint16
	status   status // of a message that is not loaded; else its record has it
	flags    uint8
	attempt  uint32 // the repeatable receive that leases the message, 0 = none
}

const (
	// nodeForced: the dead-letter queue refused the message; the next receive
	// hands it out whatever its count.
	nodeForced uint8 = 1 << iota
	// nodeMoved: FIFO only; the message was sent before it was written here, and
	// first keeps the write time until the first receive.
	nodeMoved
	// nodeWasMoved: nodeMoved, and received since: the write time is lost.
	nodeWasMoved
)

const maxReceives = 1<<12 - 1

// pool holds the nodes. Index 0 is unused, so that 0 means none. A *node is
// valid until the next alloc.
type pool struct {
	nodes []node
	free  uint32 // chained by next
}

func newPool() pool { return pool{nodes: make([]node, 1)} }

func (p *pool) alloc() uint32 {
	n := p.free
	if n == 0 {
		p.nodes = append(p.nodes, node{})
		return uint32(len(p.nodes) - 1)
	}
	p.free = p.nodes[n].next
	p.nodes[n] = node{}
	return n
}

// release takes back a node that is in no list.
func (p *pool) release(n uint32) {
	p.nodes[n] = node{next: p.free}
	p.free = n
}

// list is a doubly linked list of nodes.
type list struct{ head, tail uint32 }

func (p *pool) push(l *list, id uint16, n uint32) {
	x := &p.nodes[n]
	x.list, x.prev, x.next = id, l.tail, 0
	if l.tail != 0 {
		p.nodes[l.tail].next = n
	} else {
		l.head = n
	}
	l.tail = n
}

func (p *pool) unlink(l *list, n uint32) {
	x := &p.nodes[n]
	if x.prev != 0 {
		p.nodes[x.prev].next = x.next
	} else {
		l.head = x.next
	}
	if x.next != 0 {
		p.nodes[x.next].prev = x.prev
	} else {
		l.tail = x.prev
	}
	x.list, x.prev, x.next = 0, 0, 0
}
