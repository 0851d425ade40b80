package topicd

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// partSession is a partition in the hands of a read session. Fields without a
// remark belong to the session's handler.
type partSession struct {
	id      int64
	session *readSession
	part    *partition
	group   *group // nil when reading without a consumer
	member  *member
	created time.Time

	releasing bool        // group's: asked to give the partition back
	ended     bool        // group's: the client has all of a partition that was split, and knows
	dead      atomic.Bool // taken away; what the client still says about it is ignored
	queued    bool        // session.mu: is in the ready list

	// interrupted is set when the consumer's offset was set from outside or the
	// consumer was dropped: commits of the session that wait in the store's queue
	// must not undo that. Guarded by the partition's mu.
	interrupted bool

	announced bool // StartPartitionSessionRequest was sent
	started   bool // the client has answered it
	stopping  bool // a graceful stop was requested from the client
	leaving   bool // the client has agreed; a commit is still under way
	finished  bool // EndPartitionSession was sent
	next      atomic.Int64
	lastRead  atomic.Int64 // Unix milliseconds, 0 = nothing read

	committed  int64 // acknowledged to the client, or the start of the session
	committing int64 // offset of the commit under way; equal to committed when none is
	wanted     int64 // offset to commit next: everything below is contiguous
	ranges     []offsetRange
	inflight   []sentRange // sent and not committed, kept when the session has a limit
	inflightN  int64       // bytes of these
}

type offsetRange struct{ start, end int64 }

type sentRange struct{ end, bytes int64 }

func newPartSession(s *readSession, p *partition, g *group, m *member) *partSession {
	return &partSession{
		id: s.nextPartSession.Add(1), session: s, part: p, group: g, member: m, created: time.Now(),
	}
}

// start makes the request that announces the partition to the client.
func (ps *partSession) start() *Ydb_Topic.StreamReadMessage_StartPartitionSessionRequest {
	// Without a consumer both are 0, whatever retention has removed.
	committed := int64(0)
	if ps.group != nil {
		committed = ps.part.committed(ps.group.consumer)
	}
	_, end := ps.part.bounds()
	ps.committed, ps.committing, ps.wanted = committed, committed, committed
	ps.next.Store(committed)
	return &Ydb_Topic.StreamReadMessage_StartPartitionSessionRequest{
		PartitionSession: &Ydb_Topic.StreamReadMessage_PartitionSession{
			PartitionSessionId: ps.id, Path: ps.member.settings.path, PartitionId: int64(ps.part.id),
		},
		CommittedOffset:  committed,
		PartitionOffsets: &Ydb_Topic.OffsetsRange{Start: committed, End: end},
	}
}

// addCommit takes a range that the client has finished with. wanted moves on
// as far as the finished ranges are contiguous; the others wait.
func (ps *partSession) addCommit(start, end int64) error {
	low, last := ps.part.bounds()
	// Messages that retention has removed count as committed.
	ps.wanted = max(ps.wanted, low)
	clamped := min(end, last)
	i, _ := slices.BinarySearchFunc(ps.ranges, start, func(r offsetRange, v int64) int { return cmp.Compare(r.start, v) })
	if start < ps.wanted || (i < len(ps.ranges) && ps.ranges[i].start < clamped) || (i > 0 && ps.ranges[i-1].end > start) {
		return badRequest("offsets range [%d, %d) has already committed offsets, double committing is forbidden or incorrect", start, end)
	}
	if start >= clamped {
		return nil
	}
	ps.ranges = slices.Insert(ps.ranges, i, offsetRange{start, clamped})
	if i+1 < len(ps.ranges) && ps.ranges[i+1].start == clamped {
		ps.ranges[i].end = ps.ranges[i+1].end
		ps.ranges = slices.Delete(ps.ranges, i+1, i+2)
	}
	if i > 0 && ps.ranges[i-1].end == start {
		ps.ranges[i-1].end = ps.ranges[i].end
		ps.ranges = slices.Delete(ps.ranges, i, i+1)
	}
	if ps.ranges[0].start == ps.wanted {
		ps.wanted = ps.ranges[0].end
		ps.ranges = slices.Delete(ps.ranges, 0, 1)
	}
	return nil
}

func (ps *partSession) sent(end, bytes int64) {
	if ps.session.maxInflight == 0 {
		return
	}
	ps.inflight = append(ps.inflight, sentRange{end, bytes})
	ps.inflightN += bytes
}

// settle drops what is committed from the in-flight account.
func (ps *partSession) settle() {
	n := 0
	for n < len(ps.inflight) && ps.inflight[n].end <= ps.committed {
		ps.inflightN -= ps.inflight[n].bytes
		n++
	}
	ps.inflight = slices.Delete(ps.inflight, 0, n)
}

// paused tells that the client must commit before it gets more.
func (ps *partSession) paused() bool {
	limit := ps.session.maxInflight
	return limit > 0 && ps.inflightN >= limit
}
