package consumer

import (
	"context"
	"time"

	"sqsgate/internal/logread"
)

// scanCredit bounds the bytes under way in a scan.
const scanCredit = 4 << 20

// source opens read sessions of one partition.
type source func(ctx context.Context, req logread.Request) (*logread.Reader, error)

// source reads a partition of the queue's topic.
func (q *Queue) source(partition int64) source {
	return func(ctx context.Context, req logread.Request) (*logread.Reader, error) {
		req.Path, req.Partition = q.spec.Topic, partition
		return logread.Open(ctx, q.c.opts.Topics, req)
	}
}

// at returns the message at offset, or the first retained one behind it; ok is
// false when nothing that old or newer is retained.
func (open source) at(ctx context.Context, offset int64) (m logread.Message, ok bool, err error) {
	reader, err := open(ctx, logread.Request{Offset: offset, Credit: 1})
	if err != nil {
		return m, false, err
	}
	defer reader.Close()
	if start, end := reader.Bounds(); start >= end || offset >= end {
		return m, false, nil
	}
	messages, _, err := reader.Read()
	if err != nil {
		return m, false, err
	}
	return messages[0], true, nil
}

// since hands the messages below upto that were written at or after t to visit,
// in order.
func (open source) since(ctx context.Context, t time.Time, upto int64, visit func(*logread.Message)) error {
	last, ok, err := open.at(ctx, upto-1)
	if err != nil || !ok || last.WriteTime < t.UnixMilli() {
		return err // the server would wait for a newer message
	}
	reader, err := open(ctx, logread.Request{Since: t, Credit: scanCredit})
	if err != nil {
		return err
	}
	defer reader.Close()
	for {
		messages, cost, err := reader.Read()
		if err != nil {
			return err
		}
		for i := range messages {
			if messages[i].Offset < upto {
				visit(&messages[i])
			}
		}
		if messages[len(messages)-1].Offset >= upto-1 {
			return nil
		}
		reader.Grant(cost)
	}
}

// each hands the messages of offsets, which ascend, to visit. Those that
// retention has removed are passed over.
func (open source) each(ctx context.Context, offsets []int64, visit func(*logread.Message)) error {
	for len(offsets) > 0 {
		rest, err := open.run(ctx, offsets, visit)
		if err != nil {
			return err
		}
		offsets = rest
	}
	return nil
}

// runGap is how far apart two offsets may be to be read in one session.
const runGap = 200

// run reads from the first offset on as long as the next one is near.
func (open source) run(ctx context.Context, offsets []int64, visit func(*logread.Message)) ([]int64, error) {
	reader, err := open(ctx, logread.Request{Offset: offsets[0], Credit: 1})
	if err != nil {
		return nil, err
	}
	defer reader.Close()
	if start, end := reader.Bounds(); start >= end {
		return nil, nil // everything was removed
	}
	for {
		messages, cost, err := reader.Read()
		if err != nil {
			return nil, err
		}
		for i := range messages {
			for len(offsets) > 0 && offsets[0] < messages[i].Offset {
				offsets = offsets[1:]
			}
			if len(offsets) > 0 && offsets[0] == messages[i].Offset {
				visit(&messages[i])
				offsets = offsets[1:]
			}
		}
		next := messages[len(messages)-1].Offset + 1
		if len(offsets) == 0 || offsets[0] > next+runGap {
			return offsets, nil
		}
		reader.Grant(max(cost, 256<<10))
	}
}
