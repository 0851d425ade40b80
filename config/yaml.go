package config

import (
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// WriteYAML prints the configuration in the form of a file for --config, with
// secrets masked.
func (c Config) WriteYAML(w io.Writer) error {
	root := &yaml.Node{Kind: yaml.MappingNode}
	groups := make(map[string]*yaml.Node)
	for _, s := range c.settings() {
		if s.path == "" {
			continue
		}
		into, key := root, s.path
		if group, rest, ok := strings.Cut(s.path, "."); ok {
			if groups[group] == nil {
				groups[group] = &yaml.Node{Kind: yaml.MappingNode}
				root.Content = append(root.Content, scalar(group), groups[group])
			}
			into, key = groups[group], rest
		}
		into.Content = append(into.Content, scalar(key), valueNode(s.value))
	}
	enc := yaml.NewEncoder(w)
	enc.SetIndent(2)
	if err := enc.Encode(root); err != nil {
		return fmt.Errorf("writing the configuration: %w", err)
	}
	return enc.Close()
}

func valueNode(v reflect.Value) *yaml.Node {
	switch value := v.Interface().(type) {
	case string:
		n := scalar(value)
		n.Tag = "!!str" // quotes what would read as a number, such as an account
		return n
	case int:
		return scalar(strconv.Itoa(value))
	case bool:
		return scalar(strconv.FormatBool(value))
	case Queues:
		return value.yaml()
	case Keys:
		return value.yaml()
	case map[int32]string:
		n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
		for _, k := range sortedKeys(value) {
			n.Content = append(n.Content, scalar(strconv.Itoa(int(k))), scalar(value[k]))
		}
		return n
	case fmt.Stringer: // durations, sizes, and secrets, which hide themselves
		return scalar(value.String())
	default:
		panic(fmt.Sprintf("config: setting of type %s has no YAML form", v.Type()))
	}
}

func scalar(s string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: s}
	if s == "" {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
