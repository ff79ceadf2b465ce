#!/usr/bin/env bash
# Builds the hub's image for linux/amd64 and linux/arm64 into the OCI layout _output/image, and prints its reference. It needs no container
# engine, and no network without --push.
#
#   REPOSITORY=example/work-rollback hack/image.sh registry.example.com/work v1.0.0 [--push|--check]
#
# --push uses the login of `docker login` or `crane auth login`. --check only checks the arguments. REPOSITORY is the GitHub repository that the
# labels name. Set INSECURE=1 for a registry without TLS.
set -euo pipefail

usage="usage: hack/image.sh <registry>/<name> <version> [--push|--check]"
image=${1:?${usage}}
export VERSION=${2:?${usage}}
action=${3:-}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ -n ${action} && ${action} != --push && ${action} != --check ]]; then
    echo "${usage}" >&2
    exit 1
fi
# A semantic version without build metadata, which an image tag cannot have.
number='(0|[1-9][0-9]*)'
identifier="(${number}|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
if [[ ! ${VERSION} =~ ^v${number}\.${number}\.${number}(-${identifier}(\.${identifier})*)?$ ]]; then
    echo "$(printf %q "${VERSION}") is not a version: use v<major>.<minor>.<patch>, or add a pre-release, as in v1.2.3-rc.1" >&2
    exit 1
fi
if [[ ! ${image} =~ ^[a-z0-9][a-z0-9.-]*(:[0-9]+)?(/[a-z0-9][a-z0-9._-]*)+$ ]]; then
    echo "$(printf %q "${image}") is not an image name: use <registry>/<name>, without a tag" >&2
    exit 1
fi
if [[ ${action} == --check ]]; then
    exit 0
fi
tools=$(hack/tools/build.sh ko)

# ko reads the base image from its cache if the cache has its digest. hack/base is an empty image, except for a link from /work to /ko-app/work,
# where ko puts the binary. `kubectl exec ... -- /work` uses the link: in OCM's own image, the binary is /work.
KOCACHE=$(mktemp -d)
trap 'rm -rf "${KOCACHE}"' EXIT
cp -R hack/base "${KOCACHE}/img"
digest() { sed -n 's/.*"digest": "\(sha256:[0-9a-f]*\)".*/\1/p' "$1/index.json" | head -n 1; }
KO_DEFAULTBASEIMAGE=localhost/scratch@$(digest hack/base)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export KOCACHE KO_DEFAULTBASEIMAGE SOURCE_DATE_EPOCH KO_DOCKER_REPO=${image}

source=https://github.com/${REPOSITORY:?}
described=()
for label in "title=work" "version=${VERSION}" "revision=$(git rev-parse HEAD)" "source=${source}" "licenses=Apache-2.0" \
    "documentation=${source}/blob/main/docs/install.md"; do
    described+=(--image-label "org.opencontainers.image.${label}" --image-annotation "org.opencontainers.image.${label}")
done
rm -rf _output/image
# The user is a number, because the operator's Deployments require a non-root user, and a kubelet can't look up a name in this image.
"${tools}/ko" build ./cmd/work --bare --push=false --oci-layout-path=_output/image --platform=linux/amd64,linux/arm64 \
    --image-user=65532:65532 --sbom=none "${described[@]}" >&2

reference="${image}:${VERSION}@$(digest _output/image)"
if [[ ${action} == --push ]]; then
    "${tools}/crane" push ${INSECURE:+--insecure} _output/image "${image}:${VERSION}" >&2
fi
echo "${reference}"
