package consumer_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"sqsgate/consumer"
	"sqsgate/internal/logread"
	"sqsgate/partition"
)

const dead = "/local/dead"

// movingTo lets the stack's consumer move messages, and makes a dead-letter topic.
func (s *stack) moving(t *testing.T) {
	t.Helper()
	s.createTopic(dead, 1)
	pool, err := partition.New(partition.Options{Topics: s.conn.Topics()})
	s.must(err)
	t.Cleanup(func() { s.must(pool.Close(context.Background())) })
	s.closeConsumer(s.c)
	s.options.Sequence = func(topic, producer string) consumer.SequenceWriter {
		return moves{pool.Sequence(topic, producer)}
	}
	s.c = s.another("moving")
}

// oneReceive is the queue with a redrive policy that lets a message be received
// once.
func oneReceive() consumer.Spec {
	of := spec(false)
	of.Settings.MaxReceiveCount = 1
	of.Settings.DeadLetterTopic, of.Settings.DeadLetterConsumer = dead, shared
	return of
}

// stored reads the bodies of a topic's only partition.
func (s *stack) stored(t *testing.T, path string) []string {
	t.Helper()
	reader, err := logread.Open(t.Context(), s.conn.Topics(), logread.Request{Path: path, Credit: 1 << 20})
	s.must(err)
	defer reader.Close()
	var list []string
	for _, end := reader.Bounds(); int64(len(list)) < end; {
		messages, cost, err := reader.Read()
		s.must(err)
		for _, m := range messages {
			list = append(list, string(m.Data))
		}
		reader.Grant(cost)
	}
	return list
}

// The dead letters of a queue that was deleted and made again are no copies of those
// of the deleted one, though they have the same places, and so the same message ids.
func TestDeadLettersOfAQueueMadeAgain(t *testing.T) {
	bubble(t, 1, func(t *testing.T, s *stack) {
		s.moving(t)
		of := oneReceive()
		of.FIFO = true
		for i, body := range []string{"of the first", "of the second"} {
			if i > 0 {
				s.dropTopic(topic)
				s.must(s.c.Drop(t.Context(), topic, shared))
				s.createTopic(topic, 1)
				of.Incarnation++
			}
			s.write(0, message{body: body, group: "g", deduplication: body})
			q := s.c.Queue(of)
			s.hide(q, s.want(q, body)[body], 0)
			s.wantNone(q, time.Second)
		}
		if got := s.stored(t, dead); !slices.Equal(got, []string{"of the first", "of the second"}) {
			t.Errorf("the dead-letter queue holds %q", got)
		}
	})
}

// A journal that was dropped under a living queue takes no dead letter with it:
// the next moves are not taken for repeats of the old ones.
func TestDroppedJournal(t *testing.T) {
	for name, goOn := range map[string]func(s *stack){
		"while it serves": func(*stack) {},
		"restarted":       (*stack).restart,
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, s *stack) {
				s.moving(t)
				var want []string
				for round, bodies := range [][]string{{"a", "b", "c"}, {"d", "e"}, {"f"}} {
					if round > 0 {
						s.dropTopic(journalPath())
						goOn(s)
					}
					q := s.c.Queue(oneReceive())
					s.write(0, plain(bodies...)...)
					for deadline := time.Now().Add(10 * time.Minute); len(s.stored(t, dead)) < len(want)+len(bodies); {
						if time.Now().After(deadline) {
							t.Fatalf("dead letters %v after round %d", s.stored(t, dead), round)
						}
						got, err := q.Receive(t.Context(), consumer.ReceiveRequest{Max: 10, Visibility: time.Second, Wait: time.Second})
						if err != nil {
							t.Logf("receive: %v", err)
						}
						_ = got // what was received once is moved when its lease is over
						after(t, time.Second)
					}
					want = append(want, bodies...)
					after(t, 5*time.Second) // committed
				}
				got := s.stored(t, dead)
				slices.Sort(got)
				if !slices.Equal(got, want) {
					t.Errorf("dead letters %v, want %v", got, want)
				}
			})
		})
	}
}

// A move that may have been written is repeated to where it was written, though
// the redrive policy names another queue by then, or none.
func TestRedrivePolicyChangesUnderAMove(t *testing.T) {
	const other = "/local/other"
	topics := map[uint64]string{consumer.TargetOf("dead"): dead, consumer.TargetOf("other"): other}
	to := func(name string) func(*consumer.Settings) {
		return func(s *consumer.Settings) {
			s.DeadLetterTarget = consumer.TargetOf(name)
			s.DeadLetterTopic, s.DeadLetterConsumer = topics[s.DeadLetterTarget], shared
		}
	}
	for name, change := range map[string]func(*consumer.Settings){
		"another queue": to("other"),
		"none":          func(s *consumer.Settings) { s.DeadLetterTopic, s.MaxReceiveCount, s.DeadLetterTarget = "", 0, 0 },
	} {
		for way, goOn := range map[string]func(s *stack){"as it is": func(*stack) {}, "stop": (*stack).restart} {
			t.Run(name+", "+way, func(t *testing.T) {
				bubble(t, 1, func(t *testing.T, s *stack) {
					s.options.Resolve = func(target uint64, _ string) (consumer.Destination, bool) {
						return consumer.Destination{Topic: topics[target], Consumer: shared}, topics[target] != ""
					}
					s.moving(t)
					s.createTopic(other, 1)
					before, changed := oneReceive(), oneReceive()
					to("dead")(&before.Settings)
					change(&changed.Settings)
					q := s.c.Queue(before)
					s.write(0, plain("m")...)
					s.hide(q, s.want(q, "m")["m"], 0)
					release := s.control.HoldAcks(dead)
					s.wantNone(q, time.Second) // the message is in its target, but nobody knows
					s.c.Queue(changed)
					s.control.KillSessions(dead)
					release()
					goOn(s)
					q = s.c.Queue(changed)
					s.wantNone(q, 15*time.Minute)
					s.wantCounts(q, 0, 0, 0)
					if got := append(s.stored(t, dead), s.stored(t, other)...); !slices.Equal(got, []string{"m"}) {
						t.Errorf("the two dead-letter queues hold %v", got)
					}
				})
			})
		}
	}
}
