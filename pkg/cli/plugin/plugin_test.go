package plugin

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	workv1alpha1 "github.com/open-cluster-management-io/work-rollback/pkg/apis/work/v1alpha1"
)

// TestPlannedRetry: a retry of some clusters leaves the failures of the others, and names the clusters that have not failed.
func TestPlannedRetry(t *testing.T) {
	set := &workv1alpha1.ManifestWorkReplicaSet{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}}
	for _, cluster := range []string{"c1", "c2", "c3"} {
		set.Status.Failures = append(set.Status.Failures, workv1alpha1.ClusterFailure{Cluster: cluster})
	}
	for _, of := range []struct{ clusters, left []string }{{nil, nil}, {[]string{"c1", "c3", "c1"}, []string{"c2"}}} {
		patch, err := plannedRetry(set, of.clusters)
		require.NoError(t, err)
		left := []workv1alpha1.ClusterFailure{}
		for _, cluster := range of.left {
			left = append(left, workv1alpha1.ClusterFailure{Cluster: cluster})
		}
		require.Equal(t, changeOf(set, map[string]any{"failures": left}), patch)
	}
	_, err := plannedRetry(set, []string{"c1", "c9"})
	require.ErrorContains(t, err, "does not list c9;")
}

// TestHasChanged: a write is repeated if the object changed, and not if the API server rejects it for another reason.
func TestHasChanged(t *testing.T) {
	resource := schema.GroupResource{Resource: "manifestworkreplicasets"}
	invalid := apierrors.NewInvalid(schema.GroupKind{}, "web", field.ErrorList{field.Required(field.NewPath("spec"), "")})
	for want, errs := range map[bool][]error{
		true: {
			apierrors.NewConflict(resource, "web", nil),
			apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", resource, "web", "test failed", 0, false),
		},
		false: {invalid, apierrors.NewForbidden(resource, "web", nil), errors.New("no such revision"), nil},
	} {
		for _, err := range errs {
			require.Equal(t, want, hasChanged(err), err)
		}
	}
}

// TestHelp: every command has a description and an example.
func TestHelp(t *testing.T) {
	for _, cmd := range newCommand(genericiooptions.IOStreams{Out: &bytes.Buffer{}, ErrOut: &bytes.Buffer{}}).Commands() {
		require.NotEmpty(t, cmd.Short, cmd.Name())
		require.Contains(t, cmd.Example, "kubectl mwrs "+cmd.Name(), cmd.Name())
	}
}

// TestCompare: templates are compared object by object, and the values of Secrets are masked.
func TestCompare(t *testing.T) {
	secret := func(password string) string {
		return `{"workload":{"manifests":[{"apiVersion":"v1","kind":"Secret","metadata":{"name":"s"},"stringData":{"same":"hidden1","password":"` +
			password + `"}}]}}`
	}
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}
	require.NoError(t, o.compare([]byte(secret("hidden2")), []byte(secret("hidden2"))))
	require.Empty(t, out.String())
	err := o.compare([]byte(secret("hidden2")), []byte(secret("hidden3")))
	require.Equal(t, &exitError{code: 1}, err)
	require.Contains(t, out.String(), "-  password: '*** (before)'")
	require.Contains(t, out.String(), "+  password: '*** (after)'")
	require.Error(t, o.compare([]byte(secret("hidden2")), []byte(`{}`)))
	require.NotContains(t, out.String(), "hidden")
	require.Equal(t, &exitError{code: 2, message: "error: no such revision"}, failed(errors.New("no such revision")))
	require.Equal(t, err, failed(err))
}

// TestIntegersStayExact: a difference between integers above 2^53 is shown.
func TestIntegersStayExact(t *testing.T) {
	const template = `{"workload":{"manifests":[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"count":900719925474099%d}]}}`
	var out bytes.Buffer
	o := &options{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}}
	require.Equal(t, &exitError{code: 1}, o.compare(fmt.Appendf(nil, template, 2), fmt.Appendf(nil, template, 3)))
	require.Contains(t, out.String(), "-count: 9007199254740992\n+count: 9007199254740993\n")
}

// TestTemplatesArePrintedAsTheyAre: output that can be applied again has exact integers and unmasked Secrets, as `kubectl get -o yaml`
// prints them.
func TestTemplatesArePrintedAsTheyAre(t *testing.T) {
	s := newStrangers(t, workv1alpha1.StateStalled, func(any) {})
	for _, data := range []*runtime.RawExtension{&s.revisions.Items[0].Data, &s.set.Spec.ManifestWorkTemplate.Workload.Manifests[0].RawExtension} {
		data.Raw = bytes.Replace(data.Raw, []byte(`"data":`), []byte(`"count":9007199254740993,"data":`), 1)
		data.Raw = bytes.Replace(data.Raw, []byte(`"ConfigMap"`), []byte(`"Secret"`), 1)
	}
	kubeconfig, _ := serve(t, s)
	for want, commands := range map[string][][]string{
		"one": {{"export", "web", "--to-revision", "1"}, {"history", "web", "--revision", "1"}, {"undo", "web", "--dry-run=client"}},
		"two": {{"export", "web"}},
	} {
		for _, args := range commands {
			code, out, errs := mwrs(t, "", append(args, "--kubeconfig", kubeconfig)...)
			require.Zero(t, code, errs)
			for _, part := range []string{"count: 9007199254740993\n", "kind: Secret\n", want} {
				require.Contains(t, out, part, args)
			}
			require.NotContains(t, out, "***", args)
		}
	}
}

// TestLint: lint runs the webhook's checks on a file.
func TestLint(t *testing.T) {
	code, out, errs := lintOf(t, goodSet, "-f", "-")
	require.Zero(t, code, out+errs)
	broken := strings.Replace(goodSet, "10m", "ten minutes", 1)
	code, out, _ = lintOf(t, broken, "-f", "-")
	require.Equal(t, 1, code)
	require.Regexp(t, `^-: default/good: error: spec\.placementRefs\[0\].*progressDeadline`, out)
	code, out, _ = lintOf(t, broken, "-f", "-", "-o", "json")
	require.Equal(t, 1, code)
	require.Contains(t, out, `"severity": "error"`)
	code, _, errs = lintOf(t, "kind: ConfigMap\n", "-f", "-")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "there is no ManifestWorkReplicaSet")
}

// TestBadInput: an error names the argument.
func TestBadInput(t *testing.T) {
	for message, args := range map[string][]string{
		`"csv" for "-o, --output" flag: use json, yaml, wide, name or `: {"clusters", "web", "-o", "csv"},
		`"jsonpath={" for "-o, --output" flag: unclosed action`:         {"why", "web", "c1", "-o", "jsonpath={"},
		"--watch shows a screen":                                        {"get", "web", "-w", "-o", "json"},
		`"true" for "--dry-run" flag: use none, client or server`:       {"undo", "web", "--dry-run", "true"},
		`"nonsense" is not a state: use failed, rejected, restoring, `:  {"clusters", "web", "--state", "failed,nonsense"},
		"accepts 1 arg(s)":              {"clusters"},
		"unknown command":               {"rollback"},
		"are for a list: omit the name": {"get", "web", "-l", "app=web"},
		"--reason has 300 bytes":        {"abort", "web", "--reason", string(bytes.Repeat([]byte("x"), 300))},
	} {
		code, _, errors := mwrs(t, "", args...)
		require.Equal(t, 1, code)
		require.Contains(t, errors, message)
	}
}
