package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// watchInterval is how often a waiting benchmark looks. What it measures are the times of the events, not of its looks.
const watchInterval = 20 * time.Millisecond

// Phase is what the fleet saw since a moment, of all works or of those with one name.
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

// wrote notes that a work has a new generation.
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

// Seen is what a phase came to.
type Seen struct {
	// Written is how many works got a new generation, and Writes how many new generations there were.
	Written, Writes int
	// Answered is how many works were answered.
	Answered int
	// First and Last are when the first and the last new generation were seen.
	First, Last time.Time
	// LastAnswer is when the last answer was stored.
	LastAnswer time.Time
}

// Seen says what was seen so far.
func (p *Phase) Seen() Seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Seen{
		Written: len(p.written), Writes: p.writes, Answered: len(p.answered), First: p.first, Last: p.last, LastAnswer: p.answerAt,
	}
}

// Until polls until check returns nil, and says what it said last when the context ends.
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
