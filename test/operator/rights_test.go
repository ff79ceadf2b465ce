package operator

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// request is a request in the API server's audit log.
type request struct {
	Verb      string    `json:"verb"`
	Received  time.Time `json:"requestReceivedTimestamp"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	Annotations map[string]string `json:"annotations"`
}

func (r request) String() string {
	return fmt.Sprintf("%s %s/%s", r.grant(), r.ObjectRef.Namespace, r.ObjectRef.Name)
}

// grant returns the permission that a role must have to allow the request.
func (r request) grant() string {
	resource := r.ObjectRef.Resource
	if r.ObjectRef.Subresource != "" {
		resource += "/" + r.ObjectRef.Subresource
	}
	return grant(r.Verb, resource, r.ObjectRef.APIGroup)
}

// decision returns allow or forbid.
func (r request) decision() string { return r.Annotations["authorization.k8s.io/decision"] }

func grant(verb, resource, group string) string {
	return fmt.Sprintf("%s %s.%s", verb, resource, group)
}

// readAudit reads the requests of the only user that the audit policy logs. It fails while the last line is being written.
func readAudit(path string) ([]request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var requests []request
	for decoder := json.NewDecoder(file); ; {
		var r request
		switch err := decoder.Decode(&r); {
		case errors.Is(err, io.EOF):
			return requests, nil
		case err != nil:
			return nil, err
		}
		requests = append(requests, r)
	}
}

// grants returns the single permissions that roles grant to the hub. It skips the user roles, which have no bindings.
func grants(t *testing.T, objects []*unstructured.Unstructured) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for _, object := range objects {
		if object.GetKind() != "ClusterRole" && object.GetKind() != "Role" || strings.HasPrefix(object.GetName(), "mwrs-") {
			continue
		}
		role := &rbacv1.Role{} // Both have the same rules.
		require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, role))
		for _, rule := range role.Rules {
			for _, verb := range rule.Verbs {
				for _, resource := range rule.Resources {
					for _, group := range rule.APIGroups {
						all[grant(verb, resource, group)] = true
					}
				}
			}
		}
	}
	return all
}

// avoidsATakenName creates an object of another owner with the name of the next revision, so that the hub has to read that object.
func (h *hub) avoidsATakenName(t *testing.T) {
	ctx := t.Context()
	api := h.ReplicaSets.WorkV1alpha1().ManifestWorkReplicaSets(namespace)
	mwrs, err := h.get(ctx)
	require.NoError(t, err)
	mwrs.Spec.ManifestWorkTemplate = web(t, "v4", true).Spec.ManifestWorkTemplate
	// As the API server stores it.
	stored, err := api.Update(ctx, mwrs, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	require.NoError(t, err)
	taken := name + "-" + revision.ComputeHash(&stored.Spec.ManifestWorkTemplate, nil)
	_, err = h.Kube.AppsV1().ControllerRevisions(namespace).Create(ctx, &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: taken, Namespace: namespace}, Data: runtime.RawExtension{Raw: []byte(`{}`)},
	}, metav1.CreateOptions{})
	require.NoError(t, err)

	h.update(t, "v4", true)
	seen := h.reaches(t, workv1alpha1.ReasonNewManifestWorkAvailable)
	h.everywhere(t, "v4")
	require.EqualValues(t, 1, *seen.Status.CollisionCount)
	require.True(t, slices.Contains(h.versions(t), "v4"))
}
