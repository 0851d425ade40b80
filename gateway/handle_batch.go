package gateway

import "sqsgate/gateway/api"

// handleBatch keeps the outcome of each entry of a batch of receipt handles.
type handleBatch struct {
	entries []api.HandleEntry
	errs    []error
	asked   []int // entries that went to the consumer
}

func newHandleBatch(entries []api.HandleEntry) *handleBatch {
	return &handleBatch{entries: entries, errs: make([]error, len(entries)), asked: make([]int, 0, len(entries))}
}

// check notes the error of entry i, or one of its own; true = the entry goes to
// the consumer.
func (b *handleBatch) check(i int, err error) bool {
	if err == nil && b.entries[i].ReceiptHandle == "" {
		err = api.Missing("ReceiptHandle")
	}
	if b.errs[i] = err; err != nil {
		return false
	}
	b.asked = append(b.asked, i)
	return true
}

// fill takes the consumer's answers for the entries that were asked.
func (b *handleBatch) fill(errs []error) {
	for n, i := range b.asked {
		if errs[n] != nil {
			b.errs[i] = entryError(errs[n], b.entries[i].ReceiptHandle, b.entries[i].Visibility.Value)
		}
	}
}

// result is the answer. When no entry could be served, or the queue is gone, the
// request fails as a whole, so that clients repeat it, or know.
func (b *handleBatch) result(c *call) (*api.BatchResult, error) {
	res := &api.BatchResult{Successful: make([]string, 0, len(b.entries))}
	unavailable := 0
	for i, err := range b.errs {
		if err == nil {
			res.Successful = append(res.Successful, b.entries[i].ID)
			continue
		}
		if ofQueue(err) {
			unavailable++
		}
		res.Failed = append(res.Failed, batchError(b.entries[i].ID, err))
	}
	if unavailable == len(b.entries) {
		return nil, b.errs[0]
	}
	c.event.messages = len(res.Successful)
	return res, nil
}
