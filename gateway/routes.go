package gateway

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"github.com/gorilla/mux"

	"sqsgate/gateway/api"
	"sqsgate/gateway/wire"
)

// route is one action. run decodes the request, does the work and encodes the
// result.
type route struct {
	run runner
	// notAtQueue: AWS does not know this action at the URL of a queue (Query).
	notAtQueue bool
}

// table is the one table of actions.
func (s *Server) table() map[string]route {
	return map[string]route{
		"CreateQueue":        {run: on((*wire.Input).CreateQueue, timed(s, s.createQueue), (*wire.Encoder).QueueURL), notAtQueue: true},
		"DeleteQueue":        {run: on((*wire.Input).Queue, timed(s, s.deleteQueue), (*wire.Encoder).Nothing)},
		"GetQueueAttributes": {run: on((*wire.Input).GetQueueAttributes, timed(s, s.getQueueAttributes), (*wire.Encoder).Attributes)},
		"GetQueueUrl":        {run: on((*wire.Input).GetQueueURL, timed(s, s.getQueueURL), (*wire.Encoder).QueueURL)},
		"ListQueues":         {run: on((*wire.Input).ListQueues, timed(s, s.listQueues), (*wire.Encoder).ListQueues), notAtQueue: true},
		"PurgeQueue":         {run: on((*wire.Input).Queue, timed(s, s.purgeQueue), (*wire.Encoder).Nothing)},
		"SetQueueAttributes": {run: on((*wire.Input).SetQueueAttributes, timed(s, s.setQueueAttributes), (*wire.Encoder).Nothing)},

		"ListQueueTags": {run: on((*wire.Input).Queue, timed(s, s.listQueueTags), (*wire.Encoder).Tags)},
		"TagQueue":      {run: on((*wire.Input).TagQueue, timed(s, s.tagQueue), (*wire.Encoder).Nothing)},
		"UntagQueue":    {run: on((*wire.Input).UntagQueue, timed(s, s.untagQueue), (*wire.Encoder).Nothing)},

		"SendMessage":      {run: on((*wire.Input).SendMessage, settled(s, s.sendMessage), (*wire.Encoder).SendMessage)},
		"SendMessageBatch": {run: on((*wire.Input).SendMessageBatch, settled(s, s.sendMessageBatch), (*wire.Encoder).SendMessageBatch)},
		// A long poll sets its own deadline.
		"ReceiveMessage":               {run: on((*wire.Input).ReceiveMessage, s.receiveMessage, (*wire.Encoder).ReceiveMessage)},
		"DeleteMessage":                {run: on((*wire.Input).DeleteMessage, settled(s, s.deleteMessage), (*wire.Encoder).Nothing)},
		"DeleteMessageBatch":           {run: on((*wire.Input).DeleteMessageBatch, settled(s, s.deleteMessageBatch), (*wire.Encoder).DeleteMessageBatch)},
		"ChangeMessageVisibility":      {run: on((*wire.Input).ChangeMessageVisibility, settled(s, s.changeMessageVisibility), (*wire.Encoder).Nothing)},
		"ChangeMessageVisibilityBatch": {run: on((*wire.Input).ChangeMessageVisibilityBatch, settled(s, s.changeMessageVisibilityBatch), (*wire.Encoder).ChangeMessageVisibilityBatch)},

		"AddPermission":              {run: on((*wire.Input).AddPermission, timed(s, s.addPermission), (*wire.Encoder).Nothing)},
		"RemovePermission":           {run: on((*wire.Input).RemovePermission, timed(s, s.removePermission), (*wire.Encoder).Nothing)},
		"ListDeadLetterSourceQueues": {run: on((*wire.Input).ListSources, timed(s, s.listDeadLetterSourceQueues), (*wire.Encoder).ListSources)},
		"StartMessageMoveTask":       {run: s.tasks(on((*wire.Input).StartMoveTask, timed(s, s.startMessageMoveTask), (*wire.Encoder).StartMoveTask))},
		"CancelMessageMoveTask":      {run: s.tasks(on((*wire.Input).CancelMoveTask, timed(s, s.cancelMessageMoveTask), (*wire.Encoder).CancelMoveTask))},
		"ListMessageMoveTasks":       {run: s.tasks(on((*wire.Input).ListMoveTasks, timed(s, s.listMessageMoveTasks), (*wire.Encoder).ListMoveTasks))},
	}
}

type runner = func(ctx context.Context, c *call, in *wire.Input, out *wire.Encoder) error

// tasks serves an action of move tasks where there is somebody to move messages.
func (s *Server) tasks(run runner) runner {
	if s.opts.MoveTasks == nil {
		return notYet
	}
	return run
}

// notYet answers the actions that are known but not served.
func notYet(_ context.Context, _ *call, in *wire.Input, _ *wire.Encoder) error {
	return unsupported(in.Action)
}

type action[Req, Res any] func(ctx context.Context, c *call, r *Req) (*Res, error)

// on makes a route's run of an action and its wire forms.
func on[Req, Res any](decode func(*wire.Input, *Req) error, run action[Req, Res], encode func(*wire.Encoder, *Res),
) func(context.Context, *call, *wire.Input, *wire.Encoder) error {
	return func(ctx context.Context, c *call, in *wire.Input, out *wire.Encoder) error {
		var r Req
		if err := decode(in, &r); err != nil {
			return err
		}
		res, err := run(ctx, c, &r)
		if err != nil {
			return err
		}
		encode(out, res)
		return nil
	}
}

// timed bounds an action by RequestTimeout.
func timed[Req, Res any](s *Server, run action[Req, Res]) action[Req, Res] {
	return func(ctx context.Context, c *call, r *Req) (*Res, error) {
		ctx, cancel := context.WithTimeout(ctx, s.opts.RequestTimeout)
		defer cancel()
		return run(ctx, c, r)
	}
}

// settled is timed for the actions that go on when their client leaves.
func settled[Req, Res any](s *Server, run action[Req, Res]) action[Req, Res] {
	return func(_ context.Context, c *call, r *Req) (*Res, error) {
		return run(s.deadlines[0].context(), c, r)
	}
}

func actionNames(table map[string]route) []string {
	return slices.Sorted(maps.Keys(table))
}

// router puts the actions behind the middlewares. Which action it is stands in
// the request, not in its path: every path is an endpoint. The chain is made
// once; mux's own Use would make it anew for every request.
func (s *Server) router() http.Handler {
	r := mux.NewRouter()
	r.SkipClean(true) // native queue URLs have an empty path part
	r.Methods(http.MethodGet).HandlerFunc(s.serve)
	r.NewRoute().HandlerFunc(s.refuseMethod)
	return s.observe(s.limit(s.guard(s.post(r))))
}

// post serves what nearly every request is. There is nothing to choose for it,
// and mux would copy the request to note what it has chosen.
func (s *Server) post(other http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			s.serve(w, r)
			return
		}
		other.ServeHTTP(w, r)
	})
}

func (s *Server) refuseMethod(w http.ResponseWriter, _ *http.Request) {
	x := exchangeOf(w)
	x.Header().Set("Allow", "GET, POST")
	s.fail(x, nil, api.Errorf(api.MethodNotAllowed, "Requests are GET or POST."))
}
