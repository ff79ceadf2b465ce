#!/usr/bin/env bash
# Applies this project's patch for OCM's own tree to a copy of a checkout, builds OCM's `work` from it, and runs tests against that binary:
#
#   hack/ocm/patch.sh <a checkout of OCM v1.3.1>
#
# The copy is in _output/patch-ocm; the checkout stays as it is. FOCUS narrows OCM's tests (a regular expression of ginkgo), RUN this project's
# (one of `go test`). docs/contributing/upstream.md describes the patch.
set -euo pipefail

checkout=${1:?usage: hack/ocm/patch.sh <a checkout of OCM v1.3.1>}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
patch=${root}/hack/ocm/v1.3.1.patch
module=github.com/open-cluster-management-io/work-rollback
out=${root}/_output/patch-ocm
tree=${out}/tree

if [[ ! -f ${checkout}/pkg/work/hub/manager.go || ! -d ${checkout}/vendor ]]; then
    echo "${checkout} is not a checkout of OCM: it has no pkg/work/hub/manager.go, or no vendor folder" >&2
    exit 1
fi

rm -rf "${out}"
mkdir -p "${tree}"
tar -C "${checkout}" --exclude=./.git --exclude=./_output -cf - . | tar -C "${tree}" -xf -
patch --directory="${tree}" --strip=1 --forward --fuzz=0 <"${patch}"

# The vendor folder does not contain this module. The module cache replaces it, except for one module that the checksum
# database does not know. For that module, OCM's own copy is used.
mkdir -p "${out}/about-api"
cp -R "${tree}/vendor/sigs.k8s.io/about-api/." "${out}/about-api"
printf 'module sigs.k8s.io/about-api\n\ngo 1.24.0\n' >"${out}/about-api/go.mod"
# OCM's tests read the CRDs of its API in ./vendor.
crds=vendor/open-cluster-management.io/api
(cd "${tree}" && find "${crds}/work" "${crds}/cluster" -name '*.crd.yaml' -print0 | tar --null --files-from=- -cf -) | (mkdir -p "${out}/run" && tar -C "${out}/run" -xf -)
cp "${tree}"/manifests/cluster-manager/hub/crds/*manifestworkreplicasets.crd.yaml "${out}/run/${crds}/work/v1alpha1/"
rm -rf "${tree}/vendor"

export GOFLAGS='-mod=mod -buildvcs=false' CGO_ENABLED=0
cd "${tree}"
go mod edit -replace="${module}=${root}" -replace="sigs.k8s.io/about-api=${out}/about-api"
echo 'Building OCM'\''s work hub with this project'\''s controller ...'
go build -o "${out}/work" ./cmd/work
go vet ./pkg/work/hub
go test -c -o "${out}/run/work-integration.test" ./test/integration/work
unset GOFLAGS CGO_ENABLED

cd "${root}"
mkdir -p "${out}/assets"
for tool in $(go run ./cmd/sandbox tools); do
    ln -sf "${tool}" "${out}/assets/"
done

# These two tests compare the whole summary with one in which desiredTotal (and once updated) is 0. OCM's hub never sets
# the two counts; this project's hub does.
skipped='should create/update/delete successfully|status should update when manifestwork status change'
echo 'Running OCM'\''s own tests of ManifestWorkReplicaSets and of the collection of completed works ...'
(cd "${out}/run" && KUBEBUILDER_ASSETS=${out}/assets ./work-integration.test \
    -ginkgo.focus="${FOCUS:-ManifestWorkReplicaSet|ManifestWork TTL}" -ginkgo.skip="${skipped}" -ginkgo.no-color -ginkgo.succinct)

# Tests of rollout, abort, undo, deletion, history, takeover, works on another API server, and an API server that is cut
# off. RUN=. runs the others, too. The tests below are always skipped: they need the hub in their own process (its
# clock, its requests, its metrics), a flag that OCM's binary does not have, or a broker, with which OCM's own
# controller runs (docs/contributing/upstream.md).
run='^Test(Abort|Undo|HistoryLimit|Retry|WorksOnAnother|CutOff|TakingOver|Deletion|LabelsAre|Progressive|FirstRollout)'
without='^Test(CloudEvents|.*ClocksApart|.*WrongClock|KilledAfterEveryWrite|Events|MachineSuspended|OtherHubFinishes|PrometheusReads'
without+='|CompletedWorksAreCollected|ControllerInsideOCMsManager|HubGoesUpAndDown|VersionsKilled|LeaseBetweenVersions|DowngradeIsRefused|VersionNeedsARight)'
echo 'Running this project'\''s integration tests against that binary ...'
WORK_BINARY=${out}/work go test -count=1 -timeout 40m ./test/integration -run "${RUN:-${run}}" -skip "${without}"
