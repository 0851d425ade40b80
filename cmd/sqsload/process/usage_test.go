package process

import (
	"os"
	"runtime"
	"testing"
)

func TestOwnUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	now, peak := Resident(os.Getpid())
	if now < 1<<20 || peak < now {
		t.Errorf("resident %d, at most %d", now, peak)
	}
	for OwnCPU() < 4*clockTick { // both clocks move
	}
	own, proc := OwnCPU(), CPU(os.Getpid())
	if diff := own - proc; diff < -4*clockTick || diff > 4*clockTick {
		t.Errorf("getrusage says %s, /proc says %s", own, proc)
	}
}

func TestUnknownProcess(t *testing.T) {
	now, peak := Resident(1 << 30)
	if CPU(1<<30) != 0 || now != 0 || peak != 0 {
		t.Error("a process that is not there uses something")
	}
}

func TestStartTellsWhyItFailed(t *testing.T) {
	dir := t.TempDir()
	if _, err := Start(t.Context(), "/nonexistent/binary", dir); err == nil {
		t.Error("started a binary that is not there")
	}
	if _, err := Start(t.Context(), "/bin/false", dir); err == nil {
		t.Error("a binary that ends at once passes for ready")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
