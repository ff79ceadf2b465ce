package controller

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// NewRevisionTransform makes the transform of an informer of ControllerRevisions. It takes away what no pass reads: who wrote which field, and the
// copy of the whole object that kubectl apply leaves in an annotation. Both are as large as the template that they are about.
func NewRevisionTransform() cache.TransformFunc {
	return func(obj any) (any, error) {
		if rev, ok := obj.(*appsv1.ControllerRevision); ok {
			rev.ManagedFields = nil
			delete(rev.Annotations, corev1.LastAppliedConfigAnnotation)
		}
		return obj, nil
	}
}
