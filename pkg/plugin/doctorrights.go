package plugin

import (
	"context"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/upgrade/plan"
)

// workController is the ServiceAccount of the hub.
const workController = "work-controller-sa"

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
func denied(
	rights []right, hub string, review func(*authorizationv1.ResourceAttributes) (bool, error),
) (missing []string, err error) {
	for i := range rights {
		r := &rights[i]
		for _, verb := range r.verbs {
			attributes := &authorizationv1.ResourceAttributes{
				Group: r.group, Resource: r.resource, Subresource: r.subresource, Name: r.name, Verb: verb,
			}
			text := verb + " " + r.resource
			if r.subresource != "" {
				text += "/" + r.subresource
			}
			if r.hubOnly {
				attributes.Namespace = hub
				text += " in namespace " + hub
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

// rights checks the permissions of the hub's ServiceAccount.
func (d *doctor) rights(ctx context.Context) ([]diagnosis, error) {
	const check = "hub-rights"
	account := "system:serviceaccount:" + d.hub + ":" + workController
	missing, err := denied(hubRights, d.hub, func(attributes *authorizationv1.ResourceAttributes) (bool, error) {
		review, err := d.kube.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: account, ResourceAttributes: attributes,
				Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + d.hub, "system:authenticated"},
			},
		}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	})
	switch {
	case err != nil:
		return unreadable(check, "create subjectaccessreviews", err)
	case len(missing) > 0:
		return one(checkFail, check, account+" can't "+strings.Join(missing, ", "), applyDeploy), nil
	}
	return one(checkOK, check, account+" has the permissions of deploy/", ""), nil
}

// yourRights checks the permissions of the user.
func (d *doctor) yourRights(ctx context.Context) ([]diagnosis, error) {
	const check = "your-rights"
	missing, err := denied(userRights, d.hub, func(attributes *authorizationv1.ResourceAttributes) (bool, error) {
		review, err := d.kube.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes},
		}, metav1.CreateOptions{})
		return err == nil && review.Status.Allowed, err
	})
	switch {
	case err != nil:
		return unreadable(check, "create selfsubjectaccessreviews", err)
	case len(missing) > 0:
		return one(checkWarn, check, "you can't, in all namespaces, "+strings.Join(missing, ", "),
			"ask for a role with these permissions; commands in a namespace need them only there"), nil
	}
	return one(checkOK, check, "you can use every command of this plugin", ""), nil
}
