package preflight

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

var (
	works     = schema.GroupVersionResource{Group: workv1.GroupName, Version: "v1", Resource: "manifestworks"}
	decisions = schema.GroupVersionResource{Group: clusterv1beta1.GroupName, Version: "v1beta1", Resource: "placementdecisions"}
)

// List reads the objects live. Of ManifestWorks it reads only the metadata.
func List(ctx context.Context, objects dynamic.Interface, metadatas metadata.Interface) (*Objects, error) {
	listed := &Objects{Selected: map[string][]string{}}
	err := replicaset.Each(ctx, metav1.ListOptions{}, func(options metav1.ListOptions) (runtime.Object, error) {
		return objects.Resource(workv1alpha1.ManifestWorkReplicaSetResource).List(ctx, options)
	}, listed.addReplicaSet)
	if err != nil {
		return nil, fmt.Errorf("listing ManifestWorkReplicaSets: %w", err)
	}
	for _, selector := range []string{workv1alpha1.LabelReplicaSet, workv1alpha1.LabelOwnerHash + ",!" + workv1alpha1.LabelReplicaSet} {
		err = replicaset.Each(ctx, metav1.ListOptions{LabelSelector: selector}, func(options metav1.ListOptions) (runtime.Object, error) {
			return metadatas.Resource(works).List(ctx, options)
		}, listed.addWork)
		if err != nil {
			return nil, fmt.Errorf("listing ManifestWorks: %w", err)
		}
	}
	err = replicaset.Each(ctx, metav1.ListOptions{}, func(options metav1.ListOptions) (runtime.Object, error) {
		return objects.Resource(decisions).List(ctx, options)
	}, listed.addDecision)
	if err != nil {
		return nil, fmt.Errorf("listing PlacementDecisions: %w", err)
	}
	return listed, nil
}

// addReplicaSet adds an object without its template, even if the object does not fit the types.
func (o *Objects) addReplicaSet(object *unstructured.Unstructured) error {
	decoded := replicaset.Decode(object).ManifestWorkReplicaSet
	decoded.Spec.ManifestWorkTemplate, decoded.ManagedFields = workv1.ManifestWorkSpec{}, nil
	o.ReplicaSets = append(o.ReplicaSets, *decoded)
	return nil
}

func (o *Objects) addWork(work *metav1.PartialObjectMetadata) error {
	o.Works = append(o.Works, metav1.ObjectMeta{
		Namespace: work.Namespace, Name: work.Name, Labels: work.Labels,
		Annotations: map[string]string{
			workv1alpha1.AnnotationKeptRevision: work.Annotations[workv1alpha1.AnnotationKeptRevision],
			workv1alpha1.AnnotationOwner:        work.Annotations[workv1alpha1.AnnotationOwner],
		},
	})
	return nil
}

func (o *Objects) addDecision(u *unstructured.Unstructured) error {
	decision := &clusterv1beta1.PlacementDecision{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, decision); err != nil {
		return fmt.Errorf("reading PlacementDecision %s/%s: %w", u.GetNamespace(), u.GetName(), err)
	}
	placement := decision.Namespace + "/" + decision.Labels[clusterv1beta1.PlacementLabel]
	for _, cluster := range decision.Status.Decisions {
		o.Selected[placement] = append(o.Selected[placement], cluster.ClusterName)
	}
	return nil
}
