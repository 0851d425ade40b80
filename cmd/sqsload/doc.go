// Command sqsload puts a load on any SQS endpoint and measures it: rates,
// latencies, errors, and whether a message was lost, doubled or out of order.
//
// run does one load, scale the same load over queues of several sizes, bench
// the figures that sqsgate is judged by, on a server that it starts itself.
// Other machines are refused without --allow-remote. Exit status: 0, 2 for a
// command line that cannot work, 1 for everything else, a broken promise of
// the queue included.
package main
