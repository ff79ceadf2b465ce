package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
	"github.com/open-cluster-management-io/work-rollback/pkg/version"
)

const (
	// leaderLease is the Lease that the work controllers compete for.
	leaderLease = "work-manager-lock"
	// hubNamespace is the namespace of the hub's ServiceAccount and Lease, as OCM's operator names it.
	hubNamespace = "open-cluster-management-hub"
)

// releases are the OCM releases in the table of docs/upgrade.md.
var releases = []string{"1.2.0", "1.2.1", "1.3.0", "1.3.1"}

// leader checks that a work controller leads.
func (d *doctor) leader(ctx context.Context) ([]diagnosis, error) {
	lease, err := d.kube.CoordinationV1().Leases(d.hub).Get(ctx, leaderLease, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return d.withoutLease(ctx)
	}
	if err != nil {
		return unreadable("leader", "get leases in namespace "+d.hub, err)
	}
	return leaderOf(lease, d.now()), nil
}

// withoutLease looks for a hub that runs without leader election, as the one of the sandbox does: it has no Lease, and processes the
// specs. A hub that led once has left its Lease behind.
func (d *doctor) withoutLease(ctx context.Context) ([]diagnosis, error) {
	n, behind := 0, []string{}
	err := eachSet(ctx, setsIn(d.objects, metav1.NamespaceAll), metav1.ListOptions{}, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		if n++; !view.Observed(set) {
			behind = append(behind, set.Namespace+"/"+set.Name)
		}
	})
	if err != nil && !apierrors.IsNotFound(err) { // The check of the CRD reports a missing CRD.
		return unreadable("leader", "list manifestworkreplicasets in all namespaces", err)
	}
	return unledBy(d.hub, n, behind), nil
}

// unledBy returns the diagnosis of a hub without a Lease. behind names the objects, of n, whose newest spec no hub has processed.
func unledBy(hub string, n int, behind []string) []diagnosis {
	const check = "leader"
	switch {
	case len(behind) == n:
		return one(checkFail, check, "no work controller has led in namespace "+hub,
			"enable the feature gate ManifestWorkReplicaSet in the ClusterManager, install deploy/chart, or set --hub-namespace")
	case len(behind) > 0:
		return one(checkFail, check, fmt.Sprintf("there is no Lease in namespace %s, and no hub has processed the newest spec of %d of %d "+
			"ManifestWorkReplicaSets: %s", hub, len(behind), n, firstOf(behind, namesShown)),
			"read the logs of the Deployment cluster-manager-work-controller")
	}
	return one(checkWarn, check, fmt.Sprintf("there is no Lease in namespace %s, but a hub has processed the newest spec of every "+
		"ManifestWorkReplicaSet (%d): it runs, or ran, without leader election", hub, n),
		"set --hub-namespace, if the hub is in another namespace; else run it in exactly one process, or without --disable-leader-election")
}

// leaderOf returns the diagnosis of the leader's Lease.
func leaderOf(lease *coordinationv1.Lease, now time.Time) []diagnosis {
	const check, remedy = "leader", "read the logs of the Deployment cluster-manager-work-controller"
	if late := view.LateLease(lease, now); late != "" {
		return one(checkFail, check, late, remedy)
	}
	since := "an unknown time"
	if lease.Spec.AcquireTime != nil {
		since = lease.Spec.AcquireTime.UTC().Format(time.RFC3339)
	}
	return one(checkOK, check, ptr.Deref(lease.Spec.HolderIdentity, "")+" leads since "+since, "")
}

// refused checks that no hub refuses to run because an older version lacks its snapshots.
func (d *doctor) refused(ctx context.Context) ([]diagnosis, error) {
	const check = "downgrade"
	refusal := ""
	err := eachSet(ctx, setsIn(d.objects, metav1.NamespaceAll), metav1.ListOptions{}, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		refusal = cmp.Or(refusal, view.RefusalOf(set))
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil // The check of the CRD reports that.
	case err != nil:
		return unreadable(check, "list manifestworkreplicasets in all namespaces", err)
	case refusal != "":
		return one(checkFail, check, "the hub refuses to run: "+refusal, "docs/upgrade.md, \"Go back a version\""), nil
	}
	return one(checkOK, check, "no hub refuses to run", ""), nil
}

// version compares the version that the hub recorded with the version of the plugin.
func (d *doctor) version(ctx context.Context) ([]diagnosis, error) {
	const check = "hub-version"
	record, err := d.kube.CoreV1().ConfigMaps(d.hub).Get(ctx, plan.ConfigMap, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return unrecorded(check, version.Get().GitVersion), nil
	}
	if err != nil {
		return unreadable(check, "get configmaps in namespace "+d.hub, err)
	}
	hub, plugin := record.Data[plan.KeyVersion], version.Get().GitVersion
	if hub != plugin {
		return one(checkWarn, check, fmt.Sprintf("the hub is %q and this plugin is %q: the checks of the CRD and of permissions are the plugin's",
			hub, plugin), "use the plugin of the hub's release"), nil
	}
	return one(checkOK, check, "the hub and this plugin are "+hub, ""), nil
}

// unrecorded returns the diagnosis of a hub that has not recorded its version, as a development build does not.
func unrecorded(check, plugin string) []diagnosis {
	if _, released := plan.ParseVersion(plugin); !released {
		return one(checkOK, check, "the hub has not recorded a version, and this plugin is a development build", "")
	}
	return one(checkWarn, check, "the hub has not recorded its version", "apply deploy/, and use a release of this hub as work image")
}

// ocm compares the version of OCM's operator with the compatibility table. The operator writes its version to the CRDs that it owns.
func (d *doctor) ocm(ctx context.Context) ([]diagnosis, error) {
	const check, crd, table = "ocm-version", "manifestworks.work.open-cluster-management.io", "docs/upgrade.md lists the supported releases"
	found, err := d.objects.Resource(crdResource).Get(ctx, crd, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return one(checkFail, check, "CRD "+crd+" does not exist: this is not a hub", "use the context of the hub"), nil
	}
	if err != nil {
		return unreadable(check, "get customresourcedefinitions", err)
	}
	release := strings.TrimPrefix(found.GetAnnotations()[operatorVersion], "v")
	switch {
	case release == "":
		return one(checkWarn, check, "the CRD of ManifestWork does not name the release of OCM", table), nil
	case !slices.Contains(releases, release):
		return one(checkWarn, check, "this hub has not been tested with OCM "+release, table), nil
	}
	return one(checkOK, check, "OCM "+release+" is supported", ""), nil
}

// lostFields finds objects whose conditions report fields that an older CRD dropped.
func (d *doctor) lostFields(ctx context.Context) (all []diagnosis, err error) {
	const check = "lost-fields"
	n := 0
	err = eachSet(ctx, setsIn(d.objects, metav1.NamespaceAll), metav1.ListOptions{}, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		n++
		if text := lostIn(set.Status.Conditions); text != "" {
			all = append(all, one(checkFail, check, set.Namespace+"/"+set.Name+": "+text, "apply deploy/, and set the named fields again")...)
		}
	})
	if apierrors.IsNotFound(err) {
		return nil, nil // The check of the CRD reports that.
	}
	if err != nil {
		return unreadable(check, "list manifestworkreplicasets in all namespaces", err)
	}
	if len(all) == 0 {
		all = one(checkOK, check, fmt.Sprintf("none of %d ManifestWorkReplicaSets has lost a field", n), "")
	}
	return all, nil
}

// lostIn returns the message of the condition that reports lost fields.
func lostIn(conditions []metav1.Condition) string {
	for i := range conditions {
		message := conditions[i].Message
		if strings.Contains(message, "own hub, dropped ") || strings.Contains(message, "the API server drops ") {
			return message
		}
	}
	return ""
}

var serviceMonitors = schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"}

// metrics looks for the ServiceMonitor of the hub.
func (d *doctor) metrics(ctx context.Context) ([]diagnosis, error) {
	const check = "metrics"
	monitors, err := d.objects.Resource(serviceMonitors).Namespace(d.hub).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return one(checkWarn, check,
			"no Prometheus operator runs on this hub: nothing alerts on aborted rollouts, unless another tool scrapes the hub",
			"docs/monitoring.md describes the metrics and the alerts"), nil
	}
	if err != nil {
		return unreadable(check, "list servicemonitors.monitoring.coreos.com in namespace "+d.hub, err)
	}
	for i := range monitors.Items {
		app, _, _ := unstructured.NestedString(monitors.Items[i].Object, "spec", "selector", "matchLabels", "app")
		if app == "work-controller-metrics" {
			return one(checkOK, check, "ServiceMonitor "+monitors.Items[i].GetName()+" selects the hub", ""), nil
		}
	}
	return one(checkWarn, check, "no ServiceMonitor in namespace "+d.hub+" selects the hub: nothing alerts on aborted rollouts",
		"kubectl apply -k deploy/monitoring, unless another tool scrapes the hub"), nil
}
