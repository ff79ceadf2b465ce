package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/internal/revisiontest"
	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/ledger"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// hub holds a ManifestWorkReplicaSet and its revisions, as an API server does.
type hub struct {
	object    *workv1alpha1.ManifestWorkReplicaSet
	revisions []*appsv1.ControllerRevision
	recorded  map[string]string
	// writes is the number of writes before the process is killed; negative for no limit.
	writes int
	// made is the number of writes so far.
	made int
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

func template(version string) *workv1.ManifestWorkSpec {
	m := workv1.Manifest{}
	m.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"version":%q}}`, version)
	return &workv1.ManifestWorkSpec{Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{m}}}
}

// named returns the revision of a template in a ledger.
func named(version string) ledger.Named {
	digest, err := revision.DigestOf(template(version))
	if err != nil {
		panic(err)
	}
	return ledger.Named{Hash: revision.ComputeHash(template(version), nil), Digest: digest}
}

// newHub returns a hub that rolled out v1, v2, and so on. The rollout of the last version is in progress.
func newHub(revisions int) *hub {
	h := &hub{writes: -1, object: &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid"}}}
	for n := range revisions {
		if n > 0 {
			h.complete(n * 10)
		}
		h.roll(fmt.Sprintf("v%d", n+1), n*10+1)
	}
	return h
}

// decide writes a decision to both places, as the hub does.
func (h *hub) decide(change func(*ledger.Ledger)) {
	o := h.list()
	l := o.reading().Ledger
	l = l.Clone()
	change(&l)
	l.Format, l.Owner, l.Seq = ledger.Format, h.object.UID, l.Seq+1
	if err := l.Project(&h.object.Status); err != nil {
		panic(err)
	}
	holder := ledger.Holder(&o.History, &l)
	holder = &revision.Revision{Object: h.revision(holder.Object.UID)}
	holder.Object.Annotations[workv1alpha1.AnnotationLedger] = h.object.Status.Ledger
	revisiontest.Amend(holder.Object, func(r *revision.Record) {
		if r.Began = l.Begun.At; l.Complete() {
			r.Ended = l.Ended
		}
	})
}

func (h *hub) revision(uid types.UID) *appsv1.ControllerRevision {
	i := slices.IndexFunc(h.revisions, func(rev *appsv1.ControllerRevision) bool { return rev.UID == uid })
	if i < 0 {
		return nil
	}
	return h.revisions[i]
}

// roll changes the template, and begins its rollout.
func (h *hub) roll(version string, minute int) {
	h.object.Spec.ManifestWorkTemplate = *template(version)
	how := ledger.Found
	if h.revision(types.UID("uid-"+version)) == nil {
		how = ledger.New
		rev, err := revision.New(h.object, template(version), named(version).Hash, int64(len(h.revisions)+1))
		if err != nil {
			panic(err)
		}
		rev.UID = types.UID("uid-" + version)
		h.revisions = append(h.revisions, rev)
	}
	h.decide(func(l *ledger.Ledger) { l.Begin(named(version), how, at(minute), false) })
}

func (h *hub) complete(minute int) { h.decide(func(l *ledger.Ledger) { l.End(at(minute)) }) }

func (h *hub) abort(minute int) {
	h.decide(func(l *ledger.Ledger) {
		l.Abort = &revision.Abort{At: at(minute), Reason: "2 of 3 clusters failed"}
		l.SetTroubles([]ledger.Trouble{{Cluster: "c1", State: ledger.Failed, Placement: "p1", Since: at(minute), Message: "crash loop"}})
	})
}

// list returns the objects as the writer reads them.
func (h *hub) list() *Object {
	o := &Object{ManifestWorkReplicaSet: h.object.DeepCopy()}
	var revisions []revision.Revision
	for _, rev := range h.revisions {
		lean := revision.Revision{Object: rev.DeepCopy(), Hash: rev.Labels[workv1alpha1.LabelControllerHash], Record: revision.RecordOf(rev)}
		lean.Object.Data.Raw = nil
		revisions = append(revisions, lean)
	}
	o.History = revision.NewHistory(h.object, revisions)
	return o
}

// killed is the panic of a process that ends between two writes.
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

// starts starts a process of a version and kills it after its last write. It returns the decision of the process and the restored state.
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
		changes, err := Snapshot(&d, h.list())
		if err != nil {
			panic(err)
		}
		h.annotate(changes)
	case RestoreSnapshots:
		r = Restore(&d, h.list())
		h.restore(&r)
	}
	h.write(func() { h.recorded = d.Record() })
	return d, r, true
}

func (h *hub) restore(r *Restoration) {
	if r.Status != nil {
		h.write(func() { h.object.Status = *r.Status.DeepCopy() })
	}
	for _, rev := range r.Revisions {
		h.write(func() {
			live := h.revision(rev.Object.UID)
			delete(live.Annotations, workv1alpha1.AnnotationLedger)
			if rev == r.Holder {
				metav1.SetMetaDataAnnotation(&live.ObjectMeta, workv1alpha1.AnnotationLedger, r.Copy)
			}
		})
	}
	h.annotate(r.Annotations)
}

// counting returns the valid ledger.
func (h *hub) counting() ledger.Reading {
	o := h.list()
	return ledger.Read(&ledger.Places{
		Owner: o.UID, Template: named(h.version()).Digest, Status: o.Status.Ledger, History: o.History,
	})
}

// version returns the version of the template in the spec.
func (h *hub) version() string {
	var manifest struct{ Data struct{ Version string } }
	if err := json.Unmarshal(h.object.Spec.ManifestWorkTemplate.Workload.Manifests[0].Raw, &manifest); err != nil {
		panic(err)
	}
	return manifest.Data.Version
}

// decisions returns the decisions of the hub, without their number and messages.
func (h *hub) decisions() ledger.Ledger {
	reading := h.counting()
	short := reading.Ledger.Short()
	short.Seq = 0
	return short
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

// snapshots returns the versions of the object's snapshots.
func (h *hub) snapshots() []string {
	var found []string
	for key := range h.object.Annotations {
		found = append(found, key[len(workv1alpha1.AnnotationSnapshotPrefix):])
	}
	slices.Sort(found)
	return found
}

// upgraded returns a hub of v1.0.0 on which v1.1.0 has started.
func upgraded(t require.TestingT, h *hub) *hub {
	if helper, ok := t.(interface{ Helper() }); ok {
		helper.Helper()
	}
	_, _, ended := h.starts("v1.0.0")
	require.True(t, ended)
	d, _, ended := h.starts("v1.1.0")
	require.True(t, ended)
	require.Equal(t, TakeSnapshots, d.Action)
	require.Equal(t, []string{"v1.0.0"}, h.snapshots())
	return h
}

// holdIn writes a text to the given places of the ledger: "status", and "copy" for each revision that has a copy. An empty text removes
// the ledger.
func (h *hub) holdIn(place, text string) {
	if place == "status" {
		h.object.Status.Ledger = text
		return
	}
	for _, rev := range h.revisions {
		if _, copied := rev.Annotations[workv1alpha1.AnnotationLedger]; copied && text == "" {
			delete(rev.Annotations, workv1alpha1.AnnotationLedger)
		} else if copied {
			rev.Annotations[workv1alpha1.AnnotationLedger] = text
		}
	}
}
