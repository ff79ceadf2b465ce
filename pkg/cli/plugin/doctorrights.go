package plugin

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

const (
	// workController is the ServiceAccount of the hub that OCM's operator runs. The operator deletes it if the hub's feature gates are off.
	workController = "work-controller-sa"
	// besideOCM is the name of the ServiceAccount and the Deployment of the hub that deploy/chart runs.
	besideOCM = "work-rollback"
)

// right is a permission on a resource.
type right struct {
	group, resource, name string
	// hubOnly limits the permission to the namespace of the hub.
	hubOnly bool
	verbs   []string
}

// hubRights are the permissions that deploy/base/clusterrole.yaml and deploy/base/role.yaml grant to the hub.
var hubRights = []right{
	{group: "apps", resource: "controllerrevisions", verbs: []string{"get", "list", "watch", "create", "patch", "delete"}},
	{group: "cluster.open-cluster-management.io", resource: "managedclusters", verbs: []string{"list", "watch"}},
	{resource: "configmaps", hubOnly: true, verbs: []string{"create"}},
	{resource: "configmaps", hubOnly: true, name: plan.ConfigMap, verbs: []string{"get", "patch"}},
	{resource: "serviceaccounts", hubOnly: true, name: workController, verbs: []string{"get"}},
}

// denied returns the permissions that a ServiceAccount in the namespace of the hub lacks.
func (d *doctor) denied(ctx context.Context, account string) (missing []string, err error) {
	for i := range hubRights {
		r := &hubRights[i]
		for _, verb := range r.verbs {
			attributes := authorizationv1.ResourceAttributes{Group: r.group, Resource: r.resource, Name: r.name, Verb: verb}
			text := verb + " " + r.resource
			if r.hubOnly {
				attributes.Namespace = d.hub
				text += " in namespace " + d.hub
			}
			review, err := d.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User: account, ResourceAttributes: &attributes,
					Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + d.hub, "system:authenticated"},
				},
			}, metav1.CreateOptions{})
			if err != nil {
				return nil, err
			}
			if !review.Status.Allowed {
				missing = append(missing, text)
			}
		}
	}
	return missing, nil
}

// oneHub finds the ServiceAccounts of the installed hubs. It checks that OCM's operator and deploy/chart do not both run a hub: the Lease
// lets only one hub work, and this can be OCM's hub.
func (d *doctor) oneHub(ctx context.Context) error {
	d.begins("one-hub", "get serviceaccounts in namespace "+d.hub)
	for _, name := range []string{workController, besideOCM} {
		_, err := d.kube.CoreV1().ServiceAccounts(d.hub).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			d.accounts = append(d.accounts, name)
		case !apierrors.IsNotFound(err):
			return err
		}
	}
	if len(d.accounts) > 1 {
		d.fail("disable the feature gates ManifestWorkReplicaSet and CleanUpCompletedManifestWork in the ClusterManager, or uninstall the chart",
			"OCM's operator and deploy/chart both run a work hub in namespace %s: only the hub that holds the Lease works, and OCM's hub "+
				"would roll out aborted templates", d.hub)
	}
	return nil
}

// rights checks the permissions of the ServiceAccount of each installed hub.
func (d *doctor) rights(ctx context.Context) error {
	d.begins("hub-rights", "create subjectaccessreviews")
	if len(d.accounts) == 0 {
		d.accounts = []string{workController}
	}
	for _, name := range d.accounts {
		remedy, account := applyDeploy, "system:serviceaccount:"+d.hub+":"+name
		if name == besideOCM {
			remedy = applyChart
		}
		missing, err := d.denied(ctx, account)
		switch {
		case err != nil:
			return err
		case len(missing) > 0:
			d.fail(remedy, "%s can't %s", account, strings.Join(missing, ", "))
		default:
			d.ok("%s has the permissions of deploy/", account)
		}
	}
	return nil
}
