package main

import (
	"sigs.k8s.io/yaml"
)

// krewPlugin is the manifest of a plugin as Krew's index has it, API version krew.googlecontainertools.github.com/v1alpha2.
type krewPlugin struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Metadata   krewMetadata `json:"metadata"`
	Spec       krewSpec     `json:"spec"`
}

type krewMetadata struct {
	Name string `json:"name"`
}

type krewSpec struct {
	Version          string         `json:"version"`
	Homepage         string         `json:"homepage"`
	ShortDescription string         `json:"shortDescription"`
	Description      string         `json:"description"`
	Platforms        []krewPlatform `json:"platforms"`
}

type krewPlatform struct {
	Selector krewSelector `json:"selector"`
	URI      string       `json:"uri"`
	SHA256   string       `json:"sha256"`
	Bin      string       `json:"bin"`
	Files    []krewFile   `json:"files"`
}

type krewSelector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

type krewFile struct {
	From string `json:"from"`
	To   string `json:"to"`
}

const krewDescription = `Shows the rollouts of Open Cluster Management's ManifestWorkReplicaSets, cluster by cluster, with the cause
of each failure. Undoes, aborts, retries and pauses them. Plans and simulates a rollout before it begins.
It needs the work-rollback hub.
`

// krewManifest returns the manifest of the plugin for its archives.
func krewManifest(version string, archives []archive) ([]byte, error) {
	plugin := krewPlugin{
		APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: krewMetadata{Name: "mwrs"},
		Spec: krewSpec{
			Version: version, Homepage: source,
			ShortDescription: "Inspect, undo and abort OCM rollouts", Description: krewDescription,
		},
	}
	for _, a := range archives {
		files := []krewFile{{From: a.binary, To: "."}}
		for _, other := range a.others {
			files = append(files, krewFile{From: other, To: "."})
		}
		plugin.Spec.Platforms = append(plugin.Spec.Platforms, krewPlatform{
			Selector: krewSelector{MatchLabels: map[string]string{"os": a.platform.os, "arch": a.platform.arch}},
			URI:      source + "/releases/download/" + version + "/" + a.name,
			SHA256:   a.sha256, Bin: a.binary, Files: files,
		})
	}
	return yaml.Marshal(plugin)
}
