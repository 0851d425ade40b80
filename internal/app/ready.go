package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"sqsgate/config"
)

// addresses is where a process listens, as the ready file shows it. An empty
// one is not served.
type addresses struct {
	SQS   string `json:"sqs,omitempty"`
	Topic string `json:"topic,omitempty"`
	Admin string `json:"admin,omitempty"`
}

// readyFile tells others where the process listens, by the path of
// --ready-file. It exists only while the process serves.
type readyFile struct {
	path string // "" does nothing
}

// newReadyFile removes what a killed process has left, so that nobody takes the
// old addresses for ours. A path that cannot be written is a *config.Error.
func newReadyFile(path string) (readyFile, error) {
	if path != "" {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return readyFile{}, &config.Error{Key: "ready-file", Value: path, Err: err}
		}
	}
	return readyFile{path: path}, nil
}

// announce logs the line "ready" and writes the file, complete or not at all.
// Call it when all listeners serve.
func (f readyFile) announce(log *slog.Logger, a addresses) error {
	if err := f.write(a); err != nil {
		return &config.Error{Key: "ready-file", Value: f.path, Err: err}
	}
	log.Info("ready", a.attrs()...)
	return nil
}

func (a addresses) attrs() []any {
	var attrs []any
	for _, one := range []struct{ key, value string }{{"sqs", a.SQS}, {"topic", a.Topic}, {"admin", a.Admin}} {
		if one.value != "" {
			attrs = append(attrs, slog.String(one.key, one.value))
		}
	}
	return attrs
}

func (f readyFile) write(a addresses) (err error) {
	if f.path == "" {
		return nil
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encoding the addresses: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(f.path), filepath.Base(f.path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(tmp.Name()) // the first error says what is wrong
		}
	}()
	_, err = tmp.Write(append(raw, '\n'))
	if err == nil {
		err = tmp.Chmod(0o644) // others are to read it
	}
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), f.path)
}

// withdraw removes the file. A file that is gone already is no error.
func (f readyFile) withdraw(log *slog.Logger) {
	if f.path == "" {
		return
	}
	if err := os.Remove(f.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		log.Warn("ready file stays behind", slog.String("path", f.path), slog.Any("error", err))
	}
}

// reachable is a listener's address for clients on this machine. A wildcard
// socket takes IPv4 also when it is bound to [::], so the loopback reaches it.
func reachable(lis net.Listener) string {
	tcp, ok := lis.Addr().(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return lis.Addr().String()
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(tcp.Port))
}
