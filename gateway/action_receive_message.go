package gateway

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"strconv"
	"time"

	"sqsgate/codec"
	"sqsgate/consumer"
	"sqsgate/gateway/api"
)

// giveBackTimeout bounds the return of messages whose client has gone.
const giveBackTimeout = 5 * time.Second

// receiveMessage serves ReceiveMessage.
//
// Limits: 1-10 messages, wait 0-20 s, visibility 0-43200 s. Errors:
// InvalidParameterValue, OverLimit (standard queues, short polls; a long poll
// answers nothing instead). Divergences: BodyEncoding is an attribute of this
// project, returned without being asked for; the messages of a client that has
// gone are given back at once.
func (s *Server) receiveMessage(ctx context.Context, c *call, r *api.ReceiveMessageRequest) (*api.ReceiveMessageResult, error) {
	q, err := s.usedQueue(s.deadlines[0].context(), c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	if err := api.CheckReceive(r, q.FIFO); err != nil {
		return nil, err
	}
	ask := consumer.ReceiveRequest{Max: int(r.Max.Or(1)), Visibility: q.visibility, Wait: q.wait, Gone: ctx.Done}
	if r.Visibility.Set {
		ask.Visibility = time.Duration(r.Visibility.Value) * time.Second
	}
	if r.Wait.Set {
		ask.Wait = time.Duration(r.Wait.Value) * time.Second
	}
	if q.FIFO {
		ask.AttemptID = r.AttemptID.Value
	}
	timed := s.deadlines[min(ask.Wait/time.Second, api.MaxWaitSeconds)].context()
	shared := s.opts.Consumer.Queue(q.spec)
	received, err := shared.Receive(timed, ask)
	if errors.Is(err, consumer.ErrOverLimit) && (ask.Wait > 0 || q.FIFO) {
		received, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil && len(received) > 0 {
		s.giveBack(ctx, q, shared, received)
		return nil, ctx.Err()
	}
	res, err := s.messages(timed, q, r, received)
	if err != nil {
		s.giveBack(ctx, q, shared, received)
		return nil, err
	}
	c.event.messages = len(res.Messages)
	if len(received) > 0 {
		c.undelivered = func() { s.giveBack(ctx, q, shared, received) }
	}
	return res, nil
}

// giveBack makes messages visible again that no client will see. It outlives the
// request's context, which may be over.
func (s *Server) giveBack(ctx context.Context, q *queue, shared *consumer.Queue, received []consumer.Received) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), giveBackTimeout)
	defer cancel()
	changes := make([]consumer.VisibilityChange, len(received))
	for i := range received {
		changes[i].Handle = received[i].Handle
	}
	s.metrics.givenBack.Add(float64(len(changes)))
	if err := errors.Join(shared.ChangeVisibility(ctx, changes)...); err != nil {
		// They come back when their visibility timeout ends.
		s.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "received messages could not be given back",
			slog.String("queue", q.Name), slog.Any("error", err))
	}
}

// messages makes the answer of what was received.
func (s *Server) messages(ctx context.Context, q *queue, r *api.ReceiveMessageRequest, received []consumer.Received) (*api.ReceiveMessageResult, error) {
	want := api.SelectSystem(r.AttributeNames, r.SystemAttributeNames)
	depth := func(int64) int { return 0 }
	if q.FIFO && want&api.SequenceNumber != 0 && len(received) > 0 {
		m, err := s.opts.Pool.Map(ctx, q.Topic)
		if err != nil {
			return nil, err
		}
		depth = m.Depth
	}
	res := &api.ReceiveMessageResult{Messages: make([]api.ReceivedMessage, len(received))}
	for i := range received {
		got := &received[i]
		m, problems := s.opts.Encodings.Decode(got.Record)
		if problems > 0 {
			s.metrics.undecodable.Add(float64(problems))
		}
		if m.GroupID == "" && q.FIFO {
			header := codec.Peek(got.Record)
			m.GroupID = header.Group(&got.Record, true)
		}
		out := &res.Messages[i]
		out.MessageID = m.MessageID // a moved message keeps its first id
		if out.MessageID == "" {
			out.MessageID = codec.MessageID(s.opts.Database, q.Topic, got.Partition, got.Offset)
		}
		out.ReceiptHandle = got.Handle
		out.Body = m.Body
		out.BodyMD5 = codec.BodyMD5(m.Body)
		out.Attributes = s.systemAttributes(q, want, got, &m, depth)
		selectAttributes(out, m.Attributes, r.MessageAttributeNames)
	}
	return res, nil
}

// systemAttributes are those that are wanted and apply.
func (s *Server) systemAttributes(q *queue, want api.SystemAttributes, got *consumer.Received, m *codec.Message, depth func(int64) int) []api.Pair {
	if want == 0 && m.BodyEncoding == "" {
		return nil
	}
	pairs := make([]api.Pair, 0, 10)
	add := func(which api.SystemAttributes, name, value string) {
		if want&which != 0 && value != "" {
			pairs = append(pairs, api.Pair{Name: name, Value: value})
		}
	}
	sender := m.SenderID
	if sender == "" {
		sender = s.opts.Account
	}
	sent := m.SentMillis // of moved messages
	if sent == 0 {
		sent = got.Written.UnixMilli()
	}
	add(api.SenderID, "SenderId", sender)
	add(api.SentTimestamp, "SentTimestamp", strconv.FormatInt(sent, 10))
	add(api.ApproximateReceiveCount, "ApproximateReceiveCount", strconv.Itoa(m.ReceiveCount+got.ReceiveCount))
	add(api.ApproximateFirstReceiveTimestamp, "ApproximateFirstReceiveTimestamp", strconv.FormatInt(got.FirstReceived.UnixMilli(), 10))
	add(api.MessageGroupID, "MessageGroupId", m.GroupID)
	add(api.AWSTraceHeader, api.TraceHeader, m.TraceHeader)
	add(api.DeadLetterQueueSourceArn, "DeadLetterQueueSourceArn", m.DeadLetterSource)
	if q.FIFO {
		deduplication := m.DeduplicationID
		if m.DeadLetterSource != "" { // stored is one that tells queues made again apart
			deduplication = cmp.Or(m.MessageID, deduplication)
		}
		add(api.MessageDeduplicationID, "MessageDeduplicationId", deduplication)
		add(api.SequenceNumber, "SequenceNumber", codec.SequenceNumber(depth(got.Partition), got.Offset))
	}
	if m.BodyEncoding != "" {
		pairs = append(pairs, api.Pair{Name: "BodyEncoding", Value: m.BodyEncoding})
	}
	return pairs
}

// selectAttributes keeps what MessageAttributeNames selects; the digest covers
// just that.
func selectAttributes(out *api.ReceivedMessage, attributes []codec.Attribute, names []string) {
	if len(attributes) == 0 || len(names) == 0 {
		return
	}
	selected := make([]codec.Attribute, 0, len(attributes))
	for i := range attributes {
		a := &attributes[i]
		if !api.SelectsAttribute(names, a.Name) {
			continue
		}
		selected = append(selected, *a)
		out.MessageAttributes = append(out.MessageAttributes, api.ReceivedAttribute{
			Name: a.Name, DataType: a.DataType, Value: a.Value, Binary: a.Binary(),
		})
	}
	out.AttributesMD5 = codec.AttributesMD5(selected)
}
