package revision_test

import (
	"testing"

	workv1 "open-cluster-management.io/api/work/v1"

	"github.com/open-cluster-management-io/work-rollback/pkg/revision"
)

// TestReportsDegraded: only a rule that agents evaluate makes them report. Agents find it as FindManifestConfiguration of OCM's agent does.
func TestReportsDegraded(t *testing.T) {
	const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"shop","name":"shop-web"}}`
	of := func(group, resource, namespace, name string, rules ...workv1.ConditionRule) workv1.ManifestConfigOption {
		return workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{Group: group, Resource: resource, Namespace: namespace, Name: name}, ConditionRules: rules,
		}
	}
	cel := func(condition string) workv1.ConditionRule {
		return workv1.ConditionRule{Type: workv1.CelConditionExpressionsType, Condition: condition, CelExpressions: []string{"false"}}
	}
	progressing, degraded := cel(workv1.ManifestProgressing), cel(workv1.ManifestDegraded)
	known := workv1.ConditionRule{Type: workv1.WellKnownConditionsType, Condition: workv1.ManifestDegraded}
	for name, tc := range map[string]struct {
		manifest string
		configs  []workv1.ManifestConfigOption
		want     bool
	}{
		"no config":                 {},
		"a rule":                    {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "shop-web", degraded)}, want: true},
		"beside another":            {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "shop-web", progressing, degraded)}, want: true},
		"only for Progressing":      {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "shop-web", progressing)}},
		"a star":                    {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "*", "*", degraded)}, want: true},
		"a star in the middle":      {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "sh*p", "shop-*b", degraded)}, want: true},
		"two stars":                 {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "*op*w*", degraded)}, want: true},
		"a star that does not fit":  {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "*op*x*", degraded)}},
		"another beginning":         {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "x*", degraded)}},
		"another name":              {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "shop-wep", degraded)}},
		"another namespace":         {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "default", "shop-web", degraded)}},
		"another group":             {configs: []workv1.ManifestConfigOption{of("", "deployments", "shop", "shop-web", degraded)}},
		"another resource":          {configs: []workv1.ManifestConfigOption{of("apps", "statefulsets", "shop", "shop-web", degraded)}},
		"behind another config":     {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "*", progressing), of("apps", "deployments", "shop", "shop-web", degraded)}},
		"behind one without rules":  {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "*"), of("apps", "deployments", "shop", "shop-web", degraded)}, want: true},
		"one that OCM has none for": {configs: []workv1.ManifestConfigOption{of("apps", "deployments", "shop", "shop-web", known)}},
		"no JSON":                   {manifest: "{", configs: []workv1.ManifestConfigOption{of("apps", "deployments", "*", "*", degraded)}},
	} {
		t.Run(name, func(t *testing.T) {
			template := &workv1.ManifestWorkSpec{ManifestConfigs: tc.configs}
			for _, raw := range []string{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"first"}}`, deployment} {
				if tc.manifest != "" {
					raw = tc.manifest
				}
				var manifest workv1.Manifest
				manifest.Raw = []byte(raw)
				template.Workload.Manifests = append(template.Workload.Manifests, manifest)
			}
			if got := revision.ReportsDegraded(template); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
