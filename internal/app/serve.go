package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sqsgate/codec"
	"sqsgate/config"
	"sqsgate/consumer"
	"sqsgate/gateway"
	"sqsgate/gateway/admin"
	"sqsgate/gateway/catalog"
	"sqsgate/gateway/movetask"
	"sqsgate/internal/ydbtopic"
	"sqsgate/partition"
	"sqsgate/topicd"
)

const (
	// startWait bounds how long "ready" waits for the catalogue; a cluster that is
	// out of reach must not keep the process from telling so on /readyz.
	startWait = 5 * time.Second
	// stopWait bounds each of the steps of a graceful stop that wait for others.
	stopWait = 3 * time.Second

	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	// longPoll is the longest wait of a ReceiveMessage.
	longPoll = 20 * time.Second

	embeddedRetention = time.Hour
	clusterRetention  = 24 * time.Hour
)

// gatewayProcess is the parts of `sqsgate serve`, in the order they are made.
// What is nil was not made.
type gatewayProcess struct {
	cfg config.Config
	log *slog.Logger
	reg *prometheus.Registry

	sqs, admin, topic net.Listener
	store             *topicd.Server // embedded only
	conn              *ydbtopic.Conn
	catalog           *catalog.Catalog
	consumer          *consumer.Consumer
	pool              *partition.Pool
	sqsServer         *http.Server
	adminServer       *http.Server

	moves    *movetask.Runner
	edge     *gateway.Server
	declared []gateway.Declaration

	stopDeclare context.CancelFunc // nil unless it goes on behind the start
	declareDone chan struct{}
	// The goroutines of the catalogue and of the move tasks.
	stopCatalog, stopMoves context.CancelFunc
	catalogDone, movesDone chan struct{}
	failed                 chan error // from the goroutines that serve
}

// RunServe runs the gateway until ctx ends, then stops it gracefully and returns
// nil; or until a part of it fails.
func RunServe(ctx context.Context, cfg config.Config, log *slog.Logger) (err error) {
	ready, err := newReadyFile(cfg.ReadyFile)
	if err != nil {
		return err
	}
	p := &gatewayProcess{cfg: cfg, log: log, reg: prometheus.NewRegistry(), failed: make(chan error, 5)}
	defer func() {
		ready.withdraw(log)
		if stopErr := p.stop(); err == nil {
			err = stopErr
		}
	}()
	for _, start := range []func(context.Context) error{p.listen, p.connect, p.assemble, p.serve} {
		if err := start(ctx); err != nil {
			return err
		}
	}
	p.awaitCatalog(ctx)
	if err := p.declare(ctx); err != nil {
		return err
	}
	if err := ready.announce(log, p.addresses()); err != nil {
		return err
	}
	var broken <-chan struct{}
	if p.store != nil {
		broken = p.store.Failed()
	}
	select {
	case <-ctx.Done():
		return nil
	case <-broken:
		return storeFailed(p.store)
	case err := <-p.failed:
		return err
	}
}

// listen opens every address first, so that one in use stops the process before
// it has touched anything.
func (p *gatewayProcess) listen(ctx context.Context) (err error) {
	if p.sqs, err = listen(ctx, "listen", p.cfg.Listen); err != nil {
		return err
	}
	if p.admin, err = listen(ctx, "admin-listen", p.cfg.AdminListen); err != nil {
		return err
	}
	if p.cfg.Embedded() {
		p.topic, err = listen(ctx, "topic-listen", p.cfg.TopicListen)
	}
	return err
}

// connect opens the embedded store, or the connection to the cluster.
func (p *gatewayProcess) connect(ctx context.Context) (err error) {
	p.reg.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if p.cfg.Embedded() {
		if p.store, err = openTopicd(p.cfg, p.log, p.reg); err != nil {
			return err
		}
		p.conn = ydbtopic.InProcess(p.cfg.Database, p.store.Register)
		return nil
	}
	p.conn, err = ydbtopic.Dial(ctx, ydbtopic.Options{
		DSN:       p.cfg.YDB,
		User:      p.cfg.YDBUser,
		Password:  string(p.cfg.YDBPassword),
		Token:     string(p.cfg.YDBToken),
		TokenFile: p.cfg.YDBTokenFile,
		CAFile:    p.cfg.YDBCAFile,
		Logger:    p.log,
	})
	if err != nil {
		return &config.Error{Key: "ydb", Value: p.cfg.YDB, Err: err}
	}
	return nil
}

// assemble makes the parts of the gateway.
func (p *gatewayProcess) assemble(context.Context) (err error) {
	encodings, err := codec.NewEncodings(p.cfg.Codecs)
	if err != nil {
		return &config.Error{Key: "codecs", Value: fmt.Sprint(p.cfg.Codecs), Err: err}
	}
	retention := p.cfg.TopicRetention
	if retention == 0 {
		retention = clusterRetention
		if p.cfg.Embedded() {
			retention = embeddedRetention
		}
	}
	p.catalog, err = catalog.New(catalog.Options{
		Topics:          p.conn.Topics(),
		Scheme:          p.conn.Scheme(),
		Database:        p.conn.Database(),
		QueueRoot:       p.cfg.QueueRoot,
		StateRoot:       p.cfg.StateRoot,
		Consumer:        p.cfg.Consumer,
		TopicRetention:  retention,
		RefreshInterval: p.cfg.RefreshInterval,
		OnChange:        p.queueChanged,
		OnForgotten:     p.queueForgotten,

		AutoCreateConsumer: p.cfg.AutoCreateConsumer,
		Logger:             p.log,
		Registerer:         p.reg,
	})
	if err != nil {
		return fmt.Errorf("catalogue: %w", err)
	}
	p.pool, err = partition.New(partition.Options{
		Topics:       p.conn.Topics(),
		FIFORate:     p.cfg.FIFO.MessagesPerSecondPerPartition,
		ThrottleWait: p.cfg.FIFO.ThrottleWait,
		Logger:       p.log,
		Registerer:   p.reg,
	})
	if err != nil {
		return fmt.Errorf("writers: %w", err)
	}
	p.consumer, err = consumer.New(consumer.Options{
		Topics:         p.conn.Topics(),
		Scheme:         p.conn.Scheme(),
		Database:       p.conn.Database(),
		StateRoot:      p.cfg.StateRoot,
		Address:        reachable(p.sqs),
		BodyCacheBytes: int64(p.cfg.BodyCacheBytes),
		MaxAnswerBytes: int64(p.cfg.Receive.MaxAnswerBytes),
		SkipOversized:  p.cfg.Receive.Oversize == config.OversizeSkip,
		Sequence: func(topic, producer string) consumer.SequenceWriter {
			return sequence{p.pool.Sequence(topic, producer)}
		},
		Resolve: func(target uint64, sourceARN string) (consumer.Destination, bool) {
			return resolve(p.catalog, target, sourceARN)
		},
		Logger:     p.log,
		Registerer: p.reg,
	})
	if err != nil {
		return fmt.Errorf("shared consumers: %w", err)
	}
	auth, err := p.verifier()
	if err != nil {
		return err
	}
	if p.declared, err = declarations(p.cfg.Queues); err != nil {
		return err
	}
	p.moves, err = movetask.New(movetask.Options{
		Catalog: p.catalog,
		Mover: mover{shared: func(ctx context.Context, queue string) (*consumer.Queue, error) {
			return p.edge.Shared(ctx, queue)
		}},
		Logger:     p.log,
		Registerer: p.reg,
	})
	if err != nil {
		return fmt.Errorf("move tasks: %w", err)
	}
	edge, err := gateway.New(gateway.Options{
		Catalog:          p.catalog,
		Consumer:         p.consumer,
		Pool:             p.pool,
		MoveTasks:        p.moves,
		Auth:             auth,
		Encodings:        encodings,
		Database:         p.conn.Database(),
		QueueRoot:        p.cfg.QueueRoot,
		DefaultConsumer:  p.cfg.Consumer,
		Region:           p.cfg.Region,
		Account:          p.cfg.Account,
		PublicURL:        p.cfg.PublicURL,
		RequestTimeout:   p.cfg.RequestTimeout,
		PurgeCooldown:    cooldown(p.cfg),
		DeleteCooldown:   cooldown(p.cfg),
		AutoCreateQueues: p.cfg.AutoCreateQueues,
		Logger:           p.log,
		Registerer:       p.reg,
	})
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	p.edge = edge
	p.sqsServer = p.httpServer(edge.Handler())
	adminHandler, err := admin.New(admin.Options{
		Gatherer: p.reg,
		Checks: map[string]admin.Check{
			"connection": func(context.Context) error { return p.conn.Ready() },
			"catalog":    func(context.Context) error { return p.catalog.Ready() },
			"consumers":  func(context.Context) error { return p.consumer.Ready() },
		},
		Logger: p.log,
	})
	if err != nil {
		return err
	}
	p.adminServer = p.httpServer(adminHandler)
	return nil
}

// cooldown is AWS's wait between two purges, and between a queue's deletion and
// the next of its name.
func cooldown(cfg config.Config) time.Duration {
	if cfg.AWSCooldowns {
		return time.Minute
	}
	return 0
}

func (p *gatewayProcess) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       time.Minute,
		WriteTimeout:      longPoll + p.cfg.RequestTimeout + time.Minute,
		IdleTimeout:       idleTimeout,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
	}
}

// queueChanged hears of the queues that this or another gateway changes.
func (p *gatewayProcess) queueChanged(q catalog.Queue, deleted bool) {
	if deleted {
		p.consumer.Forget(q.Topic, q.Consumer, q.Incarnation)
		p.pool.Forget(q.Topic)
	}
}

// queueForgotten hears of queues that others have taken away with their topic or
// consumer.
func (p *gatewayProcess) queueForgotten(q catalog.Queue) {
	p.consumer.Abandon(q.Topic, q.Consumer, q.Incarnation)
}

// serve starts what runs until stop.
func (p *gatewayProcess) serve(context.Context) error {
	ctx, cancel := context.WithCancel(context.Background())
	p.stopCatalog, p.catalogDone = cancel, make(chan struct{})
	go func() {
		defer close(p.catalogDone)
		if err := p.catalog.Run(ctx); err != nil && ctx.Err() == nil {
			p.failed <- fmt.Errorf("catalogue: %w", err)
		}
	}()
	moving, cancelMoves := context.WithCancel(context.Background())
	p.stopMoves, p.movesDone = cancelMoves, make(chan struct{})
	go func() {
		defer close(p.movesDone)
		if err := p.moves.Run(moving); err != nil && moving.Err() == nil {
			p.failed <- fmt.Errorf("move tasks: %w", err)
		}
	}()
	if p.store != nil {
		go p.run("Topic API", func() error { return p.store.Serve(p.topic) })
	}
	go p.run("SQS API", func() error { return p.sqsServer.Serve(p.sqs) })
	go p.run("admin", func() error { return p.adminServer.Serve(p.admin) })
	return nil
}

// run reports the end of a server that nobody stopped. It never blocks: the
// channel has room for all of them.
func (p *gatewayProcess) run(name string, serve func() error) {
	if err := serve(); err != nil && !errors.Is(err, http.ErrServerClosed) {
		p.failed <- fmt.Errorf("serving %s: %w", name, err)
	}
}

func (p *gatewayProcess) awaitCatalog(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for p.catalog.Ready() != nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
			p.log.Warn("serving before the catalogue is there", slog.Any("error", p.catalog.Ready()))
			return
		}
	}
}

func (p *gatewayProcess) addresses() addresses {
	a := addresses{SQS: reachable(p.sqs), Admin: reachable(p.admin)}
	if p.topic != nil {
		a.Topic = reachable(p.topic)
	}
	return a
}

// stop ends what was started, callers before callees.
func (p *gatewayProcess) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*stopWait)
	defer cancel()
	var errs []error
	if p.stopDeclare != nil {
		p.stopDeclare()
		<-p.declareDone
	}
	if p.consumer != nil {
		p.consumer.EndWaits()
	}
	if p.sqsServer != nil {
		errs = append(errs, shutdown(ctx, p.sqsServer))
	}
	if p.stopMoves != nil {
		p.stopMoves()
		<-p.movesDone
	}
	if p.pool != nil {
		errs = append(errs, p.pool.Close(ctx))
	}
	if p.consumer != nil {
		errs = append(errs, p.consumer.Close(ctx))
	}
	if p.stopCatalog != nil {
		p.stopCatalog()
		<-p.catalogDone
	}
	if p.adminServer != nil {
		errs = append(errs, shutdown(ctx, p.adminServer))
	}
	if p.conn != nil {
		errs = append(errs, p.conn.Close(ctx))
	}
	if p.store != nil {
		if err := p.store.Close(); err != nil {
			errs = append(errs, fmt.Errorf("closing the embedded store: %w", err))
		}
	}
	for _, lis := range []net.Listener{p.sqs, p.admin, p.topic} {
		if lis != nil {
			_ = lis.Close() // closed already by who served it
		}
	}
	return errors.Join(errs...)
}

// shutdown lets the requests under way end, for a while.
func shutdown(ctx context.Context, s *http.Server) error {
	ctx, cancel := context.WithTimeout(ctx, stopWait)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		_ = s.Close() // the requests that are left lose their connection
		if !errors.Is(err, context.DeadlineExceeded) {
			return err
		}
	}
	return nil
}
