package gateway

import (
	"context"
	"strconv"

	"sqsgate/gateway/api"
)

// getQueueAttributes serves GetQueueAttributes.
//
// Without names it answers nothing. An unknown name is InvalidAttributeName; a
// name that has no value, or none on this type of queue, is left out. The Ydb
// attributes come only when asked for by name.
func (s *Server) getQueueAttributes(ctx context.Context, c *call, r *api.GetQueueAttributesRequest) (*api.AttributesResult, error) {
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	want, err := api.SelectQueueAttributes(r.Names)
	if err != nil {
		return nil, err
	}
	pairs := want.Stored(q.Attributes, q.FIFO)
	add := func(name, value string) {
		if want.Has(name) {
			pairs = append(pairs, api.Pair{Name: name, Value: value})
		}
	}
	add(api.AttrArn, s.opts.arn(q.Name))
	add(api.AttrCreated, strconv.FormatInt(q.Created, 10))
	add(api.AttrModified, strconv.FormatInt(max(q.Modified, q.Created), 10))
	if want.Has(api.AttrVisible) || want.Has(api.AttrNotVisible) || want.Has(api.AttrDelayed) {
		counts, err := s.opts.Consumer.Queue(q.spec).Counts(ctx)
		if err != nil {
			return nil, err
		}
		add(api.AttrVisible, strconv.FormatInt(counts.Visible, 10))
		add(api.AttrNotVisible, strconv.FormatInt(counts.InFlight, 10))
		add(api.AttrDelayed, strconv.FormatInt(counts.Delayed, 10))
	}
	return &api.AttributesResult{Attributes: pairs}, nil
}
