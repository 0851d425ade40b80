package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"sqsgate/codec"
	"sqsgate/gateway"
	"sqsgate/gateway/catalog"
	"sqsgate/partition"
)

// catalogLog is the topic of the catalogue's records.
const catalogLog = "/local/sqsgate/catalog"

// fill puts the records of many queues into the log, as another gateway would:
// their topics do not matter for what is listed. Every tenth has the dead-letter
// queue q00000.
func (s *stack) fill(queues int) {
	s.t.Helper()
	for from := 0; from < queues; from += 1000 {
		messages := make([]partition.Message, 0, 1000)
		for i := from; i < min(from+1000, queues); i++ {
			set := ""
			if i%10 == 1 {
				set = `,"set":{"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:q00000\",\"maxReceiveCount\":3}"}`
			}
			record := fmt.Sprintf(`{"v":1,"op":"create","name":"q%05d","incarnation":"%d","bound":true%s}`, i, i+1, set)
			messages = append(messages, partition.Message{Record: codec.Record{Codec: codec.Raw, Data: []byte(record)}})
		}
		for _, r := range s.pool.Write(s.t.Context(), partition.Topic{Path: catalogLog}, messages) {
			must(s.t, r.Err)
		}
	}
}

// eventually polls until yes, for 10 s at most.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	timeout := time.After(10 * time.Second)
	for !yes() {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatalf("never %s", what)
		}
	}
}

// pages follows the tokens of a list and returns all names.
func (s *stack) pages(action, list string, params object) (names []string, calls int) {
	s.t.Helper()
	for {
		got := s.call(action, params)
		urls, _ := got[list].([]any)
		for _, u := range urls {
			names = append(names, text(u)[strings.LastIndexByte(text(u), '/')+1:])
		}
		calls++
		if params["NextToken"] = got["NextToken"]; params["NextToken"] == nil {
			return names, calls
		}
	}
}

func TestTenThousandQueues(t *testing.T) {
	t.Parallel()
	const queues = 10000
	var known *catalog.Catalog
	s := newStack(t, func(o *gateway.Options) { known = o.Catalog })
	s.call("ListQueues", object{}) // the catalogue has been read
	s.fill(queues)
	eventually(t, "all queues are known", func() bool { return len(known.List("", "", queues+1)) == queues })

	got := s.call("ListQueues", object{})
	if urls, _ := got["QueueUrls"].([]any); len(urls) != 1000 || got["NextToken"] != nil {
		t.Errorf("without MaxResults: %d queues, token %v", len(urls), got["NextToken"])
	}
	names, calls := s.pages("ListQueues", "QueueUrls", object{"MaxResults": 300})
	if len(names) != queues || calls != 34 || !slices.IsSorted(names) || len(slices.Compact(names)) != queues {
		t.Errorf("%d names in %d pages, sorted %v", len(names), calls, slices.IsSorted(names))
	}
	if names, _ := s.pages("ListQueues", "QueueUrls", object{"MaxResults": 1000, "QueueNamePrefix": "q012"}); len(names) != 100 {
		t.Errorf("%d names with the prefix", len(names))
	}
	sources, calls := s.pages("ListDeadLetterSourceQueues", "queueUrls", object{"QueueUrl": "q00000", "MaxResults": 400})
	if len(sources) != queues/10 || calls != 3 || sources[0] != "q00001" || !slices.IsSorted(sources) {
		t.Errorf("%d sources in %d pages", len(sources), calls)
	}

	// What has been read once is listed while the log is out of reach.
	s.control.Fail("StreamRead", 1000, Ydb.StatusIds_UNAVAILABLE)
	s.control.KillSessions(catalogLog)
	eventually(t, "the log is lost", func() bool { return known.Ready() != nil })
	if names, _ := s.pages("ListQueues", "QueueUrls", object{"MaxResults": 1000}); len(names) != queues {
		t.Errorf("%d names while the log is out of reach", len(names))
	}
}

func BenchmarkListSources(b *testing.B) {
	var known *catalog.Catalog
	s := newStack(b, func(o *gateway.Options) { known = o.Catalog })
	s.call("ListQueues", object{})
	s.fill(10000)
	for len(known.List("", "", 10001)) < 10000 {
		s.call("ListQueues", object{})
	}
	for b.Loop() {
		s.call("ListDeadLetterSourceQueues", object{"QueueUrl": "q00000"})
	}
}
