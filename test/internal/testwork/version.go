// Package testwork reads what the tests' ManifestWorks hold: a ConfigMap first, whose content tells a version.
package testwork

import (
	"encoding/json"

	workv1 "open-cluster-management.io/api/work/v1"
)

// Version is the version that a template holds, empty where there is none.
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
