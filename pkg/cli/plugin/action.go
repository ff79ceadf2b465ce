package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/dashboard"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// action is the write of a command to a ManifestWorkReplicaSet.
type action struct {
	view.Effect
	set     *workv1alpha1.ManifestWorkReplicaSet
	kind    types.PatchType
	patch   any
	manager string
	// subresources is empty for the spec and the metadata.
	subresources []string
	// For an undo: the restored template, the hash of its revision, the digest of the template, and the text about the completed write.
	template json.RawMessage
	hash     string
	digest   revision.Digest
	done     string
}

// actionOf returns the write of an action, or an error if the rollout does not accept the action. works are the ManifestWorks that the user
// can read; they may be empty.
func (o *options) actionOf(ctx context.Context, c *clients, asked *dashboard.Action, works []work.Work) (*action, error) {
	steps := []readStep{{read: func(_ context.Context, _ *clients, objects *view.Objects) error {
		objects.Works = works
		return nil
	}}}
	switch asked.Verb {
	case view.VerbUndo, view.VerbAbort, view.VerbApprove: // The template in the spec may be newer than the update revision.
		steps = append(steps, historyStep(c))
	case view.VerbRetry, view.VerbResume: // It depends on the clusters whether the hub then continues, halts or aborts.
		steps = append(append(steps, placementSteps(c)...), historyStep(c))
		if works == nil {
			steps = append(steps, worksStep(readWorks))
		}
	}
	objects, err := o.readSet(ctx, c, asked.Name, steps...)
	if err != nil {
		return nil, err
	}
	set := objects.ReplicaSet
	if err := view.Actionable(set); err != nil {
		return nil, err
	}
	names := asked.Clusters
	a, target := &action{set: set, kind: types.MergePatchType, manager: fieldManager, subresources: []string{"status"}}, (*view.Revision)(nil)
	switch paused := asked.Verb == view.VerbPause; asked.Verb {
	case view.VerbUndo:
		target, err = a.undo(objects, asked)
	case view.VerbAbort:
		if err = view.Abortable(set); err == nil {
			a.patch, err = o.abort(ctx, c, set, asked.Reason)
		}
	case view.VerbRetry:
		a.patch, err = plannedRetry(set, asked.Clusters)
	case view.VerbApprove:
		var group string
		if group, err = view.Approvable(set, asked.Group); err == nil {
			names, a.patch = []string{group}, o.approval(ctx, c, set, group)
			asked.Group = group // A group that begins to wait later is not approved.
		}
	case view.VerbPause, view.VerbResume:
		a.subresources, a.patch, err = nil, map[string]any{"spec": map[string]any{"paused": paused}}, view.Pausable(set, paused)
	default:
		err = fmt.Errorf("verb %q is unknown; use undo, abort, retry, approve, pause or resume", asked.Verb)
	}
	if err != nil {
		return nil, err
	}
	a.Effect = view.EffectOf(objects, asked.Verb, target, names)
	return a, nil
}

// undo fills in the write of an undo, and returns the revision that it restores.
func (a *action) undo(objects *view.Objects, asked *dashboard.Action) (*view.Revision, error) {
	if len(objects.Missing) > 0 {
		return nil, fmt.Errorf("no permission to %s, which undo requires", objects.Missing[0])
	}
	target, err := view.UndoTarget(objects, asked.Revision, asked.Allowed)
	if err != nil {
		return nil, err
	}
	if owner := view.ManagerOf(a.set); owner != "" && !asked.Managed {
		return nil, fmt.Errorf("%s manages the template of %q and would overwrite the undo; change the template in that tool "+
			"(`%s` prints the manifest), or add --allow-managed", owner, a.set.Name,
			plain.Command("kubectl", "mwrs", "export", a.set.Name, "--to-revision", strconv.FormatInt(target.Number, 10)))
	}
	var spec workv1.ManifestWorkSpec
	if a.template, _, err = templateOf(objects, target.Number); err != nil {
		return nil, err
	}
	if err = json.Unmarshal(a.template, &spec); err == nil {
		a.digest, err = revision.DigestOf(&spec)
	}
	if err != nil {
		return nil, fmt.Errorf("the template of revision %d: %w", target.Number, err)
	}
	a.hash, a.kind, a.manager, a.subresources = target.Hash, types.JSONPatchType, undoManager, nil
	a.done = fmt.Sprintf("The spec has the template of revision %d again. ", target.Number)
	a.patch, err = undoPatch(a.set, a.template, target.ChangeCause)
	return &target, err
}

// maxAbortText is the maximum length of abortedBy, abortReason and the user of an approval in bytes.
const maxAbortText = 256

func validReason(reason string) error {
	if len(reason) > maxAbortText {
		return fmt.Errorf("--reason has %d bytes; the maximum is %d", len(reason), maxAbortText)
	}
	return nil
}

// abort returns the patch of an abort.
func (o *options) abort(ctx context.Context, c *clients, set *workv1alpha1.ManifestWorkReplicaSet, reason string) (any, error) {
	if err := validReason(reason); err != nil {
		return nil, err
	}
	status := map[string]any{
		"abortedTime": metav1.NewTime(o.now().UTC().Truncate(time.Second)), "abortedBy": revision.Shortened(o.user(ctx, c), maxAbortText),
	}
	if reason != "" {
		status["abortReason"] = reason
	}
	return changeOf(set, status), nil
}

// approval returns the patch that approves a group for the update revision.
func (o *options) approval(ctx context.Context, c *clients, set *workv1alpha1.ManifestWorkReplicaSet, group string) any {
	return changeOf(set, map[string]any{"approvals": append(slices.Clone(set.Status.Approvals), workv1alpha1.Approval{
		Group: group, Revision: set.Status.UpdateRevision, By: revision.Shortened(o.user(ctx, c), maxAbortText),
		At: metav1.NewTime(o.now().UTC().Truncate(time.Second)),
	})})
}

// changeOf returns a merge patch of the status that applies only to the version of the object that was read.
func changeOf(set *workv1alpha1.ManifestWorkReplicaSet, status map[string]any) map[string]any {
	return map[string]any{"metadata": map[string]any{"resourceVersion": set.ResourceVersion}, "status": status}
}

// user returns the user name as the API server reports it. If that fails, it returns the user name in the kubeconfig.
func (o *options) user(ctx context.Context, c *clients) string {
	review, err := c.kube.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err == nil && review.Status.UserInfo.Username != "" {
		return review.Status.UserInfo.Username
	}
	if config, err := o.flags.ToRawKubeConfigLoader().RawConfig(); err == nil && config.Contexts[config.CurrentContext] != nil {
		return config.Contexts[config.CurrentContext].AuthInfo
	}
	return fieldManager
}

// plannedRetry returns the patch of a retry.
func plannedRetry(set *workv1alpha1.ManifestWorkReplicaSet, clusters []string) (any, error) {
	if err := view.TakesRetries(set); err != nil {
		return nil, err
	}
	failures, aborted := set.Status.Failures, set.Status.AbortedTime != nil
	switch {
	case aborted && len(clusters) > 0:
		return nil, fmt.Errorf("the rollout of %q was aborted: individual clusters can't be retried; use `%s`",
			set.Name, plain.Command("kubectl", "mwrs", "retry", set.Name))
	case aborted:
		return changeOf(set, map[string]any{"abortedTime": nil}), nil
	case len(clusters)+len(failures) == 0:
		return nil, view.Retriable(set)
	}
	missing := slices.DeleteFunc(slices.Clone(clusters), func(cluster string) bool {
		return slices.ContainsFunc(failures, func(f workv1alpha1.ClusterFailure) bool { return f.Cluster == cluster })
	})
	if len(missing) > 0 {
		return nil, fmt.Errorf("status.failures of %q does not list %s; `%s` shows the failed clusters",
			set.Name, strings.Join(missing, ", "), plain.Command("kubectl", "mwrs", "clusters", set.Name, "--state", "failed"))
	}
	left := slices.DeleteFunc(slices.Clone(failures), func(f workv1alpha1.ClusterFailure) bool {
		return len(clusters) == 0 || slices.Contains(clusters, f.Cluster)
	})
	return changeOf(set, map[string]any{"failures": left}), nil
}
