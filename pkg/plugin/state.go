package plugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/plain"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/view"
)

func newPause(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "pause NAME", GroupID: groupAct, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short:   "Pause a rollout: the hub stops writing to clusters",
		Example: `  kubectl mwrs pause web`,
		RunE:    func(cmd *cobra.Command, args []string) error { return o.setPaused(cmd.Context(), args[0], true) },
	}
}

func newResume(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "resume NAME", GroupID: groupAct, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short:   "Resume a paused rollout",
		Example: `  kubectl mwrs resume web`,
		RunE:    func(cmd *cobra.Command, args []string) error { return o.setPaused(cmd.Context(), args[0], false) },
	}
}

func (o *options) setPaused(ctx context.Context, name string, paused bool) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	return o.setPausedAt(ctx, c, name, paused)
}

func (o *options) setPausedAt(ctx context.Context, c *clients, name string, paused bool) error {
	set, err := c.replicaSets().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := errors.Join(pausable(set, paused), o.check(set)); err != nil {
		return err
	}
	if err := c.patch(ctx, name, types.MergePatchType, map[string]any{"spec": map[string]any{"paused": paused}}); err != nil {
		return err
	}
	verb := map[bool]view.Verb{true: view.VerbPause, false: view.VerbResume}[paused]
	return o.requested(ctx, c, verb, name, view.EffectOf(&view.Objects{ReplicaSet: set}, verb, nil, nil).Then)
}

// pausable returns an error if a rollout is paused, or not paused, already.
func pausable(set *workv1alpha1.ManifestWorkReplicaSet, paused bool) error {
	if set.Spec.Paused != paused {
		return nil
	}
	already := map[bool]string{true: "already paused", false: "not paused"}[paused]
	return fmt.Errorf("manifestworkreplicasets %q is %s", set.Name, already)
}

// requested prints that an action was requested, and what the hub will do. Whether it does is for the hub to say: the object only has the
// request.
func (o *options) requested(ctx context.Context, c *clients, verb view.Verb, name, then string) error {
	if err := o.did(name, string(verb)+" requested"); err != nil {
		return err
	}
	if err := o.sayf("%s\n", then); err != nil {
		return err
	}
	newPrinter(o.ErrOut, screenOf(o.ErrOut)).alarms(view.AlarmsOf(nil, c.lease(ctx), o.now()))
	return nil
}

// did prints the result of a command in kubectl's format.
func (o *options) did(name, what string) error {
	return o.sayf("manifestworkreplicaset.work.open-cluster-management.io/%s %s\n", name, what)
}

func (c *clients) patch(ctx context.Context, name string, kind types.PatchType, change any, subresources ...string) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	_, err = c.replicaSets().Patch(ctx, name, kind, data, metav1.PatchOptions{FieldManager: fieldManager}, subresources...)
	return err
}

// changing is how often, and for how long, a write is repeated while the hub or another user changes the object.
var changing = wait.Backoff{Steps: 9, Duration: 20 * time.Millisecond, Factor: 2, Jitter: 0.1}

// repeated calls a function that reads the object, checks it and writes it, until nobody changes the object in between. The hub writes
// the status often during a rollout.
func repeated(write func() error) error { return retry.OnError(changing, hasChanged, write) }

// hasChanged reports whether a write failed because the object changed: a conflict, or a JSON patch whose test failed. The API server
// names no cause for the latter.
func hasChanged(err error) bool {
	var failure apierrors.APIStatus
	if apierrors.IsConflict(err) {
		return true
	}
	return apierrors.IsInvalid(err) && errors.As(err, &failure) &&
		(failure.Status().Details == nil || len(failure.Status().Details.Causes) == 0)
}

// abortOptions holds the flags of the abort command.
type abortOptions struct {
	reason  string
	yes     bool
	wait    bool
	timeout time.Duration
}

func newAbort(o *options) *cobra.Command {
	flags := &abortOptions{}
	cmd := &cobra.Command{
		Use: "abort NAME", GroupID: groupAct, Args: cobra.ExactArgs(1), ValidArgsFunction: o.completeName,
		Short: "Abort a rollout: the hub writes the current revision to every cluster at once",
		Long: "Abort a rollout: the hub writes the current revision to every cluster at once, regardless of the rollout strategy.\n" +
			"The spec does not change. The reason and your user name are recorded on the revision.",
		Example: `  kubectl mwrs abort web --reason='v4 leaks memory'`,
		RunE:    func(cmd *cobra.Command, args []string) error { return o.abort(cmd.Context(), args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.reason, "reason", "", "The reason for the abort, at most 256 bytes")
	cmd.Flags().BoolVarP(&flags.yes, "yes", "y", false, "Do not ask for confirmation")
	cmd.Flags().BoolVar(&flags.wait, "wait", false, "Wait until every cluster has confirmed the current revision")
	cmd.Flags().DurationVar(&flags.timeout, "timeout", 0, "With --wait: maximum time to wait, such as 30m; 0 waits forever")
	return cmd
}

// maxAbortText is the maximum length of abortedBy and abortReason in bytes.
const maxAbortText = 256

func (o *options) abort(ctx context.Context, name string, flags *abortOptions) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	if err := o.abortAt(ctx, c, name, flags); err != nil || !flags.wait {
		return err
	}
	return o.waitRestored(ctx, c, name, flags.timeout)
}

func (o *options) abortAt(ctx context.Context, c *clients, name string, flags *abortOptions) error {
	if len(flags.reason) > maxAbortText {
		return fmt.Errorf("--reason has %d bytes; the maximum is %d", len(flags.reason), maxAbortText)
	}
	status := map[string]any{"abortedBy": revision.Shortened(o.user(ctx, c), maxAbortText)}
	if flags.reason != "" {
		status["abortReason"] = flags.reason
	}
	confirmed, then := "", ""
	err := repeated(func() error {
		set, err := c.replicaSets().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := cmp.Or(view.Abortable(set), o.check(set)); err != nil {
			return err
		}
		question := fmt.Sprintf("Abort and write revision %s to every cluster of %s/%s that has revision %s?",
			view.RevisionNumber(set, set.Status.CurrentRevision), set.Namespace, set.Name,
			view.RevisionNumber(set, set.Status.UpdateRevision))
		if question != confirmed {
			if err := o.ask(question, flags.yes); err != nil {
				return err
			}
			confirmed = question
		}
		then = view.EffectOf(&view.Objects{ReplicaSet: set}, view.VerbAbort, nil, nil).Then
		status["abortedTime"] = metav1.NewTime(o.now().UTC().Truncate(time.Second))
		return c.patch(ctx, name, types.MergePatchType, changeOf(set, status), "status")
	})
	if err != nil {
		return err
	}
	return o.requested(ctx, c, view.VerbAbort, name, then)
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
	return &cobra.Command{
		Use: "retry NAME [CLUSTER...]", GroupID: groupAct, Args: cobra.MinimumNArgs(1), ValidArgsFunction: o.completeName,
		Short: "Roll out the aborted revision again, or retry failed clusters",
		Long: "Roll out the aborted revision again, or retry the failed clusters of a rollout.\n" +
			"A retried cluster gets a new deadline. If you name no clusters, all failed clusters are retried.",
		Example: `  # Roll out the aborted revision again
  kubectl mwrs retry web

  # Retry two clusters of a stalled rollout
  kubectl mwrs retry web cluster1 cluster2`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.retry(cmd.Context(), args[0], args[1:]) },
	}
}

func (o *options) retry(ctx context.Context, name string, clusters []string) error {
	c, err := o.connect()
	if err != nil {
		return err
	}
	return o.retryAt(ctx, c, name, clusters)
}

func (o *options) retryAt(ctx context.Context, c *clients, name string, clusters []string) error {
	then := ""
	err := repeated(func() error {
		set, err := c.replicaSets().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		kind, change, err := plannedRetry(set, clusters)
		if err = cmp.Or(err, o.check(set)); err != nil {
			return err
		}
		then = view.EffectOf(&view.Objects{ReplicaSet: set}, view.VerbRetry, nil, clusters).Then
		return c.patch(ctx, name, kind, change, "status")
	})
	if err != nil {
		return err
	}
	return o.requested(ctx, c, view.VerbRetry, name, then)
}

// plannedRetry returns the patch of a retry.
func plannedRetry(set *workv1alpha1.ManifestWorkReplicaSet, clusters []string) (kind types.PatchType, change any, err error) {
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
		return types.MergePatchType, changeOf(set, map[string]any{"failures": nil}), nil
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
