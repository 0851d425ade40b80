package gateway_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"

	"sqsgate/consumer"
	"sqsgate/gateway"
	"sqsgate/gateway/movetask"
)

// TestSurface plays the scripts of testdata/surface against a whole gateway over a
// topic server in memory, in both protocols, in virtual time. Both must answer
// the same. testdata/surface/README.md describes the scripts; -rewrite writes
// down what JSON answers.
func TestSurface(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "surface", "*.txt"))
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there are no scripts")
	}
	rewriting := flag.Lookup("rewrite").Value.String() == "true"
	for _, file := range files {
		for _, protocol := range []protocol{jsonProtocol{}, queryProtocol{}} {
			if rewriting && protocol.name() != "json" {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+protocol.name(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := &player{protocol: protocol, waiting: map[string]chan answer{}, names: map[string]string{}, values: map[string]string{}, counts: map[string]int{}}
					p.open(t, "")
					datadriven.RunTest(t, file, p.play)
					if len(p.waiting) > 0 {
						t.Errorf("nobody joins %v", slices.Sorted(maps.Keys(p.waiting)))
					}
				})
			})
		}
	}
}

// protocol turns a call into a request, and its answer into a tree: the one of
// the JSON protocol.
type protocol interface {
	name() string
	request(action string, params object) *http.Request
	read(action string, r reply) (object, *failure, error)
}

// failure is an error as a script shows it.
type failure struct {
	code, message string
	status        int
}

// answer is what a call came to.
type answer struct {
	text string
	took time.Duration
}

// player plays one script.
type player struct {
	protocol protocol
	handler  http.Handler
	waiting  map[string]chan answer
	// names are the placeholders of values that differ from run to run, values the
	// other way round, and counts the last number of each kind.
	names, values map[string]string
	counts        map[string]int
}

// sharedMover moves messages with the shared consumers of a gateway.
type sharedMover struct{ edge *gateway.Server }

func (m *sharedMover) Move(ctx context.Context, source, destination string, most int) (int, error) {
	q, err := m.edge.Shared(ctx, source)
	if err != nil {
		return 0, err
	}
	target := consumer.TargetSources
	if destination != "" {
		target = consumer.TargetOf(destination)
	}
	moved, err := q.MoveOut(ctx, target, most)
	if errors.Is(err, consumer.ErrQueueGone) {
		err = movetask.ErrQueueGone
	}
	return moved, err
}

// open makes a new world for what follows.
func (p *player) open(t *testing.T, option string) {
	t.Helper()
	engine := &sharedMover{}
	var moves *movetask.Runner
	s := assemble(t, func(o *gateway.Options) {
		switch option {
		case "", "default":
		case "cooldowns":
			o.PurgeCooldown, o.DeleteCooldown = time.Minute, time.Minute
		case "auto-create":
			o.AutoCreateQueues = true
		default:
			t.Fatalf("there is no option %q", option)
		}
		var err error
		moves, err = movetask.New(movetask.Options{Catalog: o.Catalog, Mover: engine})
		must(t, err)
		o.MoveTasks = moves
	})
	engine.edge, p.handler = s.edge, s.handler
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- moves.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-done)
	})
}

// play runs one directive.
func (p *player) play(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "with":
		p.open(t, d.CmdArgs[0].Key)
		return ""
	case "wait":
		span, err := time.ParseDuration(d.CmdArgs[0].Key)
		must(t, err)
		timer := time.NewTimer(span)
		<-timer.C
		synctest.Wait()
		return ""
	case "join":
		name := d.CmdArgs[0].Key
		a := <-p.waiting[name]
		delete(p.waiting, name)
		return fmt.Sprintf("after %s\n", a.took.Round(time.Second)) + p.named(a.text)
	}
	params, err := p.params(d.Input)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	if d.HasArg("later") {
		var name string
		d.ScanArgs(t, "later", &name)
		c := make(chan answer, 1)
		p.waiting[name] = c
		go func() { c <- p.call(d.Cmd, params) }()
		synctest.Wait()
		return ""
	}
	a := p.call(d.Cmd, params)
	synctest.Wait()
	if a.took >= time.Second {
		return fmt.Sprintf("after %s\n", a.took.Round(time.Second)) + p.named(a.text)
	}
	return p.named(a.text)
}

func (p *player) call(action string, params object) answer {
	began := time.Now()
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, p.protocol.request(action, params))
	took := time.Since(began)
	tree, failed, err := p.protocol.read(action, reply{w.Code, w.Header(), w.Body.Bytes()})
	switch {
	case err != nil:
		return answer{fmt.Sprintf("broken answer: %v\n%s\n", err, w.Body), took}
	case failed != nil:
		return answer{fmt.Sprintf("%d %s\n%s\n", failed.status, failed.code, short(failed.message)), took}
	}
	var lines []string
	flatten("", tree, &lines)
	if len(lines) == 0 {
		return answer{"ok\n", took}
	}
	return answer{strings.Join(lines, "\n") + "\n", took}
}

// flatten makes a line of every leaf of a tree.
func flatten(path string, v any, lines *[]string) {
	join := func(part string) string {
		if path == "" {
			return part
		}
		return path + "." + part
	}
	switch v := v.(type) {
	case object:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			flatten(join(key), v[key], lines)
		}
	case []any:
		for i := range v {
			flatten(join(strconv.Itoa(i+1)), v[i], lines)
		}
	default:
		*lines = append(*lines, path+" "+short(fmt.Sprint(v)))
	}
}

var run = regexp.MustCompile(`^\$\((.+)\*(\d+)\)(.*)$`)

// expand reads a value of a script: "quoted", $(text*times) with or without more
// behind it, or plain text.
func (p *player) expand(text string) (string, error) {
	if strings.HasPrefix(text, `"`) {
		return strconv.Unquote(text)
	}
	if m := run.FindStringSubmatch(text); m != nil {
		n, err := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n) + m[3], err
	}
	for name, value := range p.values {
		text = strings.ReplaceAll(text, name, value)
	}
	return text, nil
}

var long = regexp.MustCompile(`(a{40,}|x{40,}|é{40,})`)

// short is the form of a value in a script.
func short(text string) string {
	text = long.ReplaceAllStringFunc(text, func(s string) string {
		r := []rune(s)
		return fmt.Sprintf("$(%c*%d)", r[0], len(r))
	})
	if quoted := strconv.Quote(text); text == "" || strings.ContainsAny(text, "\r\n\t") || text[0] == ' ' || text[len(text)-1] == ' ' || strings.Contains(quoted, `\u`) {
		return quoted
	}
	return text
}

// params reads the lines "path value" of a call.
func (p *player) params(input string) (object, error) {
	root := object{}
	for line := range strings.Lines(input) {
		path, text, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		value, err := p.expand(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		parts := strings.Split(path, ".")
		if i := slices.Index(parts, "Attributes"); i == 0 && len(parts) > 2 {
			parts = []string{"Attributes", strings.Join(parts[1:], ".")}
		}
		at := root
		for _, part := range parts[:len(parts)-1] {
			part = strings.ReplaceAll(part, "·", ".")
			next, ok := at[part].(object)
			if !ok {
				next = object{}
				at[part] = next
			}
			at = next
		}
		at[strings.ReplaceAll(parts[len(parts)-1], "·", ".")] = value
	}
	return root, nil
}

// changing are the values that differ from run to run, by what they are called.
var changing = []struct {
	kind string
	find *regexp.Regexp
}{
	{"message", regexp.MustCompile(`[0-9A-F]{8}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{4}-[0-9A-F]{12}`)},
	{"handle", regexp.MustCompile(`(?m)ReceiptHandle (\S+)$`)},
	{"sequence", regexp.MustCompile(`\b\d{20}\b`)},
	{"token", regexp.MustCompile(`(?m)NextToken (\S+)$`)},
	{"task", regexp.MustCompile(`(?m)TaskHandle (\S+)$`)},
}

// instants are milliseconds or seconds; a bubble begins in the year 2000.
var instants = regexp.MustCompile(`\b946\d{6}(\d{3})?\b`)

// named puts placeholders for values that differ from run to run, each value the
// same one throughout a script. Times of the bubble become seconds since its
// beginning.
func (p *player) named(text string) string {
	for _, c := range changing {
		text = c.find.ReplaceAllStringFunc(text, func(found string) string {
			front, value := "", found
			if i := strings.IndexByte(found, ' '); i >= 0 {
				front, value = found[:i+1], found[i+1:]
			}
			name, ok := p.names[value]
			if !ok {
				p.counts[c.kind]++
				name = fmt.Sprintf("<%s %d>", c.kind, p.counts[c.kind])
				p.names[value], p.values[name] = name, value
			}
			return front + name
		})
	}
	for value, name := range p.names { // also where an error repeats it
		if len(value) > len("garbage") {
			text = strings.ReplaceAll(text, value, name)
		}
	}
	return instants.ReplaceAllStringFunc(text, func(digits string) string {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return digits
		}
		unit := "s"
		at := time.Unix(n, 0)
		if len(digits) > len("946684800") {
			at, unit = time.UnixMilli(n), "ms"
		}
		return fmt.Sprintf("<%s of %s>", unit, at.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)).Truncate(time.Second))
	})
}
