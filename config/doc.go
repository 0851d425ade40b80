// Package config is sqsgate's configuration: plain data, its defaults, where it
// is read from, and what makes it valid.
//
// Flags beat SQSGATE_* variables, which beat the YAML file. A setting has one
// name in all three: --topic-listen, SQSGATE_TOPIC_LISTEN, topic_listen; the
// settings of a group nest in YAML: --fifo-throttle-wait, fifo.throttle_wait.
//
// The structs carry the tags of the command line parser, which fills them;
// Resolver feeds it environment and file. Resolved then completes and checks
// the values. docs/CONFIG.md is written from the same structs. The package has
// no goroutines and no state.
package config
