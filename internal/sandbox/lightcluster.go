package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	workv1 "open-cluster-management.io/api/work/v1"
	"open-cluster-management.io/ocm/pkg/work/helper"
	"open-cluster-management.io/ocm/pkg/work/spoke/conditions"
)

// defaultProgressDeadline is the default of a Deployment's progressDeadlineSeconds.
const defaultProgressDeadline = 10 * time.Minute

// lightObject is an object of a light cluster.
type lightObject struct {
	// owner is the work with which the object is deleted; empty if the object stays.
	owner    string
	manifest []byte
	// generation counts the changes to the object, and changed is the time of the last change.
	generation int64
	changed    time.Time
	// ready is the number of replicas that were ready before the last change.
	ready int32
	// flaky is true on a cluster where flaky images can't be pulled.
	flaky bool
}

// flakyImage is the word in the name of an image that can't be pulled on every second light cluster.
const flakyImage = "flaky"

// isFlaky reports whether flaky images can't be pulled on a cluster: its name ends with an even digit.
func isFlaky(cluster string) bool {
	return cluster != "" && strings.ContainsAny(cluster[len(cluster)-1:], "02468")
}

// pulls reports whether the images of a Deployment can be pulled on the cluster of the object.
func (o *lightObject) pulls(spec *corev1.PodSpec) bool {
	return !brokenIn(spec) && (!o.flaky || !hasImage(spec, flakyImage))
}

// report applies the manifests of a work to its cluster, and sets the status that an agent would then report. It returns the time of the
// next change to the cluster; zero if there is none.
func (l *LightAgents) report(ctx context.Context, work *workv1.ManifestWork, now time.Time) (time.Duration, error) {
	var again time.Duration
	manifests := make([]workv1.ManifestCondition, 0, len(work.Spec.Workload.Manifests))
	wanted := make(map[string]bool, len(work.Spec.Workload.Manifests))
	for i := range work.Spec.Workload.Manifests {
		object, after, err := l.apply(work, &work.Spec.Workload.Manifests[i], now)
		if err != nil {
			return 0, err
		}
		if after > 0 && (again == 0 || after < again) {
			again = after
		}
		manifests = append(manifests, l.manifestCondition(ctx, work, i, object))
		wanted[lightKey(object)] = true
	}
	l.deleteOthers(work, wanted)
	work.Status.ResourceStatus.Manifests = manifests
	all := &work.Status.Conditions
	meta.SetStatusCondition(all, condition(workv1.WorkApplied, "AppliedManifestWorkComplete", "the light agent applied the manifests", work.Generation))
	for _, aggregated := range conditions.AggregateManifestConditions(work.Generation, manifests) {
		meta.SetStatusCondition(all, aggregated)
	}
	conditions.PruneConditionsGeneratedByConditionRules(all, work.Generation)
	return again, nil
}

// manifestCondition returns an agent's report about a manifest.
func (l *LightAgents) manifestCondition(ctx context.Context, work *workv1.ManifestWork, i int, object *unstructured.Unstructured) workv1.ManifestCondition {
	kind := object.GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	result := workv1.ManifestCondition{ResourceMeta: workv1.ManifestResourceMeta{
		Ordinal: int32(i), Group: kind.Group, Version: kind.Version, Kind: kind.Kind, Resource: resource.Resource, //nolint:gosec // A short list.
		Name: object.GetName(), Namespace: object.GetNamespace(),
	}}
	for j := range work.Status.ResourceStatus.Manifests {
		if before := &work.Status.ResourceStatus.Manifests[j]; before.ResourceMeta == result.ResourceMeta {
			result.Conditions = before.DeepCopy().Conditions
		}
	}
	applied := condition(workv1.ManifestApplied, "AppliedManifestComplete", "the light agent applied the manifest", work.Generation)
	meta.SetStatusCondition(&result.Conditions, applied)
	meta.SetStatusCondition(&result.Conditions, condition(workv1.ManifestAvailable, "ResourceAvailable", "the resource is available", 0))
	if option := helper.FindManifestConfiguration(result.ResourceMeta, work.Spec.ManifestConfigs); option != nil {
		for _, evaluated := range l.reader.EvaluateConditions(ctx, object, option.ConditionRules) {
			evaluated.ObservedGeneration = work.Generation
			meta.SetStatusCondition(&result.Conditions, evaluated)
		}
	}
	conditions.PruneConditionsGeneratedByConditionRules(&result.Conditions, work.Generation)
	return result
}

func condition(kind, reason, message string, generation int64) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: generation}
}

// apply stores a manifest as an object of the cluster. It returns the object with its status, and the time at which the status next
// changes.
func (l *LightAgents) apply(work *workv1.ManifestWork, manifest *workv1.Manifest, now time.Time) (*unstructured.Unstructured, time.Duration, error) {
	object := &unstructured.Unstructured{}
	if err := json.Unmarshal(manifest.Raw, &object.Object); err != nil {
		return nil, 0, fmt.Errorf("decoding a manifest of the ManifestWork %s/%s: %w", work.Namespace, work.Name, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	objects, key := l.clusters[work.Namespace], lightKey(object)
	stored := objects[key]
	if stored == nil {
		stored = &lightObject{flaky: isFlaky(work.Namespace)}
		objects[key] = stored
	}
	stored.owner = work.Name
	if option := work.Spec.DeleteOption; option != nil && option.PropagationPolicy == workv1.DeletePropagationPolicyTypeOrphan {
		stored.owner = ""
	}
	if !bytes.Equal(stored.manifest, manifest.Raw) {
		stored.ready = stored.readyAt(now)
		stored.manifest, stored.changed = slices.Clone(manifest.Raw), now
		stored.generation++
	}
	object.SetGeneration(stored.generation)
	deployment, isDeployment := deploymentOf(manifest.Raw)
	if !isDeployment {
		return object, 0, nil
	}
	status, after := playedStatus(deployment, stored, now)
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return nil, 0, fmt.Errorf("encoding the status of a Deployment: %w", err)
	}
	object.Object["status"] = fields
	return object, after, nil
}

// deleteOthers deletes the objects of a work from its cluster, except the wanted ones.
func (l *LightAgents) deleteOthers(work *workv1.ManifestWork, wanted map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.clusters[work.Namespace], func(key string, object *lightObject) bool {
		return object.owner == work.Name && !wanted[key]
	})
}

func lightKey(object *unstructured.Unstructured) string {
	return fmt.Sprintf("%s %s/%s", object.GroupVersionKind().GroupKind(), object.GetNamespace(), object.GetName())
}

// deploymentOf decodes a manifest, and reports whether it is a Deployment.
func deploymentOf(raw []byte) (*appsv1.Deployment, bool) {
	deployment := &appsv1.Deployment{}
	err := json.Unmarshal(raw, deployment)
	return deployment, err == nil && deployment.Kind == "Deployment" && deployment.APIVersion == appsv1.SchemeGroupVersion.String()
}

// readyAt returns how many replicas of a Deployment are ready.
func (o *lightObject) readyAt(now time.Time) int32 {
	deployment, isDeployment := deploymentOf(o.manifest)
	if !isDeployment {
		return 0
	}
	status, _ := playedStatus(deployment, o, now)
	return status.ReadyReplicas
}

// playedStatus returns the simulated status of a Deployment, and the time of its next change. Its Pods are ready after readyAfter, unless
// an image can't be pulled. Then one new Pod waits beside the older ones, until progressDeadlineSeconds have passed.
func playedStatus(deployment *appsv1.Deployment, object *lightObject, now time.Time) (appsv1.DeploymentStatus, time.Duration) {
	wanted, age := ptr.Deref(deployment.Spec.Replicas, 1), now.Sub(object.changed)
	deadline := defaultProgressDeadline
	if seconds := deployment.Spec.ProgressDeadlineSeconds; seconds != nil {
		deadline = time.Duration(*seconds) * time.Second
	}
	progressing := appsv1.DeploymentCondition{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "ReplicaSetUpdated"}
	status := appsv1.DeploymentStatus{
		ObservedGeneration: object.generation, Replicas: object.ready + 1, UpdatedReplicas: 1, ReadyReplicas: object.ready,
		AvailableReplicas: object.ready, UnavailableReplicas: 1,
	}
	after := readyAfter - age
	switch broken := !object.pulls(&deployment.Spec.Template.Spec); {
	case !broken && age >= readyAfter:
		status.Replicas, status.UpdatedReplicas, status.ReadyReplicas, status.AvailableReplicas = wanted, wanted, wanted, wanted
		status.UnavailableReplicas, after = 0, 0
		progressing.Reason = "NewReplicaSetAvailable"
	case broken && age >= deadline:
		progressing.Status, progressing.Reason, after = corev1.ConditionFalse, "ProgressDeadlineExceeded", 0
	case broken:
		after = deadline - age
	}
	status.Conditions = []appsv1.DeploymentCondition{progressing}
	return status, after
}

func hasFinalizer(work *workv1.ManifestWork) bool {
	return slices.Contains(work.Finalizers, workv1.ManifestWorkFinalizer)
}

func withoutFinalizer(finalizers []string) []string {
	return slices.DeleteFunc(finalizers, func(name string) bool { return name == workv1.ManifestWorkFinalizer })
}
