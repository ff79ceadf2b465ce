package policy

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"
)

// Every release of Kubernetes that has the kinds supports all functions.
func TestPoliciesCompile(t *testing.T) {
	policies := []Policy{Refusals(), Warnings()}
	for _, file := range []string{"policy-revisions.yaml", "policy-approvals.yaml"} {
		data, err := os.ReadFile("../../../deploy/base/" + file)
		require.NoError(t, err)
		for document := range strings.SplitSeq(string(data), "\n---\n") {
			if strings.Contains(document, "\nkind: ValidatingAdmissionPolicy\n") {
				written := Policy{ValidatingAdmissionPolicy: &admissionregistrationv1.ValidatingAdmissionPolicy{}}
				require.NoError(t, yaml.UnmarshalStrict([]byte(document), written.ValidatingAdmissionPolicy))
				policies = append(policies, written)
			}
		}
	}
	require.Len(t, policies, 6)
	for _, release := range []*version.Version{oldest, version.MajorMinor(1, 35)} {
		for _, policy := range policies {
			compile(t, policy, release)
		}
	}
}

func TestTexts(t *testing.T) {
	require.Equal(t, `'50% of \'' + strings.quote(a) + '\': ' + string(b)`, expression("50%% of '%q': %d", []string{"a", "b"}))
	require.Equal(t, "50% of …: …", withoutArguments("50%% of %q: %d"))
	require.Panics(t, func() { expression("%d", []string{"a", "b"}) })
}
