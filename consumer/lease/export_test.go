package lease

// Nodes is how many nodes the pool has.
func (m *Machine) Nodes() int { return len(m.nodes.nodes) }

// Effort is the processing time at to of a queue with so many messages in flight
// from a time on, after ms of it up to then.
func Effort(ms, from, to int64, flight int) int64 {
	return effort{ms: ms, at: from}.upto(to, flight)
}
