// Package topictest holds a Topic API server to the behaviour of YDB. Every
// test is named after what a cluster does. The suite runs against the embedded
// server with the unit tests, and against a cluster when SQSGATE_TEST_YDB names
// one (grpc://host:port/database):
//
//	SQSGATE_TEST_YDB=grpc://localhost:2136/local go test ./topicd/topictest
//
// It uses the generated stubs alone, asserts statuses and never their texts, and
// leaves nothing behind: each test has a topic of its own and drops it.
package topictest
