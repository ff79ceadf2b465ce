// Package turns provides a work queue without goroutines or timers: a test or a simulation decides when the due tasks run.
package turns

import (
	"slices"
	"time"

	"k8s.io/utils/clock"
)

// Queue is a queue without goroutines or timers. Each task is in the queue only once, as in a workqueue.
type Queue[T comparable] struct {
	// Clock determines which tasks are due.
	Clock clock.PassiveClock
	// RetryAfter is the delay after which a failed task is due again. It doubles with each failure, up to RetryAtMost.
	RetryAfter, RetryAtMost time.Duration

	// waiting are the tasks, ordered by the time when they are due. Tasks with the same time are in the order in which they were added.
	waiting []turn[T]
	// failed counts the consecutive failures of each task.
	failed map[T]int
}

type turn[T comparable] struct {
	task T
	at   time.Time
}

// Add adds a task that is due now.
func (q *Queue[T]) Add(task T) { q.AddAfter(task, 0) }

// AddAfter adds a task that is due later. If the task is already in the queue, the earlier of the two times applies.
func (q *Queue[T]) AddAfter(task T, after time.Duration) {
	at := q.Clock.Now().Add(after)
	if i := slices.IndexFunc(q.waiting, func(w turn[T]) bool { return w.task == task }); i >= 0 {
		if !at.Before(q.waiting[i].at) {
			return
		}
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	i, _ := slices.BinarySearchFunc(q.waiting, at, func(w turn[T], at time.Time) int {
		if w.at.After(at) {
			return 1
		}
		return -1
	})
	q.waiting = slices.Insert(q.waiting, i, turn[T]{task, at})
}

// AddRateLimited adds a task that failed.
func (q *Queue[T]) AddRateLimited(task T) {
	if q.failed == nil {
		q.failed = map[T]int{}
	}
	wait := min(q.RetryAfter<<q.failed[task], q.RetryAtMost)
	q.failed[task] = min(q.failed[task]+1, 20)
	q.AddAfter(task, wait)
}

// Forget forgets that a task failed.
func (q *Queue[T]) Forget(task T) { delete(q.failed, task) }

// Get takes the next task. It does not wait: if nothing is due, the queue counts as shut down.
func (q *Queue[T]) Get() (task T, over bool) {
	if !q.IsDue() {
		return task, true
	}
	task = q.waiting[0].task
	q.waiting = q.waiting[1:]
	return task, false
}

// IsDue reports whether a task is due.
func (q *Queue[T]) IsDue() bool { return len(q.waiting) > 0 && !q.waiting[0].at.After(q.Clock.Now()) }

// Next returns the time at which the next task is due; zero if there is none.
func (q *Queue[T]) Next() time.Time {
	if len(q.waiting) == 0 {
		return time.Time{}
	}
	return q.waiting[0].at
}

// Done does nothing.
func (*Queue[T]) Done(T) {}

// Len returns the number of tasks.
func (q *Queue[T]) Len() int { return len(q.waiting) }

// ShutDown does nothing.
func (*Queue[T]) ShutDown() {}
