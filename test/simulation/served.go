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

// appOf returns the object that a version has, but no other version.
func appOf(version string) string { return "app-" + version }

// template returns the template of a version.
func (w *World) template(version string) workv1.ManifestWorkSpec {
	template := Template(version)
	if w.Drops {
		var app workv1.Manifest
		app.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":%q,"namespace":"default"}}`, appOf(version))
		template.Workload.Manifests = append(template.Workload.Manifests, app)
	}
	return template
}

// objectsIn returns the names of the objects in a work.
func objectsIn(work *workv1.ManifestWork) []string {
	names := make([]string, 0, len(work.Spec.Workload.Manifests))
	for i := range work.Spec.Workload.Manifests {
		var object metav1.PartialObjectMetadata
		_ = json.Unmarshal(work.Spec.Workload.Manifests[i].Raw, &object)
		names = append(names, object.Name)
	}
	return names
}

// keptObjects returns the names of the objects in a work that do not belong to its version.
func keptObjects(work *workv1.ManifestWork) []string {
	return slices.DeleteFunc(objectsIn(work), func(name string) bool { return name == "demo" || name == appOf(Version(work)) })
}

// clusterObjects are the objects of a cluster, and the version that serves there.
type clusterObjects struct {
	names map[string]bool
	// served is the version that last succeeded for long enough; empty if that is not known.
	served string
	// version has succeeded since a time; zero if it does not succeed.
	version string
	since   time.Time
}

// objectsOf returns the objects that a cluster has because of a work.
func (w *World) objectsOf(cluster, work string) *clusterObjects {
	key := cluster + "/" + work
	found := w.serving[key]
	if found == nil {
		found = &clusterObjects{names: map[string]bool{}}
		w.serving[key] = found
	}
	return found
}

// forgetObjects removes the objects of a work from its cluster, because the work is deleted.
func (w *World) forgetObjects(work *workv1.ManifestWork) {
	delete(w.serving, work.Namespace+"/"+work.Name)
}

// forgetServed is called when someone other than the hub changes a work. The version that serves after that is not known.
func (w *World) forgetServed(work *workv1.ManifestWork) {
	o := w.objectsOf(work.Namespace, work.Name)
	o.served, o.since = "", time.Time{}
}

// noteBlindWrite is called for a work that was written while the history could not be read. The work keeps nothing: its agent may apply it
// when the history can be read again.
func (w *World) noteBlindWrite(name string) {
	if cluster, work, _ := strings.Cut(name, "/"); w.API.NoHistory {
		o := w.objectsOf(cluster, work)
		o.served, o.since = "", time.Time{}
	}
}

// settle makes a version that has succeeded for long enough the one that serves.
func (o *clusterObjects) settle(until time.Time) {
	if !o.since.IsZero() && until.Sub(o.since) >= settleTime {
		o.served = o.version
	}
}

// reportObjects makes an agent report each object of a work, as real agents do. The objects of its version have the conditions of the work
// as a whole. If BrokenKept is set, the kept objects are broken, and so is the work as a whole.
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

// reportObject reports the conditions of the work as a whole for one object, unless the object is broken.
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

// applyObjects makes an agent apply a work, and checks P10: the objects of the version that serves are deleted only when another version
// serves.
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

// dropObjects deletes the objects that a work no longer contains.
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

// disown removes the ownership of an object that a work no longer contains, and deletes the object if it has no other owner.
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

// keepsObjects reports whether the hub can, and must, keep the objects that a version drops.
func (w *World) keepsObjects() bool {
	object := w.Object()
	return object != nil && w.Network == nil && object.Spec.PruneStrategy == workv1alpha1.PruneWhenAvailable &&
		w.Irreparable.Len() == 0 && w.unrecorded.Len() == 0 && !w.API.NoHistory
}

// note tracks which version succeeds. If a version no longer succeeds while objects of another one are kept beside it, it is unknown which
// of the two serves: a restarted hub did not see the success.
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

// settles reports whether a version succeeds permanently on a cluster.
func (w *World) settles(cluster, version string) bool {
	switch w.outcome(cluster, version) {
	case Succeeds, Lies:
		return true
	}
	return false
}

// String lists the objects.
func (o *clusterObjects) String() string { return strings.Join(slices.Sorted(maps.Keys(o.names)), " ") }

// immediate makes a version that drops objects delete them at once.
func immediate(spec *workv1alpha1.ManifestWorkReplicaSetSpec) {
	spec.PruneStrategy = workv1alpha1.PruneImmediate
}
