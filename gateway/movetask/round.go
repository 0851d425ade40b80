package movetask

import (
	"errors"
	"time"

	"sqsgate/gateway/catalog"
)

// ErrQueueGone says that the source, or the destination of a message, is not
// there. It ends the task.
var ErrQueueGone = errors.New("queue does not exist")

const (
	// unlimited is how many messages a round of a task without a rate moves.
	unlimited = 100
	// roundsPerSecond is how often a task with a rate moves some, where that is
	// one message or more.
	roundsPerSecond = 10
	// maxAge is how long a task may take at AWS.
	maxAge = 36 * time.Hour

	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 5 * time.Second

	reasonGone = "AWS.SimpleQueueService.NonExistentQueue"
	reasonAge  = "The task did not end within 36 hours."
)

// batch is how many messages a round moves at most.
func batch(rate int) int {
	if rate <= 0 {
		return unlimited
	}
	return max(1, rate/roundsPerSecond)
}

// round is what one round came to.
type round struct {
	cancelled bool // asked for before the round, in which nothing was moved
	moved     int
	err       error
	failures  int           // rounds in a row that failed, this one included
	took      time.Duration // the round
	age       time.Duration // of the task
}

// decision is what follows a round.
type decision struct {
	status catalog.TaskStatus
	reason string
	pause  time.Duration // before the next round, if the task goes on
}

// decide says how a task of rate messages a second goes on after a round.
func decide(rate int, r round) decision {
	switch {
	case r.cancelled:
		return decision{status: catalog.TaskCancelled}
	case errors.Is(r.err, ErrQueueGone):
		return decision{status: catalog.TaskFailed, reason: reasonGone}
	case r.err == nil && r.moved == 0:
		return decision{status: catalog.TaskCompleted}
	case r.age > maxAge:
		return decision{status: catalog.TaskFailed, reason: reasonAge}
	}
	next := decision{status: catalog.TaskRunning}
	if rate > 0 {
		next.pause = max(0, time.Duration(r.moved)*time.Second/time.Duration(rate)-r.took)
	}
	if r.err != nil {
		backoff := firstBackoff << min(r.failures-1, 10)
		next.pause = max(next.pause, min(backoff, lastBackoff))
	}
	return next
}
