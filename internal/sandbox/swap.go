package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Restart starts the hub again if it exited on its own. Otherwise, it does nothing.
func (w *WorkHub) Restart(ctx context.Context) error {
	w.turn.Lock()
	defer w.turn.Unlock()
	w.mu.Lock()
	child, wanted := w.child, w.wanted
	w.mu.Unlock()
	if child == nil || !wanted {
		return nil
	}
	if ended, _ := child.Exited(); !ended {
		return nil
	}
	return w.Start(ctx)
}

// Swap replaces the binary of the hub, as a new image does on a real hub. A hub that is not running uses the binary when it is started. If
// the new binary does not start, the hub runs the previous binary again.
func (w *WorkHub) Swap(ctx context.Context, binary string) error {
	absolute, err := findBinary(binary)
	if err != nil {
		return err
	}
	w.turn.Lock()
	defer w.turn.Unlock()
	w.mu.Lock()
	before, runs := w.binary, w.child != nil && w.wanted
	w.mu.Unlock()
	if !runs {
		w.setBinary(absolute)
		return nil
	}
	if err := w.Stop(ctx); err != nil {
		return err
	}
	w.setBinary(absolute)
	if err := w.Start(ctx); err != nil {
		w.setBinary(before)
		return errors.Join(fmt.Errorf("running %s: %w", absolute, err), w.Start(ctx))
	}
	return nil
}

func (w *WorkHub) setBinary(binary string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.binary, w.command.Path = binary, binary
}

// Swap replaces the binary. A server that is not running uses the binary when it is started.
func (w *WebhookServer) Swap(ctx context.Context, binary string) error {
	absolute, err := findBinary(binary)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.binary = absolute
	child, command := w.child, w.command
	w.mu.Unlock()
	if child == nil {
		return nil
	}
	if ended, _ := child.Exited(); ended {
		return nil
	}
	return w.Start(ctx, command)
}

// Swap runs another build of this project as the work hub, and as the webhook if the webhook is running.
func (s *Sandbox) Swap(ctx context.Context, binary string) error {
	if err := s.WorkHub.Swap(ctx, binary); err != nil {
		return err
	}
	s.sayRunning()
	if s.Webhook == nil {
		return nil
	}
	return s.Webhook.Swap(ctx, binary)
}

// Crash kills the work hub as a crash does, and returns once StayUp has started it again.
func (s *Sandbox) Crash(ctx context.Context) error {
	child := s.WorkHub.Process()
	if child == nil {
		return errors.New("the work hub does not run: the feature gate is off")
	}
	if err := child.Kill(); err != nil {
		return err
	}
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		now := s.WorkHub.Process()
		ended, _ := now.Exited()
		return now != child && !ended && s.WorkHub.Listens(), nil
	})
	if err != nil {
		return fmt.Errorf("waiting until the work hub runs again: %w", err)
	}
	return nil
}
