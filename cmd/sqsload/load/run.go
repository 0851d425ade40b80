package load

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"sqsgate/cmd/sqsload/ledger"
	"sqsgate/cmd/sqsload/process"
	"sqsgate/cmd/sqsload/report"
	"sqsgate/cmd/sqsload/sqs"
)

// settleExtra is how long after the visibility timeout a message may still be
// on its way before it counts as lost.
const settleExtra = 15 * time.Second

// fillTimeout bounds the filling of a queue that is to be drained.
const fillTimeout = 30 * time.Minute

// run is what the workers of one run share.
type run struct {
	options Options
	name    string // random, in every body
	queue   sqs.Queue
	ledger  *ledger.Ledger
	bodies  *bodies
	workers []*worker
	left    atomic.Int64 // messages that may still be sent
}

// Run puts the load on the endpoint and returns what it measured. An error
// means that there is no measurement: the queue could not be made, or ctx ended.
// Failed requests and broken promises are in the report.
func Run(ctx context.Context, options Options) (*report.Run, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	r := &run{options: options, name: strconv.FormatUint(rand.Uint64()|1<<63, 36)}
	r.bodies = newBodies(r.name, options.BodyBytes)
	r.left.Store(1 << 62)
	if options.Messages > 0 {
		r.left.Store(int64(options.Messages))
	}

	setup := sqs.NewConn(options.Endpoint, options.Timeout, options.Signer)
	defer func() { _ = setup.Close() }() // nothing is on its way
	name, err := r.prepareQueue(setup)
	if err != nil {
		return nil, err
	}
	out, err := r.measure(ctx, name)
	if options.Queue == "" && !options.Keep {
		err = errors.Join(err, setup.DeleteQueue(r.queue))
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (r *run) prepareQueue(conn *sqs.Conn) (name string, err error) {
	o := r.options
	name = o.Queue
	if name == "" {
		name = "sqsload-" + r.name
	}
	if o.FIFO && !strings.HasSuffix(name, ".fifo") {
		name += ".fifo"
	}
	attributes := map[string]string{"VisibilityTimeout": strconv.Itoa(int(o.Visibility / time.Second))}
	if o.FIFO {
		attributes["FifoQueue"] = "true"
	}
	if o.Partitions > 0 {
		attributes["YdbMinActivePartitions"] = strconv.Itoa(o.Partitions)
		attributes["YdbMaxActivePartitions"] = strconv.Itoa(o.Partitions)
	}
	r.queue, err = conn.CreateQueue(name, attributes)
	return name, err
}

// measure does the phases of the run.
func (r *run) measure(ctx context.Context, queue string) (*report.Run, error) {
	o := r.options
	r.ledger = ledger.New(time.Now(), o.Visibility, o.Connections, o.Groups)
	for i := range o.Connections {
		r.workers = append(r.workers, newWorker(r, i))
	}
	defer context.AfterFunc(ctx, func() {
		for _, w := range r.workers {
			w.conn.Interrupt()
		}
	})()
	defer func() {
		for _, w := range r.workers {
			_ = w.conn.Close() // nothing is on its way
		}
	}()

	if o.Scenario == Drain {
		limit := time.Now().Add(fillTimeout)
		r.phase(ctx, "fill", window{}, pacer{}, limit, func(w *worker) func(time.Time) bool {
			return func(due time.Time) bool { return w.send(due, batchSize) > 0 }
		})
	}
	out := r.describe(queue)
	start := time.Now()
	w := window{from: start.Add(o.Warmup), to: start.Add(o.Warmup + o.Duration)}
	used := r.startUsage(w)
	r.phase(ctx, string(o.Scenario), w, pacer{next: start}, w.to, func(w *worker) func(time.Time) bool { return w.step })
	used.stop()
	early := time.Now().Before(w.to)

	meters := make([]*meter, 0, len(r.workers))
	for _, worker := range r.workers {
		meters = append(meters, worker.meter)
	}
	out.Measurement = summarize(meters, w, early)
	used.report(out)
	if o.receives() {
		r.settle(ctx)
	}
	out.Ledger = r.ledger.Result()
	out.Machine.LoadAfter = process.LoadAverage()
	return out, ctx.Err()
}

func (r *run) describe(queue string) *report.Run {
	o := r.options
	return &report.Run{
		Scenario: string(o.Scenario), Endpoint: o.Endpoint.String(), Queue: queue,
		FIFO: o.FIFO, Groups: o.Groups, Partitions: o.Partitions,
		Connections: o.Connections, BodyBytes: o.BodyBytes, Rate: o.Rate,
		Started: time.Now(), Checked: o.receives(),
		Machine: report.Machine{Cores: runtime.NumCPU(), Go: runtime.Version(), OS: process.OS(), LoadBefore: process.LoadAverage()},
	}
}

// phase lets every worker repeat its step until the end, and waits for all.
func (r *run) phase(ctx context.Context, name string, measured window, pace pacer, end time.Time, step func(*worker) func(time.Time) bool) {
	watch := startLive(r.options.Live, name, r.workers)
	defer watch.stop()
	var all sync.WaitGroup
	for i, w := range r.workers {
		w.backoff = 0
		w.meter.begin(measured)
		p := pacer{}
		if !pace.next.IsZero() {
			p = newPacer(pace.next, r.options.Rate, i, len(r.workers))
		}
		all.Go(func() { w.work(ctx, p, end, step(w)) })
	}
	all.Wait()
}

// settle receives until every answered send has come or cannot be on its way
// any more.
func (r *run) settle(ctx context.Context) {
	if r.ledger.Missing() == 0 {
		return
	}
	end := time.Now().Add(r.options.Visibility + settleExtra)
	r.phase(ctx, "settle", window{}, pacer{}, end, func(w *worker) func(time.Time) bool {
		return func(due time.Time) bool {
			if r.ledger.Missing() == 0 {
				return false
			}
			w.take(due, batchSize)
			return true
		}
	})
}

// reserve takes up to n of the messages that may still be sent.
func (r *run) reserve(n int) int {
	left := r.left.Add(-int64(n))
	if left >= 0 {
		return n
	}
	return max(n+int(left), 0)
}

// definite tells whether an error proves that a send did not happen. A fault of
// the server's own (5xx) does not, nor does a broken connection.
func definite(err error) bool {
	var f *sqs.Failure
	return errors.As(err, &f) && f.Status >= 400 && f.Status < 500
}
