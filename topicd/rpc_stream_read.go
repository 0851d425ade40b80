package topicd

import (
	"context"
	"math"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"
)

// StreamRead serves one read session, for a consumer or without one (then the
// partitions must be named).
//
// The client gets a partition by StartPartitionSessionRequest and no data of
// it before its answer. Data is sent within the client's byte credit. Commits
// are ranges; the contiguous prefix is stored and answered.
//
// Not served: direct_read.
func (s *Server) StreamRead(stream Ydb_Topic_V1.TopicService_StreamReadServer) error {
	return s.stream(stream.Context(), "StreamRead", func(ctx context.Context) error {
		return s.serveRead(ctx, stream)
	}, func(code Ydb.StatusIds_StatusCode, text string) error {
		return stream.Send(&readFromServer{Status: code, Issues: issues(text)})
	})
}

// readTarget is one topic of an init request, checked.
type readTarget struct {
	topic      *topic
	partitions []uint32
	settings   readSettings
}

func (s *Server) serveRead(ctx context.Context, stream readStream) error {
	first, err := stream.Recv()
	if err != nil {
		return nil // the client left before its init request
	}
	init := first.GetInitRequest()
	if init == nil {
		if first.GetClientMessage() == nil {
			return badRequest("'client_message' is not set")
		}
		return badRequest("the first message of a read session must be an init request")
	}
	targets, err := s.readTargets(ctx, init)
	if err != nil {
		return err
	}
	session := newReadSession(s, init.GetConsumer())
	session.stream, session.name = stream, init.GetReaderName()
	session.aware = init.GetAutoPartitioningSupport()
	session.maxInflight = int64(min(init.GetPartitionMaxInFlightBytes(), math.MaxInt64))
	for _, t := range targets {
		if !t.topic.join(session) {
			return t.topic.errDropped()
		}
		defer t.topic.leave(session)
	}
	if s.closing() {
		return errShutdown()
	}
	defer func() { s.sending.Add(-session.onTheWay) }()
	s.metrics.sessions.WithLabelValues("read").Inc()
	defer s.metrics.sessions.WithLabelValues("read").Dec()
	if err := session.send(&readFromServer{ServerMessage: &Ydb_Topic.StreamReadMessage_FromServer_InitResponse{
		InitResponse: &Ydb_Topic.StreamReadMessage_InitResponse{SessionId: session.id},
	}}); err != nil {
		return err
	}
	for _, t := range targets {
		m := &member{session: session, explicit: t.partitions, settings: t.settings}
		if session.consumer == "" {
			session.takeAll(t, m)
			continue
		}
		g := t.topic.group(session.consumer)
		g.join(m)
		defer g.leave(m)
	}
	defer session.unwait()
	s.handlers.Go(func() { session.receive(stream) })
	stop := context.AfterFunc(ctx, func() { session.end(nil) })
	defer stop()
	err = session.run()
	session.end(nil) // the receiver may wait to hand over a message
	return err
}

// takeAll starts the named partitions without a consumer: nothing is shared.
func (s *readSession) takeAll(t readTarget, m *member) {
	for _, id := range t.partitions {
		ps := newPartSession(s, t.topic.partition(int64(id)), nil, m)
		ps.part.readDirect(ps)
		s.direct = append(s.direct, ps)
		s.post(readEvent{kind: eventStart, ps: ps})
	}
}

func (p *partition) readDirect(ps *partSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.direct[ps] = struct{}{}
}

// unwait withdraws the session from the partitions it waits for.
func (s *readSession) unwait() {
	for _, ps := range s.parts {
		ps.dead.Store(true)
		ps.part.unwait(ps)
	}
	for _, ps := range s.direct {
		ps.part.unwait(ps)
	}
}

func (s *Server) readTargets(ctx context.Context, init *Ydb_Topic.StreamReadMessage_InitRequest) ([]readTarget, error) {
	if len(init.GetTopicsReadSettings()) == 0 {
		return nil, badRequest("no topics in init request")
	}
	if init.GetDirectRead() {
		return nil, statusf(Ydb.StatusIds_UNSUPPORTED, "direct read is not supported")
	}
	consumer := init.GetConsumer()
	targets := make([]readTarget, 0, len(init.GetTopicsReadSettings()))
	seen := make(map[*topic]bool)
	for _, set := range init.GetTopicsReadSettings() {
		if set.GetPath() == "" {
			return nil, badRequest("empty topic in init request")
		}
		if consumer == "" && len(set.GetPartitionIds()) == 0 {
			return nil, badRequest("explicitly specify the partitions when reading without a consumer")
		}
		path, err := s.resolve(ctx, set.GetPath())
		if err != nil {
			return nil, err
		}
		t, err := s.tree.topic(path)
		if err != nil {
			return nil, err
		}
		if consumer != "" && t.config.Load().consumer(consumer) == nil {
			return nil, badRequest("no read rule provided for consumer '%s' in topic '%s' in current cluster ''", consumer, set.GetPath())
		}
		if seen[t] {
			return nil, badRequest("topic %q is twice in init request", set.GetPath())
		}
		seen[t] = true
		target := readTarget{topic: t, settings: readSettings{path: set.GetPath()}}
		if from := set.GetReadFrom(); from != nil {
			target.settings.fromMs = from.AsTime().UnixMilli()
		}
		if lag := set.GetMaxLag(); lag != nil {
			target.settings.maxLagMs = lag.AsDuration().Milliseconds()
		}
		used := make(map[int64]bool)
		for _, id := range set.GetPartitionIds() {
			if id < 0 {
				return nil, badRequest("partition id must be nonnegative number")
			}
			p := t.partition(id)
			if p == nil {
				return nil, schemeError("no partition %d in topic %q", id, path)
			}
			if !used[id] {
				target.partitions = append(target.partitions, p.id)
			}
			used[id] = true
		}
		targets = append(targets, target)
	}
	return targets, nil
}
