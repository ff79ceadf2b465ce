package lifecycle_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	rt "github.com/open-cluster-management-io/work-rollback/internal/rollouttest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

// template is one that means this value.
func template(value string) *workv1.ManifestWorkSpec {
	spec := &workv1.ManifestWorkSpec{}
	if value != "" {
		raw := fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"value":%q}}`, value)
		spec.Workload.Manifests = []workv1.Manifest{{RawExtension: runtime.RawExtension{Raw: []byte(raw)}}}
	}
	return spec
}

func digestOf(value string) revision.Digest {
	digest, err := revision.DigestOf(template(value))
	if err != nil {
		panic(err)
	}
	return digest
}

func hashOf(value string) string { return revision.ComputeHash(template(value), nil) }

func nameOf(value string) string { return revision.Name(rt.OwnerName, hashOf(value)) }

func owner(value string) *workv1alpha1.ManifestWorkReplicaSet {
	return &workv1alpha1.ManifestWorkReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: rt.OwnerName, Namespace: rt.OwnerNamespace, UID: "uid-of-web", Generation: 7, CreationTimestamp: metav1.NewTime(rt.Epoch),
		},
		Spec: workv1alpha1.ManifestWorkReplicaSetSpec{ManifestWorkTemplate: *template(value)},
	}
}

type change func(*appsv1.ControllerRevision)

// object is the ControllerRevision of a value.
func object(value string, number int64, changes ...change) *appsv1.ControllerRevision {
	made, err := revision.New(owner(value), template(value), hashOf(value), number)
	if err != nil {
		panic(err)
	}
	made.UID, made.ResourceVersion, made.CreationTimestamp = "uid", "1", metav1.NewTime(rt.Epoch)
	for _, change := range changes {
		change(made)
	}
	return made
}

func annotated(key, value string) change {
	return func(o *appsv1.ControllerRevision) { o.Annotations[key] = value }
}

func amended(record func(*revision.Record)) change {
	return func(o *appsv1.ControllerRevision) { revisiontest.Amend(o, record) }
}

func recordOf(o *appsv1.ControllerRevision) revision.Record { return revision.RecordOf(o) }

func current(since time.Duration) change {
	return amended(func(r *revision.Record) { r.CurrentSince = rt.At(since) })
}

func wasAborted(since time.Duration) change {
	return amended(func(r *revision.Record) { r.Abort = &revision.Abort{At: rt.At(since)} })
}

func restoredAt(since time.Duration) change {
	return amended(func(r *revision.Record) { r.Abort = &revision.Abort{Restored: rt.At(since)} })
}

func retriedAt(since time.Duration) change {
	return amended(func(r *revision.Record) { r.Retried = rt.At(since) })
}

func retriedAbortAt(since time.Duration) change {
	return amended(func(r *revision.Record) { r.RetriedAbort = rt.At(since) })
}

func reusedAt(since time.Duration) change {
	return amended(func(r *revision.Record) { r.Reused = rt.At(since) })
}

func recordedAt(since time.Duration) change {
	return amended(func(r *revision.Record) { r.Recorded = rt.At(since) })
}

func surpassedAt(since time.Duration) change {
	return amended(func(r *revision.Record) { r.Surpassed = rt.At(since) })
}

func broken(o *appsv1.ControllerRevision) { o.Data.Raw = []byte(`{}`) }

func foreign(o *appsv1.ControllerRevision) { o.OwnerReferences[0].UID = "somebody-else" }

// remembers gives a revision the others of others.
func remembers(values ...string) change {
	return func(o *appsv1.ControllerRevision) {
		others := revision.Others{}
		for _, value := range values {
			others[hashOf(value)] = revision.Entry{Digest: digestOf(value), Created: rt.Epoch}
		}
		revisiontest.Amend(o, func(r *revision.Record) { r.Others = others })
	}
}

func history(objects ...*appsv1.ControllerRevision) revision.History {
	decoded := make([]revision.Revision, 0, len(objects))
	for _, o := range objects {
		decoded = append(decoded, revision.Decode(o))
	}
	return revision.NewHistory(owner(""), decoded)
}

// ours is a work that has the hash and the content of a value.
func ours(cluster, value string, more ...rt.WorkOption) work.Work {
	return rt.Work(cluster, append([]rt.WorkOption{rt.AtRevision(hashOf(value)), holds(value)}, more...)...)
}

// theirs is a work that another hub wrote.
func theirs(cluster, value string, more ...rt.WorkOption) work.Work {
	return rt.Work(cluster, append([]rt.WorkOption{holds(value), rt.Succeeded(0)}, more...)...)
}

func holds(value string) rt.WorkOption {
	return func(w *work.Work) { w.Digest = digestOf(value) }
}

// view is one of an object with a template, a status and revisions. c1, c2 and c3 are selected.
func view(value string, revisions status.Revisions, objects ...*appsv1.ControllerRevision) *lifecycle.View {
	v := &lifecycle.View{
		Now: rt.At(time.Hour), Object: owner(value), PlacementsKnown: true, Owner: rt.Owner, Status: revisions,
		History: history(objects...), Refs: []placement.Ref{rt.Ref("p1", rt.Clusters("c1", "c2", "c3"))},
	}
	v.Object.Status.UpdateRevision, v.Object.Status.CurrentRevision = revisions.UpdateRevision, revisions.CurrentRevision
	v.Template, v.TemplateErr = revision.DigestOf(template(value))
	return v
}

// names says which revisions a status names, by value.
func names(current, update string) (named status.Revisions) {
	if current != "" {
		named.CurrentRevision = hashOf(current)
	}
	if update != "" {
		named.UpdateRevision = hashOf(update)
	}
	return named
}

// answer lets a view have the answer to its next step, and returns the step after it.
func answer(t *testing.T, v *lifecycle.View, is lifecycle.Answer) lifecycle.Step {
	t.Helper()
	asked := lifecycle.Next(v)
	require.NotContains(t, []lifecycle.Action{lifecycle.Proceed, lifecycle.Hold}, asked.Action, "no answer is awaited: %s", asked.Why)
	is.Key = asked.Key
	if is.Result == "" {
		is.Result = lifecycle.Done
	}
	v.Answers = append(v.Answers, is)
	return lifecycle.Next(v)
}

func step(t *testing.T, is lifecycle.Step, action lifecycle.Action) lifecycle.Step {
	t.Helper()
	require.Equal(t, action, is.Action, "%s %s: %s", is.Action, is.Reason, is.Why)
	require.NotEmpty(t, is.Why)
	return is
}

func held(t *testing.T, is lifecycle.Step, reason lifecycle.Reason) lifecycle.Step {
	t.Helper()
	step(t, is, lifecycle.Hold)
	require.Equal(t, reason, is.Reason, is.Why)
	return is
}

func named(o *appsv1.ControllerRevision, name string) *appsv1.ControllerRevision {
	o.Name = name
	return o
}
