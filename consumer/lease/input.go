package lease

// Hash is 16 bytes that stand for a message group, a deduplication id or a
// receive attempt. The zero Hash means "none".
type Hash [16]byte

// Kind says what an Input asks for.
type Kind uint8

// The inputs of a Machine.
const (
	// Load brings one message of the log: Message. Messages come in offset order.
	Load Kind = iota + 1
	// Gap says that the offsets from the cursor up to Upto do not exist (any
	// more): they count as deleted.
	Gap
	// Committed says that somebody else has finished with everything below Upto: it
	// counts as deleted, for good.
	Committed
	// Receive asks for up to Max messages for Visibility ms. It never waits.
	Receive
	// Repeat is a Receive that gets nothing unless its AttemptID is known. A caller
	// with several partitions asks all of them for a repetition first.
	Repeat
	// Delete removes the message Offset, received for the Attempt-th time.
	Delete
	// Visibility hides the leased message Offset until now+Visibility ms; 0 gives
	// it back.
	Visibility
	// Purge removes every message below Upto, loaded or not.
	Purge
	// Tick ends what is due (leases, delays, retention), as every input does first,
	// and gives unused memory back.
	Tick
	// Hold holds all groups, those to come too: nothing is handed out, while loading
	// goes on. FIFO queues only, like Release and Free.
	Hold
	// Release holds Groups and no others.
	Release
	// Free holds Groups no more. It has no effect while all are held.
	Free
	// Ended says that the log has no message from the cursor on, and never will: it
	// was split. From then on Drained tells of each group that has none left.
	Ended
	// MoveOut begins to move up to Max visible messages to Target, in the order of
	// a Receive. The step's Answer gives the last Sequence, and in Moves their number.
	MoveOut
	// Moved reports that the moves numbered up to Sequence are durable
	// in their target.
	Moved
	// Unmovable gives the message Offset of a dead-letter move back, because its
	// target refuses it: the message stays with this queue.
	Unmovable
	// Inherit tells a partition that came from a split about its Elders, before the
	// first Load. FIFO queues only, like Forget.
	Inherit
	// Return gives the message Offset back, leased for the Attempt-th time, as if that
	// receive had not been: nobody has seen its answer, nor will. It answers as
	// Visibility does. Receives with an AttemptID cannot be returned, since they may
	// have been answered before.
	Return
	// Forget says that the elder Partition was purged up to Upto.
	Forget
)

// Input is one step's cause. Only the fields its Kind names are read.
type Input struct {
	Kind       Kind
	Offset     int64
	Upto       int64
	Message    Message
	Max        int
	Room       int64 // bytes of a Receive's answer, at most Config.MaxBytes; 0 = that
	Visibility int64 // ms
	Attempt    uint32
	// AttemptID of a Receive makes it repeatable (FIFO queues only): for five
	// minutes, and as long as nothing else happened to its messages, the same id
	// gets them again, with the same receive counts and a new visibility timeout.
	AttemptID Hash
	Sequence  uint64
	Target    uint64 // above 0; 0 stands for the dead-letter queue
	Groups    []Hash // not kept
	Elders    []Elder
	Partition int64
}

// Message is what the machine needs to know of a message of the log.
type Message struct {
	Offset int64
	// WriteTime is when the log accepted it, ms since the epoch. Delays, retention
	// and deduplication count from it.
	WriteTime int64
	// SentTime is the SQS enqueue time, ms; it differs from WriteTime on moved
	// messages only, and retention counts from it. 0 = WriteTime.
	SentTime int64
	// Delay in ms, -1 = the queue's.
	Delay int64
	Group Hash
	// Size is what the message takes of an answer, bytes. 0 = little.
	Size int64
	// Immovable: its size does not make it a dead letter.
	Immovable bool
	// Deduplication is the hash of the deduplication id (and of the group, where
	// the queue's scope is the group); FIFO queues only.
	Deduplication Hash
}

// Config holds the queue attributes that matter to the machine.
type Config struct {
	FIFO bool
	// Delay of messages that bring none, ms.
	Delay int64
	// Retention after SentTime, ms. 0 = for ever.
	Retention int64
	// DeadLetters is the number of the dead-letter queue, so that a move that has
	// begun goes there whatever becomes of the policy; 0 = it has none.
	DeadLetters uint64
	// MaxReceives is maxReceiveCount of the redrive policy; 0 = no policy.
	MaxReceives uint32
	// MaxBytes is how much the messages of an answer may have, together; 0 = without
	// limit. A message that alone has more is not handed out: it is deleted, or, with
	// MoveOversize, goes to the dead-letter queue if there is one.
	MaxBytes     int64
	MoveOversize bool
	// MaxInFlight is how many messages may be leased at once; default 120,000.
	MaxInFlight int
	// Window is how many undeleted messages may be loaded; default 120,000.
	Window int
	// DeduplicationWindow in ms; default 300,000.
	DeduplicationWindow int64
}
