//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/ydb-platform/ydb-go-sdk/v3/topic/topictypes"

	"sqsgate/worker"
)

// workerQueue is the variable that makes this test binary a worker process, for
// the queue of that URL.
const workerQueue = "SQSGATE_E2E_WORKER"

// workerProcess handles messages until it is killed, and writes a line for each
// one handled, before that is acknowledged.
func workerProcess(url string) int {
	client := sqs.New(sqs.Options{
		Region: "us-east-1", BaseEndpoint: aws.String(url[:strings.LastIndex(url, "/000000000000/")]),
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	var mu sync.Mutex
	w, err := worker.New(worker.Options{
		Client: client, QueueURL: url, Concurrency: 4, Wait: time.Second,
		Handler: func(ctx context.Context, m worker.Message) worker.Outcome {
			rest(ctx, 5*time.Millisecond)
			body, err := m.Decode()
			if ctx.Err() != nil {
				return worker.Unfinished()
			}
			line, _, _ := strings.Cut(string(body), " ")
			if err != nil {
				line = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			if _, err := fmt.Fprintln(os.Stdout, line); err != nil {
				return worker.Unfinished()
			}
			return worker.Ack()
		},
	})
	if err == nil {
		err = w.Run(context.Background())
	}
	fmt.Fprintln(os.Stderr, "the worker ended:", err)
	return 1
}

// handled is what worker processes have handled of a FIFO queue.
type handled struct {
	mu    sync.Mutex
	next  map[string]int  // by group
	again map[string]bool // the last one may come again: a process was killed meanwhile
	count int
	wrong []string
}

func (h *handled) note(line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	group, number, _ := strings.Cut(line, "/")
	n, err := strconv.Atoi(number)
	switch {
	case err == nil && n == h.next[group]:
		h.next[group]++
		h.count++
	case err == nil && n == h.next[group]-1 && h.again[group]:
	default:
		h.wrong = append(h.wrong, fmt.Sprintf("handled %q, want %d of its group", line, h.next[group]))
	}
	h.again[group] = false
}

func (h *handled) killed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for group := range h.next {
		h.again[group] = true
	}
}

// atLeast tells whether so many were handled, or something is wrong.
func (h *handled) atLeast(count int) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count >= count || len(h.wrong) > 0
}

// startWorker starts a worker process. kill is SIGKILL; it returns when all that
// the process has written is noted.
func startWorker(t *testing.T, url string, h *handled) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = append(os.Environ(), workerQueue+"="+url), os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			h.note(lines.Text())
		}
	}()
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // fails only when it has gone already
		<-read
		_ = cmd.Wait() // says that it was killed
		h.killed()
	})
	t.Cleanup(kill)
	return kill
}

// TestWorkerKilled: worker processes are killed while they handle a FIFO queue that
// clients of both APIs write. Every message is handled, in the order of its group,
// and only what had not been acknowledged at a kill is handled again.
func TestWorkerKilled(t *testing.T) {
	eachDeployment(t, func(t *testing.T, d *Deployment) {
		q := d.Actions(t, jsonProtocol).Create(t, "work.fifo", attributes{"VisibilityTimeout": "3", "YdbMinActivePartitions": "3"})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l := &mixedLoad{t: t, db: d.YDB(t), topic: "work.fifo", fifo: true}
		l.sendBatches(ctx, q, "batches", 200)
		l.sendSingly(ctx, q, "singly", 40)
		l.writeTopic(ctx, "gzip", topictypes.CodecGzip, 0, 60)
		l.writeTopic(ctx, "lzop", topictypes.CodecLzop, 5, 100)
		l.writeTopic(ctx, "zstd", topictypes.CodecZstd, 10, 200)

		h := &handled{next: map[string]int{}, again: map[string]bool{}}
		const all = 600
		for _, enough := range []int{150, 350} {
			kill := startWorker(t, *q.URL, h)
			eventually(t, topicTimeout, fmt.Sprintf("%d messages are handled", enough), func() bool { return h.atLeast(enough) })
			kill()
		}
		kill := startWorker(t, *q.URL, h)
		eventually(t, topicTimeout, "all messages are handled", func() bool { return h.atLeast(all) })
		l.wait(cancel)
		eventually(t, topicTimeout, "the queue is empty", func() bool { return q.Counts() == [3]string{"0", "0", "0"} })
		kill()
		if written := l.written.Load(); written != all || h.count != all {
			t.Errorf("%d written and %d handled, want %d", written, h.count, all)
		}
		for _, wrong := range h.wrong {
			t.Error(wrong)
		}
	})
}
