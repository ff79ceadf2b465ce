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

// Every release of Kubernetes that has the kinds supports every function.
func TestPoliciesCompile(t *testing.T) {
	data, err := os.ReadFile("../../../deploy/base/policy-revisions.yaml")
	require.NoError(t, err)
	guard, _, _ := strings.Cut(string(data), "\n---\n")
	revisions := Policy{ValidatingAdmissionPolicy: &admissionregistrationv1.ValidatingAdmissionPolicy{}}
	require.NoError(t, yaml.UnmarshalStrict([]byte(guard), revisions.ValidatingAdmissionPolicy))
	for _, release := range []*version.Version{oldest, version.MajorMinor(1, 35)} {
		for _, policy := range []Policy{Refusals(), Warnings(), revisions} {
			compile(t, policy, release)
		}
	}
}

func TestTexts(t *testing.T) {
	require.Equal(t, `'50% of \'' + strings.quote(a) + '\': ' + string(b)`, expression("50%% of '%q': %d", []string{"a", "b"}))
	require.Equal(t, "50% of …: …", withoutArguments("50%% of %q: %d"))
	require.Panics(t, func() { expression("%d", []string{"a", "b"}) })
}
