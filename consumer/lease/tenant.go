package lease

// A standard queue whose messages have groups is fair among them: while a group,
// its tenant, has more than a tenth of the messages in flight, and at least
// noisyFlight, or more than a tenth of the recent processing time, and at least
// noisyEffort, the others are served first. A message without a group is a tenant
// of its own, and never noisy.
const (
	noisyFlight = 30
	noisyShare  = 10
	// noisyEffort keeps queues in order in which next to nothing happens: there
	// almost any tenant has a tenth of the time. AWS names no such limit.
	noisyEffort = 10_000 // ms
	// searchAhead is how many messages of noisy tenants a queue may load in search
	// of others.
	searchAhead = 10_000
)

// tenant is a group of a standard queue that has loaded messages. Its lane is a
// list through the records of messages that were met while it was noisy; they
// are parked there, and nothing scans them again.
type tenant struct {
	hash     Hash
	messages uint32 // loaded and not gone
	flight   uint32 // in flight
	effort   effort // of messages while they were in flight
	parked   uint32 // in the lane
	head     uint32
	tail     uint32
	prev     uint32 // the neighbours in the list of its kind
	next     uint32
	in       *tenantList // nil = the lane is empty
}

// tenantList is a list of tenants that have a lane.
type tenantList struct{ head, tail uint32 }

// tenants holds the tenants of a standard queue. At most nine can be noisy by
// their messages in flight and nine by their time, so the noisy list is short
// whenever it was looked at.
type tenants struct {
	all    []tenant // [0] is unused
	free   uint32   // chained by next
	byHash map[Hash]uint32
	calm   *tenantList // those with a lane that were not noisy when last looked at
	noisy  *tenantList // those that were
	// waiting is how many messages are parked with noisy tenants.
	waiting int
	// effort is that of all messages, also of tenants that are gone and of messages
	// without a group. It is at least the sum of those that are there.
	effort effort
}

func newTenants() tenants {
	return tenants{
		all: make([]tenant, 1), byHash: make(map[Hash]uint32),
		calm: new(tenantList), noisy: new(tenantList),
	}
}

// enter counts a loaded message of group h and gives its tenant, 0 for none.
func (s *tenants) enter(h Hash) uint32 {
	if h == (Hash{}) {
		return 0
	}
	t, ok := s.byHash[h]
	if !ok {
		if t = s.free; t != 0 {
			s.free = s.all[t].next
		} else {
			t = uint32(len(s.all))
			s.all = append(s.all, tenant{})
		}
		s.all[t] = tenant{hash: h}
		s.byHash[h] = t
	}
	s.all[t].messages++
	return t
}

// leave forgets a message that is gone, and its tenant with the last one.
func (s *tenants) leave(t uint32) {
	if t == 0 {
		return
	}
	x := &s.all[t]
	if x.messages--; x.messages == 0 {
		delete(s.byHash, x.hash)
		*x = tenant{next: s.free}
		s.free = t
	}
}

// shift moves a tenant with a lane to the end of another list, or out of all.
func (s *tenants) shift(t uint32, to *tenantList) {
	x := &s.all[t]
	if x.in != nil {
		if x.prev != 0 {
			s.all[x.prev].next = x.next
		} else {
			x.in.head = x.next
		}
		if x.next != 0 {
			s.all[x.next].prev = x.prev
		} else {
			x.in.tail = x.prev
		}
		if x.in == s.noisy {
			s.waiting -= int(x.parked)
		}
	}
	x.in, x.prev, x.next = to, 0, 0
	if to == nil {
		return
	}
	if x.prev = to.tail; to.tail != 0 {
		s.all[to.tail].next = t
	} else {
		to.head = t
	}
	to.tail = t
	if to == s.noisy {
		s.waiting += int(x.parked)
	}
}

// noisy tells whether the quiet tenants go before tenant t.
func (m *Machine) noisy(t uint32) bool {
	if t == 0 {
		return false
	}
	x, all := &m.tenants.all[t], m.inFlight()
	flight := int(x.flight)
	if flight >= noisyFlight && flight*noisyShare > all {
		return true
	}
	effort := x.effort.upto(m.now, flight)
	return effort >= noisyEffort && effort*noisyShare > m.tenants.effort.upto(m.now, all)
}

// work notes the effort so far, before the messages in flight change: those of
// tenant t, if any.
func (m *Machine) work(t uint32) {
	s := &m.tenants
	s.effort = effort{ms: s.effort.upto(m.now, m.inFlight()), at: m.now}
	if t != 0 {
		x := &s.all[t]
		x.effort = effort{ms: x.effort.upto(m.now, int(x.flight)), at: m.now}
	}
}

// park puts a visible message, which is in no list, into the lane of its noisy
// tenant.
func (m *Machine) park(ref uint32) {
	s, w := &m.tenants, &m.window
	r := w.at(ref)
	x := &s.all[r.group]
	if x.in != s.noisy {
		s.shift(r.group, s.noisy)
	}
	m.setStatus(r, parked)
	r.prev, r.next = x.tail, 0
	if x.tail != 0 {
		w.at(x.tail).next = ref
	} else {
		x.head = ref
	}
	x.tail = ref
	x.parked++
	s.waiting++
}

// unpark takes a parked message out of its lane; it is visible, and in no list.
func (m *Machine) unpark(ref uint32) {
	s, w := &m.tenants, &m.window
	r := w.at(ref)
	x := &s.all[r.group]
	m.setStatus(r, visible)
	if r.prev != 0 {
		w.at(r.prev).next = r.next
	} else {
		x.head = r.next
	}
	if r.next != 0 {
		w.at(r.next).prev = r.prev
	} else {
		x.tail = r.prev
	}
	r.prev, r.next = 0, 0
	x.parked--
	if x.in == s.noisy {
		s.waiting--
	}
	if x.parked == 0 {
		s.shift(r.group, nil)
	}
}

// review moves the tenants that are noisy no more to the calm ones.
func (m *Machine) review() {
	s := &m.tenants
	for t := s.noisy.head; t != 0; {
		next := s.all[t].next
		if !m.noisy(t) {
			s.shift(t, s.calm)
		}
		t = next
	}
}

// nextCalm gives the first message in the lane of a calm tenant, 0 if there is
// none.
func (m *Machine) nextCalm() uint32 {
	s := &m.tenants
	for s.calm.head != 0 && m.noisy(s.calm.head) {
		s.shift(s.calm.head, s.noisy)
	}
	return s.all[s.calm.head].head
}

// nextNoisy gives the first message of the noisy tenant that has the fewest in
// flight, 0 if there is none.
func (m *Machine) nextNoisy() uint32 {
	s := &m.tenants
	best := s.noisy.head
	for t := best; t != 0; t = s.all[t].next {
		if s.all[t].flight < s.all[best].flight {
			best = t
		}
	}
	return s.all[best].head
}
