#!/usr/bin/env bash
# Builds every tool that a module under hack/tools pins and prints the directory that holds the binaries.
#
#   hack/tools/build.sh codegen
#   hack/tools/build.sh codegen --built    # builds nothing, and fails if that directory is not there
#
# The directory is named after what goes into the build, so an unchanged pin is never built twice and a
# changed one is never mistaken for the old. A module may also contain its own program.
set -euo pipefail
shopt -s nullglob

name=${1:?usage: hack/tools/build.sh <module under hack/tools> [--built]}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
module="${root}/hack/tools/${name}"

# GOFLAGS may ask for vendoring, which the tool modules don't have. GOOS and GOARCH may be set for the product.
export GOFLAGS=-mod=readonly GOOS= GOARCH= CGO_ENABLED=0
key=$({ go version; cat "${module}/go.mod" "${module}/go.sum" "${module}"/*.go; } | git hash-object --stdin | cut -c1-12)
out="${root}/_output/tools/${name}-${key}"

if [[ ${2:-} == --built ]]; then
    [[ -d ${out} ]] || exit 1
elif [[ ! -d ${out} ]]; then
    echo "building the tools of hack/tools/${name} (once for each version)" >&2
    # Built aside and moved, so that an interrupted build leaves nothing that looks finished.
    mkdir -p "${root}/_output/tools"
    tmp=$(mktemp -d "${root}/_output/tools/.${name}.XXXXXX")
    trap 'rm -rf "${tmp}"' EXIT
    (cd "${module}" && go build -o "${tmp}/bin/" tool) >&2
    mv "${tmp}/bin" "${out}" 2>/dev/null || [[ -d ${out} ]]
fi
echo "${out}"
