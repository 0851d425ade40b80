package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// Resolver gives the command line parser what flags have left open: the
// SQSGATE_* variables, then the YAML file of --config or SQSGATE_CONFIG.
//
// An empty variable counts as none. Variables that name no setting are let be: orchestrators inject their own
// under the name of a service, SQSGATE_PORT for one. Unknown keys of the file
// are errors.
type Resolver struct {
	env     map[string]string
	file    string
	values  map[string]fileValue // by flag name; nil until the file is read
	sources map[string]string
}

type fileValue struct {
	value any // string, map[string]any, or *yaml.Node
	line  int
}

var _ kong.Resolver = (*Resolver)(nil)

// NewResolver takes the environment in the form of os.Environ.
func NewResolver(environ []string) *Resolver {
	r := &Resolver{env: make(map[string]string), sources: make(map[string]string)}
	for _, pair := range environ {
		if name, value, ok := strings.Cut(pair, "="); ok && value != "" && strings.HasPrefix(name, "SQSGATE_") {
			r.env[name] = value
		}
	}
	return r
}

// Validate has nothing to check: the file is not known yet.
func (r *Resolver) Validate(*kong.Application) error { return nil }

// Resolve is called once for every flag that was not given.
func (r *Resolver) Resolve(ctx *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	if r.values == nil {
		if err := r.readFile(ctx); err != nil {
			return nil, err
		}
	}
	value, source := r.lookUp(flag.Name)
	if source == "" {
		return nil, nil
	}
	r.sources[flag.Name] = source
	// Parsed once here only so that the error can say where the value stands.
	trial := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Parse(kong.Scan().PushTyped(value, kong.FlagValueToken), trial); err != nil {
		return nil, fmt.Errorf("in %s: %w", source, errors.Unwrap(err))
	}
	return value, nil
}

func (r *Resolver) lookUp(name string) (value any, source string) {
	if v, ok := r.env[envName(name)]; ok {
		return v, envName(name)
	}
	if v, ok := r.values[name]; ok {
		return v.value, fmt.Sprintf("%s line %d", r.file, v.line)
	}
	return nil, ""
}

// Source says where the setting of a flag was read: a variable, or a file and
// line. "" means the command line or the default.
func (r *Resolver) Source(name string) string { return r.sources[name] }

func (r *Resolver) readFile(ctx *kong.Context) error {
	r.values = map[string]fileValue{}
	r.file = r.env[envName("config")]
	for _, flag := range ctx.Flags() {
		if flag.Name != "config" {
			continue
		}
		if given, ok := ctx.FlagValue(flag).(string); ok && given != "" {
			r.file = given
		}
	}
	if r.file == "" {
		return nil
	}
	f, err := os.Open(r.file)
	if err != nil {
		return &Error{Key: "config", Value: r.file, Err: err}
	}
	defer func() { _ = f.Close() }() // it was only read
	values, err := parseFile(f)
	if err != nil {
		return &Error{Key: "config", Value: r.file, Err: err}
	}
	r.values = values
	return nil
}

// parseFile reads YAML into values by flag name.
func parseFile(f io.Reader) (map[string]fileValue, error) {
	values := make(map[string]fileValue)
	dec := yaml.NewDecoder(f)
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return values, nil
		}
		return nil, err
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one YAML document")
	}
	byPath := make(map[string]setting)
	groups := make(map[string]bool)
	for _, s := range new(Config).settings() {
		byPath[s.path] = s
		if group, _, ok := strings.Cut(s.path, "."); ok {
			groups[group] = true
		}
	}
	delete(byPath, "")
	return values, collect(doc.Content[0], "", byPath, groups, values)
}

func collect(node *yaml.Node, prefix string, byPath map[string]setting, groups map[string]bool, values map[string]fileValue) error {
	if node.Kind != yaml.MappingNode {
		if prefix == "" && node.Tag == "!!null" {
			return nil // a file of comments
		}
		return fmt.Errorf("line %d: want keys with values", node.Line)
	}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], resolveAlias(node.Content[i+1])
		path := prefix + key.Value
		s, known := byPath[path]
		if !known {
			if !groups[path] {
				return fmt.Errorf("line %d: unknown key %q", key.Line, path)
			}
			if err := collect(value, path+".", byPath, groups, values); err != nil {
				return err
			}
			continue
		}
		if earlier, twice := values[s.name]; twice {
			return fmt.Errorf("line %d: key %q stands in line %d already", key.Line, path, earlier.line)
		}
		if s.fileOnly {
			values[s.name] = fileValue{value: value, line: key.Line}
			continue
		}
		v, err := plain(value, s.value.Kind() == reflect.Map)
		if err != nil {
			return fmt.Errorf("line %d: key %q: %w", key.Line, path, err)
		}
		values[s.name] = fileValue{value: v, line: key.Line}
	}
	return nil
}

func resolveAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// plain keeps scalars as they are written, so that they mean the same as on
// the command line: 10 is no duration there, and 010 no octal number.
func plain(n *yaml.Node, wantMap bool) (any, error) {
	if !wantMap {
		if n.Kind != yaml.ScalarNode {
			return nil, errors.New("want a single value")
		}
		if n.Tag == "!!null" {
			return "", nil
		}
		return n.Value, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, errors.New("want a mapping")
	}
	m := make(map[string]any, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		k, v := n.Content[i], resolveAlias(n.Content[i+1])
		if k.Kind != yaml.ScalarNode || v.Kind != yaml.ScalarNode {
			return nil, errors.New("want a single value for each key")
		}
		if _, twice := m[k.Value]; twice {
			return nil, fmt.Errorf("%q is given twice", k.Value)
		}
		m[k.Value] = v.Value
	}
	return m, nil
}
