// Package ledger checks what a queue promises, from what its clients see: no
// answered message is lost, none is with two receivers at once, none comes back
// after an answered delete, and a group's messages come in the order they were
// sent, one receiver at a time.
//
// A client sees answers, not the moments the server decided. Every rule
// therefore counts only what no timing can excuse: a lease is held from the
// arrival of the answer that gave it until the visibility timeout after its
// request was sent, and not beyond the start of a delete.
//
// A Ledger is safe for many goroutines: one lock per producer for its messages
// and one per group for who holds it, never both. Memory is 16 bytes per
// message that is not deleted yet, plus 24 per 4096 that are.
package ledger
