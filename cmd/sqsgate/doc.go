// Command sqsgate serves the Amazon SQS API on top of YDB topics.
//
// main only calls run. A command is a struct with its flags and a Run method,
// one file each; what the commands do is in internal/app. Exit status: 0 after
// a graceful stop, 2 for a setting that cannot work (config.Error and
// the command line itself), 1 for everything else.
package main
