package process

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// clockTick is the unit of /proc/PID/stat; Linux has had no other for long.
const clockTick = 10 * time.Millisecond

// OwnCPU is the CPU time this process has used.
func OwnCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0 // unknown
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// CPU is the CPU time another process has used.
func CPU(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // unknown
	}
	// The second field, the command, may hold spaces; it ends with the last ')'.
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(string(fields[11]), 10, 64)   // 0 where it is no number
	system, _ := strconv.ParseInt(string(fields[12]), 10, 64) // likewise
	return time.Duration(user+system) * clockTick
}

// Resident is the memory of a process: now, and at its highest so far.
func Resident(pid int) (now, peak int64) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0 // unknown
	}
	for line := range strings.Lines(string(status)) {
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		kib, err := strconv.ParseInt(fields[1], 10, 64)
		switch {
		case err != nil:
		case fields[0] == "VmRSS:":
			now = kib << 10
		case fields[0] == "VmHWM:":
			peak = kib << 10
		}
	}
	return now, peak
}

// LoadAverage is the number of runnable tasks over the last minute.
func LoadAverage() float64 {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0 // unknown
	}
	first, _, _ := strings.Cut(string(data), " ")
	load, _ := strconv.ParseFloat(first, 64) // 0 where it is no number
	return load
}

// OS names system and architecture, with the kernel's release where known.
func OS() string {
	name := runtime.GOOS + "/" + runtime.GOARCH
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		name += " " + strings.TrimSpace(string(release))
	}
	return name
}
