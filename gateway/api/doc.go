// Package api holds what both protocols of the SQS API share: the requests and
// results of its actions, the limits, and the rules that make a request valid,
// with the texts AWS answers.
//
// It is pure and knows nothing of HTTP, of topics or of how an Error looks on
// the wire: an Error names its Kind, and package gateway has the one table from
// kinds to codes and statuses.
package api
