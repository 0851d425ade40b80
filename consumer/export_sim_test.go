package consumer

import "context"

// ReceiveOwn is Receive from the partitions that are served here, as a gateway
// answers a peer: it waits for none that others own. The errors are Receive's.
func (q *Queue) ReceiveOwn(ctx context.Context, r ReceiveRequest) ([]Received, error) {
	shards := q.serving()
	if r.AttemptID != "" {
		got, err := q.repeat(ctx, shards, r)
		if err != nil || len(got) > 0 {
			return got, err
		}
	}
	return q.receiveNow(ctx, shards, r)
}
