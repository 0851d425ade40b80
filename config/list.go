package config

import (
	"errors"
	"fmt"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// errFileOnly refuses a setting that is a list of mappings anywhere but in the
// file.
var errFileOnly = errors.New("can stand in the file of --config alone")

// decodeList reads the list of a setting that Resolver passes as a node.
func decodeList[T any](ctx *kong.DecodeContext, what string, decode func(*yaml.Node) (T, error)) ([]T, error) {
	node, ok := ctx.Scan.Pop().Value.(*yaml.Node)
	switch {
	case !ok:
		return nil, errFileOnly
	case node.Tag == "!!null":
		return nil, nil
	case node.Kind != yaml.SequenceNode:
		return nil, fmt.Errorf("line %d: want a list of %s", node.Line, what)
	}
	var list []T
	for _, item := range node.Content {
		one, err := decode(resolveAlias(item))
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// eachKey calls set for each key of a mapping; a key that is given twice is an
// error. want says what the mapping holds.
func eachKey(node *yaml.Node, want string, set func(name, value *yaml.Node) error) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want %s", node.Line, want)
	}
	seen := make(map[string]bool)
	for i := 0; i < len(node.Content); i += 2 {
		name, value := node.Content[i], resolveAlias(node.Content[i+1])
		if seen[name.Value] {
			return fmt.Errorf("line %d: key %q is given twice", name.Line, name.Value)
		}
		seen[name.Value] = true
		if err := set(name, value); err != nil {
			return err
		}
	}
	return nil
}

// unknownKey is the error of a key that a mapping cannot have.
func unknownKey(name *yaml.Node) error {
	return fmt.Errorf("line %d: unknown key %q", name.Line, name.Value)
}
