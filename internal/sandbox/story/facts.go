package story

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// revision returns the revision with a hash, or nil.
func (f *facts) revision(hash string) *appsv1.ControllerRevision {
	for i := range f.revisions {
		if hash != "" && f.revisions[i].Labels[workv1alpha1.LabelControllerHash] == hash {
			return &f.revisions[i]
		}
	}
	return nil
}

// version returns the version that the revision with a hash recorded.
func (f *facts) version(hash string) string {
	revision := f.revision(hash)
	if revision == nil {
		return ""
	}
	template, err := templateOf(revision)
	if err != nil {
		return ""
	}
	return versionOfTemplate(template)
}

// hash returns the hash of the revision that the hub wrote to a cluster.
func (c *clusterFacts) hash() string {
	if c.work == nil {
		return ""
	}
	return c.work.Labels[workv1alpha1.LabelControllerHash]
}

// version returns the version of a cluster's Deployment.
func (c *clusterFacts) version() string {
	if c.deployment == nil {
		return ""
	}
	return versionOfPods(c.deployment.Spec.Template.Spec.Containers[0].Image)
}

// everHad reports whether a cluster ever began to run a version.
func (c *clusterFacts) everHad(version string) bool {
	for i := range c.replicaSets {
		if versionOfPods(c.replicaSets[i].Spec.Template.Spec.Containers[0].Image) == version {
			return true
		}
	}
	return false
}

// observed reports whether the status of a cluster's Deployment is about its current spec.
func (c *clusterFacts) observed() bool {
	return c.deployment != nil && c.deployment.Status.ObservedGeneration == c.deployment.Generation
}

// healthy reports whether all Pods of a cluster have the version of its Deployment, and are ready.
func (c *clusterFacts) healthy() bool {
	if !c.observed() {
		return false
	}
	status, wanted := c.deployment.Status, *c.deployment.Spec.Replicas
	return status.Replicas == wanted && status.UpdatedReplicas == wanted && status.AvailableReplicas == wanted
}

// stuck reports whether the Deployment of a cluster has exceeded its own deadline.
func (c *clusterFacts) stuck() bool {
	if !c.observed() {
		return false
	}
	for _, condition := range c.deployment.Status.Conditions {
		if condition.Type == appsv1.DeploymentProgressing {
			return condition.Status == corev1.ConditionFalse && condition.Reason == "ProgressDeadlineExceeded"
		}
	}
	return false
}
