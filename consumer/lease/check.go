package lease

import "fmt"

// Check recounts everything the machine keeps counts and lists of, and tells what is
// wrong. It walks over all messages: it is for tests.
func (m *Machine) Check() error {
	var counts [statuses]int
	inGroup, fresh, live := 0, 0, 0
	moves := make(map[uint32]uint32)
	end := int64(-1)
	var err error
	m.window.each(func(offset int64, ref uint32) {
		live++
		r := m.window.at(ref)
		s := r.status()
		counts[s]++
		if offset <= end || offset >= m.cursor {
			err = fmt.Errorf("offset %d after %d, cursor %d", offset, end, m.cursor)
		}
		end = offset
		if m.window.find(offset) != ref {
			err = fmt.Errorf("offset %d not found", offset)
		}
		if m.cfg.FIFO && s != moving {
			inGroup++
		}
		if m.cfg.FIFO && s == moving {
			moves[r.group]++
		}
		isFresh := m.window.chunk(ref).fresh>>(ref&chunkMask)&1 != 0
		if isFresh {
			fresh++
		}
		var in uint16
		if r.node != 0 {
			in = m.nodes.nodes[r.node].list
			if m.nodes.nodes[r.node].ref != ref {
				err = fmt.Errorf("node of %d belongs to another", offset)
			}
		}
		timed := in != 0 && in != requeueList
		if timed != (s == leased || s == delayed || s == held) {
			err = fmt.Errorf("message %d of status %d is in list %d", offset, s, in)
		}
		if loose := isFresh != (in == requeueList); !m.cfg.FIFO && loose != (s == visible) {
			err = fmt.Errorf("message %d of status %d: fresh %v, list %d", offset, s, isFresh, in)
		}
	})
	if err != nil {
		return err
	}
	for g := range m.groups.all {
		if x := &m.groups.all[g]; x.moves != moves[uint32(g)] {
			return fmt.Errorf("group %x has %d moves, recounted %d", x.hash, x.moves, moves[uint32(g)])
		}
	}
	if err := m.checkTenants(); err != nil {
		return err
	}
	if counts != m.counts || live != m.window.live {
		return fmt.Errorf("counts %v %d, recounted %v %d", m.counts, m.window.live, counts, live)
	}
	if err := m.checkGroups(inGroup); err != nil {
		return err
	}
	return m.checkNodes()
}

// checkTenants recounts the tenants of a standard queue and walks their lanes.
func (m *Machine) checkTenants() error {
	want := make(map[uint32]tenant)
	if !m.cfg.FIFO {
		m.window.each(func(_ int64, ref uint32) {
			r := m.window.at(ref)
			if r.group == 0 {
				return
			}
			x := want[r.group]
			x.messages++
			if s := r.status(); s == leased || s == held {
				x.flight++
			} else if s == parked {
				x.parked++
			}
			want[r.group] = x
		})
	}
	if len(want) != len(m.tenants.byHash) {
		return fmt.Errorf("%d tenants, want %d", len(m.tenants.byHash), len(want))
	}
	waiting, effort := 0, int64(0)
	for h, t := range m.tenants.byHash {
		effort += m.tenants.all[t].effort.upto(m.now, int(m.tenants.all[t].flight))
		x, recounted := m.tenants.all[t], want[t]
		if x.hash != h || x.messages != recounted.messages || x.flight != recounted.flight || x.parked != recounted.parked {
			return fmt.Errorf("tenant %+v, recounted %+v", x, recounted)
		}
		lane, prev := uint32(0), uint32(0)
		for ref := x.head; ref != 0; ref = m.window.at(ref).next {
			if r := m.window.at(ref); r.status() != parked || r.group != t || r.prev != prev {
				return fmt.Errorf("tenant %x: wrong message in the lane", h)
			}
			lane, prev = lane+1, ref
		}
		if lane != x.parked || prev != x.tail || (x.in == nil) != (lane == 0) {
			return fmt.Errorf("tenant %x: %d of %d in the lane", h, lane, x.parked)
		}
		if x.in == m.tenants.noisy {
			waiting += int(x.parked)
			if !m.noisy(t) {
				return fmt.Errorf("tenant %x is not noisy", h)
			}
		}
	}
	if all := m.tenants.effort.upto(m.now, m.inFlight()); !m.cfg.FIFO && effort > all {
		return fmt.Errorf("effort %d of all, recounted %d", all, effort)
	}
	if waiting != m.tenants.waiting {
		return fmt.Errorf("%d waiting, recounted %d", m.tenants.waiting, waiting)
	}
	return nil
}

func (m *Machine) checkGroups(want int) error {
	n, ready := 0, 0
	for h, g := range m.groups.byHash {
		x := &m.groups.all[g]
		if x.head == 0 && x.moves > 0 && x.hash == h && !x.ready && x.held == m.groups.holds.has(h) {
			continue
		}
		if x.hash != h || x.head == 0 || x.held != m.groups.holds.has(h) {
			return fmt.Errorf("group %x is empty or misnamed", h)
		}
		end, prev := int64(-1), uint32(0)
		for ref := x.head; ref != 0; ref = m.window.at(ref).next {
			r := m.window.at(ref)
			if o := m.window.offset(ref); o <= end || r.prev != prev || r.group != g {
				return fmt.Errorf("group %x is out of order at %d", h, o)
			}
			end, prev = m.window.offset(ref), ref
			n++
		}
		if x.tail != prev || x.ready != (!x.held && m.window.at(x.head).status() == visible) {
			return fmt.Errorf("group %x: tail %d, ready %v", h, x.tail, x.ready)
		}
		if x.ready {
			ready++
		}
	}
	if n != want || ready != m.groups.ready {
		return fmt.Errorf("%d messages in groups, want %d; %d ready, want %d", n, want, ready, m.groups.ready)
	}
	return nil
}

// checkNodes finds nodes that leaked, and wrong bits of the wheel.
func (m *Machine) checkNodes() error {
	free := 0
	for n := m.nodes.free; n != 0; n = m.nodes.nodes[n].next {
		free++
	}
	used := len(m.ahead.states)
	m.window.each(func(_ int64, ref uint32) {
		if m.window.at(ref).node != 0 {
			used++
		}
	})
	if free+used+1 != len(m.nodes.nodes) {
		return fmt.Errorf("%d nodes, %d free, %d used", len(m.nodes.nodes), free, used)
	}
	for i, l := range m.wheel.slots {
		if (l.head != 0) != (m.wheel.used[i/wheelSlots]>>(i%wheelSlots)&1 != 0) {
			return fmt.Errorf("slot %d: head %d, used %x", i, l.head, m.wheel.used[i/wheelSlots])
		}
	}
	return nil
}
