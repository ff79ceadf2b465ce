#!/usr/bin/env bash
# Generates what follows from the Go types in pkg/apis (deepcopy, CRD, clientset and the reference of the fields), and the admission
# policies from the table in pkg/webhook/rule.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."
module=$(go list -m)
header=hack/boilerplate.go.txt
apis="${module}/pkg/apis"
client="${module}/pkg/client"
crds=deploy/crds
tools=$(hack/tools/build.sh codegen)

"${tools}/controller-gen" object:headerFile="${header}" paths=./pkg/apis/...

work=$(mktemp -d)
trap 'rm -rf "${work}"' EXIT
"${tools}/controller-gen" crd:crdVersions=v1 paths=./pkg/apis/... output:crd:dir="${work}"
# controller-gen names its files <group>_<plural>.yaml. OCM's bundles name a CRD <group>_<plural>.crd.yaml, and tools
# that replace upstream's file with this one look for that name.
rm -f "${crds}"/*.crd.yaml
for file in "${work}"/*.yaml; do
    mv "${file}" "${crds}/$(basename "${file}" .yaml).crd.yaml"
done
chmod 0644 "${crds}"/*.crd.yaml

# Generated aside and swapped in, so that the files of a removed type don't stay behind, and a failure half-way
# leaves the old ones.
"${tools}/client-gen" \
    --go-header-file "${header}" \
    --input-base "${apis}" --input work/v1alpha1 \
    --clientset-name versioned \
    --output-dir "${work}/clientset" --output-pkg "${client}/clientset"
rm -rf pkg/client
mkdir -p pkg/client
mv "${work}/clientset" pkg/client/

go run ./hack/policies > "${work}/policies.yaml"
install -m 0644 "${work}/policies.yaml" deploy/base/policy-manifestworkreplicasets.yaml

"${tools}/crd-ref-docs" --log-level=ERROR --source-path=pkg/apis --config=hack/fields/config.yaml --templates-dir=hack/fields \
    --renderer=markdown --output-path="${work}/fields.md"
install -m 0644 "${work}/fields.md" docs/reference/fields.md
