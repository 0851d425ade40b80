package ydbtopic

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// tokenRecheck is how long a token is used before the file is looked at again.
const tokenRecheck = 10 * time.Second

// tokenFile gives the SDK the token in a file. Orchestrators replace such files
// while the process runs, so it is read again when it has changed.
type tokenFile struct {
	path string
	now  func() time.Time

	mu       sync.Mutex
	token    string
	modified time.Time
	checked  time.Time
}

func openTokenFile(path string) (*tokenFile, error) {
	f := &tokenFile{path: path, now: time.Now}
	if _, err := f.Token(context.Background()); err != nil {
		return nil, err
	}
	return f, nil
}

// Token is called before every request. A file that cannot be read any more
// leaves the last token in use: the cluster refuses it when it has expired.
func (f *tokenFile) Token(context.Context) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.now()
	if f.token != "" && now.Sub(f.checked) < tokenRecheck {
		return f.token, nil
	}
	f.checked = now
	token, modified, err := f.read()
	if err != nil {
		if f.token != "" {
			return f.token, nil
		}
		return "", err
	}
	f.token, f.modified = token, modified
	return token, nil
}

func (f *tokenFile) read() (string, time.Time, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("reading the token file: %w", err)
	}
	if f.token != "" && info.ModTime().Equal(f.modified) {
		return f.token, f.modified, nil
	}
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("reading the token file: %w", err)
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", time.Time{}, fmt.Errorf("token file %s is empty", f.path)
	}
	return token, info.ModTime(), nil
}
