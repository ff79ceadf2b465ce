package sandbox

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodEnvironment(t *testing.T) {
	p := &pod{deployment: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "work", Namespace: "hub"}}}
	field := func(path string) *corev1.EnvVarSource {
		return &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}
	}
	variables, err := p.environment(&corev1.Container{Env: []corev1.EnvVar{
		{Name: "PLAIN", Value: "x"},
		{Name: "POD_NAME", ValueFrom: field("metadata.name")},
		{Name: "POD_NAMESPACE", ValueFrom: field("metadata.namespace")},
	}})
	require.NoError(t, err)
	require.Equal(t, map[string]string{"PLAIN": "x", "POD_NAME": "work-0", "POD_NAMESPACE": "hub"}, variables)
	require.Equal(t, []string{"/work", "--id=work-work-0", "$(UNKNOWN)"},
		expand([]string{"/work", "--id=work-$(POD_NAME)", "$(UNKNOWN)"}, variables))

	_, err = p.environment(&corev1.Container{Env: []corev1.EnvVar{{Name: "NODE", ValueFrom: field("spec.nodeName")}}})
	require.ErrorContains(t, err, "the Deployment work takes the variable NODE from where only a kubelet finds it")
}
