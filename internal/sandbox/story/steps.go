package story

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/yaml"

	"github.com/open-cluster-management-io/work-rollback/internal/sandbox"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin"
)

// step is a part of the story.
type step struct {
	title, why string
	// do changes something; nil only waits.
	do func(context.Context) error
	// always must hold at every read; nil for no requirement.
	always func(*facts) error
	// checks end the step when all of them hold at the same time.
	checks []check
}

// steps is the story.
func (p *player) steps() []step {
	clusters := len(p.observer.clusters)
	return []step{
		{
			title: "Version 1 rolls out, one cluster at a time",
			why:   "The next cluster gets it once the one before is healthy and stayed so for a while.",
			do:    p.create(false), always: atMostOneUnderWay,
			checks: []check{
				everyClusterRuns(version1), reached(version1, clusters), oneAfterTheOther(version1),
				revisionsAre(version1, version1), revisionCount(1),
				conditionsAre("the conditions say that the rollout is complete", complete), p.sawReason(workv1alpha1.ReasonNewRevisionCreated),
			},
		},
		{
			title: "Version 2 rolls out, and its image can't be pulled",
			why:   "It reaches one cluster, and no other as long as that one isn't healthy. There, version 1 still serves.",
			do:    p.setVersion(version2), always: onlyOneHas(version2),
			checks: []check{reached(version2, 1), p.sawStuck(), revisionsAre(version1, version2), revisionCount(2)},
		},
		{
			title:  "The hub aborts: every cluster goes back to version 1",
			why:    "After 15 seconds the hub gives up on version 2 by itself. That is what failureStrategy AbortAll means.",
			always: onlyOneHas(version2),
			checks: []check{
				everyClusterRuns(version1), reached(version2, 1), abortedTime(true), revisionsAre(version1, version2),
				conditionsAre("the conditions say that the rollout was aborted", aborted), allConfirmed(clusters),
			},
		},
		{
			title: "Version 3 is good, and rolls out",
			why:   "A new version after an abort is an ordinary rollout.",
			do:    p.setVersion(version3), always: atMostOneUnderWay,
			checks: []check{
				everyClusterRuns(version3), reached(version2, 1), oneAfterTheOther(version3), abortedTime(false),
				revisionsAre(version3, version3), revisionCount(3),
				conditionsAre("the conditions say that the rollout is complete", complete), p.sawReason(workv1alpha1.ReasonNewRevisionCreated),
			},
		},
		{
			title: "Undo: back to version 1",
			why:   "Its template comes from the revision that the hub kept. The hub finds that revision again instead of making a new one.",
			do:    p.undo, always: atMostOneUnderWay,
			checks: []check{
				everyClusterRuns(version1), oneAfterTheOther(version1), abortedTime(false),
				revisionsAre(version1, version1), revisionCount(3), p.sameRevision(),
				conditionsAre("the conditions say that the rollout is complete", complete), p.sawReason(workv1alpha1.ReasonFoundNewRevision),
			},
		},
	}
}

func onlyOneHas(version string) func(*facts) error {
	return func(f *facts) error {
		var names []string
		for i := range f.clusters {
			if f.clusters[i].everHad(version) {
				names = append(names, f.clusters[i].name)
			}
		}
		if len(names) > 1 {
			return fmt.Errorf("the broken version %s reached the clusters %v, expected only one", version, names)
		}
		return nil
	}
}

// create creates the first version of the story's workload. If applied is true, it creates the workload as kubectl apply does. Otherwise,
// the reader's first kubectl apply prints a warning.
func (p *player) create(applied bool) func(context.Context) error {
	return func(ctx context.Context) error {
		mwrs, err := replicaSet(version1)
		if err != nil {
			return err
		}
		if applied {
			content, err := yaml.YAMLToJSON([]byte(sample(version1, oneByOne)))
			if err != nil {
				return fmt.Errorf("encoding the workload of the demo: %w", err)
			}
			mwrs.Annotations[corev1.LastAppliedConfigAnnotation] = string(content)
		}
		_, err = p.observer.mwrs.WorkV1alpha1().ManifestWorkReplicaSets(mwrs.Namespace).Create(ctx, mwrs, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("creating the ManifestWorkReplicaSet: %w", err)
		}
		return nil
	}
}

// change updates the ManifestWorkReplicaSet, as a user with kubectl does.
func (p *player) change(ctx context.Context, mutate func(*workv1alpha1.ManifestWorkReplicaSet) error) error {
	api := p.observer.mwrs.WorkV1alpha1().ManifestWorkReplicaSets(sandbox.Namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		mwrs, err := api.Get(ctx, "web", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := mutate(mwrs); err != nil {
			return err
		}
		_, err = api.Update(ctx, mwrs, metav1.UpdateOptions{})
		return err
	})
	if err != nil {
		return fmt.Errorf("updating the ManifestWorkReplicaSet: %w", err)
	}
	return nil
}

func (p *player) setVersion(version string) func(context.Context) error {
	return func(ctx context.Context) error {
		return p.change(ctx, func(mwrs *workv1alpha1.ManifestWorkReplicaSet) error {
			wanted, err := replicaSet(version)
			if err != nil {
				return err
			}
			mwrs.Annotations[workv1alpha1.AnnotationChangeCause] = wanted.Annotations[workv1alpha1.AnnotationChangeCause]
			mwrs.Spec.ManifestWorkTemplate = wanted.Spec.ManifestWorkTemplate
			return nil
		})
	}
}

// undo runs `kubectl mwrs undo`. The template comes from the revision that the hub recorded.
func (p *player) undo(ctx context.Context) error {
	kubeconfig, err := p.sandbox.Hub.Kubeconfig("")
	if err != nil {
		return err
	}
	args := []string{"undo", rolloutName, "-n", sandbox.Namespace}
	p.teller.does("kubectl mwrs " + strings.Join(args, " "))
	var out bytes.Buffer
	streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &out}
	if code := plugin.Run(ctx, append(args, "--yes", "--kubeconfig="+kubeconfig), streams); code != 0 {
		return fmt.Errorf("kubectl mwrs undo failed with exit code %d: %s", code, out.String())
	}
	return nil
}

// sameRevision verifies that the undo reused the first revision, gave it the highest number, and created no new one.
func (p *player) sameRevision() check {
	return check{"it is the same revision as in the beginning, with the highest number", func(f *facts) error {
		if got := f.mwrs.Status.CurrentRevision; got != p.first {
			return fmt.Errorf("the current revision is %q, expected %q again", got, p.first)
		}
		first := f.revision(p.first)
		if first == nil {
			return errors.New("the current revision has no ControllerRevision")
		}
		for i := range f.revisions {
			if other := &f.revisions[i]; other.Name != first.Name && other.Revision >= first.Revision {
				return fmt.Errorf("the revision %s has number %d, expected it below the %d of %s", other.Name, other.Revision, first.Revision, first.Name)
			}
		}
		return nil
	}}
}

// sawStuck verifies that a cluster itself reported that its new version can't start.
func (p *player) sawStuck() check {
	return check{"the Deployment there says ProgressDeadlineExceeded", func(*facts) error {
		if !p.stuck {
			return errors.New("no Deployment had the reason ProgressDeadlineExceeded, expected one")
		}
		return nil
	}}
}

// sawReason verifies that the condition had a reason during the rollout.
func (p *player) sawReason(reason string) check {
	return check{"while it went on, the reason of Progressing was " + reason, func(*facts) error {
		if !p.seen[reason] {
			return fmt.Errorf("the condition Progressing never had the reason %s during this rollout", reason)
		}
		return nil
	}}
}
