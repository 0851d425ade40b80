package lease

// Outcome is the result of a request.
type Outcome uint8

// The outcomes of Receive, Delete, Visibility and Purge.
const (
	// Done: the request took effect (or, for a Delete, had nothing left to do; for
	// a Receive, possibly without messages).
	Done Outcome = iota + 1
	// Expired: FIFO only; the handle's lease has ended.
	Expired
	// Moving: a Delete on a standard queue; the message is on its way to another
	// queue, which may yet refuse it.
	Moving
	// Gone: the message was deleted, purged, moved or expired, or never existed.
	Gone
	// TooLong: the visibility would end more than 12 hours after the receive.
	TooLong
	// OverLimit: MaxInFlight messages are leased; standard queues only.
	OverLimit
)

// EffectKind says what an Effect wants done.
type EffectKind uint8

// The effects of a Step.
const (
	// Answer gives the Outcome of the step's Receive, Delete, Visibility, MoveOut or
	// Purge and, for a Receive, its Deliveries. Each of them has exactly one. It may leave
	// the process only after the journal holds the step's ops and those before.
	Answer EffectKind = iota + 1
	// Move asks for the move Sequence of message Offset to Target. The shell
	// may start it once the op that came with it is durable.
	Move
	// Drained says that no message of Group is left. It comes only after Ended. It
	// counts once the journal holds the step's ops and those before.
	Drained
	// Oversize says that message Offset has Size bytes, more than any answer, and is
	// deleted, or with a Sequence on the move to the dead-letter queue.
	Oversize
)

// Effect is one thing the shell must do. Deliveries is valid until the next Step.
type Effect struct {
	Kind       EffectKind
	Outcome    Outcome
	Deliveries []Delivery
	Offset     int64
	Sequence   uint64
	Target     uint64 // of a Move: 0 = the dead-letter queue of now
	DeadLetter bool   // of a Move: because of the redrive policy
	Moves      int    // of a MoveOut's Answer: how many moves began
	Group      Hash
	Receives   uint32 // of a Move: how often the message was handed out
	// Size in bytes of an Oversize, of a Move if it is not little, and of all that a
	// Receive's Answer holds, at most.
	Size int64
}

// Delivery is one message handed out by a Receive.
type Delivery struct {
	Offset int64
	// Receives counts the hand-outs of this message, this one included.
	Receives uint32
	// FirstReceived and Deadline are ms since the epoch.
	FirstReceived int64
	Deadline      int64
}
