package consumer

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb"

	"sqsgate/internal/logread"
	"sqsgate/internal/ydbstatus"
)

// feed reads one partition's messages for its shard, as far as the shard grants
// bytes. It reconnects by itself and never skips or repeats a message, but for
// those that retention removed.
type feed struct {
	open func(ctx context.Context, offset int64) (*logread.Reader, error)
	post func(event)
	log  *slog.Logger

	mu     sync.Mutex
	reader *logread.Reader
	next   int64 // offset of the next message wanted
	credit int64 // granted and not used
	reset  bool  // next was moved: the reader is of no use any more
}

// run reads until ctx ends or the topic is gone.
func (f *feed) run(ctx context.Context) {
	for attempt := 0; ; attempt++ {
		read, err := f.session(ctx)
		if ctx.Err() != nil {
			return
		}
		if read {
			attempt = 0
		}
		var ended *logread.EndedError
		switch {
		case errors.As(err, &ended):
			// Nothing follows. The children are read by their own shards.
			f.log.Info("partition has ended", slog.Any("children", ended.Children))
			f.post(event{kind: eventEnded})
			<-ctx.Done()
			return
		case ydbstatus.Is(err, Ydb.StatusIds_SCHEME_ERROR):
			f.post(event{kind: eventFeedLost, err: err})
			return
		case f.moved():
			attempt = 0
			continue
		}
		f.log.Warn("feed lost, reading again", slog.Any("error", err), slog.Int("attempt", attempt))
		if !pause(ctx, backOff(attempt)) {
			return
		}
	}
}

func (f *feed) session(ctx context.Context) (read bool, err error) {
	f.mu.Lock()
	from := f.next
	f.reset = false
	f.mu.Unlock()
	reader, err := f.open(ctx, from)
	if err != nil {
		return false, err
	}
	defer reader.Close()
	if start, _ := reader.Bounds(); start > from {
		f.post(event{kind: eventData, start: start})
	}
	f.mu.Lock()
	f.reader = reader
	credit := f.credit
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.reader = nil
		f.mu.Unlock()
	}()
	if credit > 0 {
		reader.Grant(credit)
	}
	for {
		messages, cost, err := reader.Read()
		if err != nil {
			return read, err
		}
		read = true
		f.mu.Lock()
		if f.reset {
			f.mu.Unlock()
			return true, errors.New("the feed was moved")
		}
		if n := len(messages); n > 0 {
			f.next = messages[n-1].Offset + 1
		}
		f.credit -= cost
		f.mu.Unlock()
		f.post(event{kind: eventData, messages: messages, cost: cost, start: -1})
	}
}

// grant lets the feed read this many bytes more.
func (f *feed) grant(bytes int64) {
	f.mu.Lock()
	f.credit += bytes
	reader := f.reader
	f.mu.Unlock()
	if reader != nil {
		reader.Grant(bytes)
	}
}

// outstanding tells how many granted bytes have not come yet.
func (f *feed) outstanding() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.credit
}

// skip moves the feed to offset; what lies before it is not read.
func (f *feed) skip(offset int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if offset <= f.next {
		return
	}
	f.next, f.reset = offset, true
	if f.reader != nil {
		f.reader.Close()
	}
}

func (f *feed) moved() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.reset
}
