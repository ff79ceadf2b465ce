package hub

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	workinformers "open-cluster-management.io/api/client/work/informers/externalversions/work/v1"
	worklisters "open-cluster-management.io/api/client/work/listers/work/v1"
	workv1 "open-cluster-management.io/api/work/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// collectable hides the works with LabelOwnerHash from OCM's garbage collection. The garbage collection ignores the works of
// ManifestWorkReplicaSets, but it recognizes them only by LabelReplicaSet until ocm#1684 is in the linked release.
type collectable struct {
	workinformers.ManifestWorkInformer
}

// Lister implements ManifestWorkInformer.
func (c collectable) Lister() worklisters.ManifestWorkLister {
	return collectableLister{c.ManifestWorkInformer.Lister()}
}

type collectableLister struct {
	worklisters.ManifestWorkLister
}

func (l collectableLister) ManifestWorks(namespace string) worklisters.ManifestWorkNamespaceLister {
	return collectableIn{l.ManifestWorkLister.ManifestWorks(namespace)}
}

type collectableIn struct {
	worklisters.ManifestWorkNamespaceLister
}

func (l collectableIn) Get(name string) (*workv1.ManifestWork, error) {
	work, err := l.ManifestWorkNamespaceLister.Get(name)
	if err != nil || work.Labels[workv1alpha1.LabelOwnerHash] == "" {
		return work, err
	}
	return nil, apierrors.NewNotFound(workv1.Resource("manifestworks"), name)
}
