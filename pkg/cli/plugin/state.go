package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

func newPause(o *options) *cobra.Command {
	return o.newPausing(view.VerbPause, "Pause a rollout: the hub stops writing to clusters")
}

func newResume(o *options) *cobra.Command {
	return o.newPausing(view.VerbResume, "Resume a paused rollout")
}

func (o *options) newPausing(verb view.Verb, short string) *cobra.Command {
	flags := &actOptions{}
	cmd := &cobra.Command{
		Use: string(verb) + " NAME", GroupID: groupAct, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short:   short,
		Example: "  kubectl mwrs " + string(verb) + " web",
		RunE: o.connected(func(ctx context.Context, c *clients, args []string) error {
			return o.setPausedAt(ctx, c, args[0], verb, flags)
		}),
	}
	flags.addDryRun(cmd)
	return cmd
}

func (o *options) setPausedAt(ctx context.Context, c *clients, name string, verb view.Verb, flags *actOptions) error {
	_, err := o.act(ctx, c, flags, func() (*action, error) {
		set, err := c.replicaSets().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		paused := verb == view.VerbPause
		return &action{
			Effect: view.EffectOf(&view.Objects{ReplicaSet: set}, verb, nil, nil), set: set, manager: fieldManager,
			kind: types.MergePatchType, patch: map[string]any{"spec": map[string]any{"paused": paused}},
		}, pausable(set, paused)
	})
	return err
}

// pausable returns an error if a rollout is paused, or not paused, already.
func pausable(set *workv1alpha1.ManifestWorkReplicaSet, paused bool) error {
	if set.Spec.Paused != paused {
		return nil
	}
	already := map[bool]string{true: "already paused", false: "not paused"}[paused]
	return fmt.Errorf("manifestworkreplicasets %q is %s", set.Name, already)
}

// abortOptions holds the flags of the abort command.
type abortOptions struct {
	actOptions
	waits
	reason string
}

func newAbort(o *options) *cobra.Command {
	flags := &abortOptions{}
	cmd := &cobra.Command{
		Use: "abort NAME", GroupID: groupAct, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short: "Abort a rollout: the hub writes the current revision to every cluster at once",
		Long: "Abort a rollout: the hub writes the current revision to every cluster at once, regardless of the rollout strategy.\n" +
			"The spec does not change. The reason and your user name are recorded on the revision.",
		Example: `  kubectl mwrs abort web --reason='v4 leaks memory'`,
		RunE: o.connected(func(ctx context.Context, c *clients, args []string) error {
			return o.abort(ctx, c, args[0], flags)
		}),
	}
	cmd.Flags().StringVar(&flags.reason, "reason", "", "The reason for the abort, at most 256 bytes")
	flags.addYes(cmd)
	flags.addDryRun(cmd)
	flags.addFlags(cmd, "Wait until every cluster has confirmed the current revision")
	return cmd
}

// maxAbortText is the maximum length of abortedBy and abortReason in bytes.
const maxAbortText = 256

func (o *options) abort(ctx context.Context, c *clients, name string, flags *abortOptions) error {
	if err := o.abortAt(ctx, c, name, flags); err != nil || !flags.wait || flags.dryRun != dryRunNone {
		return err
	}
	return o.wait(ctx, c, name, &statusOptions{timeout: flags.timeout, restored: true})
}

func (o *options) abortAt(ctx context.Context, c *clients, name string, flags *abortOptions) error {
	if len(flags.reason) > maxAbortText {
		return fmt.Errorf("--reason has %d bytes; the maximum is %d", len(flags.reason), maxAbortText)
	}
	status := map[string]any{"abortedBy": revision.Shortened(o.user(ctx, c), maxAbortText)}
	if flags.reason != "" {
		status["abortReason"] = flags.reason
	}
	_, err := o.act(ctx, c, &flags.actOptions, func() (*action, error) {
		set, err := c.replicaSets().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		status["abortedTime"] = metav1.NewTime(o.now().UTC().Truncate(time.Second))
		return onStatus(set, types.MergePatchType, changeOf(set, status), view.VerbAbort, nil), view.Abortable(set)
	})
	return err
}

// onStatus returns an action that writes the status.
func onStatus(set *workv1alpha1.ManifestWorkReplicaSet, kind types.PatchType, patch any, verb view.Verb, clusters []string) *action {
	return &action{
		Effect: view.EffectOf(&view.Objects{ReplicaSet: set}, verb, nil, clusters), set: set, manager: fieldManager,
		kind: kind, patch: patch, subresources: []string{"status"},
	}
}

// changeOf returns a merge patch of the status that applies only to the object that was read.
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

func newRetry(o *options) *cobra.Command {
	flags := &actOptions{}
	cmd := &cobra.Command{
		Use: "retry NAME [CLUSTER...]", GroupID: groupAct, Args: cobra.MinimumNArgs(1), ValidArgsFunction: o.completing(findRetried),
		Short: "Roll out the aborted revision again, or retry failed clusters",
		Long: "Roll out the aborted revision again, or retry the failed clusters of a rollout.\n" +
			"A retried cluster gets a new deadline. If you name no clusters, all failed clusters are retried.",
		Example: `  # Roll out the aborted revision again
  kubectl mwrs retry web

  # Retry two clusters of a stalled rollout
  kubectl mwrs retry web cluster1 cluster2`,
		RunE: o.connected(func(ctx context.Context, c *clients, args []string) error {
			return o.retryAt(ctx, c, args[0], args[1:], flags)
		}),
	}
	flags.addDryRun(cmd)
	return cmd
}

func (o *options) retryAt(ctx context.Context, c *clients, name string, clusters []string, flags *actOptions) error {
	_, err := o.act(ctx, c, flags, func() (*action, error) {
		set, err := c.replicaSets().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		kind, change, err := plannedRetry(set, clusters)
		return onStatus(set, kind, change, view.VerbRetry, clusters), err
	})
	return err
}

// plannedRetry returns the patch of a retry.
func plannedRetry(set *workv1alpha1.ManifestWorkReplicaSet, clusters []string) (kind types.PatchType, change any, err error) {
	if err := view.TakesRetries(set); err != nil {
		return "", nil, err
	}
	switch {
	case len(clusters) > 0 && set.Status.AbortedTime != nil:
		return "", nil, fmt.Errorf("the rollout of %q was aborted: single clusters can't be retried; use `%s`",
			set.Name, plain.Command("kubectl", "mwrs", "retry", set.Name))
	case len(clusters) > 0:
		patch, err := withoutFailures(set, clusters)
		return types.JSONPatchType, patch, err
	case set.Status.AbortedTime != nil:
		return types.MergePatchType, changeOf(set, map[string]any{"abortedTime": nil}), nil
	case len(set.Status.Failures) > 0:
		return types.MergePatchType, changeOf(set, map[string]any{"failures": []any{}}), nil
	}
	return "", nil, view.Retriable(set)
}

type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// withoutFailures returns the patch that removes the failures of the given clusters from the status. It removes entries from last to
// first, because each removal shifts the entries after it.
func withoutFailures(set *workv1alpha1.ManifestWorkReplicaSet, clusters []string) ([]operation, error) {
	patch := []operation{{Op: "test", Path: "/metadata/resourceVersion", Value: set.ResourceVersion}}
	missing := slices.Clone(clusters)
	for i := len(set.Status.Failures) - 1; i >= 0; i-- {
		cluster := set.Status.Failures[i].Cluster
		if !slices.Contains(clusters, cluster) {
			continue
		}
		patch = append(patch, operation{Op: "remove", Path: fmt.Sprintf("/status/failures/%d", i)})
		missing = slices.DeleteFunc(missing, func(other string) bool { return other == cluster })
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("status.failures of %q does not list %s; `%s` shows the failed clusters",
			set.Name, strings.Join(missing, ", "), plain.Command("kubectl", "mwrs", "clusters", set.Name, "--state", "failed"))
	}
	return patch, nil
}
