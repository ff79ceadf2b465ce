package plugin

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

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

// survey holds the facts about all ManifestWorkReplicaSets that the checks need.
type survey struct {
	n int
	// behind names the objects whose latest spec no hub has processed.
	behind []string
	// refusal is the reason why a hub refuses to run; empty if no hub refuses.
	refusal string
}

// surveyed reads the ManifestWorkReplicaSets once, for all checks. It returns nil if the CRD is missing, which another check reports.
func (d *doctor) surveyed(ctx context.Context) (*survey, error) {
	d.needs = "list manifestworkreplicasets in all namespaces"
	if d.sets != nil {
		return d.sets, nil
	}
	sets := &survey{}
	err := eachSet(ctx, d.objects, metav1.NamespaceAll, metav1.ListOptions{}, func(set *workv1alpha1.ManifestWorkReplicaSet) {
		sets.n++
		if !view.Observed(set) {
			sets.behind = append(sets.behind, set.Namespace+"/"+set.Name)
		}
		sets.refusal = cmp.Or(sets.refusal, view.RefusalOf(set))
	})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, err
	}
	d.sets = sets
	return sets, nil
}

const readLogs = "check that the Deployment cluster-manager-work-controller exists (beside OCM: work-rollback), and read its logs"

// leader checks that a work controller holds the Lease.
func (d *doctor) leader(ctx context.Context) error {
	d.begins("leader", "get leases in namespace "+d.hub)
	lease, err := d.kube.CoordinationV1().Leases(d.hub).Get(ctx, leaderLease, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		sets, err := d.surveyed(ctx)
		if err == nil {
			d.unled(ptr.Deref(sets, survey{}))
		}
		return err
	case err != nil:
		return err
	}
	if late := view.LateLease(lease, d.now()); late != "" {
		d.fail(readLogs, "%s", late)
		return nil
	}
	since := "an unknown time"
	if lease.Spec.AcquireTime != nil {
		since = lease.Spec.AcquireTime.UTC().Format(time.RFC3339)
	}
	d.ok("%s leads since %s", ptr.Deref(lease.Spec.HolderIdentity, ""), since)
	return nil
}

// unled checks a hub without a Lease. The hub of the sandbox runs without leader election: it processes the specs without a Lease. A hub
// that once used leader election leaves its Lease behind.
func (d *doctor) unled(sets survey) {
	switch len(sets.behind) {
	case sets.n:
		d.fail("enable the feature gate ManifestWorkReplicaSet in the ClusterManager, install deploy/chart, or set --hub-namespace",
			"no work controller has led in namespace %s", d.hub)
	case 0:
		d.warn("set --hub-namespace, if the hub is in another namespace; otherwise, run it in exactly one process, or without "+
			"--disable-leader-election", "there is no Lease in namespace %s, but a hub has processed the newest spec of every "+
			"ManifestWorkReplicaSet (%d): it runs, or ran, without leader election", d.hub, sets.n)
	default:
		d.fail(readLogs, "there is no Lease in namespace %s, and no hub has processed the newest spec of %d of %d "+
			"ManifestWorkReplicaSets: %s", d.hub, len(sets.behind), sets.n, view.FirstOf(sets.behind, namesShown, " "))
	}
}

// refused checks that no hub refuses to run because snapshots of an older version are missing.
func (d *doctor) refused(ctx context.Context) error {
	d.check = "downgrade"
	switch sets, err := d.surveyed(ctx); {
	case err != nil || sets == nil:
		return err
	case sets.refusal != "":
		d.fail("docs/upgrade.md, \"Go back a version\"", "the hub refuses to run: %s", sets.refusal)
	default:
		d.ok("no hub refuses to run")
	}
	return nil
}

// version compares the version that the hub recorded with the version of the plugin.
func (d *doctor) version(ctx context.Context) error {
	d.begins("hub-version", "get configmaps in namespace "+d.hub)
	plugin := version.Get().GitVersion
	record, err := d.kube.CoreV1().ConfigMaps(d.hub).Get(ctx, plan.ConfigMap, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		d.unrecorded(plugin)
	case err != nil:
		return err
	case record.Data[plan.KeyVersion] != plugin:
		d.warn("use the plugin of the hub's release",
			"the hub is %q and this plugin is %q: the CRD and the permissions were checked for the plugin's release",
			record.Data[plan.KeyVersion], plugin)
	default:
		d.ok("the hub and this plugin are %s", plugin)
	}
	return nil
}

// unrecorded checks a hub that has not recorded its version. A development build never records one.
func (d *doctor) unrecorded(plugin string) {
	if _, released := plan.ParseVersion(plugin); !released {
		d.ok("the hub has not recorded a version, and this plugin is a development build")
		return
	}
	d.warn("apply deploy/, and use a release of this hub as work image", "the hub has not recorded its version")
}

// ocm compares the version of OCM's operator with the compatibility table. The operator writes its version to the CRDs that it owns.
func (d *doctor) ocm(ctx context.Context) error {
	d.begins("ocm-version", "get customresourcedefinitions")
	const crd, table = "manifestworks.work.open-cluster-management.io", "docs/upgrade.md lists the supported releases"
	found, err := d.objects.Resource(crdResource).Get(ctx, crd, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		d.fail("use the context of the hub", "CRD %s does not exist: this is not a hub", crd)
		return nil
	}
	if err != nil {
		return err
	}
	switch release := strings.TrimPrefix(found.GetAnnotations()[operatorVersion], "v"); {
	case release == "":
		d.warn(table, "the CRD of ManifestWork does not name the release of OCM")
	case !slices.Contains(releases, release):
		d.warn(table, "this hub has not been tested with OCM %s", release)
	default:
		d.ok("OCM %s is supported", release)
	}
	return nil
}

var serviceMonitors = schema.GroupVersionResource{Group: "monitoring.coreos.com", Version: "v1", Resource: "servicemonitors"}

// metrics looks for the ServiceMonitor of the hub.
func (d *doctor) metrics(ctx context.Context) error {
	d.begins("metrics", "list servicemonitors.monitoring.coreos.com in namespace "+d.hub)
	monitors, err := d.objects.Resource(serviceMonitors).Namespace(d.hub).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		d.warn("docs/monitoring.md describes the metrics and the alerts",
			"no Prometheus operator runs on this hub: nothing alerts on aborted rollouts, unless another tool scrapes the hub")
		return nil
	}
	if err != nil {
		return err
	}
	for i := range monitors.Items {
		app, _, _ := unstructured.NestedString(monitors.Items[i].Object, "spec", "selector", "matchLabels", "app")
		if app == "work-controller-metrics" {
			d.ok("ServiceMonitor %s selects the hub", monitors.Items[i].GetName())
			return nil
		}
	}
	d.warn("kubectl apply -k deploy/monitoring, unless another tool scrapes the hub",
		"no ServiceMonitor in namespace %s selects the hub: nothing alerts on aborted rollouts", d.hub)
	return nil
}
