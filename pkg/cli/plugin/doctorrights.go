package plugin

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

const (
	// workController is the ServiceAccount of the hub that OCM's operator runs. The operator deletes the account if the
	// hub's feature gates are off.
	workController = "work-controller-sa"
	// besideOCM is the name of the ServiceAccount and the Deployment of the hub that deploy/chart runs.
	besideOCM = "work-rollback"
)

// right is a permission on a resource.
type right struct {
	group, resource, subresource, name string
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

// userRights are the permissions that the plugin's commands require.
var userRights = []right{
	{group: workv1alpha1.GroupName, resource: "manifestworkreplicasets", verbs: []string{"get", "list", "patch"}},
	{group: workv1alpha1.GroupName, resource: "manifestworkreplicasets", subresource: "status", verbs: []string{"patch"}},
	{group: workv1alpha1.GroupName, resource: "manifestworks", verbs: []string{"list"}},
	{group: "apps", resource: "controllerrevisions", verbs: []string{"list"}},
	{group: "cluster.open-cluster-management.io", resource: "placements", verbs: []string{"get"}},
	{group: "cluster.open-cluster-management.io", resource: "placementdecisions", verbs: []string{"list"}},
}

// denied returns the permissions that a review rejects.
func (d *doctor) denied(rights []right, review func(authorizationv1.ResourceAttributes) (bool, error)) (missing []string, err error) {
	for i := range rights {
		r := &rights[i]
		for _, verb := range r.verbs {
			attributes := authorizationv1.ResourceAttributes{
				Group: r.group, Resource: r.resource, Subresource: r.subresource, Name: r.name, Verb: verb,
			}
			text := verb + " " + strings.TrimSuffix(r.resource+"/"+r.subresource, "/")
			if r.hubOnly {
				attributes.Namespace = d.hub
				text += " in namespace " + d.hub
			}
			allowed, err := review(attributes)
			if err != nil {
				return nil, err
			}
			if !allowed {
				missing = append(missing, text)
			}
		}
	}
	return missing, nil
}

// accounts returns the names of the ServiceAccounts of the installed hubs.
func (d *doctor) accounts(ctx context.Context) (found []string, err error) {
	for _, name := range []string{workController, besideOCM} {
		_, err := d.kube.CoreV1().ServiceAccounts(d.hub).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			found = append(found, name)
		case !apierrors.IsNotFound(err):
			return nil, err
		}
	}
	return found, nil
}

// oneHub checks that OCM's operator and deploy/chart do not both run a hub. The Lease lets only one hub work, but that can be OCM's.
func (d *doctor) oneHub(ctx context.Context) error {
	d.begins("one-hub", "get serviceaccounts in namespace "+d.hub)
	found, err := d.accounts(ctx)
	if len(found) > 1 {
		d.fail("disable the feature gates ManifestWorkReplicaSet and CleanUpCompletedManifestWork in the ClusterManager, or uninstall the chart",
			"OCM's operator and deploy/chart both run a work hub in namespace %s: only the hub that holds the Lease works, and OCM's hub "+
				"would roll out aborted templates", d.hub)
	}
	return err
}

// rights checks the permissions of the ServiceAccount of each installed hub.
func (d *doctor) rights(ctx context.Context) error {
	found, err := d.accounts(ctx)
	if err != nil && !apierrors.IsForbidden(err) {
		return err
	}
	if len(found) == 0 {
		found = []string{workController}
	}
	d.begins("hub-rights", "create subjectaccessreviews")
	for _, name := range found {
		remedy, account := applyDeploy, "system:serviceaccount:"+d.hub+":"+name
		if name == besideOCM {
			remedy = applyChart
		}
		missing, err := d.denied(hubRights, func(attributes authorizationv1.ResourceAttributes) (bool, error) {
			review, err := d.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{
					User: account, ResourceAttributes: &attributes,
					Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + d.hub, "system:authenticated"},
				},
			}, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed, err
		})
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

// yourRights checks the permissions of the user.
func (d *doctor) yourRights(ctx context.Context) error {
	d.begins("your-rights", "create selfsubjectaccessreviews")
	missing, err := d.denied(userRights, func(attributes authorizationv1.ResourceAttributes) (bool, error) {
		review, err := d.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &attributes},
		}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	})
	switch {
	case err != nil:
		return err
	case len(missing) > 0:
		d.warn("ask for a role with these permissions; commands in a namespace need them only there",
			"you can't, in all namespaces, %s", strings.Join(missing, ", "))
	default:
		d.ok("you can use every command of this plugin")
	}
	return nil
}
