// Package app joins the parts into the processes that sqsgate runs. All wiring
// is here and nothing else is: what a part does, it does by itself.
//
//	            RunServe                                RunTopicd
//
//	 SQS :9324       admin :9325                      Topic API :2136
//	     |               |                                  |
//	  gateway      metrics, health                     topicd.Server
//	   |     \           |                                  |
//	consumer  partition  |                             data directory
//	    \      /         |
//	   ydbtopic.Conn ----+
//	    |         \
//	 cluster     in-process channel -> topicd.Server -> data directory
//	 (--ydb)                                |
//	                                 Topic API :2136
//
// A process stops in the order of the arrows: listeners first, then what
// answers calls, then the connection, and the topic server last. Both functions
// block until their context ends or a part fails, and have stopped everything
// when they return.
//
// Settings that cannot work come back as *config.Error, so that the command
// ends with status 2: addresses in use, a data directory that is locked or
// cannot be used.
package app
