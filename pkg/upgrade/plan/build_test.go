package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
	"github.com/open-cluster-management-io/work-rollback/pkg/status"
)

// hub holds one ManifestWorkReplicaSet and its revisions, as an API server does.
type hub struct {
	object    *workv1alpha1.ManifestWorkReplicaSet
	revisions []*appsv1.ControllerRevision
	recorded  map[string]string
	// writes is how many writes are left before the process is killed; negative for any number.
	writes int
	// made is how many writes there were.
	made int
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

func amend(rev *appsv1.ControllerRevision, change func(*revision.Record)) {
	revisiontest.Amend(rev, change)
}

func template(version string) workv1.ManifestWorkSpec {
	m := workv1.Manifest{}
	m.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"version":%q}}`, version)
	return workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{m}}}
}

// newHub has revisions of v1, v2, and so on. The rollout of the last one is under way, and the one before is the current one.
func newHub(revisions int) *hub {
	h := &hub{writes: -1, object: &workv1alpha1.ManifestWorkReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid", Generation: int64(revisions)},
	}}
	for n := range revisions {
		h.roll(fmt.Sprintf("v%d", n+1))
	}
	if revisions > 1 {
		before := h.revisions[revisions-2]
		amend(before, func(r *revision.Record) { r.CurrentSince = at(revisions) })
		h.object.Status.CurrentRevision = h.hash(fmt.Sprintf("v%d", revisions-1))
	}
	return h
}

func (h *hub) hash(version string) string {
	spec := template(version)
	return revision.ComputeHash(&spec, nil)
}

// roll edits the template, and records its revision as the one that is rolled out.
func (h *hub) roll(version string) {
	h.edit(version)
	hash := h.hash(version)
	h.object.Status.UpdateRevision, h.object.Status.AbortedTime = hash, nil
	newest := int64(0)
	for _, rev := range h.revisions {
		newest = max(newest, rev.Revision)
	}
	if found := h.revision(version); found != nil {
		found.Revision = newest + 1
		amend(found, func(r *revision.Record) { r.Reused, r.Abort = at(1000+int(newest)), nil })
		return
	}
	spec := template(version)
	rev, err := revision.New(h.object, &spec, hash, newest+1)
	if err != nil {
		panic(err)
	}
	rev.UID = types.UID("uid-" + version)
	amend(rev, func(r *revision.Record) { r.Others = revision.Others{"other": {Digest: "00", Created: at(0)}} })
	h.revisions = append(h.revisions, rev)
}

func (h *hub) edit(version string) {
	h.object.Generation++
	h.object.Spec.ManifestWorkTemplate = template(version)
}

func (h *hub) revision(version string) *appsv1.ControllerRevision {
	hash := h.hash(version)
	for _, rev := range h.revisions {
		if rev.Labels[workv1alpha1.LabelControllerHash] == hash {
			return rev
		}
	}
	return nil
}

// abort aborts the rollout that is under way.
func (h *hub) abort(version string, minute int) {
	when := metav1.NewTime(start.Add(time.Duration(minute) * time.Minute))
	h.object.Status.AbortedTime = &when
	amend(h.revision(version), func(r *revision.Record) {
		r.Abort = &revision.Abort{At: at(minute), Reason: "2 of 3 clusters failed"}
	})
}

// retry is what the hub does when somebody removes status.abortedTime.
func (h *hub) retry(version string, minute int) {
	h.object.Status.AbortedTime = nil
	amend(h.revision(version), func(r *revision.Record) { r.Abort, r.Retried = nil, at(minute) })
}

// complete is what the hub does when every cluster has the update revision.
func (h *hub) complete(version string, minute int) {
	amend(h.revision(version), func(r *revision.Record) { r.CurrentSince = at(minute) })
	h.object.Status.CurrentRevision = h.hash(version)
}

// list is what the writer reads.
func (h *hub) list(d *Decision) *Object {
	o := &Object{ManifestWorkReplicaSet: h.object.DeepCopy()}
	if digest, err := revision.DigestOf(&h.object.Spec.ManifestWorkTemplate); err == nil {
		o.Template = digest
	}
	compared := Compared(d, o.ManifestWorkReplicaSet)
	var revisions []revision.Revision
	for _, rev := range h.revisions {
		lean := revision.Revision{
			Object: rev.DeepCopy(), Hash: rev.Labels[workv1alpha1.LabelControllerHash], Record: revision.RecordOf(rev),
		}
		if slices.Contains(compared, lean.Hash) {
			decoded := revision.Decode(rev)
			lean.Digest, lean.Err = decoded.Digest, decoded.Err
		}
		lean.Object.Data.Raw = nil
		revisions = append(revisions, lean)
	}
	o.History = revision.NewHistory(h.object, revisions)
	return o
}

// killed is what a process says that ends between two writes.
type killed struct{}

func (h *hub) write(do func()) {
	if h.writes == 0 {
		panic(killed{})
	}
	h.writes--
	h.made++
	do()
}

func (h *hub) annotate(changes map[string]any) {
	if len(changes) == 0 {
		return
	}
	h.write(func() {
		if h.object.Annotations == nil {
			h.object.Annotations = map[string]string{}
		}
		for key, value := range changes {
			if value == nil {
				delete(h.object.Annotations, key)
			} else {
				h.object.Annotations[key] = value.(string)
			}
		}
	})
}

// starts is a process of a version that starts, and is killed when its writes are over. It returns what it decided, and what it restored.
func (h *hub) starts(build string) (d Decision, r Restoration, ended bool) {
	defer func() {
		if problem := recover(); problem != nil && problem != (killed{}) {
			panic(problem)
		}
	}()
	d = Decide(build, h.recorded)
	switch d.Action {
	case Proceed, Refuse:
		return d, r, true
	case TakeSnapshots:
		changes, err := Snapshot(&d, h.list(&d))
		if err != nil {
			panic(err)
		}
		h.annotate(changes)
	case RestoreSnapshots:
		r = Restore(&d, h.list(&d))
		h.restore(&r)
	}
	h.write(func() { h.recorded = d.Record() })
	return d, r, true
}

func (h *hub) restore(r *Restoration) {
	for i := range r.Revisions {
		h.write(func() { h.patch(&r.Revisions[i]) })
	}
	if r.Status != nil {
		h.write(func() {
			s := &h.object.Status
			s.CollisionCount, s.CurrentRevision = r.Status.CollisionCount, r.Status.CurrentRevision
			s.UpdateRevision, s.AbortedTime = r.Status.UpdateRevision, r.Status.AbortedTime
		})
	}
	h.annotate(r.Annotations)
}

func (h *hub) patch(p *RevisionPatch) {
	for _, rev := range h.revisions {
		if rev.UID != p.Revision.Object.UID {
			continue
		}
		if rev.Annotations == nil {
			rev.Annotations = map[string]string{}
		}
		maps.Copy(rev.Annotations, p.Annotations)
		rev.Revision = ptr.Deref(p.Number, rev.Revision)
	}
}

// state is what decides, without the snapshots.
type state struct {
	Spec      string
	Status    status.Revisions
	Revisions map[string]revisionSnapshot
}

func (h *hub) state(t require.TestingT) state {
	spec, err := json.Marshal(h.object.Spec)
	require.NoError(t, err)
	s := state{Spec: string(spec), Status: status.RevisionsOf(&h.object.Status), Revisions: map[string]revisionSnapshot{}}
	if s.Status.AbortedTime != nil {
		s.Status.AbortedTime = ptr.To(metav1.NewTime(s.Status.AbortedTime.UTC()))
	}
	for _, rev := range h.revisions {
		s.Revisions[rev.Name] = revisionSnapshot{Number: rev.Revision, Annotations: maps.Clone(rev.Annotations)}
	}
	return s
}

func (h *hub) copy() *hub {
	c := *h
	c.object, c.recorded = h.object.DeepCopy(), maps.Clone(h.recorded)
	c.revisions = nil
	for _, rev := range h.revisions {
		c.revisions = append(c.revisions, rev.DeepCopy())
	}
	return &c
}

// snapshots are the versions of which the object has a snapshot.
func (h *hub) snapshots() []string {
	var found []string
	for key := range h.object.Annotations {
		found = append(found, key[len(workv1alpha1.AnnotationSnapshotPrefix):])
	}
	slices.Sort(found)
	return found
}

// upgraded is a hub of v1.0.0 on which v1.1.0 started.
func upgraded(t *testing.T, h *hub) *hub {
	t.Helper()
	_, _, ended := h.starts("v1.0.0")
	require.True(t, ended)
	d, _, ended := h.starts("v1.1.0")
	require.True(t, ended)
	require.Equal(t, TakeSnapshots, d.Action)
	require.Equal(t, []string{"v1.0.0"}, h.snapshots())
	return h
}
