package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"
)

// Modes of Auth.
const (
	AuthNone  = "none"
	AuthSigV4 = "sigv4"
)

// Key is an access key and what its holder may do.
type Key struct {
	AccessKeyID string
	Secret      Secret
	SecretFile  string // holds the secret, with or without a line end
	SecretEnv   string // the variable that holds the secret
	Principal   string
	Queues      []string
	Actions     []string
}

// Keys are the access keys of the callers. They stand in the file alone: a
// command line is no place for secrets, nor for lists of lists.
type Keys []Key

// Decode reads the node that Resolver passes.
func (k *Keys) Decode(ctx *kong.DecodeContext) (err error) {
	*k, err = decodeList(ctx, "keys", decodeKey)
	return err
}

func decodeKey(node *yaml.Node) (key Key, err error) {
	err = eachKey(node, "access_key_id, secret and so on", func(name, value *yaml.Node) (err error) {
		switch name.Value {
		case "access_key_id":
			key.AccessKeyID, err = text(value)
		case "secret":
			var secret string
			secret, err = text(value)
			key.Secret = Secret(secret)
		case "secret_file":
			key.SecretFile, err = text(value)
		case "secret_env":
			key.SecretEnv, err = text(value)
		case "principal":
			key.Principal, err = text(value)
		case "queues":
			key.Queues, err = texts(value)
		case "actions":
			key.Actions, err = texts(value)
		default:
			return unknownKey(name)
		}
		if err != nil {
			return fmt.Errorf("line %d: key %q: %w", name.Line, name.Value, err)
		}
		return nil
	})
	return key, err
}

// text keeps a scalar as it is written: an id or a secret of digits is no number.
func text(n *yaml.Node) (string, error) {
	v, err := plain(n, false)
	s, _ := v.(string) // "" beside an error
	return s, err
}

func texts(n *yaml.Node) (all []string, err error) {
	if n.Kind != yaml.SequenceNode {
		return nil, errors.New("want a list")
	}
	for _, item := range n.Content {
		s, err := text(resolveAlias(item))
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// yaml prints the keys with their secrets masked.
func (k Keys) yaml() *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, key := range k {
		item := &yaml.Node{Kind: yaml.MappingNode}
		add := func(name, value string) {
			if value != "" {
				n := scalar(value)
				n.Tag = "!!str"
				item.Content = append(item.Content, scalar(name), n)
			}
		}
		addAll := func(name string, values []string) {
			if len(values) == 0 {
				return
			}
			n := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
			for _, value := range values {
				n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
			}
			item.Content = append(item.Content, scalar(name), n)
		}
		add("access_key_id", key.AccessKeyID)
		if key.SecretFile == "" && key.SecretEnv == "" { // else it was read from there
			add("secret", key.Secret.String())
		}
		add("secret_file", key.SecretFile)
		add("secret_env", key.SecretEnv)
		add("principal", key.Principal)
		addAll("queues", key.Queues)
		addAll("actions", key.Actions)
		list.Content = append(list.Content, item)
	}
	if len(k) == 0 {
		list.Style = yaml.FlowStyle
	}
	return list
}

const keysPath = "auth.keys"

func (a Auth) validate() error {
	switch a.Mode {
	case AuthNone:
	case AuthSigV4:
		if len(a.Keys) == 0 {
			return invalid("auth-mode", a.Mode, "needs keys: auth.keys in the file of --config")
		}
	default:
		return invalid("auth-mode", a.Mode, "want %s or %s", AuthNone, AuthSigV4)
	}
	seen := make(map[string]bool, len(a.Keys))
	for i, k := range a.Keys {
		if !matches(`^[!-~]{1,128}$`, k.AccessKeyID) || strings.ContainsAny(k.AccessKeyID, ",/=") {
			return invalid(keysPath, k.AccessKeyID, "access_key_id of key %d: want 1 to 128 visible characters without , / =", i+1)
		}
		if seen[k.AccessKeyID] {
			return invalid(keysPath, k.AccessKeyID, "the key is there twice")
		}
		seen[k.AccessKeyID] = true
		if err := k.validate(); err != nil {
			return &Error{Key: keysPath, Value: k.AccessKeyID, Err: err}
		}
	}
	return nil
}

func (k *Key) validate() error {
	sources := 0
	for _, s := range []string{string(k.Secret), k.SecretFile, k.SecretEnv} {
		if s != "" {
			sources++
		}
	}
	switch {
	case sources == 0:
		return errors.New("needs a secret, secret_file or secret_env")
	case sources > 1:
		return errors.New("give one of secret, secret_file and secret_env")
	case k.Secret == mask:
		return errors.New("the secret is masked, as check prints it")
	case k.Principal != "" && !matches(`^[!-~]{1,128}$`, k.Principal):
		return fmt.Errorf("principal %q: want 1 to 128 visible characters", k.Principal)
	case slices.Contains(k.Queues, ""):
		return errors.New("queues has an empty name, which all names begin with: leave queues out instead")
	}
	known := Actions()
	for _, action := range k.Actions {
		single, batch := strings.CutSuffix(action, "Batch")
		switch {
		case batch && slices.Contains(known, single):
			return fmt.Errorf("action %q: name %s, which covers the batch", action, single)
		case !slices.Contains(known, action):
			return fmt.Errorf("action %q is not known: want one of %s", action, strings.Join(known, ", "))
		}
	}
	return nil
}

// Actions are the names that a key may be limited to: those of the API but for the
// batches, which the action of one message covers.
func Actions() []string {
	return []string{
		"AddPermission", "CancelMessageMoveTask", "ChangeMessageVisibility", "CreateQueue", "DeleteMessage", "DeleteQueue",
		"GetQueueAttributes", "GetQueueUrl", "ListDeadLetterSourceQueues", "ListMessageMoveTasks", "ListQueueTags", "ListQueues",
		"PurgeQueue", "ReceiveMessage", "RemovePermission", "SendMessage", "SetQueueAttributes", "StartMessageMoveTask",
		"TagQueue", "UntagQueue",
	}
}

// resolved reads the secrets that stand elsewhere. Without signatures nobody
// needs them, and their places may be empty.
func (a Auth) resolved() (Auth, error) {
	if a.Mode != AuthSigV4 {
		return a, nil
	}
	a.Keys = slices.Clone(a.Keys)
	for i := range a.Keys {
		k := &a.Keys[i]
		switch {
		case k.SecretFile != "":
			raw, err := os.ReadFile(k.SecretFile)
			if err != nil {
				return a, &Error{Key: keysPath, Value: k.AccessKeyID, Err: fmt.Errorf("secret_file: %w", err)}
			}
			k.Secret = Secret(strings.TrimRight(string(raw), "\r\n"))
			if k.Secret == "" {
				return a, invalid(keysPath, k.AccessKeyID, "secret_file %s is empty", k.SecretFile)
			}
		case k.SecretEnv != "":
			if k.Secret = Secret(os.Getenv(k.SecretEnv)); k.Secret == "" {
				return a, invalid(keysPath, k.AccessKeyID, "the variable %s of secret_env is not set", k.SecretEnv)
			}
		}
	}
	return a, nil
}
