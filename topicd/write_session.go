package topicd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/topicd/store"
)

const (
	sessionInflightBytes = 1_000_000   // a session stops reading its stream at this much unwritten data
	maxMessageBytes      = 125_829_120 // largest data of one message
	maxMetadataBytes     = 4096        // keys and values of one message's metadata
)

type (
	writeFromClient = Ydb_Topic.StreamWriteMessage_FromClient
	writeFromServer = Ydb_Topic.StreamWriteMessage_FromServer
)

// writeStream is the part of the generated stream that a session uses.
type writeStream interface {
	Send(*writeFromServer) error
	Recv() (*writeFromClient, error)
	Context() context.Context
}

// writeSession is one StreamWrite call after its init request.
type writeSession struct {
	topic    *topic
	id       string
	producer string
	wanted   *partition // asked for explicitly; nil = by producer id
	part     *partition // set by openOp
	meta     []store.Item
	flow     *gate

	ending chan struct{} // closed by end
	wake   chan struct{} // holds a token when the outbox may have something

	mu      sync.Mutex
	endErr  error
	ended   bool
	outbox  []writeAnswer
	pending int  // requests whose answer is not in the outbox yet
	eof     bool // the client will send nothing more
}

// writeAnswer is a response with the bytes that its request still holds in
// the session's flow gate.
type writeAnswer struct {
	m    *writeFromServer
	held int64
}

func newWriteSession(t *topic, id string) *writeSession {
	return &writeSession{
		topic: t, id: id, flow: newGate(sessionInflightBytes),
		ending: make(chan struct{}), wake: make(chan struct{}, 1),
	}
}

// end makes the session finish with err; nil = without an error message. The
// first call counts.
func (s *writeSession) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended, s.endErr = true, err
	close(s.ending)
}

// answer queues a response. The request's bytes leave the flow gate only when
// the answer has been sent, so a client that does not read bounds its own outbox.
func (s *writeSession) answer(m *writeFromServer, held int64) {
	s.mu.Lock()
	s.outbox = append(s.outbox, writeAnswer{m, held})
	s.pending--
	s.mu.Unlock()
	s.signal()
}

func (s *writeSession) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run sends answers until the session ends. It is the only sender of the stream.
func (s *writeSession) run(stream writeStream) error {
	control := s.topic.srv.opts.Control
	for {
		select {
		case <-s.ending:
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.endErr
		case <-s.wake:
		}
		if held := control.heldAcks(s.topic.entry.path); held != nil {
			select {
			case <-held:
			case <-s.ending:
				continue
			}
		}
		s.mu.Lock()
		out := s.outbox
		s.outbox = nil
		finished := s.eof && s.pending == 0
		s.mu.Unlock()
		for _, a := range out {
			if err := stream.Send(a.m); err != nil {
				return nil // the client has gone; nobody is left to tell
			}
			s.flow.release(a.held)
		}
		if finished {
			return nil
		}
	}
}

// receive reads the stream until it ends or the session does.
func (s *writeSession) receive(stream writeStream) {
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			s.mu.Lock()
			s.eof = true
			s.mu.Unlock()
			s.signal()
			return
		}
		if err != nil {
			s.end(nil)
			return
		}
		if err := s.handle(stream.Context(), m); err != nil {
			s.end(err)
			return
		}
	}
}

func (s *writeSession) handle(ctx context.Context, m *writeFromClient) error {
	switch m := m.GetClientMessage().(type) {
	case *Ydb_Topic.StreamWriteMessage_FromClient_WriteRequest:
		return s.write(ctx, m.WriteRequest)
	case *Ydb_Topic.StreamWriteMessage_FromClient_UpdateTokenRequest:
		if err := s.flow.acquire(ctx, s.ending, messageOverhead); err != nil {
			return err
		}
		s.expectAnswer()
		s.answer(&writeFromServer{
			Status: Ydb.StatusIds_SUCCESS,
			ServerMessage: &Ydb_Topic.StreamWriteMessage_FromServer_UpdateTokenResponse{
				UpdateTokenResponse: &Ydb_Topic.UpdateTokenResponse{},
			},
		}, messageOverhead)
		return nil
	case *Ydb_Topic.StreamWriteMessage_FromClient_InitRequest:
		return badRequest("got second init request")
	default:
		return badRequest("'client_message' is not set")
	}
}

func (s *writeSession) expectAnswer() {
	s.mu.Lock()
	s.pending++
	s.mu.Unlock()
}

func (s *writeSession) write(ctx context.Context, req *Ydb_Topic.StreamWriteMessage_WriteRequest) error {
	if req.GetTx() != nil {
		return statusf(Ydb.StatusIds_UNSUPPORTED, "transactions are not supported")
	}
	op, err := s.newWriteOp(req)
	if err != nil {
		return err
	}
	n := int64(op.size)
	if err := s.flow.acquire(ctx, s.ending, n); err != nil {
		return err
	}
	if err := s.part.inflight.acquire(ctx, s.ending, n); err != nil {
		s.flow.release(n)
		return err
	}
	if op.throttled, err = s.throttle(ctx, n); err != nil {
		s.flow.release(n)
		s.part.inflight.release(n)
		return err
	}
	s.expectAnswer()
	if err := s.topic.srv.store.Submit(ctx, op); err != nil {
		s.flow.release(n)
		s.part.inflight.release(n)
		return fmt.Errorf("queueing a write: %w", err)
	}
	return nil
}

// newWriteOp checks a request and turns its messages into stored ones, which
// share the memory of the request.
func (s *writeSession) newWriteOp(req *Ydb_Topic.StreamWriteMessage_WriteRequest) (*writeOp, error) {
	msgs := req.GetMessages()
	if len(msgs) == 0 {
		return nil, badRequest("messages meta repeated fields are empty, write request contains no messages")
	}
	codec := req.GetCodec()
	if allowed := s.topic.config.Load().Codecs; codec <= 0 || (len(allowed) > 0 && !slices.Contains(allowed, codec)) {
		return nil, badRequest("bad write request - codec is invalid: %d", codec)
	}
	op := &writeOp{s: s, msgs: make([]store.Message, len(msgs)), received: time.Now()}
	last := int64(0)
	for i, in := range msgs {
		seqNo := in.GetSeqNo()
		switch {
		case seqNo <= 0:
			return nil, badRequest("bad write request - sequence number must be greater than 0. Value at position %d has seq_no %d", i, seqNo)
		case seqNo <= last:
			return nil, badRequest("bad write request - sequence numbers are unsorted. Value %d at position %d is less than or equal to value %d", seqNo, i, last)
		case len(in.GetData()) > maxMessageBytes:
			return nil, badRequest("Too big message. Max message size is %d bytes, got %d", maxMessageBytes, len(in.GetData()))
		}
		last = seqNo
		out := &op.msgs[i]
		items, size, err := messageItems(in.GetMetadataItems())
		if err != nil {
			return nil, err
		}
		*out = store.Message{
			SeqNo: seqNo, Codec: codec, UncompressedSize: in.GetUncompressedSize(),
			CreatedSec: in.GetCreatedAt().GetSeconds(), CreatedNano: in.GetCreatedAt().GetNanos(),
			Producer: s.producer, SessionMeta: s.meta, Items: items, Data: in.GetData(),
		}
		op.size += len(out.Data) + size + messageOverhead
	}
	return op, nil
}

func messageItems(in []*Ydb_Topic.MetadataItem) ([]store.Item, int, error) {
	if len(in) == 0 {
		return nil, 0, nil
	}
	size := 0
	items := make([]store.Item, len(in))
	for i, it := range in {
		size += len(it.GetKey()) + len(it.GetValue())
		items[i] = store.Item{Key: it.GetKey(), Value: it.GetValue()}
	}
	if size > maxMetadataBytes {
		return nil, 0, badRequest("Message level metadata size is limited to %d per message, got %d", maxMetadataBytes, size)
	}
	return items, size, nil
}
