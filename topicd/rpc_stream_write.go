package topicd

import (
	"context"
	"maps"
	"slices"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/topicd/store"
)

// StreamWrite serves one write session.
//
// Init forms: producer_id alone or with an equal message_group_id (partition
// by MD5, remembered); producer_id with partition_id or
// partition_with_generation; no producer_id (no deduplication), optionally with
// a partition. One WriteResponse per WriteRequest, after the sync.
//
// Limits: 1,000,000 bytes in flight per session and 30 MB per partition delay
// the reading of the stream; 4096 bytes of metadata and 125,829,120 bytes of
// data per message.
func (s *Server) StreamWrite(stream Ydb_Topic_V1.TopicService_StreamWriteServer) error {
	return s.stream(stream.Context(), "StreamWrite", func(ctx context.Context) error {
		return s.serveWrite(ctx, stream)
	}, func(code Ydb.StatusIds_StatusCode, text string) error {
		return stream.Send(&writeFromServer{Status: code, Issues: issues(text)})
	})
}

func (s *Server) serveWrite(ctx context.Context, stream writeStream) error {
	first, err := stream.Recv()
	if err != nil {
		return nil // the client left before its init request
	}
	session, err := s.initWrite(ctx, first)
	if err != nil {
		return err
	}
	if !session.topic.join(session) {
		return session.topic.errDropped()
	}
	defer session.topic.leave(session)
	if s.closing() {
		return errShutdown()
	}
	open := &openOp{s: session, done: make(chan struct{})}
	if err := s.store.Submit(ctx, open); err != nil {
		return err
	}
	select {
	case <-open.done:
	case <-s.store.Failed():
		return s.store.Err()
	}
	if open.err != nil {
		return open.err
	}
	s.metrics.sessions.WithLabelValues("write").Inc()
	defer s.metrics.sessions.WithLabelValues("write").Dec()
	if session.producer != "" {
		defer func() {
			// The ownership is given back also when the call was cancelled; an error
			// means that the store is closed and the memory with it.
			_ = s.store.Submit(context.WithoutCancel(ctx), &closeOp{s: session})
		}()
	}
	init := &Ydb_Topic.StreamWriteMessage_InitResponse{
		LastSeqNo: open.seqNo, SessionId: session.id, PartitionId: int64(session.part.id),
	}
	if codecs := session.topic.config.Load().Codecs; len(codecs) > 0 {
		init.SupportedCodecs = &Ydb_Topic.SupportedCodecs{Codecs: slices.Clone(codecs)}
	}
	if err := stream.Send(&writeFromServer{
		Status:        Ydb.StatusIds_SUCCESS,
		ServerMessage: &Ydb_Topic.StreamWriteMessage_FromServer_InitResponse{InitResponse: init},
	}); err != nil {
		return nil // the client has gone
	}
	s.handlers.Go(func() { session.receive(stream) })
	stop := context.AfterFunc(ctx, func() { session.end(nil) })
	defer stop()
	err = session.run(stream)
	session.end(nil) // the receiver may wait at a gate
	return err
}

func (s *Server) initWrite(ctx context.Context, first *writeFromClient) (*writeSession, error) {
	init := first.GetInitRequest()
	if init == nil {
		switch first.GetClientMessage().(type) {
		case nil:
			return nil, badRequest("'client_message' is not set")
		case *Ydb_Topic.StreamWriteMessage_FromClient_UpdateTokenRequest:
			return nil, badRequest("got update token request before init")
		default:
			return nil, badRequest("write in not inited session")
		}
	}
	if init.GetPath() == "" {
		return nil, badRequest("no topic in init request")
	}
	path, err := s.resolve(ctx, init.GetPath())
	if err != nil {
		return nil, err
	}
	var wanted *int64
	switch p := init.GetPartitioning().(type) {
	case nil:
	case *Ydb_Topic.StreamWriteMessage_InitRequest_MessageGroupId:
		if p.MessageGroupId != init.GetProducerId() {
			return nil, errInitForm()
		}
	case *Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId:
		wanted = &p.PartitionId
	case *Ydb_Topic.StreamWriteMessage_InitRequest_PartitionWithGeneration:
		if p.PartitionWithGeneration == nil {
			return nil, errInitForm()
		}
		wanted = &p.PartitionWithGeneration.PartitionId
	default:
		return nil, errInitForm()
	}
	t, err := s.tree.topic(path)
	if err != nil {
		return nil, err
	}
	session := newWriteSession(t, s.sessionID(""))
	session.producer = init.GetProducerId()
	for _, k := range slices.Sorted(maps.Keys(init.GetWriteSessionMeta())) {
		session.meta = append(session.meta, store.Item{Key: k, Value: []byte(init.GetWriteSessionMeta()[k])})
	}
	if wanted != nil {
		if session.wanted = t.partition(*wanted); session.wanted == nil {
			return nil, schemeError("no partition %d in topic %q", *wanted, path)
		}
	}
	if g := init.GetPartitionWithGeneration(); g != nil && g.GetGeneration() != generation {
		return nil, statusf(Ydb.StatusIds_UNAVAILABLE, "partition %d has generation %d, not %d", g.GetPartitionId(), generation, g.GetGeneration())
	}
	return session, nil
}

func errInitForm() error {
	return badRequest("unsupported producer_id / message_group_id / partition_id settings in init request")
}
