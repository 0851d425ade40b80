package lease

// effort is processing time: how many messages were in flight for how many ms.
// What is past counts less: at the end of each effortPeriod half of it is
// forgotten, for all at the same time, so that shares stay what they are.
type effort struct {
	ms int64
	at int64 // up to when it is counted
}

const (
	effortPeriod = 60_000
	// effortPeriods is after how many periods with the same number in flight effort
	// changes no more.
	effortPeriods = 62
)

// upto gives the effort up to now, with so many messages in flight since at.
func (e effort) upto(now int64, flight int) int64 {
	periods := now/effortPeriod - e.at/effortPeriod
	if flight == 0 {
		return e.ms >> min(periods, effortPeriods)
	}
	for range min(periods, effortPeriods) {
		end := e.at - e.at%effortPeriod + effortPeriod
		e.ms = (e.ms + int64(flight)*(end-e.at)) / 2
		e.at = end
	}
	if periods > effortPeriods {
		e.at = now - now%effortPeriod
	}
	return e.ms + int64(flight)*(now-e.at)
}
