package consumer

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/ydbstatus"
)

// session is the read session of a queue's consumer. It is the queue's claim to
// partitions and the way to commit offsets; it never asks for data, which each
// shard reads for itself, so that one partition's backlog cannot use up the
// credit of another.
type session struct {
	q      *Queue
	ctx    context.Context // of the session's goroutines
	stream Ydb_Topic_V1.TopicService_StreamReadClient
	cancel context.CancelFunc
	tasks  sync.WaitGroup // shards, their releases, and the sender

	// outbox holds what is to be sent: at most an answer and a commit for each
	// partition. A goroutine of its own sends it, because whoever receives must not
	// wait in a send while the server is in one, too.
	outMu  sync.Mutex
	outbox []outgoing
	out    chan struct{}

	looks chan struct{} // asks for a look at the topic's partitions
}

// outgoing is a message to send, or, without one, a mark: reached is closed when
// everything before it was sent.
type outgoing struct {
	msg     *Ydb_Topic.StreamReadMessage_FromClient
	reached chan struct{}
}

const (
	// drainTimeout bounds how long a graceful end waits for its last messages.
	drainTimeout = time.Second
	// lookAgain is the pause before a look at the partitions that failed is repeated.
	lookAgain = 500 * time.Millisecond
	// noSession stands for the partition session of an adopted partition.
	noSession = -1
)

// session opens the read session and serves it until it ends. opened tells
// whether the server accepted it.
func (q *Queue) session(ctx context.Context) (opened bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := q.prepare(ctx); err != nil {
		return false, err
	}
	stream, err := q.c.opts.Topics.StreamRead(ctx)
	if err != nil {
		return false, fmt.Errorf("opening the read session: %w", err)
	}
	s := &session{
		q: q, ctx: ctx, stream: stream, cancel: cancel,
		out: make(chan struct{}, 1), looks: make(chan struct{}, 1),
	}
	s.tasks.Go(func() { s.sender(ctx) })
	s.tasks.Go(func() { s.lookout(ctx) })
	s.tasks.Go(func() {
		select {
		case <-q.stopping:
			s.releaseAll()
			s.drain(ctx)
			cancel()
		case <-ctx.Done():
		}
	})
	defer func() {
		cancel()
		s.tasks.Wait()
		q.dropShards()
	}()
	return s.serve(ctx)
}

func (s *session) serve(ctx context.Context) (opened bool, err error) {
	s.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_InitRequest{
			InitRequest: &Ydb_Topic.StreamReadMessage_InitRequest{
				TopicsReadSettings:      []*Ydb_Topic.StreamReadMessage_InitRequest_TopicReadSettings{{Path: s.q.spec.Topic}},
				Consumer:                s.q.spec.Consumer,
				ReaderName:              s.q.c.opts.Address,
				AutoPartitioningSupport: true,
			},
		},
	})
	for {
		msg, err := s.stream.Recv()
		if err == nil {
			err = ydbstatus.Check(msg.GetStatus(), msg.GetIssues())
		}
		if err != nil {
			return opened, fmt.Errorf("read session: %w", err)
		}
		switch {
		case msg.GetInitResponse() != nil:
			if err := s.q.checkTopic(ctx); err != nil {
				return false, err
			}
			opened = true
			s.q.opened(s)
		case msg.GetStartPartitionSessionRequest() != nil:
			s.begin(ctx, msg.GetStartPartitionSessionRequest())
		case msg.GetStopPartitionSessionRequest() != nil:
			s.end(msg.GetStopPartitionSessionRequest())
		case msg.GetCommitOffsetResponse() != nil:
			for _, p := range msg.GetCommitOffsetResponse().GetPartitionsCommittedOffsets() {
				if sh := s.q.bySession(p.GetPartitionSessionId()); sh != nil {
					sh.committed.Store(p.GetCommittedOffset())
				}
			}
		}
	}
}

// begin takes a partition over. The session itself starts behind the last
// message: it is never asked for data, and what is written later stays with the
// server.
func (s *session) begin(ctx context.Context, start *Ydb_Topic.StreamReadMessage_StartPartitionSessionRequest) {
	id := start.GetPartitionSession().GetPartitionSessionId()
	end := start.GetPartitionOffsets().GetEnd()
	s.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StartPartitionSessionResponse{
			StartPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StartPartitionSessionResponse{
				PartitionSessionId: id, ReadOffset: &end,
			},
		},
	})
	partition := start.GetPartitionSession().GetPartitionId()
	s.q.log.Debug("partition taken", slog.Int64("partition", partition), slog.Int64("committed", start.GetCommittedOffset()))
	s.q.mu.Lock()
	defer s.q.mu.Unlock()
	before := s.q.shards[partition]
	if before != nil && before.partitionSession.Load() == noSession { // adopted
		before.committed.Store(start.GetCommittedOffset())
		before.partitionSession.Store(id)
		before.mailbox.poke()
		return
	}
	sh := newShard(ctx, s, partition, id)
	sh.committed.Store(start.GetCommittedOffset())
	s.q.shards[partition] = sh
	if before == nil {
		sh.start()
		return
	}
	s.tasks.Go(func() { // the one that was taken away has to end first
		before.abort()
		sh.start()
	})
}

// end gives a partition back because the server wants it.
func (s *session) end(stop *Ydb_Topic.StreamReadMessage_StopPartitionSessionRequest) {
	sh := s.q.bySession(stop.GetPartitionSessionId())
	if sh == nil {
		return
	}
	s.tasks.Go(func() {
		if stop.GetGraceful() {
			sh.release()
		} else {
			sh.abort()
		}
		s.q.mu.Lock()
		if s.q.shards[sh.partition] == sh {
			delete(s.q.shards, sh.partition)
		}
		orphans := s.q.orphans()
		s.q.notify()
		s.q.mu.Unlock()
		for _, o := range orphans {
			if stop.GetGraceful() {
				o.release()
			} else {
				o.abort()
			}
		}
		if !stop.GetGraceful() {
			return
		}
		s.send(&Ydb_Topic.StreamReadMessage_FromClient{
			ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_StopPartitionSessionResponse{
				StopPartitionSessionResponse: &Ydb_Topic.StreamReadMessage_StopPartitionSessionResponse{
					PartitionSessionId: stop.GetPartitionSessionId(),
				},
			},
		})
	})
}

// commit tells the server that [from, to) of a partition is finished.
func (s *session) commit(partitionSession, from, to int64) {
	s.send(&Ydb_Topic.StreamReadMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamReadMessage_FromClient_CommitOffsetRequest{
			CommitOffsetRequest: &Ydb_Topic.StreamReadMessage_CommitOffsetRequest{
				CommitOffsets: []*Ydb_Topic.StreamReadMessage_CommitOffsetRequest_PartitionCommitOffset{{
					PartitionSessionId: partitionSession,
					Offsets:            []*Ydb_Topic.OffsetsRange{{Start: from, End: to}},
				}},
			},
		},
	})
}

// look asks for a look at the topic's partitions.
func (s *session) look() {
	select {
	case s.looks <- struct{}{}:
	default:
	}
}

// lookout refreshes the queue's partitions when somebody has reason to think
// that there are others: a partition has ended, or a message was written to one
// that is not known.
func (s *session) lookout(ctx context.Context) {
	for {
		select {
		case <-s.looks:
		case <-ctx.Done():
			return
		}
		if err := s.q.refresh(ctx); err != nil && ctx.Err() == nil {
			s.q.log.Warn("looking at the topic failed", slog.Any("error", err))
			if !pause(ctx, lookAgain) {
				return
			}
			s.look()
		}
	}
}

// releaseAll ends every shard gracefully.
func (s *session) releaseAll() {
	s.q.mu.Lock()
	shards := make([]*shard, 0, len(s.q.shards))
	for _, sh := range s.q.shards {
		shards = append(shards, sh)
	}
	s.q.mu.Unlock()
	var wg sync.WaitGroup
	for _, sh := range shards {
		wg.Go(sh.release)
	}
	wg.Wait()
}

// send queues a message. What fails is seen by Recv.
func (s *session) send(msg *Ydb_Topic.StreamReadMessage_FromClient) { s.queue(outgoing{msg: msg}) }

// drain waits until what was queued before has been sent.
func (s *session) drain(ctx context.Context) {
	mark := outgoing{reached: make(chan struct{})}
	s.queue(mark)
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	select {
	case <-mark.reached:
	case <-ctx.Done():
	}
}

func (s *session) queue(o outgoing) {
	s.outMu.Lock()
	s.outbox = append(s.outbox, o)
	s.outMu.Unlock()
	select {
	case s.out <- struct{}{}:
	default:
	}
}

func (s *session) sender(ctx context.Context) {
	for {
		select {
		case <-s.out:
		case <-ctx.Done():
			return
		}
		s.outMu.Lock()
		messages := s.outbox
		s.outbox = nil
		s.outMu.Unlock()
		for _, o := range messages {
			if o.msg == nil {
				close(o.reached)
			} else if s.stream.Send(o.msg) != nil {
				return
			}
		}
	}
}

// dropShards ends the shards of a session that is over.
func (q *Queue) dropShards() {
	q.mu.Lock()
	q.current = nil
	shards := q.shards
	q.shards = make(map[int64]*shard)
	q.notify()
	q.mu.Unlock()
	for _, sh := range shards {
		sh.abort()
	}
}

func (q *Queue) bySession(id int64) *shard {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, sh := range q.shards {
		if sh.partitionSession.Load() == id {
			return sh
		}
	}
	return nil
}

func sortShards(list []*shard) {
	slices.SortFunc(list, func(a, b *shard) int { return int(a.partition - b.partition) })
}
