package gateway

import (
	"context"
	"encoding/base64"
	"net/http"
	"strings"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// listQueues serves ListQueues.
//
// At most 1000 names, and a NextToken only when MaxResults was given, as AWS
// does it. The token holds the last name: pages stay right while queues come
// and go. With authentication only queues the caller may use. A catalogue that
// has been read and is being reconnected answers what it knows.
func (s *Server) listQueues(ctx context.Context, c *call, r *api.ListQueuesRequest) (*api.ListQueuesResult, error) {
	most, err := api.CheckList(r.MaxResults)
	if err != nil {
		return nil, err
	}
	after, err := listedTo(r.NextToken)
	if err != nil {
		return nil, err
	}
	if err := s.opts.Catalog.Await(ctx); err != nil {
		return nil, err
	}
	var names []string
	if c.who == nil {
		names = s.opts.Catalog.List(r.Prefix, after, most+1)
	} else {
		names = s.opts.Catalog.Select(after, most+1, func(q catalog.Queue) bool { return strings.HasPrefix(q.Name, r.Prefix) && c.may(q.Name) })
	}
	res := &api.ListQueuesResult{}
	res.QueueURLs, res.NextToken = s.page(c.request, names, most, r.MaxResults.Set)
	return res, nil
}

// page makes one page of at most most queues from their names, one of which may
// be the first of the next page.
func (s *Server) page(r *http.Request, names []string, most int, paged bool) (urls []string, token string) {
	if len(names) > most {
		names = names[:most]
		if paged {
			token = base64.RawURLEncoding.EncodeToString([]byte(names[most-1]))
		}
	}
	urls = make([]string, len(names))
	for i, name := range names {
		urls[i] = s.queueURL(r, name)
	}
	return urls, token
}

// listedTo is the last queue of the page before, which a NextToken holds.
func listedTo(token string) (string, error) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || token != "" && !api.ValidName(string(raw)) {
		return "", api.Errorf(api.InvalidParameterValue, "Invalid or expired next token.")
	}
	return string(raw), nil
}
