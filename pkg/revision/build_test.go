package revision

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// template returns a template with the given manifests.
func template(manifests ...string) *workv1.ManifestWorkSpec {
	spec := &workv1.ManifestWorkSpec{}
	for _, manifest := range manifests {
		spec.Workload.Manifests = append(spec.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: []byte(manifest)}})
	}
	return spec
}

// templateFrom reads a template from JSON, as it comes from an API server.
func templateFrom(t testing.TB, text string) *workv1.ManifestWorkSpec {
	t.Helper()
	spec := &workv1.ManifestWorkSpec{}
	if err := json.Unmarshal([]byte(text), spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

const configMap = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"web"},"data":{"value":"one"}}`

func owner() *workv1alpha1.ManifestWorkReplicaSet {
	return &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Name: "web", Namespace: "default", UID: "uid-of-web", Generation: 7,
	}}
}

// stored returns a revision of web with a hash and a number, as in a cache.
func stored(t testing.TB, hash string, number int64, changes ...func(*appsv1.ControllerRevision)) Revision {
	t.Helper()
	object, err := New(owner(), template(fmt.Sprintf(`{"kind":"ConfigMap","data":{"value":%q}}`, hash)), hash, number)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range changes {
		change(object)
	}
	return Decode(object)
}

func named(name string) func(*appsv1.ControllerRevision) {
	return func(o *appsv1.ControllerRevision) { o.Name = name }
}

func ownedBy(uid types.UID) func(*appsv1.ControllerRevision) {
	return func(o *appsv1.ControllerRevision) { o.OwnerReferences[0].UID = uid }
}

func annotated(key, value string) func(*appsv1.ControllerRevision) {
	return func(o *appsv1.ControllerRevision) { o.Annotations[key] = value }
}

func created(at time.Time) func(*appsv1.ControllerRevision) {
	return func(o *appsv1.ControllerRevision) { o.CreationTimestamp = metav1.NewTime(at) }
}

func holding(data string) func(*appsv1.ControllerRevision) {
	return func(o *appsv1.ControllerRevision) { o.Data.Raw = []byte(data) }
}
