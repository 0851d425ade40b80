package lease

// OpKind says what an Op records. The numbers are part of the journal's format.
type OpKind uint8

// The ops of a partition's journal.
const (
	// OpLease: the messages [Offset, Offset+Count) were handed out at Time, until
	// Deadline; each counts one more receive.
	OpLease OpKind = 1
	// OpDelete: the messages [Offset, Offset+Count) are gone.
	OpDelete OpKind = 2
	// OpVisible: the lease of Offset ends at Deadline; Deadline 0 = it has ended.
	OpVisible OpKind = 3
	// OpMove: Offset waits for its move Sequence, to the dead-letter queue or to
	// Target.
	OpMove OpKind = 4
	// OpMoved: the moves up to Sequence are done; their messages are gone.
	OpMoved OpKind = 5
	// OpPurge: everything below Offset is gone.
	OpPurge OpKind = 6
	// OpUnmoved: the move of Offset was given up; the message is back.
	OpUnmoved OpKind = 7
	// OpAttempt: the receive at Time with the attempt id Hash handed out the
	// messages [Offset, Offset+Count), which are still leased by it. Without a
	// Hash: and those of the op before too.
	OpAttempt OpKind = 8
	// OpDuplicate: the messages [Offset, Offset+Count), written at Time, are gone,
	// since they repeat an earlier one.
	OpDuplicate OpKind = 9
	// OpInherit: of the elder partition Target, whose last message was written at
	// Time, the deduplication ids below Offset do not count.
	OpInherit OpKind = 10
	// OpElderDuplicate: of the elder partition Target the messages [Offset,
	// Offset+Count), written at Time, are duplicates.
	OpElderDuplicate OpKind = 11
	// OpDeadLetter is OpMove of a dead letter to the queue Target.
	OpDeadLetter OpKind = 12
	// OpReturn: the lease of Offset has ended, and its receive does not count.
	OpReturn OpKind = 13
)

// Op is one durable change of state. Ops are idempotent in order: a journal
// replayed from a snapshot gives the state that wrote it.
type Op struct {
	Kind     OpKind
	Offset   int64
	Count    int64
	Time     int64 // ms since the epoch
	Deadline int64 // ms since the epoch
	Sequence uint64
	Target   uint64
	Hash     Hash
}
