package lease

// Ready says that a Receive would be answered with messages now, or at least
// removes some that cannot be delivered. The caller keeps the long polls, and
// asks for them when it is true.
func (m *Machine) Ready() bool {
	if m.inFlight() >= m.cfg.MaxInFlight {
		return false
	}
	if m.cfg.FIFO {
		return m.groups.ready > 0
	}
	return m.counts[visible]+m.counts[parked] > 0
}

// PurgeMark is the offset below which the last purge removed everything.
func (m *Machine) PurgeMark() int64 { return m.purged }
