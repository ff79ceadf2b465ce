package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// replicaSet is a ManifestWorkReplicaSet as far as it can be decoded. Upstream's CRD lets values through that the
// types can't hold; with a typed informer one such object would hide all others of the hub.
type replicaSet struct {
	*workv1alpha1.ManifestWorkReplicaSet
	// decodeErr names the fields that can't be decoded. Then the spec lacks them, and metadata and status are what could be read.
	decodeErr error
	// placementsKnown says that the spec lacks none of the Placements' names.
	placementsKnown bool
}

func decodeReplicaSet(u *unstructured.Unstructured) *replicaSet {
	out := &replicaSet{ManifestWorkReplicaSet: &workv1alpha1.ManifestWorkReplicaSet{}, placementsKnown: true}
	if out.decodeErr = convert(u.Object, out.ManifestWorkReplicaSet); out.decodeErr == nil {
		return out
	}
	readable := map[string]any{}
	for _, key := range []string{"apiVersion", "kind", "metadata", "status"} {
		if value, ok := u.Object[key]; ok {
			readable[key] = value
		}
	}
	out.ManifestWorkReplicaSet = &workv1alpha1.ManifestWorkReplicaSet{}
	if convert(readable, out.ManifestWorkReplicaSet) != nil {
		delete(readable, "status")
		out.ManifestWorkReplicaSet = &workv1alpha1.ManifestWorkReplicaSet{}
		if err := convert(readable, out.ManifestWorkReplicaSet); err != nil {
			out.Name, out.Namespace = u.GetName(), u.GetNamespace()
			out.UID, out.ResourceVersion, out.Generation = u.GetUID(), u.GetResourceVersion(), u.GetGeneration()
		}
	}
	out.readSpec(u)
	return out
}

// readSpec takes over what can be read of the spec, and names what can't.
func (r *replicaSet) readSpec(u *unstructured.Unstructured) {
	kept, _, unreadable := readable(u.Object, "", func(object any) any { return object })
	errs := make([]error, 0, len(unreadable))
	for _, field := range unreadable {
		errs = append(errs, field)
		r.placementsKnown = r.placementsKnown && !field.hidesPlacements()
	}
	r.decodeErr = utilerrors.NewAggregate(errs)
	object, _ := kept.(map[string]any)
	read := &workv1alpha1.ManifestWorkReplicaSet{}
	if err := convert(map[string]any{"spec": object["spec"]}, read); err != nil {
		r.placementsKnown = false
		return
	}
	r.Spec = read.Spec
}

var convert = runtime.DefaultUnstructuredConverter.FromUnstructured

// unreadableField is one that the types can't hold.
type unreadableField struct {
	path string
	err  error
}

// Error implements error.
func (f unreadableField) Error() string { return fmt.Sprintf("%s: %v", f.path, f.err) }

// hidesPlacements says whether without the field it is not known which Placements select clusters.
func (f unreadableField) hidesPlacements() bool {
	if refs, ok := strings.CutPrefix(f.path, "spec.placementRefs"); ok {
		return !strings.Contains(refs, "].rolloutStrategy")
	}
	return f.path == "" || f.path == "spec"
}

// readable is a value without the fields that the types can't hold, which it names. Each is tried alone: within puts it where it belongs in an
// object. A list loses no element, as the others would move up: where one can't be held at all, ok says that the list can't either.
func readable(value any, at string, within func(any) any) (kept any, ok bool, unreadable []unreadableField) {
	err := convert(within(value).(map[string]any), &workv1alpha1.ManifestWorkReplicaSet{})
	if err == nil {
		return value, true, nil
	}
	ok = true
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			child, held, found := readable(v[key], strings.TrimPrefix(at+"."+key, "."), func(child any) any { return within(map[string]any{key: child}) })
			if held {
				out[key] = child
			}
			unreadable = append(unreadable, found...)
		}
		kept = out
	case []any:
		out := make([]any, 0, len(v))
		for i := range v {
			child, held, found := readable(v[i], fmt.Sprintf("%s[%d]", at, i), func(child any) any { return within([]any{child}) })
			ok = ok && held
			out = append(out, child)
			unreadable = append(unreadable, found...)
		}
		kept = out
	}
	if len(unreadable) == 0 {
		return nil, false, []unreadableField{{path: at, err: err}}
	}
	return kept, ok, unreadable
}

// NewReplicaSetInformer makes the informer of ManifestWorkReplicaSets that survives objects which the types can't hold.
func NewReplicaSetInformer(client dynamic.Interface) (cache.SharedIndexInformer, error) {
	resource := client.Resource(workv1alpha1.ManifestWorkReplicaSetResource)
	lw := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			FreshList(&options)
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			FreshList(&options)
			return resource.Watch(ctx, options)
		},
	}, client)
	informer := cache.NewSharedIndexInformer(lw, &unstructured.Unstructured{}, resyncPeriod, placementIndexers())
	err := informer.SetTransform(TransformReplicaSet)
	return informer, err
}

// TransformReplicaSet makes of an unstructured ManifestWorkReplicaSet what a Controller's store holds.
func TransformReplicaSet(obj any) (any, error) {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return decodeReplicaSet(u), nil
	}
	return obj, nil
}

// FreshList asks for the newest state where a reflector would take any: right after a restart a decision must not
// rest on what an API server remembered from before this hub's own last writes (R15).
func FreshList(options *metav1.ListOptions) {
	if options.ResourceVersion == "0" {
		options.ResourceVersion = ""
		options.ResourceVersionMatch = ""
		if options.SendInitialEvents != nil && *options.SendInitialEvents {
			options.ResourceVersionMatch = metav1.ResourceVersionMatchNotOlderThan
		}
	}
}

// replicaSetClient patches ManifestWorkReplicaSets, also those that the types can't hold, and notes its writes.
type replicaSetClient struct {
	dynamic.ResourceInterface
	wrote func(*unstructured.Unstructured)
}

// Patch is what sdk-go's patcher calls.
func (c *replicaSetClient) Patch(ctx context.Context, name string, kind types.PatchType, data []byte,
	options metav1.PatchOptions, subresources ...string,
) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	answer, err := c.ResourceInterface.Patch(ctx, name, kind, data, options, subresources...)
	if err != nil {
		return nil, fmt.Errorf("patching ManifestWorkReplicaSet %s: %w", name, err)
	}
	c.wrote(answer)
	return decodeReplicaSet(answer).ManifestWorkReplicaSet, nil
}
