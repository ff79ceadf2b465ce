// Package testwork reads the version in the tests' ManifestWorks: the content of their first manifest, a ConfigMap.
package testwork

import (
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"
)

// Version returns the version in a template; empty if there is none.
func Version(template *workv1.ManifestWorkSpec) string {
	if len(template.Workload.Manifests) == 0 {
		return ""
	}
	var content struct {
		Data struct {
			Version string `json:"version"`
		} `json:"data"`
	}
	_ = json.Unmarshal(template.Workload.Manifests[0].Raw, &content)
	return content.Data.Version
}
