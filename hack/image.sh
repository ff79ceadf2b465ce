#!/usr/bin/env bash
# Builds the container image of the work hub for Linux.
#
#   hack/image.sh registry.example.com/work:v1
#
# ARCH is the machine's (amd64, arm64 ...), by default this one's. ENGINE is what builds the image, by default the first of podman,
# docker and buildah that is in PATH. VERSION is the release that the binary is, such as v1.2.3; by default what the Go tool knows of the checkout.
set -euo pipefail

image=${1:?usage: hack/image.sh <registry>/<name>:<tag>}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

engine=${ENGINE:-}
for candidate in podman docker buildah; do
    if [[ -z ${engine} ]] && command -v "${candidate}" >/dev/null; then
        engine=${candidate}
    fi
done
if [[ -z ${engine} ]]; then
    echo "Nothing here builds images: install podman, docker or buildah, or name with ENGINE=... what has a \"build\" like theirs." >&2
    exit 1
fi

if [[ -n ${VERSION:-} && ! ${VERSION} =~ ^v?[0-9]+\.[0-9]+\.[0-9]+ ]]; then
    echo "VERSION=${VERSION} is no semantic version: the hub would take itself for a development build, and take no snapshots. Set one such as v1.2.3." >&2
    exit 1
fi

arch=${ARCH:-$(go env GOARCH)}
context="${root}/_output/image/${arch}"
mkdir -p "${context}"
# Static, because the image holds nothing else, without what only a debugger reads, and without paths of this machine: the same source gives the
# same binary.
linker='-s -w'
if [[ -n ${VERSION:-} ]]; then
    linker+=" -X github.com/open-cluster-management-io/work-rollback/pkg/version.gitVersion=${VERSION}"
fi
(cd "${root}" && CGO_ENABLED=0 GOOS=linux GOARCH="${arch}" go build -trimpath -ldflags="${linker}" -o "${context}/work" ./cmd/work)
if ! "${engine}" build --platform "linux/${arch}" --file "${root}/deploy/Containerfile" --tag "${image}" "${context}"; then
    echo "${engine} could not build ${image}: it says above why, or it needs an engine that is running. The binary is in ${context}." >&2
    exit 1
fi
echo "Built ${image}. Push it, and name it under \"images\" in deploy/hub/kustomization.yaml."
