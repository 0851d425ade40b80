package lease

// Retention is not journaled: the log and the queue's attributes determine it.
//
// The messages of a log are nearly in order of their sent time, so only the
// first one has a timer: the retention pointer stands on the first message that
// has not expired. One behind it that is older than its predecessors, because
// it was moved here, may stay longer, but is removed instead of handed out,
// given back or changed.

// expired says whether a message sent at ms is past the queue's retention.
func (m *Machine) expired(sent int64) bool {
	return m.cfg.Retention > 0 && sent+m.cfg.Retention <= m.now
}

// nextExpiry gives when the message at the retention pointer expires.
func (m *Machine) nextExpiry() (int64, bool) {
	if m.cfg.Retention <= 0 {
		return 0, false
	}
	for {
		ref := m.window.oldest()
		if ref == 0 {
			return 0, false
		}
		r := m.window.at(ref)
		if r.status() != moving {
			return r.sent() + m.cfg.Retention, true
		}
		m.window.pass(ref)
	}
}

// expire removes what the retention pointer finds expired.
func (m *Machine) expire() {
	for {
		at, ok := m.nextExpiry()
		if !ok || at > m.now {
			return
		}
		m.remove(m.window.oldest())
	}
}
