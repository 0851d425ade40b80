package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// Queue is a queue that shall exist with at least these attributes and tags.
type Queue struct {
	Name       string
	Attributes map[string]string
	Tags       map[string]string
}

// Queues are made, or brought up to date, at the start. They stand in the file
// alone.
type Queues []Queue

// Decode reads the node that Resolver passes.
func (q *Queues) Decode(ctx *kong.DecodeContext) (err error) {
	*q, err = decodeList(ctx, "queues", decodeQueue)
	return err
}

func decodeQueue(node *yaml.Node) (q Queue, err error) {
	err = eachKey(node, "name, attributes and tags of a queue", func(name, value *yaml.Node) (err error) {
		switch name.Value {
		case "name":
			q.Name, err = text(value)
		case "attributes":
			q.Attributes, err = textMap(value, attributeText)
		case "tags":
			q.Tags, err = textMap(value, text)
		default:
			return unknownKey(name)
		}
		if err != nil {
			return fmt.Errorf("line %d: queue %q, key %q: %w", name.Line, q.Name, name.Value, err)
		}
		return nil
	})
	if err == nil && q.Name == "" {
		err = fmt.Errorf("line %d: the queue has no name", node.Line)
	}
	return q, err
}

func textMap(n *yaml.Node, of func(*yaml.Node) (string, error)) (map[string]string, error) {
	if n.Tag == "!!null" {
		return nil, nil
	}
	if n.Kind != yaml.MappingNode {
		return nil, errors.New("want a mapping")
	}
	m := make(map[string]string, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := n.Content[i].Value
		if _, twice := m[key]; twice {
			return nil, fmt.Errorf("%q is given twice", key)
		}
		value, err := of(resolveAlias(n.Content[i+1]))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", key, err)
		}
		m[key] = value
	}
	return m, nil
}

// attributeText is the value of a queue attribute: as it is written, or, for a
// policy, the JSON of a mapping.
func attributeText(n *yaml.Node) (string, error) {
	if n.Kind != yaml.MappingNode {
		return text(n)
	}
	var policy map[string]any
	if err := n.Decode(&policy); err != nil {
		return "", err
	}
	b, err := json.Marshal(policy)
	return string(b), err
}

// yaml prints the queues as they stand in a file.
func (q Queues) yaml() *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	if len(q) == 0 {
		list.Style = yaml.FlowStyle
	}
	str := func(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }
	for _, queue := range q {
		item := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar("name"), str(queue.Name)}}
		for _, part := range []struct {
			name   string
			values map[string]string
		}{{"attributes", queue.Attributes}, {"tags", queue.Tags}} {
			if len(part.values) == 0 {
				continue
			}
			m := &yaml.Node{Kind: yaml.MappingNode}
			for _, key := range slices.Sorted(maps.Keys(part.values)) {
				m.Content = append(m.Content, str(key), str(part.values[key]))
			}
			item.Content = append(item.Content, scalar(part.name), m)
		}
		list.Content = append(list.Content, item)
	}
	return list
}
