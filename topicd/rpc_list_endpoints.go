package topicd

import (
	"context"
	"net"
	"strconv"
	"strings"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Discovery"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
)

// ListEndpoints names the one endpoint there is: Options.Advertise, else the
// host the caller asked for with the port its call came in on.
//
// Errors: NOT_FOUND for another database.
func (s *Server) ListEndpoints(ctx context.Context, req *Ydb_Discovery.ListEndpointsRequest) (*Ydb_Discovery.ListEndpointsResponse, error) {
	var result *Ydb_Discovery.ListEndpointsResult
	err := s.unary(ctx, "ListEndpoints", func(ctx context.Context) error {
		if db := req.GetDatabase(); db != "" && "/"+strings.Trim(db, "/") != s.opts.Database {
			return statusf(Ydb.StatusIds_NOT_FOUND, "database %q is not found", db)
		}
		host, port, secure := s.endpoint(ctx)
		result = &Ydb_Discovery.ListEndpointsResult{
			Endpoints: []*Ydb_Discovery.EndpointInfo{{Address: host, Port: port, Ssl: secure, NodeId: nodeID}},
		}
		return nil
	})
	return &Ydb_Discovery.ListEndpointsResponse{Operation: operation(result, err)}, nil
}

func (s *Server) endpoint(ctx context.Context) (host string, port uint32, secure bool) {
	host = "localhost"
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if v := md.Get(":authority"); len(v) > 0 && v[0] != "" {
			host, port = splitHostPort(v[0])
		}
	}
	if p, ok := peer.FromContext(ctx); ok {
		secure = p.AuthInfo != nil && p.AuthInfo.AuthType() == "tls"
		if local, ok := p.LocalAddr.(*net.TCPAddr); ok {
			port = uint32(local.Port)
		}
	}
	if s.opts.Advertise != "" {
		host, port = splitHostPort(s.opts.Advertise)
	}
	return host, port, secure
}

func splitHostPort(addr string) (string, uint32) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return strings.Trim(addr, "[]"), 0
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return host, 0
	}
	return host, uint32(n)
}
