package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Kind is a resource that the in-memory API server knows.
type Kind string

// The kinds.
const (
	ReplicaSets Kind = "manifestworkreplicasets"
	Works       Kind = "manifestworks"
	Revisions   Kind = "controllerrevisions"
	Placements  Kind = "placements"
	Decisions   Kind = "placementdecisions"
	Clusters    Kind = "managedclusters"
)

func (k Kind) resource() schema.GroupResource { return schema.GroupResource{Resource: string(k)} }

// API behaves like an API server as far as a hub can tell: it has versions, generations, patches, a status subresource, finalizers and
// preconditions. It keeps a log of the changes, from which each cache is filled at its own pace.
type API struct {
	now     func() time.Time
	version int64
	uids    int64
	objects map[Kind]map[string]*unstructured.Unstructured
	log     []Event
	// typed caches the typed form of each stored state; see as.
	typed map[*unstructured.Unstructured]any

	// OlderCRD drops the fields of the status that only our CRD has, as an API server with upstream's CRD does.
	OlderCRD bool
	// Strip lists annotations that a webhook removes from every ManifestWork that is written.
	Strip []string
	// Lacks lists fields of the status that the CRD does not have, in addition to those of the flags above.
	Lacks []string
	// NoHistory rejects all requests from the hub for ControllerRevisions.
	NoHistory bool
	// Revoked rejects the same requests, but the hub does not know this yet, because its watch continues.
	Revoked bool
	// NoClusters rejects all requests from the hub for ManagedClusters.
	NoClusters bool
	// Manager is the field manager of the writer; the hub's if empty.
	Manager string
	// Mutate changes the spec of each work that is written, as a webhook does; nil for none.
	Mutate func(spec map[string]any)
}

// Event is a change to an object.
type Event struct {
	Kind    Kind
	Object  *unstructured.Unstructured
	Deleted bool
}

// NewAPI returns an API server without objects.
func NewAPI(now func() time.Time) *API {
	return &API{now: now, objects: map[Kind]map[string]*unstructured.Unstructured{}, typed: map[*unstructured.Unstructured]any{}}
}

// refuse returns the error that the hub gets if it has no permission to read or write a revision.
func (a *API) refuse(name string) error {
	if a.NoHistory || a.Revoked {
		return apierrors.NewForbidden(Revisions.resource(), name, errors.New("simulated"))
	}
	return nil
}

func key(namespace, name string) string { return namespace + "/" + name }

// copyable is a pointer to an API type.
type copyable[T any] interface {
	*T
	DeepCopy() *T
}

// as returns a typed copy of an object that the API server has stored. It converts each state of an object once, because the conversion is
// expensive.
func as[T any, P copyable[T]](a *API, object *unstructured.Unstructured) *T {
	known, ok := a.typed[object].(P)
	if !ok {
		known = P(new(T))
		convert(object, known)
		a.typed[object] = known
	}
	return known.DeepCopy()
}

func convert(object *unstructured.Unstructured, typed any) {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		panic(fmt.Sprintf("converting %s: %v", object.GetName(), err))
	}
}

// checkUnchanged checks that no object was changed after it was stored. Readers share the stored objects.
func (a *API) checkUnchanged() error {
	for object, known := range a.typed {
		now := reflect.New(reflect.TypeOf(known).Elem()).Interface()
		if convert(object, now); !equality.Semantic.DeepEqual(known, now) {
			return fmt.Errorf("%s/%s at resourceVersion %s was changed after it was stored", object.GetNamespace(), object.GetName(), object.GetResourceVersion())
		}
	}
	return nil
}

// Get returns an object, which the caller must not change.
func (a *API) Get(kind Kind, namespace, name string) (*unstructured.Unstructured, error) {
	object, ok := a.objects[kind][key(namespace, name)]
	if !ok {
		return nil, apierrors.NewNotFound(kind.resource(), name)
	}
	return object, nil
}

// List returns the objects in a namespace (all if empty) that a filter keeps, sorted by namespace and name. The caller must not change
// them.
func (a *API) List(kind Kind, namespace string, keep func(*unstructured.Unstructured) bool) []*unstructured.Unstructured {
	var keys []string
	for k, object := range a.objects[kind] {
		if (namespace == "" || object.GetNamespace() == namespace) && (keep == nil || keep(object)) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	found := make([]*unstructured.Unstructured, len(keys))
	for i, k := range keys {
		found[i] = a.objects[kind][k]
	}
	return found
}

// Create stores a new object, and returns it. The caller must not change it.
func (a *API) Create(kind Kind, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	k := key(object.GetNamespace(), object.GetName())
	if _, taken := a.objects[kind][k]; taken {
		return nil, apierrors.NewAlreadyExists(kind.resource(), object.GetName())
	}
	stored := object.DeepCopy()
	a.uids++
	stored.SetUID(types.UID(fmt.Sprintf("uid-%d", a.uids)))
	stored.SetCreationTimestamp(metav1.NewTime(a.now()))
	stored.SetGeneration(1)
	if kind == ReplicaSets || kind == Works {
		delete(stored.Object, "status")
	}
	a.mutate(kind, stored)
	a.store(kind, stored)
	return stored, nil
}

func (a *API) mutate(kind Kind, object *unstructured.Unstructured) {
	if spec, ok := object.Object["spec"].(map[string]any); ok && kind == Works && a.Mutate != nil {
		a.Mutate(spec)
	}
	if kind == Works && len(a.Strip) > 0 {
		kept := object.GetAnnotations()
		for _, key := range a.Strip {
			delete(kept, key)
		}
		object.SetAnnotations(kept)
	}
}

// Patch applies a merge patch or a JSON patch to an object, or to its status, and returns it. The caller must not change it. A patch that
// changes nothing writes nothing.
func (a *API) Patch(kind Kind, namespace, name string, data []byte, status bool) (*unstructured.Unstructured, error) {
	existing, ok := a.objects[kind][key(namespace, name)]
	if !ok {
		return nil, apierrors.NewNotFound(kind.resource(), name)
	}
	merged, err := patched(existing, data)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	// Fields that the patch does not name stay. Only a named field is a precondition.
	if merged.GetUID() != existing.GetUID() {
		return nil, apierrors.NewConflict(kind.resource(), name, fmt.Errorf("the UID is another"))
	}
	if merged.GetResourceVersion() != existing.GetResourceVersion() {
		return nil, apierrors.NewConflict(kind.resource(), name, fmt.Errorf("the object has been modified"))
	}
	next := a.admit(kind, existing, merged, status)
	if !status {
		a.mutate(kind, next)
	}
	next.SetUID(existing.GetUID())
	next.SetResourceVersion(existing.GetResourceVersion())
	next.SetGeneration(existing.GetGeneration())
	if equality.Semantic.DeepEqual(next.Object, existing.Object) {
		return existing, nil
	}
	if status && kind == ReplicaSets {
		a.manage(existing, next)
	}
	if !status && !equality.Semantic.DeepEqual(next.Object["spec"], existing.Object["spec"]) {
		next.SetGeneration(existing.GetGeneration() + 1)
	}
	a.store(kind, next)
	a.collect(kind, next)
	return next, nil
}

// manage records the owner of status.abortedTime, as the API server does. The hub owns the rest of the status.
func (a *API) manage(existing, next *unstructured.Unstructured) {
	before, _, _ := unstructured.NestedString(existing.Object, "status", "abortedTime")
	after, _, _ := unstructured.NestedString(next.Object, "status", "abortedTime")
	if before == after {
		return
	}
	entry := func(manager, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Subresource: "status", FieldsType: "FieldsV1",
			FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:status":{` + fields + `}}`)},
		}
	}
	switch {
	case after == "":
		next.SetManagedFields([]metav1.ManagedFieldsEntry{entry("hub", `"f:updateRevision":{}`)})
	case a.Manager == "":
		next.SetManagedFields([]metav1.ManagedFieldsEntry{entry("hub", `"f:abortedTime":{},"f:updateRevision":{}`)})
	default:
		next.SetManagedFields([]metav1.ManagedFieldsEntry{entry("hub", `"f:updateRevision":{}`), entry(a.Manager, `"f:abortedTime":{}`)})
	}
}

// admit takes over only the parts of a merged object that the request may change: the status, or everything except the status.
func (a *API) admit(kind Kind, existing, merged *unstructured.Unstructured, status bool) *unstructured.Unstructured {
	if !status {
		if kind != ReplicaSets && kind != Works {
			return merged
		}
		merged.Object["status"] = existing.Object["status"]
		if existing.Object["status"] == nil {
			delete(merged.Object, "status")
		}
		return merged
	}
	next := existing.DeepCopy()
	next.Object["status"] = merged.Object["status"]
	if kept, ok := next.Object["status"].(map[string]any); ok && kind == ReplicaSets {
		for _, field := range append(a.pruned(), a.Lacks...) {
			delete(kept, field)
		}
	}
	return next
}

// pruned returns the fields of the status that the CRD does not have.
func (a *API) pruned() []string {
	switch {
	case a.OlderCRD:
		return []string{"ledger", "observedGeneration", "collisionCount", "currentRevision", "updateRevision", "abortedTime", "revisions", "state"}
	}
	return nil
}

// patched applies a JSON patch, which is a list, or a merge patch.
func patched(existing *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	before, err := json.Marshal(existing.Object)
	if err != nil {
		return nil, err
	}
	var after []byte
	if operations, listErr := jsonpatch.DecodePatch(patch); listErr == nil {
		after, err = operations.Apply(before)
	} else {
		after, err = jsonpatch.MergePatch(before, patch)
	}
	if err != nil {
		return nil, err
	}
	merged := &unstructured.Unstructured{}
	return merged, utiljson.Unmarshal(after, &merged.Object)
}

// Delete removes an object, or marks it as deleted if it has a finalizer.
func (a *API) Delete(kind Kind, namespace, name string, preconditions *metav1.Preconditions) error {
	existing, ok := a.objects[kind][key(namespace, name)]
	if !ok {
		return apierrors.NewNotFound(kind.resource(), name)
	}
	if preconditions != nil {
		if uid := preconditions.UID; uid != nil && *uid != existing.GetUID() {
			return apierrors.NewConflict(kind.resource(), name, fmt.Errorf("the UID is another"))
		}
		if version := preconditions.ResourceVersion; version != nil && *version != existing.GetResourceVersion() {
			return apierrors.NewConflict(kind.resource(), name, fmt.Errorf("the object has been modified"))
		}
	}
	if existing.GetDeletionTimestamp() != nil {
		return nil
	}
	marked := existing.DeepCopy()
	now := metav1.NewTime(a.now())
	marked.SetDeletionTimestamp(&now)
	if marked.GetGeneration() > 0 {
		marked.SetGeneration(marked.GetGeneration() + 1) // As the API server does.
	}
	a.store(kind, marked)
	a.collect(kind, marked)
	return nil
}

// collect removes a deleted object that has no finalizers.
func (a *API) collect(kind Kind, object *unstructured.Unstructured) {
	if object.GetDeletionTimestamp() == nil || len(object.GetFinalizers()) > 0 {
		return
	}
	delete(a.objects[kind], key(object.GetNamespace(), object.GetName()))
	a.version++
	gone := object.DeepCopy()
	gone.SetResourceVersion(strconv.FormatInt(a.version, 10))
	a.log = append(a.log, Event{Kind: kind, Object: gone, Deleted: true})
}

func (a *API) store(kind Kind, object *unstructured.Unstructured) {
	if a.objects[kind] == nil {
		a.objects[kind] = map[string]*unstructured.Unstructured{}
	}
	a.version++
	object.SetResourceVersion(strconv.FormatInt(a.version, 10))
	a.objects[kind][key(object.GetNamespace(), object.GetName())] = object
	a.log = append(a.log, Event{Kind: kind, Object: object})
}

// jsonOf encodes a patch that the simulation itself makes.
func jsonOf(patch any) []byte {
	data, err := json.Marshal(patch)
	if err != nil {
		panic(err) // Only a patch that the simulation itself made can fail.
	}
	return data
}
