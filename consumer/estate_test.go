package consumer_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sqsgate/consumer"
)

// hidden is a message whose deduplication id the server does not look at, as a
// gateway writes it that has been standing still.
func hidden(body, group string) message {
	return message{body: body, group: group, deduplication: "d", private: true}
}

func (s *stack) perGroup() *consumer.Queue {
	of := spec(true)
	of.Settings.DeduplicationPerGroup = true
	return s.c.Queue(of)
}

// goOnWith are ways in which a partition gets another reader, or none.
var goOnWith = map[string]func(s *stack){
	"as it is": func(*stack) {},
	"stop":     (*stack).restart,
	"crash":    (*stack).crash,
}

// A copy that got into a child partition is a duplicate of what is in the
// parent, whoever reads the two, and whatever has become of the first.
func TestDuplicateAfterASplit(t *testing.T) {
	for name, goOn := range goOnWith {
		for _, parent := range []string{"in flight", "done before", "done after"} {
			t.Run(parent+", "+name, func(t *testing.T) {
				splitting(t, func(t *testing.T, s *stack) {
					s.write(0, hidden("m", "g"))
					q := s.perGroup()
					m := s.want(q, "m")["m"]
					if parent == "done before" {
						s.delete(q, m)
						after(t, 2*time.Second) // committed
						goOn(s)
					}
					s.must(s.control.Split(topic, 0))
					s.must(s.control.Split(topic, 1))
					s.write(3, hidden("copy", "g"), message{body: "next", group: "h", deduplication: "e"})
					q = s.perGroup()
					s.delete(q, s.want(q, "next")["next"])
					if parent != "done before" {
						goOn(s)
						q = s.perGroup()
						s.hide(q, m, 0)
						s.delete(q, s.want(q, "m")["m"])
					}
					s.wantNone(q, 4*time.Minute)
					goOn(s)
					q = s.perGroup()
					s.wantNone(q, 10*time.Second)
					after(t, time.Minute)
					s.write(3, hidden("later", "g")) // the window is over
					s.delete(q, s.want(q, "later")["later"])
					s.wantCounts(q, 0, 0, 0)
				})
			})
		}
	}
}

// A message that was itself a duplicate does not count as the first of its id,
// in its children neither, though the first is out of the window.
func TestDuplicateOfADuplicateAfterASplit(t *testing.T) {
	for name, goOn := range goOnWith {
		t.Run(name, func(t *testing.T) {
			splitting(t, func(t *testing.T, s *stack) {
				s.write(0, hidden("first", "g"))
				q := s.perGroup()
				s.delete(q, s.want(q, "first")["first"])
				after(t, 4*time.Minute)
				s.write(0, hidden("copy", "g"))
				s.wantNone(q, 2*time.Second)
				goOn(s)
				s.must(s.control.Split(topic, 0))
				after(t, time.Minute)
				s.write(1, hidden("second", "g"))
				q = s.perGroup()
				s.delete(q, s.want(q, "second")["second"])
				goOn(s)
				q = s.perGroup()
				s.write(1, hidden("copy of the second", "g"))
				s.wantNone(q, time.Minute)
			})
		})
	}
}

// A purge forgets the ids of what it removed, for the children too: those there
// are, and those to come.
func TestPurgeForgetsIDsOverASplit(t *testing.T) {
	for name, goOn := range goOnWith {
		for _, when := range []string{"before the split", "after the split", "before the second split"} {
			t.Run(when+", "+name, func(t *testing.T) {
				splitting(t, func(t *testing.T, s *stack) {
					s.write(0, hidden("purged", "g"))
					q := s.perGroup()
					s.want(q, "purged")
					if when == "before the split" {
						s.must(q.Purge(t.Context()))
						after(t, 2*time.Second)
						goOn(s)
						q = s.perGroup()
					}
					s.must(s.control.Split(topic, 0))
					after(t, time.Second)
					if when == "after the split" {
						s.wantCounts(q, 0, 1, 0)
						s.must(q.Purge(t.Context()))
					}
					if when == "before the second split" {
						s.write(1, message{body: "kept", group: "h", deduplication: "e"})
						s.want(q, "kept")
						s.must(q.Purge(t.Context()))
						after(t, 2*time.Second)
						goOn(s)
						q = s.perGroup()
						s.wantCounts(q, 0, 0, 0)
					}
					s.must(s.control.Split(topic, 1))
					goOn(s)
					q = s.perGroup()
					c, err := q.Claim(t.Context(), []consumer.DeduplicationID{{ID: "d", Group: "g"}})
					if err != nil || c[0].Duplicate {
						t.Fatalf("the purged id: %+v, %v", c, err)
					}
					if !q.PrivateDeduplication() {
						t.Error("the server would refuse the id")
					}
					at := s.write(3, hidden("new", "g"))
					q.Settle(c, []consumer.Written{{Partition: 3, Offset: at}})
					goOn(s)
					q = s.perGroup()
					s.delete(q, s.want(q, "new")["new"])
					s.write(3, hidden("copy", "g"))
					goOn(s)
					q = s.perGroup()
					s.wantNone(q, time.Minute)
				})
			})
		}
	}
}

// A purge reaches the children that were not there when it began. One that was told
// of it, and could not write that down before the power failed, learns of it again.
func TestPurgeDuringASplit(t *testing.T) {
	for _, crash := range []bool{false, true} {
		t.Run(fmt.Sprintf("crash: %v", crash), func(t *testing.T) {
			splitting(t, func(t *testing.T, s *stack) {
				s.write(0, hidden("purged", "g"))
				q := s.perGroup()
				s.want(q, "purged")
				s.control.Delay("DescribeConsumer", 1, 5*time.Second)
				done := make(chan error, 1)
				go func() { done <- q.Purge(t.Context()) }()
				after(t, time.Second)
				s.must(s.control.Split(topic, 0))
				after(t, time.Second) // the children have inherited
				s.must(<-done)
				if crash {
					s.crash()
				}
				s.write(1, hidden("new", "g"))
				wait := time.Minute
				if crash {
					q, wait = s.perGroup(), 20*time.Second
				}
				if got := bodies(s.receive(q, wait)); !slices.Equal(got, []string{"new"}) {
					t.Errorf("received %v, want what was sent after the purge", got)
				}
			})
		})
	}
}

// A purge forgets the ids of partitions that are finished, too.
func TestPurgeForgetsIDsOfFinishedPartitions(t *testing.T) {
	for name, goOn := range goOnWith {
		t.Run(name, func(t *testing.T) {
			splitting(t, func(t *testing.T, s *stack) {
				s.write(0, hidden("done", "g"))
				q := s.perGroup()
				s.delete(q, s.want(q, "done")["done"])
				after(t, 2*time.Second)
				s.must(s.control.Split(topic, 0))
				goOn(s)
				q = s.perGroup()
				s.wantNone(q, 2*time.Second)
				s.must(q.Purge(t.Context()))
				goOn(s)
				q = s.perGroup()
				s.write(1, hidden("new", "g"))
				s.delete(q, s.want(q, "new")["new"])
				s.write(1, hidden("copy", "g"))
				goOn(s)
				q = s.perGroup()
				s.wantNone(q, time.Minute)
			})
		})
	}
}

// A purge leaves the ids of what was sent after it, also when all of that has been
// done with since, and the partition too.
func TestPurgeInTheMiddleOfAParent(t *testing.T) {
	for name, goOn := range goOnWith {
		for _, done := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, parent done: %v", name, done), func(t *testing.T) {
				splitting(t, func(t *testing.T, s *stack) {
					s.write(0, message{body: "purged", group: "h", deduplication: "e", private: true})
					q := s.perGroup()
					s.want(q, "purged")
					s.must(q.Purge(t.Context()))
					s.write(0, hidden("kept", "g"))
					kept := s.want(q, "kept")["kept"]
					if done {
						s.delete(q, kept)
						after(t, 2*time.Second)
						goOn(s)
					}
					s.must(s.control.Split(topic, 0))
					after(t, time.Second)
					s.write(1, hidden("copy", "g"), message{body: "new", group: "h", deduplication: "e", private: true})
					goOn(s)
					q = s.perGroup()
					s.delete(q, s.want(q, "new")["new"])
					s.wantNone(q, 10*time.Second)
				})
			})
		}
	}
}
