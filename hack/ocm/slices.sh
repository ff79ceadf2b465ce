#!/usr/bin/env bash
# Applies the slices that OCM could take (docs/contributing/upstream.md) to a copy of a checkout, one on top of the other:
#
#   hack/ocm/slices.sh <a checkout of OCM v1.3.1>
#
# After each slice, it runs OCM's unit tests of the work hub. After the last, it runs OCM's integration tests of ManifestWorkReplicaSets, and
# those that the slices add. The copy is in _output/slices-ocm; the checkout stays as it is. FOCUS narrows the integration tests (a regular
# expression of ginkgo).
set -euo pipefail

checkout=${1:?usage: hack/ocm/slices.sh <a checkout of OCM v1.3.1>}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=${root}/_output/slices-ocm

if [[ ! -f ${checkout}/pkg/work/hub/manager.go || ! -d ${checkout}/vendor ]]; then
    echo "${checkout} is not a checkout of OCM: it has no pkg/work/hub/manager.go, or no vendor folder" >&2
    exit 1
fi

rm -rf "${out}"
mkdir -p "${out}/tree" "${out}/assets"
tar -C "${checkout}" --exclude=./.git --exclude=./_output -cf - . | tar -C "${out}/tree" -xf -
cd "${root}"
for tool in $(go run ./cmd/sandbox tools); do
    ln -sf "${tool}" "${out}/assets/"
done

export GOFLAGS="${GOFLAGS:-} -mod=vendor -trimpath -buildvcs=false" CGO_ENABLED=0 KUBEBUILDER_ASSETS=${out}/assets
cd "${out}/tree"
for slice in "${root}"/hack/ocm/slices/*.patch; do
    echo "Applying ${slice##*/}, and running OCM's unit tests of the work hub ..."
    patch --strip=1 --forward --fuzz=0 <"${slice}"
    go build ./pkg/work/hub/...
    go test ./pkg/work/hub/...
done

echo 'Running OCM'\''s integration tests of ManifestWorkReplicaSets ...'
go test -c -o "${out}/work-integration.test" ./test/integration/work
"${out}/work-integration.test" -ginkgo.focus="${FOCUS:-ManifestWorkReplicaSet|ManifestWork TTL}" -ginkgo.no-color -ginkgo.succinct
