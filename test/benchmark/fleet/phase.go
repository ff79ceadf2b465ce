package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// watchInterval is the interval at which a waiting benchmark polls. The measured times are those of the events, not of
// the polls.
const watchInterval = 20 * time.Millisecond

// Phase holds the fleet's observations since a time, about all works or about the works with one name.
type Phase struct {
	only     string
	mu       sync.Mutex
	written  map[string]time.Time
	answered map[string]time.Time
	writes   int
	first    time.Time
	last     time.Time
	answerAt time.Time
}

func newPhase(only string) *Phase {
	return &Phase{only: only, written: map[string]time.Time{}, answered: map[string]time.Time{}}
}

// counts reports whether a phase is about a work.
func (p *Phase) counts(key string) bool { return p.only == "" || strings.HasSuffix(key, "/"+p.only) }

// wrote records that a work has a new generation.
func (p *Phase) wrote(key string, at time.Time) {
	if !p.counts(key) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first.IsZero() {
		p.first = at
	}
	p.last, p.written[key] = at, at
	p.writes++
}

func (p *Phase) answers(key string, at time.Time) {
	if !p.counts(key) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answerAt, p.answered[key] = at, at
}

// Seen is the summary of a phase.
type Seen struct {
	// Written is the number of works that got a new generation, and Writes is the number of new generations.
	Written, Writes int
	// Answered is the number of works whose agents have reported.
	Answered int
	// First and Last are the times when the first and the last new generation were seen.
	First, Last time.Time
	// LastAnswer is the time when the last report was stored.
	LastAnswer time.Time
}

// Seen returns the summary so far.
func (p *Phase) Seen() Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Seen{
		Written: len(p.written), Writes: p.writes, Answered: len(p.answered), First: p.first, Last: p.last, LastAnswer: p.answerAt,
	}
}

// Until polls until check returns nil. If the context ends first, it returns the last error of check.
func Until(ctx context.Context, check func() error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, watchInterval, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w (%w)", last, context.Cause(ctx))
	}
	return nil
}
