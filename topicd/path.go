package topicd

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"
)

// maxNameLen is YDB's limit on one part of a path, bytes.
const maxNameLen = 255

// resolve turns the path of a request into an absolute one inside the
// database. A path without leading slash is relative to the database that the
// caller named in its x-ydb-database header.
func (s *Server) resolve(ctx context.Context, path string) (string, error) {
	db := s.opts.Database
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		if v := md.Get("x-ydb-database"); len(v) > 0 && v[0] != "" && "/"+strings.Trim(v[0], "/") != db {
			return "", schemeError("unknown database %q", v[0])
		}
	}
	trimmed := strings.TrimRight(path, "/")
	if !strings.HasPrefix(path, "/") {
		if trimmed == "" {
			return db, nil
		}
		trimmed = db + "/" + trimmed
	}
	if trimmed != db && !strings.HasPrefix(trimmed, db+"/") {
		return "", schemeError("path %q is outside of database %q", path, db)
	}
	if rest := strings.TrimPrefix(trimmed, db); rest != "" {
		for part := range strings.SplitSeq(rest[1:], "/") {
			if err := checkName(part); err != nil {
				return "", err
			}
		}
	}
	return trimmed, nil
}

func checkName(name string) error {
	if name == "" || name == "." || name == ".." {
		return schemeError("path part %q is not allowed", name)
	}
	if len(name) > maxNameLen {
		return schemeError("path part is longer than %d bytes", maxNameLen)
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		default:
			return schemeError("symbol %q is not allowed in the path part %q", c, name)
		}
	}
	return nil
}

func parentOf(path string) string { return path[:strings.LastIndexByte(path, '/')] }

func leafOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
