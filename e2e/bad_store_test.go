//go:build e2e

package e2e

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

const exitUsage = 2 // status for a setting that cannot work

// refused runs sqsgate, which must end with the status and name something.
func refused(t *testing.T, status int, names string, args ...string) {
	t.Helper()
	log := &tail{}
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(readyTimeout, func() { _ = cmd.Process.Kill() }) // Wait tells
	defer timer.Stop()
	_ = cmd.Wait() // the status is looked at
	if got := cmd.ProcessState.ExitCode(); got != status || !strings.Contains(log.String(), names) {
		t.Errorf("%v: %v after %v, want status %d and a message with %q; it said\n%s", args, cmd.ProcessState, time.Since(began), status, names, log)
	}
}

// command are the arguments that start the embedded topic server of a
// deployment, other than its own processes.
func (d *Deployment) command() []string {
	if d.split {
		return []string{"topicd", "--data-dir", d.dataDir, "--topic-listen", "127.0.0.1:0"}
	}
	return []string{
		"serve", "--data-dir", d.dataDir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--topic-listen", "127.0.0.1:0",
	}
}

// TestSecondProcess: the data directory belongs to one process.
func TestSecondProcess(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		q := d.Actions(t, jsonProtocol).Create(t, "owned")
		refused(t, exitUsage, d.dataDir, d.command()...)
		q.Send("unharmed")
		q.Delete(q.ReceiveOne())
		d.Kill()
		d.Start() // a lock that a killed process has left does not matter
	})
}

// TestPortInUse: each address is named by its flag.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lis.Close() }() // nothing was accepted
	taken := lis.Addr().String()
	dir := t.TempDir()
	for _, flag := range []string{"--listen", "--admin-listen", "--topic-listen"} {
		args := []string{"serve", "--data-dir", filepath.Join(dir, "data"), flag, taken}
		for _, other := range []string{"--listen", "--admin-listen", "--topic-listen"} {
			if other != flag {
				args = append(args, other, "127.0.0.1:0")
			}
		}
		refused(t, exitUsage, flag, args...)
		refused(t, exitUsage, taken, args...)
	}
	refused(t, exitUsage, "--topic-listen", "topicd", "--data-dir", filepath.Join(dir, "data"), "--topic-listen", taken)
}

// TestDamagedStore: a store with a broken file is not opened, and the file is
// named.
func TestDamagedStore(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		q := d.Actions(t, jsonProtocol).Create(t, "damaged")
		for range 200 {
			q.Send(strings.Repeat("x", 10_000))
		}
		d.Kill() // so that the log holds what no table has yet
		for _, pattern := range []string{"MANIFEST-*", "*.sst", "*.log"} {
			files, err := filepath.Glob(filepath.Join(d.dataDir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: %v", pattern, files)
			if len(files) == 0 && pattern == "*.sst" {
				continue // nothing was flushed yet
			}
			damage(t, files[len(files)-1], func() {
				refused(t, exitUsage, filepath.Base(files[len(files)-1]), d.command()...)
			})
		}
		d.Start() // whole again
		if got := q.Counts(); got != [3]string{"200", "0", "0"} {
			t.Errorf("counts %v after the repair", got)
		}
	})
}

// damage overwrites the middle of a file while f runs.
func damage(t *testing.T, file string, f func()) {
	t.Helper()
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := append([]byte(nil), whole...)
	for i := len(broken) / 3; i < len(broken)/3+64 && i < len(broken); i++ {
		broken[i] ^= 0x5a
	}
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	f()
	if err := os.WriteFile(file, whole, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFileLimit is a disk that takes no more, as the operating system tells it:
// with a limit on the size of files a write of the store fails. What was
// answered before is there afterwards.
func TestFileLimit(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "data")
	log := &tail{}
	// The shell's unit is 512 bytes or 1024, depending on the shell: the limit is
	// below the size of the store's log either way.
	p, err := launchCommand(t, "limited", log, "/bin/sh", "-c", `ulimit -f 8192 && exec "$@"`, "sh", binary,
		"serve", "--data-dir", dir, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--topic-listen", "127.0.0.1:0", "--request-timeout", "3s")
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	defer p.kill()
	d := &Deployment{t: t, dataDir: dir}
	d.set(&d.gateway, p)
	q := d.Actions(t, jsonProtocol).Create(t, "limited")
	sent := map[string]bool{}
	for i := range 200 {
		body := fmt.Sprint(i, " ", strings.Repeat("x", 200_000))
		out, err := q.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: q.URL, MessageBody: &body})
		if err != nil {
			if code := errorCode(err); code != "ServiceUnavailable" && !strings.Contains(code, "connection") && !strings.Contains(code, "EOF") {
				t.Errorf("send %d: %v", i, err)
			}
			break
		}
		sent[aws.ToString(out.MessageId)] = true
	}
	if len(sent) == 200 {
		t.Fatal("the limit was not reached")
	}
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		t.Fatalf("the process goes on after its store has failed\n%s", log)
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(log.String(), "store has failed") {
		t.Errorf("%v, want status 1 and the reason; it said\n%s", p.cmd.ProcessState, log)
	}
	d.set(&d.gateway, nil)
	d.StartGateway() // without the limit
	defer d.Kill()
	t.Logf("%d sends were answered before the limit", len(sent))
	for deadline := time.Now().Add(20 * time.Second); len(sent) > 0; {
		for _, m := range q.Receive(10, 1) {
			delete(sent, aws.ToString(m.MessageId))
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are lost", len(sent))
		}
	}
}
