package load

import (
	"time"

	"sqsgate/cmd/sqsload/process"
	"sqsgate/cmd/sqsload/report"
)

// usage takes the CPU time of client and server over the measured window.
type usage struct {
	pid   int
	begun chan struct{} // closed when the first values are taken
	timer *time.Timer

	ownBefore, ownAfter       time.Duration
	serverBefore, serverAfter time.Duration
}

// startUsage takes the first values when the window opens.
func (r *run) startUsage(w window) *usage {
	u := &usage{pid: r.options.ServerPID, begun: make(chan struct{})}
	u.timer = time.AfterFunc(time.Until(w.from), func() {
		u.ownBefore, u.serverBefore = u.now()
		close(u.begun)
	})
	return u
}

func (u *usage) now() (own, server time.Duration) {
	own = process.OwnCPU()
	if u.pid != 0 {
		server = process.CPU(u.pid)
	}
	return own, server
}

// stop takes the last values, at most those of the window's time: the workers
// have just come to its end.
func (u *usage) stop() {
	u.ownAfter, u.serverAfter = u.now()
	if u.timer.Stop() { // the window never opened
		u.ownBefore, u.serverBefore = u.ownAfter, u.serverAfter
		return
	}
	<-u.begun
}

func (u *usage) report(out *report.Run) {
	out.Client = use(u.ownAfter-u.ownBefore, out.TotalCalls)
	if u.pid != 0 {
		server := use(u.serverAfter-u.serverBefore, out.TotalCalls)
		server.ResidentBytes, _ = process.Resident(u.pid)
		out.Server = &server
	}
}

func use(cpu time.Duration, calls int64) report.Usage {
	u := report.Usage{CPUSeconds: cpu.Seconds()}
	if calls > 0 {
		u.CPUMicrosPerCall = float64(cpu.Microseconds()) / float64(calls)
	}
	return u
}
