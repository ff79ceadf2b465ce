package plugin

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clusterclient "open-cluster-management.io/api/client/cluster/clientset/versioned"
	workclient "open-cluster-management.io/api/client/work/clientset/versioned"
	clusterv1beta1 "open-cluster-management.io/api/cluster/v1beta1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/plugin/internal/worklist"
	"github.com/open-cluster-management-io/work-rollback/pkg/cli/view"
	"github.com/open-cluster-management-io/work-rollback/pkg/replicaset"
)

// clients holds the API clients of a command and the namespace that it operates on.
type clients struct {
	namespace string
	objects   dynamic.Interface
	kube      kubernetes.Interface
	works     workclient.Interface
	metadatas metadata.Interface
	clusters  clusterclient.Interface
}

func (o *options) connect() (*clients, error) {
	config, err := o.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.QPS = -1 // The API server itself limits its clients, and a sample of a large fleet takes many small requests.
	config.WarningHandler = rest.NewWarningWriter(o.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	namespace, _, err := o.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	return newClients(config, namespace)
}

// connected returns the function of a command that uses the hub.
func (o *options) connected(run func(ctx context.Context, c *clients, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := o.connect()
		if err != nil {
			return err
		}
		return run(cmd.Context(), c, args)
	}
}

// named completes a command whose only argument is the name of a ManifestWorkReplicaSet.
func (o *options) named(cmd *cobra.Command, run func(ctx context.Context, c *clients, name string) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = cobra.ExactArgs(1), o.completing(findNames)
	cmd.RunE = o.connected(func(ctx context.Context, c *clients, args []string) error { return run(ctx, c, args[0]) })
	return cmd
}

func newClients(config *rest.Config, namespace string) (*clients, error) {
	c, errs := &clients{namespace: namespace}, [5]error{}
	c.kube, errs[0] = kubernetes.NewForConfig(config)
	c.objects, errs[1] = dynamic.NewForConfig(config)
	c.works, errs[2] = workclient.NewForConfig(config)
	c.metadatas, errs[3] = metadata.NewForConfig(config)
	c.clusters, errs[4] = clusterclient.NewForConfig(config)
	return c, cmp.Or(errs[:]...)
}

// set reads a ManifestWorkReplicaSet. Fields that can't be decoded are empty, as for the hub.
func (c *clients) set(ctx context.Context, name string) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	object, err := setsIn(c.objects, c.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return replicaset.Decode(object).ManifestWorkReplicaSet, nil
}

// patch patches a ManifestWorkReplicaSet.
func (c *clients) patch(ctx context.Context, name string, kind types.PatchType, data []byte, options metav1.PatchOptions,
	subresources ...string,
) (*workv1alpha1.ManifestWorkReplicaSet, error) {
	object, err := setsIn(c.objects, c.namespace).Patch(ctx, name, kind, data, options, subresources...)
	if err != nil {
		return nil, err
	}
	return replicaset.Decode(object).ManifestWorkReplicaSet, nil
}

// readStep reads one kind of object.
type readStep struct {
	// permission is the permission that the step requires.
	permission string
	read       func(context.Context, *clients, *view.Objects) error
}

func historyStep(c *clients) readStep {
	return readStep{"list controllerrevisions.apps in namespace " + c.namespace, readRevisions}
}

// read reads a ManifestWorkReplicaSet and all related objects.
func (o *options) read(ctx context.Context, c *clients, name string) (*view.Objects, error) {
	return o.readWith(ctx, c, name, readWorks)
}

// worksReader reads works into the objects.
type worksReader func(context.Context, *clients, *view.Objects) error

// readWith is read with a different reader of the works.
func (o *options) readWith(ctx context.Context, c *clients, name string, works worksReader) (*view.Objects, error) {
	steps := append([]readStep{leaseStep, historyStep(c)}, placementSteps(c)...)
	return o.readSet(ctx, c, name, append(steps, worksStep(works))...)
}

func worksStep(read worksReader) readStep {
	return readStep{"list manifestworks.work.open-cluster-management.io in all namespaces", read}
}

// placementSteps returns the steps that read the clusters that the Placements select.
func placementSteps(c *clients) []readStep {
	return []readStep{
		{"get placements.cluster.open-cluster-management.io in namespace " + c.namespace, readPlacements},
		{"list placementdecisions.cluster.open-cluster-management.io in namespace " + c.namespace, readDecisions},
	}
}

// leaseStep reads the Lease of the hub's leader. The Lease stays nil if the user lacks the permission, or if the hub runs without a Lease.
var leaseStep = readStep{read: func(ctx context.Context, c *clients, objects *view.Objects) error {
	objects.Lease = c.lease(ctx)
	return nil
}}

// lease returns the Lease of the hub's leader; nil if it can't be read.
func (c *clients) lease(ctx context.Context) *coordinationv1.Lease {
	lease, err := c.kube.CoordinationV1().Leases(hubNamespace).Get(ctx, leaderLease, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return lease
}

// readSet reads a ManifestWorkReplicaSet and runs the steps. If a step lacks permission, readSet records that and continues.
func (o *options) readSet(ctx context.Context, c *clients, name string, steps ...readStep) (*view.Objects, error) {
	set, err := c.set(ctx, name)
	if err != nil {
		return nil, err
	}
	objects := &view.Objects{ReplicaSet: set, Now: o.now()}
	for _, step := range steps {
		switch err := step.read(ctx, c, objects); {
		case apierrors.IsForbidden(err):
			objects.Missing = append(objects.Missing, step.permission)
		case err != nil:
			return nil, err
		}
	}
	return view.Prepared(objects), nil
}

// owned returns the label selector of the ManifestWorks of a ManifestWorkReplicaSet.
func owned(set *workv1alpha1.ManifestWorkReplicaSet) string {
	return workv1alpha1.WorkSelector(set.Namespace, set.Name)
}

// revisionsOf selects the ControllerRevisions of a ManifestWorkReplicaSet.
func revisionsOf(namespace, name string) metav1.ListOptions {
	return metav1.ListOptions{
		LabelSelector: labels.Set{workv1alpha1.LabelReplicaSet: workv1alpha1.RevisionLabelValue(namespace, name)}.String(),
	}
}

func readRevisions(ctx context.Context, c *clients, objects *view.Objects) error {
	list, err := c.kube.AppsV1().ControllerRevisions(c.namespace).List(ctx, revisionsOf(c.namespace, objects.ReplicaSet.Name))
	if err != nil {
		return err
	}
	objects.Revisions = make([]*appsv1.ControllerRevision, 0, len(list.Items))
	for i := range list.Items {
		objects.Revisions = append(objects.Revisions, &list.Items[i])
	}
	objects.FromCopy()
	return nil
}

func readPlacements(ctx context.Context, c *clients, objects *view.Objects) error {
	objects.Placements = map[string]*clusterv1beta1.Placement{}
	for _, ref := range objects.ReplicaSet.Spec.PlacementRefs {
		placement, err := c.clusters.ClusterV1beta1().Placements(c.namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return err
		default:
			objects.Placements[ref.Name] = placement
		}
	}
	return nil
}

func readDecisions(ctx context.Context, c *clients, objects *view.Objects) error {
	objects.Decisions = map[string][]*clusterv1beta1.PlacementDecision{}
	list, err := c.clusters.ClusterV1beta1().PlacementDecisions(c.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		decision := &list.Items[i]
		name := decision.Labels[clusterv1beta1.PlacementLabel]
		objects.Decisions[name] = append(objects.Decisions[name], decision)
	}
	return nil
}

// readWorks reads the works, and keeps the parts that a view reads.
func readWorks(ctx context.Context, c *clients, objects *view.Objects) (err error) {
	objects.Works, _, err = worklist.Read(ctx, c.works, owned(objects.ReplicaSet))
	return err
}
