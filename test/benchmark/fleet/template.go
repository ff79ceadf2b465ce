package fleet

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	workv1 "open-cluster-management.io/api/work/v1"
)

const (
	// configMaps is the number of manifests in a template.
	configMaps = 5
	// configMapSize is the size of the data of each manifest in bytes, so that a template has 20 KB.
	configMapSize = 4000
	// lineSize is the size of one key with its value. Real configuration also has many keys.
	lineSize = 80
)

// Template returns the template of a version. Versions differ in one value. A rule makes the agents report Progressing. Without such a
// rule, a rollout of upstream's controller never completes.
func Template(version int) workv1.ManifestWorkSpec {
	template := workv1.ManifestWorkSpec{}
	for i := range configMaps {
		template.Workload.Manifests = append(template.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: configMap(i, version)}})
	}
	template.ManifestConfigs = []workv1.ManifestConfigOption{{
		ResourceIdentifier: workv1.ResourceIdentifier{Resource: "configmaps", Namespace: "default", Name: configMapName(0)},
		ConditionRules: []workv1.ConditionRule{{
			Type: workv1.CelConditionExpressionsType, Condition: workv1.ManifestProgressing, CelExpressions: []string{"false"},
		}},
	}}
	return template
}

// Worst returns the template of a version that costs a hub the most within its bounds: as many manifests and manifestConfigs as it
// compares, with the longest names that one comparison allows. The names match after all stars except the last. With dropping, each version
// drops the objects of the previous version, and the hub looks for the resources that they may belong to. Otherwise, it looks for the rules
// of each object.
func Worst(version int, dropping bool) workv1.ManifestWorkSpec {
	const most = 500 // The product of the two is revision.MaxConfigPairs.
	template := workv1.ManifestWorkSpec{}
	template.Workload.Manifests = append(template.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: configMap(0, version)}})
	generation, resource := 0, "things"
	if dropping {
		generation, resource = version, "others"
	}
	for i := range most - 1 {
		name := fmt.Sprintf("%s-%d-%d", strings.Repeat("b", 16), generation, i)
		raw := fmt.Appendf(nil, `{"apiVersion":"worst.example.com/v1","kind":"Thing","metadata":{"namespace":"default","name":%q}}`, name)
		template.Workload.Manifests = append(template.Workload.Manifests, workv1.Manifest{RawExtension: runtime.RawExtension{Raw: raw}})
	}
	template.ManifestConfigs = Template(version).ManifestConfigs
	for range most - 1 {
		template.ManifestConfigs = append(template.ManifestConfigs, workv1.ManifestConfigOption{
			ResourceIdentifier: workv1.ResourceIdentifier{
				Group: "worst.example.com", Resource: resource, Namespace: "*", Name: strings.Repeat("*b", 12) + "*z",
			},
			ConditionRules: []workv1.ConditionRule{{
				Type: workv1.CelConditionExpressionsType, Condition: workv1.ManifestDegraded, CelExpressions: []string{"false"},
			}},
		})
	}
	return template
}

func configMapName(i int) string { return fmt.Sprintf("settings-%d", i) }

func configMap(i, version int) []byte {
	content := corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Name: configMapName(i), Namespace: "default"},
		Data:       map[string]string{},
	}
	for line := range configMapSize / lineSize {
		content.Data[fmt.Sprintf("setting-%02d", line)] = strings.Repeat("x", lineSize-len(`"setting-00":"",`))
	}
	if i == 0 {
		content.Data["version"] = fmt.Sprint(version)
	}
	data, err := json.Marshal(content)
	if err != nil {
		panic(err) // The template has only strings.
	}
	return data
}

// Version returns the version of a work; -1 for none.
func Version(spec *workv1.ManifestWorkSpec) int {
	if len(spec.Workload.Manifests) == 0 {
		return -1
	}
	var content struct {
		Data struct {
			Version int `json:"version,string"`
		} `json:"data"`
	}
	if err := json.Unmarshal(spec.Workload.Manifests[0].Raw, &content); err != nil {
		return -1
	}
	return content.Data.Version
}
