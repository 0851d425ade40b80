package gateway

import (
	"errors"
	"net/http"

	"sqsgate/gateway/api"
	"sqsgate/gateway/sigv4"
	"sqsgate/gateway/wire"
)

// authenticate tells who sent a request; nil means that nobody asks.
func (s *Server) authenticate(r *http.Request, body []byte, e *event) (*sigv4.Identity, error) {
	if s.opts.Auth == nil {
		return nil, nil
	}
	who, err := s.opts.Auth.Verify(r, body, s.opts.Now())
	if err != nil {
		return nil, err
	}
	e.principal = who.Principal
	return &who, nil
}

// mayCall refuses an action that the caller may call on no queue at all.
func (s *Server) mayCall(c *call) error {
	if c.who == nil || c.who.AllowsAction(c.event.action) {
		return nil
	}
	return denied(s.baseURL(c.request) + "/")
}

// mayUse refuses a queue that the caller may not use with this action. It comes
// before the look-up: whether the queue is there is not told.
func (s *Server) mayUse(c *call, name string) error {
	if c.may(name) {
		return nil
	}
	return denied(s.queueURL(c.request, name))
}

// may tells whether the caller may use a queue with this action.
func (c *call) may(name string) bool {
	return c.who == nil || c.who.Allows(c.event.action, name)
}

// sender is the SenderId of what the caller sends; "" stands for the account.
func (c *call) sender() string {
	if c.who == nil {
		return ""
	}
	return c.who.Principal
}

func denied(resource string) error {
	return api.Errorf(api.AccessDenied, "Access to the resource %.256s is denied.", resource)
}

// signatureError is what a client is shown of a refused signature. AWS has one
// name for all that makes a whole signature a wrong one.
func signatureError(err *sigv4.Error) *api.Error {
	kind := api.SignatureDoesNotMatch
	switch err.Reason {
	case sigv4.MissingToken:
		kind = api.MissingAuthenticationToken
	case sigv4.Incomplete:
		kind = api.IncompleteSignature
	case sigv4.UnknownKey:
		kind = api.InvalidClientTokenID
	case sigv4.BadScope, sigv4.Expired, sigv4.NotYetValid, sigv4.BadPayload, sigv4.Mismatch:
	}
	return &api.Error{Kind: kind, Message: err.Message}
}

// canonicalStrings is what Query errors say beside the message: what should have
// been signed.
func canonicalStrings(err error, format wire.Format) string {
	var bad *sigv4.Error
	if format == wire.JSON || !errors.As(err, &bad) || bad.CanonicalRequest == "" {
		return ""
	}
	return "\n\nThe Canonical String for this request should have been\n'" + bad.CanonicalRequest +
		"'\n\nThe String-to-Sign should have been\n'" + bad.StringToSign + "'\n"
}
