package partition

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
	"go.uber.org/goleak"

	"sqsgate/codec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	standard = Topic{Path: "/local/q"}
	fifo     = Topic{Path: "/local/q.fifo", FIFO: true}
)

func newPool(t *testing.T, s *scripted, o Options) *Pool {
	t.Helper()
	o.Topics = s.client()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func closePool(t *testing.T, p *Pool) {
	t.Helper()
	if err := p.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

func message(group, body string) Message {
	return Message{Group: group, Record: codec.Record{Codec: codec.Raw, Data: []byte(body)}}
}

func one(ctx context.Context, p *Pool, t Topic, group, body string) Result {
	return p.Write(ctx, t, []Message{message(group, body)})[0]
}

func TestWriteBatchKeepsOrderAndPlaces(t *testing.T) {
	mid := []byte{0x80}
	s := newScripted(Info{ID: 0, Active: true, To: mid}, Info{ID: 1, Active: true, From: mid})
	p := newPool(t, s, Options{})
	defer closePool(t, p)
	var batch []Message
	for i := range 10 {
		batch = append(batch, message(fmt.Sprintf("message_group_id_%d", 1+i%2), fmt.Sprint(i)))
	}
	batch[3].Record.Metadata = []codec.Item{{Key: "k", Value: []byte("v")}}
	batch[4].Record.Codec = codec.Envelope
	for i, r := range p.Write(t.Context(), standard, batch) {
		s.check(t, r, fmt.Sprint(i))
		if want := int64(i % 2); r.Partition != want {
			t.Errorf("message %d went to partition %d, want %d", i, r.Partition, want)
		}
		if want := int64(i / 2); r.Offset != want {
			t.Errorf("message %d got offset %d, want %d", i, r.Offset, want)
		}
	}
	if item := s.parts[1].log[1].data.GetMetadataItems(); len(item) != 1 || item[0].GetKey() != "k" || string(item[0].GetValue()) != "v" {
		t.Errorf("metadata %v", item)
	}
	if c := s.parts[0].log[2].codec; c != codec.Envelope {
		t.Errorf("codec %d", c)
	}
}

func TestWriteWithoutGroupSpreads(t *testing.T) {
	s := newScripted(Info{ID: 0, Active: true}, Info{ID: 1, Active: true}, Info{ID: 2, Active: true})
	p := newPool(t, s, Options{})
	defer closePool(t, p)
	for i := range 9 {
		s.check(t, one(t.Context(), p, standard, "", fmt.Sprint(i)), fmt.Sprint(i))
	}
	for id := range int64(3) {
		if n := len(s.bodies(id)); n != 3 {
			t.Errorf("partition %d got %d of 9", id, n)
		}
	}
}

// A stream that breaks after the server has stored the messages leaves them
// without offsets: they are found by reading.
func TestStreamLostAfterDurable(t *testing.T) {
	for name, loss := range map[string]error{"grpc": errNetworkLoss, "restart": errRestart, "takeover": errKilled} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(Info{ID: 0, Active: true})
				p := newPool(t, s, Options{})
				s.check(t, one(t.Context(), p, standard, "g", "first"), "first")
				lost := 0
				s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
					if lost++; lost == 1 {
						return fate{after: loss}
					}
					return fate{}
				}
				results := p.Write(t.Context(), standard, []Message{message("g", "a"), message("g", "b")})
				s.check(t, results[0], "a")
				s.check(t, results[1], "b")
				s.check(t, one(t.Context(), p, standard, "g", "c"), "c")
				if got := fmt.Sprint(s.bodies(0)); got != "[first a b c]" {
					t.Errorf("log %s", got)
				}
				closePool(t, p)
			})
		})
	}
}

// A stream that breaks before anything was stored has the messages sent again
// under the same producer id and seqnos.
func TestStreamLostBeforeDurable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		lost := 0
		var seqs []int64
		s.onWrite = func(_ string, r *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
			seqs = append(seqs, r.GetMessages()[0].GetSeqNo())
			if lost++; lost <= 3 {
				return fate{before: []error{errNetworkLoss, errBusy, errRestart}[lost-1]}
			}
			return fate{}
		}
		s.check(t, one(t.Context(), p, standard, "g", "a"), "a")
		if fmt.Sprint(seqs) != "[1 1 1 1]" {
			t.Errorf("seqnos %v", seqs)
		}
		for _, producer := range s.opened {
			if producer != s.opened[0] {
				t.Errorf("producer ids %v", s.opened)
			}
		}
		closePool(t, p)
	})
}

func TestDeadlineWhileServerIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		down := true
		s.onOpen = func(int64) error {
			if down {
				return errRestart
			}
			return nil
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		if r := one(ctx, p, standard, "g", "given up"); !errors.Is(r.Err, ErrUnavailable) {
			t.Errorf("got %v", r.Err)
		}
		if d := time.Since(start); d != 5*time.Second {
			t.Errorf("took %v", d)
		}
		s.mu.Lock()
		down = false
		s.mu.Unlock()
		s.check(t, one(t.Context(), p, standard, "g", "next"), "next")
		// What its caller has given up before it was sent is never sent.
		if got := fmt.Sprint(s.bodies(0)); got != "[next]" {
			t.Errorf("log %s", got)
		}
		closePool(t, p)
	})
}

// The request under way meets the split; the ones behind it wait, and so do
// those that come while the lane still asks what became of it.
func TestSplitMovesMessagesInOrder(t *testing.T) {
	for _, stored := range []bool{false, true} {
		t.Run(fmt.Sprintf("stored=%v", stored), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScripted(Info{ID: 0, Active: true})
				p := newPool(t, s, Options{})
				s.check(t, one(t.Context(), p, standard, "g", "0"), "0")
				write, read := make(chan struct{}), make(chan struct{})
				first := true
				s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
					if !first {
						return fate{}
					}
					first = false
					<-write
					if stored {
						return fate{after: errNetworkLoss}
					}
					return fate{before: errInactive}
				}
				var reading atomic.Bool
				s.mu.Lock()
				s.onRead = func() { reading.Store(true); <-read }
				s.mu.Unlock()
				done := make(chan Result, 7)
				send := func(i int) {
					go func() {
						r := one(t.Context(), p, standard, "g", fmt.Sprint(i))
						s.check(t, r, fmt.Sprint(i))
						done <- r
					}()
					synctest.Wait()
				}
				for i := 1; i <= 5; i++ {
					send(i)
				}
				if stored {
					close(write) // the parent splits before the lane is back
					synctest.Wait()
					s.split(0, []byte{0x80}, 1, 2)
				} else {
					s.split(0, []byte{0x80}, 1, 2)
					close(write)
				}
				<-time.After(time.Second)
				if !reading.Load() {
					t.Fatal("nothing is looked up")
				}
				send(6)
				send(7)
				close(read)
				depths := map[int64]int{}
				for range 7 {
					r := <-done
					depths[r.Partition] = r.Depth
				}
				m, err := p.Map(t.Context(), standard.Path)
				if err != nil {
					t.Fatal(err)
				}
				id, _ := m.ForGroup("g")
				want := "[0] [1 2 3 4 5 6 7]"
				if stored {
					want = "[0 1] [2 3 4 5 6 7]"
				}
				if got := fmt.Sprint(s.bodies(0), s.bodies(id)); got != want {
					t.Errorf("logs %s, want %s", got, want)
				}
				if depths[id] != 1 {
					t.Errorf("depths %v", depths)
				}
				closePool(t, p)
			})
		})
	}
}

func TestRepeatedContentGetsFirstOffset(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		with := func(body string) []Message {
			m := message("g", body)
			m.Record.Metadata = []codec.Item{{Key: contentKey, Value: []byte("id-1")}}
			return []Message{m}
		}
		one(t.Context(), p, standard, "g", "before")
		first := p.Write(t.Context(), standard, with("x"))[0]
		s.check(t, first, "x")
		one(t.Context(), p, standard, "g", "between")
		if again := p.Write(t.Context(), standard, with("y"))[0]; again != first {
			t.Errorf("got %+v, want %+v", again, first)
		}
		closePool(t, p)
	})
}

func TestRefusedMessageFailsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		s.onWrite = func(_ string, r *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
			for _, m := range r.GetMessages() {
				if string(m.GetData()) == "bad" {
					return fate{before: errRefused}
				}
			}
			return fate{}
		}
		results := p.Write(t.Context(), standard, []Message{message("g", "a"), message("g", "bad"), message("g", "b")})
		s.check(t, results[0], "a")
		s.check(t, results[2], "b")
		if err := results[1].Err; err == nil || errors.Is(err, ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if got := fmt.Sprint(s.bodies(0)); got != "[a b]" {
			t.Errorf("log %s", got)
		}
		closePool(t, p)
	})
}

func TestTopicGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		s.check(t, one(t.Context(), p, standard, "g", "a"), "a")
		s.mu.Lock()
		s.missing = true
		s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate { return fate{before: errNoTopic} }
		s.mu.Unlock()
		if r := one(t.Context(), p, standard, "g", "b"); !errors.Is(r.Err, ErrTopicGone) {
			t.Errorf("got %v", r.Err)
		}
		if _, err := p.Map(t.Context(), standard.Path); !errors.Is(err, ErrTopicGone) {
			t.Errorf("got %v", err)
		}
		s.mu.Lock()
		s.missing, s.onWrite = false, nil
		s.mu.Unlock()
		s.check(t, one(t.Context(), p, standard, "g", "c"), "c")
		closePool(t, p)
	})
}

func TestForgetFailsWhatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
			return fate{hold: make(chan struct{})}
		}
		done := make(chan Result)
		go func() { done <- one(t.Context(), p, standard, "g", "a") }()
		synctest.Wait()
		p.Forget(standard.Path)
		if r := <-done; !errors.Is(r.Err, ErrTopicGone) {
			t.Errorf("got %v", r.Err)
		}
		closePool(t, p)
	})
}

func TestQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{MaxQueuedBytes: 3 * (messageOverhead + 1)})
		gate := make(chan struct{})
		s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate { return fate{hold: gate} }
		done := make(chan []Result)
		go func() {
			done <- p.Write(t.Context(), standard, []Message{message("g", "1"), message("g", "2"), message("g", "3"), message("g", "4")})
		}()
		synctest.Wait()
		if r := one(t.Context(), p, standard, "h", "5"); !errors.Is(r.Err, ErrOverloaded) {
			t.Errorf("got %v", r.Err)
		}
		close(gate)
		results := <-done
		s.check(t, results[2], "3")
		if !errors.Is(results[3].Err, ErrOverloaded) {
			t.Errorf("got %v", results[3].Err)
		}
		s.check(t, one(t.Context(), p, standard, "h", "6"), "6")
		closePool(t, p)
	})
}

func TestCloseFlushes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		gate := make(chan struct{})
		s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate { return fate{hold: gate} }
		done := make(chan Result)
		go func() { done <- one(t.Context(), p, standard, "g", "a") }()
		synctest.Wait()
		closed := make(chan error, 2)
		for range 2 {
			go func() { closed <- p.Close(context.Background()) }()
		}
		synctest.Wait()
		if r := one(t.Context(), p, standard, "g", "late"); !errors.Is(r.Err, ErrUnavailable) {
			t.Errorf("got %v", r.Err)
		}
		close(gate)
		s.check(t, <-done, "a")
		for range 2 {
			if err := <-closed; err != nil {
				t.Error(err)
			}
		}
	})
}

func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		s.onWrite = func(string, *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
			return fate{hold: make(chan struct{})}
		}
		done := make(chan Result)
		go func() { done <- one(t.Context(), p, standard, "g", "a") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := p.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if r := <-done; !errors.Is(r.Err, ErrUnavailable) {
			t.Errorf("got %v", r.Err)
		}
	})
}

func TestIdleSessionEndsAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{IdleTimeout: time.Minute})
		s.check(t, one(t.Context(), p, standard, "g", "a"), "a")
		running := func() bool {
			p.mu.RLock()
			defer p.mu.RUnlock()
			t, ok := p.byPath[standard.Path]
			return ok && !t.writers[0].idle()
		}
		<-time.After(59 * time.Second)
		if !running() {
			t.Error("the session ended early")
		}
		<-time.After(2 * time.Second)
		synctest.Wait()
		if running() {
			t.Error("the session is still open")
		}
		s.check(t, one(t.Context(), p, standard, "g", "b"), "b")
		if len(s.opened) != 2 || s.opened[0] != s.opened[1] {
			t.Errorf("sessions %v", s.opened)
		}
		<-time.After(5 * time.Minute)
		synctest.Wait()
		if n := len(p.byPath); n != 0 {
			t.Errorf("%d topics kept", n)
		}
		s.check(t, one(t.Context(), p, standard, "g", "c"), "c")
		closePool(t, p)
	})
}

func TestThrottle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{FIFORate: 10, ThrottleWait: 200 * time.Millisecond})
		start := time.Now()
		var batch []Message
		for i := range 14 {
			batch = append(batch, message("g", fmt.Sprint(i)))
		}
		for i, r := range p.Write(t.Context(), fifo, batch) {
			if i < 12 { // ten at once, two more within 200 ms
				s.check(t, r, fmt.Sprint(i))
			} else if !errors.Is(r.Err, ErrThrottled) {
				t.Errorf("message %d: %v", i, r.Err)
			}
		}
		if d := time.Since(start); d != 200*time.Millisecond {
			t.Errorf("waited %v", d)
		}
		// The rate belongs to FIFO topics alone.
		for i, r := range p.Write(t.Context(), standard, batch) {
			s.check(t, r, fmt.Sprint(i))
		}
		closePool(t, p)
	})
}

func TestAccessDenied(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		s.onOpen = func(int64) error { return errDenied }
		if r := one(t.Context(), p, standard, "g", "a"); r.Err == nil || errors.Is(r.Err, ErrUnavailable) {
			t.Errorf("got %v", r.Err)
		}
		closePool(t, p)
	})
}

// While a request is under way the next one grows; on a far server it still
// leaves before the first is answered.
func TestRequestsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const far = 10 * time.Millisecond
		s := newScripted(Info{ID: 0, Active: true})
		p := newPool(t, s, Options{})
		s.check(t, one(t.Context(), p, standard, "g", "first"), "first")
		var sizes []int
		s.mu.Lock()
		s.onWrite = func(_ string, r *Ydb_Topic.StreamWriteMessage_WriteRequest) fate {
			sizes = append(sizes, len(r.GetMessages()))
			answer := make(chan struct{})
			time.AfterFunc(far, func() { close(answer) })
			return fate{hold: answer}
		}
		s.mu.Unlock()
		done := make(chan Result, 101)
		start := time.Now()
		for i := range 101 {
			go func() { done <- one(t.Context(), p, standard, "g", fmt.Sprint(i)) }()
			if i == 0 {
				synctest.Wait()
			}
		}
		for range 101 {
			if r := <-done; r.Err != nil {
				t.Error(r.Err)
			}
		}
		if got := fmt.Sprint(sizes); got != "[1 100]" {
			t.Errorf("requests of %s messages", got)
		}
		// The scripted server answers one request after the other.
		if d := time.Since(start); d != 2*far {
			t.Errorf("took %v", d)
		}
		closePool(t, p)
	})
}
