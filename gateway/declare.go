package gateway

import (
	"context"
	"fmt"
	"maps"

	"sqsgate/gateway/api"
	"sqsgate/gateway/catalog"
)

// Declaration is a queue that shall exist with at least these attributes and
// tags.
type Declaration struct {
	Name       string
	Attributes map[string]string
	Tags       map[string]string
}

// DeclarationError is a Declaration that cannot be met. Err names the attribute.
type DeclarationError struct {
	Queue string
	Err   error
}

func (e *DeclarationError) Error() string { return fmt.Sprintf("queue %s: %v", e.Queue, e.Err) }

func (e *DeclarationError) Unwrap() error { return e.Err }

// CheckDeclarations finds what is wrong with declarations by themselves: a
// *DeclarationError.
func CheckDeclarations(all []Declaration) error {
	names := make(map[string]bool, len(all))
	for _, d := range all {
		r := d.request()
		if _, err := checkNew(&r, api.FIFOAsked(r.Attributes)); err != nil {
			return &DeclarationError{d.Name, err}
		}
		if names[d.Name] {
			return &DeclarationError{d.Name, api.Errorf(api.QueueNameExists, "It is declared twice.")}
		}
		names[d.Name] = true
	}
	return nil
}

// request is the CreateQueue of a declaration. A name that ends in .fifo says all
// there is to say about the type.
func (d *Declaration) request() api.CreateQueueRequest {
	r := api.CreateQueueRequest{QueueName: d.Name, Attributes: maps.Clone(d.Attributes), Tags: d.Tags}
	if _, said := r.Attributes[api.AttrFifoQueue]; !said && api.IsFIFOName(d.Name) {
		if r.Attributes == nil {
			r.Attributes = map[string]string{}
		}
		r.Attributes[api.AttrFifoQueue] = "true"
	}
	return r
}

// Declare makes the queues that are not there, and gives those that are the
// attributes and tags declared. Whatever is not declared stays as it is: nothing
// is deleted, emptied or reset. It may be repeated. Errors: *DeclarationError, or
// what says that the topic server is out of reach, after which some of it may
// have been done.
func (s *Server) Declare(ctx context.Context, all []Declaration) error {
	if err := CheckDeclarations(all); err != nil {
		return err
	}
	// Policies come last: they name other queues of the same list.
	for i := range all {
		if err := s.declare(ctx, &all[i], false); err != nil {
			return declarationError(all[i].Name, err)
		}
	}
	for i := range all {
		if err := s.declare(ctx, &all[i], true); err != nil {
			return declarationError(all[i].Name, err)
		}
	}
	return nil
}

// declarationError tells what the operator has to correct from what passes.
func declarationError(name string, err error) error {
	if outward(err).Kind == api.ServiceUnavailable || outward(err).Kind == api.InternalFailure {
		return fmt.Errorf("declaring queue %s: %w", name, err)
	}
	return &DeclarationError{name, err}
}

func (s *Server) declare(ctx context.Context, d *Declaration, policies bool) error {
	r := d.request()
	ctx, cancel := context.WithTimeout(ctx, s.opts.RequestTimeout)
	defer cancel()
	fifo := api.FIFOAsked(r.Attributes)
	if !policies {
		initial, err := checkNew(&r, fifo)
		if err != nil {
			return err
		}
		delete(initial, api.AttrRedrivePolicy)
		q, created, err := s.opts.Catalog.Create(ctx, catalog.CreateRequest{
			Name: d.Name, FIFO: fifo, Attributes: storable(initial), Tags: d.Tags,
		})
		if err != nil || created {
			return err
		}
		if q.FIFO != fifo {
			return api.Errorf(api.QueueNameExists, "A queue already exists with the same name and a different value for attribute %s", api.AttrFifoQueue)
		}
		if err := api.CheckTags(d.Tags, q.Tags); err != nil {
			return err
		}
		if changed := differing(d.Tags, q.Tags); len(changed) > 0 {
			if _, err := s.opts.Catalog.SetTags(ctx, q.Name, changed, nil); err != nil {
				return err
			}
		}
	}
	q, err := s.queues.get(ctx, d.Name)
	if err != nil {
		return err
	}
	stored, err := api.CheckQueueAttributes(r.Attributes, q.Attributes, q.FIFO)
	if err != nil {
		return err
	}
	set := map[string]string{}
	for name := range r.Attributes {
		one := map[string]string{name: stored[name]}
		if (name == api.AttrRedrivePolicy) == policies && api.Differs(one, q.Attributes) != "" {
			set[name] = r.Attributes[name]
		}
	}
	if len(set) == 0 {
		return nil
	}
	return s.setAttributes(ctx, q, set)
}

// differing returns the members of want that have does not have like this.
func differing(want, have map[string]string) map[string]string {
	out := map[string]string{}
	for key, value := range want {
		if now, ok := have[key]; !ok || now != value {
			out[key] = value
		}
	}
	return out
}
