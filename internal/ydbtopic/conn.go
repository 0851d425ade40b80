package ydbtopic

import (
	"context"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Scheme_V1"
	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"google.golang.org/grpc"
)

// Conn is a connection to the Topic API of one database. It is safe for
// concurrent use.
type Conn struct {
	database string
	topics   Ydb_Topic_V1.TopicServiceClient
	scheme   Ydb_Scheme_V1.SchemeServiceClient
	link     *link // nil for an in-process connection
}

func newConn(database string, cc grpc.ClientConnInterface, l *link) *Conn {
	return &Conn{
		database: database,
		topics:   Ydb_Topic_V1.NewTopicServiceClient(cc),
		scheme:   Ydb_Scheme_V1.NewSchemeServiceClient(cc),
		link:     l,
	}
}

// Topics returns the topic service. Statuses inside its answers are not read:
// a gRPC success may carry a YDB error.
func (c *Conn) Topics() Ydb_Topic_V1.TopicServiceClient { return c.topics }

// Scheme returns the scheme service, with statuses unread as in Topics.
func (c *Conn) Scheme() Ydb_Scheme_V1.SchemeServiceClient { return c.scheme }

// Database returns the path of the database, with a leading slash.
func (c *Conn) Database() string { return c.database }

// Ready returns nil while the cluster answers, otherwise why it does not.
func (c *Conn) Ready() error {
	if c.link == nil {
		return nil
	}
	return c.link.state()
}

// Close ends all calls and waits for the connection's goroutine, at most until
// ctx ends. Later calls do nothing and return nil.
func (c *Conn) Close(ctx context.Context) error {
	if c.link == nil {
		return nil
	}
	return c.link.close(ctx)
}
