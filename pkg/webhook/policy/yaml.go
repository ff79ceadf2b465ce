package policy

import (
	"bytes"

	"sigs.k8s.io/yaml"
)

const header = `# The rejections and warnings from an API server about ManifestWorkReplicaSets: see docs/webhook.md. Made by "make generate" from the table in
# pkg/webhook/rule: don't edit.
`

// YAML returns the file of deploy/ with both policies and their bindings.
func YAML() ([]byte, error) {
	out := bytes.NewBufferString(header)
	for i, policy := range []Policy{Refusals(), Warnings()} {
		for j, object := range []any{policy.ValidatingAdmissionPolicy, policy.Binding} {
			data, err := yaml.Marshal(object)
			if err != nil {
				return nil, err
			}
			if i+j > 0 {
				out.WriteString("---\n")
			}
			out.Write(bytes.TrimSuffix(data, []byte("status: {}\n"))) // Only an API server writes the status.
		}
	}
	return out.Bytes(), nil
}
