package logwrite

import (
	"context"
	"errors"
	"io"

	"github.com/ydb-platform/ydb-go-genproto/Ydb_Topic_V1"
	"github.com/ydb-platform/ydb-go-genproto/protos/Ydb_Topic"

	"sqsgate/internal/ydbstatus"
)

// ErrNoInit means that the server's first answer did not open the session.
var ErrNoInit = errors.New("no init response")

// Open begins a write session of a producer id and returns the last sequence
// number the partition has of it. An earlier session of the same producer id is
// over then, and what it wrote is counted. ctx bounds the life of the session.
// What the server refuses is an *ydbstatus.Error.
func Open(ctx context.Context, topics Ydb_Topic_V1.TopicServiceClient, path string, partition int64, producer string) (Ydb_Topic_V1.TopicService_StreamWriteClient, int64, error) {
	stream, err := topics.StreamWrite(ctx)
	if err != nil {
		return nil, 0, err
	}
	err = Send(stream, &Ydb_Topic.StreamWriteMessage_FromClient{
		ClientMessage: &Ydb_Topic.StreamWriteMessage_FromClient_InitRequest{
			InitRequest: &Ydb_Topic.StreamWriteMessage_InitRequest{
				Path: path, ProducerId: producer, GetLastSeqNo: true,
				Partitioning: &Ydb_Topic.StreamWriteMessage_InitRequest_PartitionId{PartitionId: partition},
			},
		},
	})
	if err != nil {
		return nil, 0, err
	}
	answer, err := Receive(stream)
	if err != nil {
		return nil, 0, err
	}
	init := answer.GetInitResponse()
	if init == nil {
		return nil, 0, ErrNoInit
	}
	return stream, init.GetLastSeqNo(), nil
}

// Send sends a message. When the stream has ended it returns why. Nobody may
// receive at the same time.
func Send(stream Ydb_Topic_V1.TopicService_StreamWriteClient, msg *Ydb_Topic.StreamWriteMessage_FromClient) error {
	err := stream.Send(msg)
	if errors.Is(err, io.EOF) {
		if _, cause := Receive(stream); cause != nil {
			return cause
		}
	}
	return err
}

// Receive returns the next answer, or the error that its status is.
func Receive(stream Ydb_Topic_V1.TopicService_StreamWriteClient) (*Ydb_Topic.StreamWriteMessage_FromServer, error) {
	msg, err := stream.Recv()
	if err != nil {
		return nil, err
	}
	return msg, ydbstatus.Check(msg.GetStatus(), msg.GetIssues())
}
