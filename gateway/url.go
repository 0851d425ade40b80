package gateway

import (
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"sqsgate/gateway/api"
)

func isAccount(s string) bool {
	if len(s) != 12 {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// baseURL is the front of the queue URLs this request's answer shows.
func (s *Server) baseURL(r *http.Request) string {
	if s.opts.PublicURL != "" {
		return s.opts.PublicURL
	}
	scheme, host := "http", r.Host
	if r.TLS != nil {
		scheme = "https"
	}
	if v := firstOf(r.Header.Get("X-Forwarded-Proto")); v == "http" || v == "https" {
		scheme = v
	}
	if v := firstOf(r.Header.Get("X-Forwarded-Host")); v != "" {
		host = v
	}
	if host == "" { // HTTP/1.0 asks for none
		if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
			host = local.String()
		}
	}
	return scheme + "://" + host
}

// firstOf is the client's side of a header that proxies append to.
func firstOf(list string) string {
	first, _, _ := strings.Cut(list, ",")
	return strings.TrimSpace(first)
}

func (s *Server) queueURL(r *http.Request, name string) string {
	return s.baseURL(r) + "/" + s.opts.Account + "/" + name
}

func (o *Options) arn(name string) string {
	return "arn:aws:sqs:" + o.Region + ":" + o.Account + ":" + name
}

// nameOfARN returns the queue of an ARN of this region and account, or "".
func (o *Options) nameOfARN(arn string) string {
	name, ok := strings.CutPrefix(arn, o.arn(""))
	if !ok {
		return ""
	}
	return name
}

// nameOf finds the queue a request is for: its QueueUrl, else its path. A
// QueueUrl may have any host or none, and may be the bare name.
func (s *Server) nameOf(r *http.Request, queueURL string) (string, error) {
	path := queueURL
	if path == "" {
		path = r.URL.Path
	} else if _, rest, ok := strings.Cut(path, "://"); ok {
		_, path, _ = strings.Cut(rest, "/")
		if strings.Contains(path, "%") {
			unescaped, err := url.PathUnescape(path)
			if err != nil {
				return "", invalidAddress(queueURL)
			}
			path = unescaped
		}
	}
	name, _ := s.nameOfPath(path)
	if name == "" {
		if queueURL == "" {
			return "", api.Missing("QueueUrl")
		}
		return "", invalidAddress(queueURL)
	}
	return name, nil
}

func invalidAddress(queueURL string) error {
	return api.Errorf(api.InvalidAddress, "The address %.256s is not valid for this endpoint.", queueURL)
}

// nameOfPath reads /<account>/<name>, the native /v1/... form, or a bare name;
// the bare name is not the address of a queue.
func (s *Server) nameOfPath(path string) (name string, address bool) {
	path = strings.TrimPrefix(path, "/")
	if prefix := strings.TrimPrefix(s.prefix, "/"); prefix != "" {
		if rest, ok := strings.CutPrefix(path, prefix+"/"); ok {
			path = rest
		}
	}
	if account, rest, ok := strings.Cut(path, "/"); ok && isAccount(account) {
		return rest, rest != ""
	}
	if rest, ok := strings.CutPrefix(path, "v1/"); ok {
		if name, ok := s.nativeName(rest); ok {
			return name, true
		}
	}
	return path, false
}

// nativeName reads the rest of a native queue URL: the database, the topic in it
// and the consumer, each after its length in bytes, and .fifo for FIFO queues.
func (s *Server) nativeName(rest string) (string, bool) {
	var parts [3]string
	for i := range parts {
		digits, after, ok := strings.Cut(rest, "/")
		n, err := strconv.Atoi(digits)
		if !ok || err != nil || n < 0 || n > len(after) {
			return "", false
		}
		parts[i], rest = after[:n], after[n:]
		if i < len(parts)-1 {
			if rest, ok = strings.CutPrefix(rest, "/"); !ok {
				return "", false
			}
		}
	}
	database, topic, consumer := parts[0], strings.TrimPrefix(parts[1], "/"), parts[2]
	if rest != "" && !strings.EqualFold(rest, ".fifo") {
		return "", false
	}
	if s.opts.QueueRoot != "" {
		var below bool
		if topic, below = strings.CutPrefix(topic, s.opts.QueueRoot+"/"); !below {
			return "", false
		}
	}
	if database != s.opts.Database || topic == "" {
		return "", false
	}
	if consumer != s.opts.DefaultConsumer {
		topic += "@" + consumer
	}
	return topic, true
}
