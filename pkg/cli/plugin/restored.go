package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
)

// restoredEvery is how often the wait for an abort reads the object: its revision records the end, not the object itself.
const restoredEvery = time.Second

// waitRestored waits until every cluster has confirmed the revision to which an abort returns.
func (o *options) waitRestored(ctx context.Context, c *clients, name string, timeout time.Duration) error {
	bounded := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		bounded, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	ticker := time.NewTicker(restoredEvery)
	defer ticker.Stop()
	last := ""
	for {
		line, done, err := o.restoration(bounded, c, name)
		switch {
		case ctx.Err() == nil && (errors.Is(bounded.Err(), context.DeadlineExceeded) || isTimeUp(err)):
			return &exitError{code: exitTimeout, message: fmt.Sprintf("timed out after %s", timeout)}
		case err != nil:
			return err
		case line != last:
			if err := o.tell(line); err != nil {
				return err
			}
			last = line
		}
		if done {
			return nil
		}
		select {
		case <-bounded.Done():
		case <-ticker.C:
		}
	}
}

// restoration returns how far an abort is, and reports whether every cluster has confirmed the revision.
func (o *options) restoration(ctx context.Context, c *clients, name string) (line string, done bool, err error) {
	objects, err := o.readSet(ctx, c, name, leaseStep, historyStep(c))
	if err != nil {
		return "", false, err
	}
	set := objects.ReplicaSet
	switch {
	case !set.DeletionTimestamp.IsZero():
		return "", false, fmt.Errorf("manifestworkreplicasets %q is being deleted", name)
	case set.Status.AbortedTime == nil || set.Status.CurrentRevision == "":
		return "", false, fmt.Errorf("the rollout of %q is not aborted: somebody retried it or changed the template, or nobody aborted it", name)
	case len(objects.Missing) > 0:
		return "", false, fmt.Errorf("no permission to %s, which the wait requires", objects.Missing[0])
	}
	if view.Restored(objects) {
		return "Restored: every cluster has confirmed revision " + view.CurrentNumber(objects), true, nil
	}
	f := view.Of(&view.Objects{ReplicaSet: set, Lease: objects.Lease, Now: o.now()})
	switch {
	case len(f.Alarms) > 0:
		return fmt.Sprintf("HUB: %s; remedy: %s", f.Alarms[0].Text, f.Alarms[0].Remedy), false, nil
	case f.State != workv1alpha1.StateAborting && f.State != workv1alpha1.StateAborted:
		return "Waiting for the hub to observe the abort...", false, nil
	}
	return fmt.Sprintf("%s: %s", f.State, f.Why), false, nil
}

// hubWarner prints why the hub does not act, when that changes.
type hubWarner struct {
	*options
	clients *clients
	name    string
	// last is how many reasons were printed last.
	last int
}

// check reads what tells whether the hub acts.
func (w *hubWarner) check(ctx context.Context) {
	set, err := w.clients.replicaSets().Get(ctx, w.name, metav1.GetOptions{})
	if err != nil {
		return
	}
	alarms := view.Alarms(&view.Objects{ReplicaSet: set, Lease: w.clients.lease(ctx), Now: w.now()})
	if len(alarms) != w.last && ctx.Err() == nil { // The texts have times, which change.
		newPrinter(w.ErrOut, screenOf(w.ErrOut)).alarms(alarms)
	}
	w.last = len(alarms)
}

// run checks the hub until the context ends.
func (w *hubWarner) run(ctx context.Context) {
	ticker := time.NewTicker(view.ObservedWithin / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			w.check(ctx)
		}
	}
}
