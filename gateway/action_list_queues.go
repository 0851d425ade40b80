package gateway

import (
	"context"
	"encoding/base64"

	"sqsgate/gateway/api"
)

// listQueues serves ListQueues.
//
// At most 1000 names, and a NextToken only when MaxResults was given, as AWS
// does it. The token holds the last name: pages stay right while queues come
// and go.
func (s *Server) listQueues(_ context.Context, c *call, r *api.ListQueuesRequest) (*api.ListQueuesResult, error) {
	most, err := api.CheckList(r.MaxResults)
	if err != nil {
		return nil, err
	}
	after := ""
	if r.NextToken != "" {
		raw, err := base64.RawURLEncoding.DecodeString(r.NextToken)
		if err != nil || !api.ValidName(string(raw)) {
			return nil, api.Errorf(api.InvalidParameterValue, "Invalid or expired next token.")
		}
		after = string(raw)
	}
	if err := s.opts.Catalog.Ready(); err != nil {
		return nil, api.Errorf(api.ServiceUnavailable, "The list of queues is not complete yet. Try again later.")
	}
	names := s.opts.Catalog.List(r.Prefix, after, most+1)
	res := &api.ListQueuesResult{}
	if len(names) > most {
		names = names[:most]
		if r.MaxResults.Set {
			res.NextToken = base64.RawURLEncoding.EncodeToString([]byte(names[most-1]))
		}
	}
	res.QueueURLs = make([]string, len(names))
	for i, name := range names {
		res.QueueURLs[i] = s.queueURL(c.request, name)
	}
	return res, nil
}
