package integration

import (
	"fmt"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/test/internal/agents"
	"github.com/open-cluster-management-io/work-rollback/test/internal/testwork"
)

// outcome is the report of a simulated agent about a version.
type outcome = agents.Outcome

var (
	succeeds, hangs, degrades, silent = agents.Succeeds, agents.Hangs, agents.Degrades, agents.Silent

	// These outcomes report a degradation and a refusal in the words of a real agent.
	notPulled = outcome{Terse: true, Progressing: true, Degraded: true, Message: "Deployment shop/web: 0 of 3 replicas are available: ImagePullBackOff"}
	overQuota = outcome{Terse: true, Refused: true, Message: `Deployment shop/web: admission webhook "quota" denied the request: exceeded quota`}
)

// template returns the template of a version, with the rules that make an agent report progress.
func template(version string) workv1.ManifestWorkSpec {
	return workv1.ManifestWorkSpec{
		Workload: workv1.ManifestsTemplate{Manifests: []workv1.Manifest{configMap(version)}},
		ManifestConfigs: []workv1.ManifestConfigOption{{
			ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "default", Name: "demo"},
			ConditionRules: []workv1.ConditionRule{
				{Type: workv1.CelConditionExpressionsType, Condition: workv1.WorkProgressing, CelExpressions: []string{"false"}},
				{Type: workv1.CelConditionExpressionsType, Condition: workv1.WorkDegraded, CelExpressions: []string{"false"}},
			},
		}},
	}
}

func configMap(version string) workv1.Manifest {
	manifest := workv1.Manifest{}
	manifest.Raw = fmt.Appendf(nil, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"demo","namespace":"default"},"data":{"version":%q}}`, version)
	return manifest
}

func versionOf(work *workv1.ManifestWork) string { return testwork.Version(&work.Spec) }
