//go:build e2e

package e2e

import (
	"path/filepath"
	"sync"
	"testing"
)

// Deployment is a gateway with its topic server on one data directory. Its
// methods may be called by one goroutine at a time, except those that return
// addresses and clients.
type Deployment struct {
	t       testing.TB
	dataDir string
	flags   []string // more flags of serve
	split   bool     // topicd is a process of its own

	mu      sync.Mutex // guards what follows
	gateway *proc      // nil while it does not run
	topicd  *proc      // nil while it does not run, and always unless split
	last    addresses  // of the latest start

	gatewayLog, topicdLog tail
}

const (
	embedded = "embedded" // sqsgate serve
	separate = "separate" // sqsgate serve --ydb and sqsgate topicd
)

// eachDeployment runs a test over both deployments, started and ready, beside
// other tests. flags go to serve.
func eachDeployment(t *testing.T, test func(t *testing.T, d *Deployment), flags ...string) {
	t.Helper()
	t.Parallel()
	for _, name := range []string{embedded, separate} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newDeployment(t, name, flags...))
		})
	}
}

// newDeployment starts one deployment, which ends with the test.
func newDeployment(t testing.TB, name string, flags ...string) *Deployment {
	t.Helper()
	d := &Deployment{
		t:       t,
		dataDir: filepath.Join(t.TempDir(), "data"),
		flags:   flags,
		split:   name == separate,
	}
	t.Cleanup(func() {
		d.Kill()
		if t.Failed() {
			t.Logf("gateway log:\n%s", &d.gatewayLog)
			if d.split {
				t.Logf("topicd log:\n%s", &d.topicdLog)
			}
		}
	})
	d.Start()
	return d
}

// Start starts what does not run, on the same data. A topicd that was killed
// under a running gateway comes back on its old port; everything else gets new
// ones.
func (d *Deployment) Start() {
	d.t.Helper()
	if d.split {
		d.StartTopicd()
	}
	d.StartGateway()
}

// StartTopicd starts the separate topic server.
func (d *Deployment) StartTopicd() {
	d.t.Helper()
	if !d.split || d.proc(&d.topicd) != nil {
		return
	}
	listen := "127.0.0.1:0"
	if d.proc(&d.gateway) != nil {
		listen = d.addresses().Topic // what the gateway dials
	}
	p := launch(d.t, "topicd", &d.topicdLog, "topicd", "--data-dir", d.dataDir, "--topic-listen", listen)
	d.set(&d.topicd, p)
}

// StartGateway starts the gateway.
func (d *Deployment) StartGateway() {
	d.t.Helper()
	if d.proc(&d.gateway) != nil {
		return
	}
	args := []string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}
	if d.split {
		args = append(args, "--ydb", d.TopicDSN())
	} else {
		args = append(args, "--topic-listen", "127.0.0.1:0", "--data-dir", d.dataDir)
	}
	p := launch(d.t, "gateway", &d.gatewayLog, append(args, d.flags...)...)
	d.set(&d.gateway, p)
}

// Kill is SIGKILL for all processes.
func (d *Deployment) Kill() {
	d.KillGateway()
	d.KillTopicd()
}

// KillGateway is SIGKILL for the gateway, and so for an embedded topic server.
func (d *Deployment) KillGateway() {
	if p := d.proc(&d.gateway); p != nil {
		p.kill()
		d.set(&d.gateway, nil)
	}
}

// KillTopicd is SIGKILL for a separate topic server.
func (d *Deployment) KillTopicd() {
	if p := d.proc(&d.topicd); p != nil {
		p.kill()
		d.set(&d.topicd, nil)
	}
}

// Stop is SIGTERM for all processes, the gateway first. Each must end with
// status 0 in time.
func (d *Deployment) Stop() {
	d.t.Helper()
	for _, which := range []**proc{&d.gateway, &d.topicd} {
		p := d.proc(which)
		if p == nil {
			continue
		}
		if err := p.stop(); err != nil {
			d.t.Error(err)
		}
		d.set(which, nil)
	}
}

// Restart is a graceful stop and a new start on the same data.
func (d *Deployment) Restart() {
	d.t.Helper()
	d.Stop()
	d.Start()
}

// Endpoint is the URL of the SQS API.
func (d *Deployment) Endpoint() string { return "http://" + d.addresses().SQS }

// AdminURL is the URL of the admin port, without a path.
func (d *Deployment) AdminURL() string { return "http://" + d.addresses().Admin }

// TopicDSN is the address of the Topic API with its database, for a YDB client.
func (d *Deployment) TopicDSN() string { return "grpc://" + d.addresses().Topic + "/local" }

// GatewayPID is the process id of the gateway, 0 while it does not run.
func (d *Deployment) GatewayPID() int {
	if p := d.proc(&d.gateway); p != nil {
		return p.cmd.Process.Pid
	}
	return 0
}

// GatewayLog is the end of the gateway's log, over all its starts.
func (d *Deployment) GatewayLog() string { return d.gatewayLog.String() }

func (d *Deployment) addresses() addresses {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

func (d *Deployment) proc(which **proc) *proc {
	d.mu.Lock()
	defer d.mu.Unlock()
	return *which
}

func (d *Deployment) set(which **proc, p *proc) {
	d.mu.Lock()
	defer d.mu.Unlock()
	*which = p
	if p == nil {
		return
	}
	if p.addr.SQS != "" {
		d.last.SQS, d.last.Admin = p.addr.SQS, p.addr.Admin
	}
	if p.addr.Topic != "" {
		d.last.Topic = p.addr.Topic
	}
}
