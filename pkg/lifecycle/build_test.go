package lifecycle_test

import (
	"errors"
	"fmt"
	"strings"
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
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/lifecycle"
	"github.com/open-cluster-management-io/work-rollback/pkg/placement"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/work"
)

var errQuota = errors.New("quota exceeded")

// template returns a template with the given value.
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

// named returns the revision of a value; the zero value if it is empty.
func named(value string) ledger.Named {
	if value == "" {
		return ledger.Named{}
	}
	return ledger.Named{Hash: hashOf(value), Digest: digestOf(value)}
}

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

func amended(record func(*revision.Record)) change {
	return func(o *appsv1.ControllerRevision) { revisiontest.Amend(o, record) }
}

// began marks a revision as rolled out, recorded as rolled out by another hub, and wasAborted as aborted in its last rollout.
func began(r *revision.Record)      { r.Began = rt.At(0) }
func recorded(r *revision.Record)   { r.Recorded = rt.At(0) }
func wasAborted(r *revision.Record) { r.Abort = &revision.Abort{At: rt.At(0)} }

func broken(o *appsv1.ControllerRevision) { o.Data.Raw = []byte(`{}`) }

func foreign(o *appsv1.ControllerRevision) { o.OwnerReferences[0].UID = "somebody-else" }

func history(objects ...*appsv1.ControllerRevision) revision.History {
	decoded := make([]revision.Revision, 0, len(objects))
	for _, o := range objects {
		decoded = append(decoded, revision.Decode(o))
	}
	return revision.NewHistory(owner(""), decoded)
}

// ours returns a work that has the hash and the content of a value.
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

// decided returns a ledger with a stable revision, the revision that has been rolled out since Epoch, and the former revisions, the latest
// first.
func decided(current, update string, former ...string) ledger.Ledger {
	l := ledger.Ledger{Format: ledger.Format, Owner: "uid-of-web", Seq: 4, Current: named(current), Update: named(update)}
	l.Begun = ledger.Beginning{At: rt.At(0), How: ledger.New}
	for _, value := range former {
		l.Former = append(l.Former, named(value))
	}
	if current == update && current != "" {
		l.Ended = rt.At(0)
	}
	return l
}

// aborted returns a ledger whose rollout was aborted.
func aborted(current, update string, at time.Duration) ledger.Ledger {
	l := decided(current, update)
	l.Abort = &revision.Abort{At: rt.At(at), Reason: "c1 failed"}
	return l
}

// view returns an observation an hour after Epoch. Its object has a template, a ledger and revisions. c1, c2 and c3 are selected.
func view(value string, before ledger.Ledger, objects ...*appsv1.ControllerRevision) *lifecycle.Observation {
	v := &lifecycle.Observation{
		Now: rt.At(time.Hour), Object: owner(value), PlacementsKnown: true, Owner: rt.Owner, Before: before,
		History: history(objects...), Refs: []placement.Ref{rt.Ref("p1", rt.Clusters("c1", "c2", "c3"))},
	}
	v.Template, v.TemplateErr = revision.DigestOf(template(value))
	return v
}

// selects sets the clusters that a view selects.
func selects(v *lifecycle.Observation, clusters ...string) *lifecycle.Observation {
	v.Refs[0].Placement.Groups[0].Clusters, v.Refs[0].Placement.Selected = clusters, len(clusters)
	return v
}

// answer gives an observation the answer to its next request, and returns the next decision.
func answer(t *testing.T, v *lifecycle.Observation, is lifecycle.Answer) lifecycle.Decision {
	t.Helper()
	asked := lifecycle.Decide(v)
	require.NotNil(t, asked.Request, "no answer is awaited: %s", asked.End)
	is.Key = asked.Request.Key
	if is.Result == "" {
		is.Result = lifecycle.Done
	}
	v.Answers = append(v.Answers, is)
	return lifecycle.Decide(v)
}

// step requires that a decision has a request.
func step(t *testing.T, d lifecycle.Decision, action lifecycle.Action) lifecycle.Request {
	t.Helper()
	require.NotNil(t, d.Request, d.End)
	require.Equal(t, action, d.Request.Action, d.Request.Key)
	return *d.Request
}

// proceeds requires that a decision has a plan.
func proceeds(t *testing.T, d lifecycle.Decision) lifecycle.Decision {
	t.Helper()
	require.Nil(t, d.Request)
	require.Empty(t, d.End)
	require.NotNil(t, d.Plan)
	return d
}

// held requires that a decision ends the pass.
func held(t *testing.T, d lifecycle.Decision, reason lifecycle.Reason) lifecycle.Decision {
	t.Helper()
	require.Nil(t, d.Request)
	require.Equal(t, reason, d.End)
	return d
}

// begin starts the rollout of the template's revision, which already exists.
func begin(v *lifecycle.Observation) lifecycle.Decision {
	hash := hashOf("")
	if rev := v.History.ByDigest(v.Template); rev != nil {
		hash = rev.Hash
	}
	return lifecycle.Begin(v, v.Named(hash))
}

// notes returns the notes of a decision's events.
func notes(d lifecycle.Decision) string {
	var all []string
	for i := range d.Events {
		all = append(all, d.Events[i].Reason+": "+d.Events[i].Note)
	}
	return strings.Join(all, "\n")
}
