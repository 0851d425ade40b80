package gateway

import (
	"context"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// createQueue serves CreateQueue.
//
// An existing queue is the answer too, when the attributes named in the request
// have the queue's values; tags are not compared. Errors: InvalidParameterValue
// for the name, InvalidAttributeName and InvalidAttributeValue, QueueNameExists,
// QueueDeletedRecently (with a DeleteCooldown). Divergence: names with / and @.
func (s *Server) createQueue(ctx context.Context, c *call, r *api.CreateQueueRequest) (*api.QueueURLResult, error) {
	c.event.queue = r.QueueName
	if err := s.mayUse(c, r.QueueName); err != nil {
		return nil, err
	}
	fifo := api.FIFOAsked(r.Attributes)
	stored, err := checkNew(r, fifo)
	if err != nil {
		return nil, err
	}
	if err := s.checkRedrive(ctx, r.QueueName, fifo, stored[api.AttrRedrivePolicy]); err != nil {
		return nil, err
	}
	if s.deleted.cooling(r.QueueName) {
		return nil, api.Errorf(api.QueueDeletedRecently, "You must wait 60 seconds after deleting a queue before you can create another with the same name.")
	}
	asked := make(map[string]string, len(r.Attributes))
	for name := range r.Attributes {
		asked[name] = stored[name]
	}
	q, created, err := s.opts.Catalog.Create(ctx, catalog.CreateRequest{
		Name: r.QueueName, FIFO: fifo, Attributes: storable(stored), Tags: r.Tags,
	})
	if err != nil {
		return nil, err
	}
	if !created {
		different := ""
		if q.FIFO != fifo {
			different = api.AttrFifoQueue
		} else {
			different = api.Differs(asked, q.Attributes)
		}
		if different != "" {
			return nil, api.Errorf(api.QueueNameExists, "A queue already exists with the same name and a different value for attribute %s", different)
		}
	}
	return &api.QueueURLResult{QueueURL: s.queueURL(c.request, q.Name)}, nil
}

// checkNew checks all of a queue to create but the target of its RedrivePolicy,
// and returns its attributes in canonical text.
func checkNew(r *api.CreateQueueRequest, fifo bool) (map[string]string, error) {
	if err := api.CheckNewName(r.QueueName, fifo); err != nil {
		return nil, err
	}
	stored, err := api.CheckQueueAttributes(r.Attributes, nil, fifo)
	if err != nil {
		return nil, err
	}
	return stored, api.CheckTags(r.Tags, nil)
}

// storable leaves out what a new queue has no need to store: removals, and the
// type, which the catalogue knows.
func storable(attributes map[string]string) map[string]string {
	out := make(map[string]string, len(attributes))
	for name, value := range attributes {
		if value != "" && name != api.AttrFifoQueue {
			out[name] = value
		}
	}
	return out
}
