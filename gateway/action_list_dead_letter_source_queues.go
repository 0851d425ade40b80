package gateway

import (
	"context"
	"strings"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// listDeadLetterSourceQueues serves ListDeadLetterSourceQueues: the queues whose
// RedrivePolicy names this one. Pages are those of ListQueues.
func (s *Server) listDeadLetterSourceQueues(ctx context.Context, c *call, r *api.ListSourcesRequest) (*api.ListSourcesResult, error) {
	most, err := api.CheckList(r.MaxResults)
	if err != nil {
		return nil, err
	}
	after, err := listedTo(r.NextToken)
	if err != nil {
		return nil, err
	}
	q, err := s.queue(ctx, c, r.QueueURL)
	if err != nil {
		return nil, err
	}
	redrives := s.opts.redrivesTo(q.Name)
	names := s.opts.Catalog.Select(after, most+1, func(q catalog.Queue) bool { return redrives(q) && c.may(q.Name) })
	res := &api.ListSourcesResult{}
	res.QueueURLs, res.NextToken = s.page(c.request, names, most, r.MaxResults.Set)
	return res, nil
}

// redrivesTo tells of a queue whether it has target for its dead-letter queue.
func (o *Options) redrivesTo(target string) func(catalog.Queue) bool {
	arn := o.arn(target)
	return func(q catalog.Queue) bool {
		text := q.Attributes[api.AttrRedrivePolicy]
		// Most queues have none or another: not worth parsing.
		if !strings.Contains(text, target) {
			return false
		}
		policy, err := api.ParseRedrive(text)
		return err == nil && policy.TargetARN == arn
	}
}
