package simulation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// appOf is the object that a version has, and no other version does.
func appOf(version string) string { return "app-" + version }

// template is that of a version.
func (w *World) template(version string) workv1.ManifestWorkSpec {
	template := Template(version)
	if w.Drops {
		var app workv1.Manifest
		app.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"}}`, appOf(version))
		template.Workload.Manifests = append(template.Workload.Manifests, app)
	}
	return template
}

// objectsIn are the names of the objects that a work has.
func objectsIn(work *workv1.ManifestWork) []string {
	names := make([]string, 0, len(work.Spec.Workload.Manifests))
	for i := range work.Spec.Workload.Manifests {
		var object metav1.PartialObjectMetadata
		_ = json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &object)
		names = append(names, object.Name)
	}
	return names
}

// keptObjects are the names of those that are not of the version of the work.
func keptObjects(work *workv1.ManifestWork) []string {
	return slices.DeleteFunc(objectsIn(work), func(name string) bool { return name == "demo" || name == appOf(Version(work)) })
}

// clusterObjects are the objects of a cluster, and which version serves there.
type clusterObjects struct {
	names map[string]bool
	// served is the version that succeeded for long enough last; empty where that is not known.
	served string
	// version succeeds since a time; zero where it does not.
	version string
	since   time.Time
}

// objectsOf are those that a cluster has by a work.
func (w *World) objectsOf(cluster, work string) *clusterObjects {
	key := cluster + "/" + work
	found := w.serving[key]
	if found == nil {
		found = &clusterObjects{names: map[string]bool{}}
		w.serving[key] = found
	}
	return found
}

// forgetObjects takes the objects of a work off its cluster: it is deleted.
func (w *World) forgetObjects(work *workv1.ManifestWork) {
	delete(w.serving, work.Namespace+"/"+work.Name)
}

// forgetServed is somebody else than the hub changing what a work has: what serves there then is not known.
func (w *World) forgetServed(work *workv1.ManifestWork) {
	o := w.objectsOf(work.Namespace, work.Name)
	o.served, o.since = "", time.Time{}
}

// noteBlindWrite has a work keep nothing that was written while the history could not be read: its agent may apply it once it can be.
func (w *World) noteBlindWrite(name string) {
	if cluster, work, _ := strings.Cut(name, "/"); w.API.NoHistory {
		o := w.objectsOf(cluster, work)
		o.served, o.since = "", time.Time{}
	}
}

// settle takes a success that has lasted for long enough for what serves.
func (o *clusterObjects) settle(until time.Time) {
	if !o.since.IsZero() && until.Sub(o.since) >= settleTime {
		o.served = o.version
	}
}

// reportObjects has an agent report each object of a work, as real agents do: those of its version as the work as a whole, and the kept ones
// as broken where BrokenKept says so. Then the work as a whole is broken, too.
func (w *World) reportObjects(work *workv1.ManifestWork, status *workv1.ManifestWorkStatus, lies bool) {
	if !w.Drops || lies {
		return
	}
	kept := keptObjects(work)
	own := len(work.Spec.Workload.Manifests) - len(kept)
	manifests := status.ResourceStatus.Manifests[:len(work.Spec.Workload.Manifests)]
	for i := range manifests {
		reportObject(&manifests[i], status.Conditions, i >= own && w.BrokenKept)
	}
	status.ResourceStatus.Manifests = manifests
	if len(kept) == 0 || !w.BrokenKept {
		return
	}
	for i := range status.Conditions {
		if c := &status.Conditions[i]; c.Type == workv1.WorkApplied || c.Type == workv1.WorkAvailable {
			c.Status = metav1.ConditionFalse
		}
	}
}

// reportObject reports of one object what is reported of the work as a whole, unless the object is broken.
func reportObject(manifest *workv1.ManifestCondition, conditions []metav1.Condition, broken bool) {
	for _, c := range conditions {
		found := meta.FindStatusCondition(manifest.Conditions, c.Type)
		switch {
		case found == nil && c.Type != workv1.WorkProgressing:
			continue
		case found == nil:
			manifest.Conditions = append(manifest.Conditions, c)
			found = &manifest.Conditions[len(manifest.Conditions)-1]
		}
		found.LastTransitionTime = c.LastTransitionTime
		if broken {
			found.Status = metav1.ConditionFalse
		}
	}
}

// applyObjects has an agent apply a work, and checks P10: the objects of the version that a cluster serves go only when another one serves there.
func (w *World) applyObjects(work *workv1.ManifestWork, lies, success bool) {
	if !w.Drops || lies || strings.HasSuffix(work.Name, "other") {
		return // The hub gives no work such a name: its objects are an adversary's.
	}
	o, version := w.objectsOf(work.Namespace, work.Name), Version(work)
	written, known := w.writtenAt(work)
	if !known || version == edited || !owned(work) || w.adversaries.ever.Has(work.Namespace) || w.Away {
		w.forgetServed(work)
	}
	names := map[string]bool{}
	for _, name := range objectsIn(work) {
		names[name] = true
	}
	if !maps.Equal(names, o.names) {
		o.settle(written)
		w.dropObjects(work, o, names)
		o.since = time.Time{}
	}
	o.note(version, success, w.Clock.Now(), len(keptObjects(work)) > 0)
}

// dropObjects deletes what a work does not have any more.
func (w *World) dropObjects(work *workv1.ManifestWork, o *clusterObjects, names map[string]bool) {
	for _, name := range slices.Sorted(maps.Keys(o.names)) {
		if names[name] {
			continue
		}
		w.Tell("agent of %s: deletes %s", work.Namespace, name)
		w.disown(work, "configmaps "+name)
		if o.served != "" && name == appOf(o.served) && !w.adversaries.ever.Has(work.Namespace) && w.keepsObjects() && w.brokenHandover == nil {
			w.brokenHandover = fmt.Errorf("P10: cluster %s serves %s, and %s is deleted", work.Namespace, o.served, name)
		}
	}
	o.names = names
}

// disown takes what a work does not have any more from its agent, and deletes it where nobody else owns it.
func (w *World) disown(work *workv1.ManifestWork, name string) {
	found := w.objects.of(work.Namespace, name)
	if found == nil {
		return
	}
	if found.owners.Delete(work.Name); found.owners.Len() == 0 {
		delete(w.objects.there[work.Namespace], name)
		delete(w.kept, work.Namespace+" "+name)
	}
}

// keepsObjects reports whether the hub can, and shall, keep what a version drops.
func (w *World) keepsObjects() bool {
	object := w.Object()
	return object != nil && w.Network == nil && object.Spec.PruneStrategy == workv1alpha1.PruneWhenAvailable &&
		w.Irreparable.Len() == 0 && w.unrecorded.Len() == 0 && !w.API.NoHistory
}

// note follows which version succeeds. Where one succeeds no longer while objects of another one are kept beside it, nobody can tell which of the
// two serves: a hub that was restarted did not see the success.
func (o *clusterObjects) note(version string, success bool, now time.Time, kept bool) {
	switch {
	case !success && !o.since.IsZero():
		o.settle(now)
		if o.since = (time.Time{}); kept {
			o.served = ""
		}
	case success && (o.since.IsZero() || o.version != version):
		o.version, o.since = version, now
	}
}

// settles reports whether a version settles on a cluster.
func (w *World) settles(cluster, version string) bool {
	switch w.outcome(cluster, version) {
	case Succeeds, Lies:
		return true
	}
	return false
}

// String lists the objects.
func (o *clusterObjects) String() string { return strings.Join(slices.Sorted(maps.Keys(o.names)), " ") }

// immediate has objects deleted with the version that drops them.
func immediate(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
	spec.PruneStrategy = workv1alpha1.PruneImmediate
}
