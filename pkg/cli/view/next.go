package view

import (
	"fmt"
	"slices"
	"strconv"

	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/irreversible"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/rollout"
)

// commands collects the commands to run next.
type commands struct {
	o    *Objects
	list []Command
}

func (c *commands) add(purpose, verb string, rest ...string) {
	set := c.o.ReplicaSet
	c.list = append(c.list, Command{
		Purpose: purpose, Args: slices.Concat([]string{"kubectl", "mwrs", verb, set.Name}, rest, []string{"-n", set.Namespace}),
	})
}

// next returns the commands that apply to the state, except those that a user has already given and the hub has not seen yet. While no hub
// acts, it omits the commands that require a hub.
func (o *Objects) next(f *Fleet) []Command {
	c := &commands{o: o}
	if about, what := o.worst(f); about != "" {
		c.add("see why "+about+" "+what, "why", about)
	}
	if len(f.Alarms) > 0 {
		return slices.Insert(c.list, 0, Command{Purpose: "check the hub", Args: []string{"kubectl", "mwrs", "doctor"}})
	}
	update, current := o.ReplicaSet.Status.UpdateRevision, o.ReplicaSet.Status.CurrentRevision
	switch f.State {
	case workv1alpha1.StateAborted, workv1alpha1.StateAborting:
		c.late(f)
		c.undo("restore revision %d in the spec")
		c.again(update)
	case workv1alpha1.StateStalled, workv1alpha1.StateWouldAbort:
		c.retry()
		if current != "" && current != update {
			c.undo("restore revision %d in the spec and on every cluster")
		}
		c.abort()
	case workv1alpha1.StateRollingOut:
		c.approve()
		if Unverified(o.ReplicaSet) == "" && (len(f.Attention) == 0 || !f.Attention[0].troubled()) {
			c.add("wait until the rollout ends", "status")
		}
		c.pause()
		c.abort()
	case workv1alpha1.StatePaused:
		c.resume()
	case workv1alpha1.StateInvalid:
		c.list = append(c.list, Command{
			Purpose: "correct the spec", Args: []string{"kubectl", "edit", "manifestworkreplicaset", f.Name, "-n", f.Namespace},
		})
	case workv1alpha1.StateComplete:
		c.retry()
		c.undo("restore revision %d")
	}
	return c.list
}

// Irreversible returns the irreversible effects of a rollout of set, or of its abort, on clusters with an older template.
func Irreversible(older *workv1.ManifestWorkSpec, set *workv1alpha1.ManifestWorkReplicaSet) (texts []string) {
	aborts := set.Spec.HasFailureStrategy(workv1alpha1.AbortAll)
	for _, warning := range irreversible.Warnings(older, &set.Spec.ManifestWorkTemplate, aborts) {
		texts = append(texts, warning.Text)
	}
	return texts
}

// worst returns the cluster that delays the rollout the most, and the problem of that cluster. After an abort, it is a cluster that failed
// with the aborted revision and that why can explain: other clusters may have left since.
func (o *Objects) worst(f *Fleet) (cluster, what string) {
	switch {
	case o.aborted():
		explained := func(name string) bool {
			return slices.ContainsFunc(Clusters(o), func(c Cluster) bool { return c.Name == name })
		}
		for i := range f.Causes {
			if at := slices.IndexFunc(f.Causes[i].Clusters, explained); at >= 0 {
				return f.Causes[i].Clusters[at], "failed"
			}
		}
		return "", ""
	case len(f.Attention) == 0:
		return "", ""
	}
	sick, most := []State{rollout.PhaseDegraded, StateRejected}, 0
	if first := &f.Attention[0]; first.State == rollout.PhaseFailed {
		cluster, what, sick = first.Name, "failed", []State{rollout.PhaseFailed}
	}
	for i := range f.Causes { // The cause with the most clusters.
		if c := &f.Causes[i]; slices.Contains(sick, c.State) && len(c.Clusters) > most {
			cluster, most = c.Clusters[0], len(c.Clusters)
			if c.State != rollout.PhaseFailed {
				what = "is " + words[c.State]
			}
		}
	}
	return cluster, what
}

// late adds the command that explains a cluster whose work was written, but that has not confirmed the abort. It omits a cluster that an
// earlier command explains.
func (c *commands) late(f *Fleet) {
	if f.State == workv1alpha1.StateAborted && len(f.Attention) > 0 && f.Attention[0].State == StateRestoring {
		if explained, _ := c.o.worst(f); explained == f.Attention[0].Name {
			return
		}
		c.add("see why "+f.Attention[0].Name+" has not returned", "why", f.Attention[0].Name)
	}
}

// undo adds the command that restores an earlier revision, if such a revision exists. If a tool manages the template, the change must be
// made in that tool.
func (c *commands) undo(purpose string) {
	target, err := UndoTarget(c.o, 0, Allowed{})
	if err != nil {
		return
	}
	purpose = fmt.Sprintf(purpose, target.Number)
	switch manager := ManagerOf(c.o.ReplicaSet); manager {
	case "":
		c.add(purpose, "undo")
	case KubectlApply:
		c.add(purpose+"; also change the file that was applied", "undo", "--allow-managed")
	default:
		c.add(fmt.Sprintf("%s: print its manifest for %s, which manages the template", purpose, manager),
			"export", "--to-revision", strconv.FormatInt(target.Number, 10))
	}
}

// pause adds the command that pauses the rollout, if it is not paused. If the hub aborts automatically, it warns that a pause suspends
// aborts.
func (c *commands) pause() {
	if Pausable(c.o.ReplicaSet, true) != nil {
		return
	}
	purpose := "pause the rollout"
	if c.o.ReplicaSet.Spec.HasFailureStrategy(workv1alpha1.AbortAll) {
		purpose += "; until you resume it, the hub aborts nothing"
	}
	c.add(purpose, "pause")
}

// resume adds the command that ends the pause, if the spec is paused.
func (c *commands) resume() {
	if Pausable(c.o.ReplicaSet, false) == nil {
		c.add("resume the rollout", "resume")
	}
}

// again adds the command that rolls out the aborted revision again, if no user has given it yet.
func (c *commands) again(update string) {
	if c.o.ReplicaSet.Status.AbortedTime != nil {
		c.add("roll out revision "+c.o.number(update)+" again", "retry")
	}
}

// approve adds the command that approves each group that waits for an approval, if the hub accepts commands.
func (c *commands) approve() {
	for _, group := range waiting(c.o.ReplicaSet) {
		if len(c.list) < maxApprovalOffers && !lacksLedger(c.o.ReplicaSet) {
			c.add("approve revision "+c.o.number(c.o.ReplicaSet.Status.UpdateRevision)+" for group "+group, "approve", "--group", group)
		}
	}
}

// retry adds the command that retries the failed clusters, if any have failed and the hub accepts commands.
func (c *commands) retry() {
	if len(c.o.ReplicaSet.Status.Failures) > 0 && !lacksLedger(c.o.ReplicaSet) {
		c.add("retry the failed clusters", "retry")
	}
}

// abort adds the command that aborts the rollout, if it can be aborted.
func (c *commands) abort() {
	if Abortable(c.o.ReplicaSet) == nil {
		c.add("return every cluster to revision "+CurrentNumber(c.o), "abort", "--reason", "…")
	}
}

// Allowed lists the restrictions of an undo that the user lifted.
type Allowed struct {
	// Aborted allows an undo to restore an aborted revision. Managed allows it to overwrite a template that another tool manages.
	Aborted bool `json:"allowAborted,omitempty"`
	Managed bool `json:"allowManaged,omitempty"`
}

// UndoTarget returns the revision that an undo restores. A nonzero number selects that revision. Otherwise, the target is the current
// revision if the update revision or the template in the spec differs from it, or else the newest earlier revision that was current and was
// not aborted.
func UndoTarget(o *Objects, number int64, allowed Allowed) (Revision, error) {
	revisions := Revisions(o)
	wanted := func(r *Revision) bool { return r.Number == number }
	switch {
	case number != 0:
	case o.ReplicaSet.Status.UpdateRevision != o.ReplicaSet.Status.CurrentRevision, o.edited():
		wanted = func(r *Revision) bool { return r.Current }
	default:
		wanted = func(r *Revision) bool {
			return !r.Current && r.WasCurrent && r.State != workv1alpha1.RevisionAborted
		}
	}
	at := slices.IndexFunc(revisions, func(r Revision) bool { return wanted(&r) })
	switch {
	case at < 0 && number != 0:
		return Revision{}, fmt.Errorf("there is no revision %d; see `%s`", number, plugin("history", o.ReplicaSet.Name))
	case at < 0:
		return Revision{}, fmt.Errorf("there is no earlier revision that reached every cluster; select one with --to-revision")
	}
	return revisions[at], usable(o, &revisions[at], allowed)
}

// usable returns an error if the revision can't be restored.
func usable(o *Objects, r *Revision, allowed Allowed) error {
	switch {
	case !r.Stored:
		return fmt.Errorf("revision %d can't be restored: ControllerRevision %s/%s is missing or can't be read", r.Number,
			o.ReplicaSet.Namespace, r.Name)
	case r.Hash == o.ReplicaSet.Status.UpdateRevision && o.aborted():
		return fmt.Errorf("the rollout of revision %d was aborted (%s); to roll it out again, use %q", r.Number, r.AbortReason,
			"kubectl mwrs retry "+o.ReplicaSet.Name)
	case r.State == workv1alpha1.RevisionAborted && !allowed.Aborted:
		return fmt.Errorf("the rollout of revision %d was aborted (%s); add --allow-aborted to roll it out again", r.Number, r.AbortReason)
	}
	return nil
}

// edited reports whether the template in the spec differs from that of the update revision: the hub has not seen the template yet, or the
// template waits for the end of a pause.
func (o *Objects) edited() bool {
	history := o.history()
	update := history.ByHash(o.ReplicaSet.Status.UpdateRevision)
	digest, err := revision.DigestOf(&o.ReplicaSet.Spec.ManifestWorkTemplate)
	return err == nil && update != nil && update.Err == nil && update.Digest != digest
}
