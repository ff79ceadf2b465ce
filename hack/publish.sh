#!/usr/bin/env bash
# Pushes the image that `make snapshot` built, and signs it, its SBOMs and the checksums of the other files.
#
#   hack/publish.sh ghcr.io/open-cluster-management-io/work-rollback/work _output/release v1.2.3
#
# It trusts neither the version nor the names of files that the build wrote: the build has no right to publish, and this script may be run with
# the rights to publish any release.
#
# In a GitHub workflow with the permission id-token: write, cosign needs no key: it signs with the workflow's identity, and records that in the
# public transparency log. COSIGN_KEY names a key instead (cosign generate-key-pair), and nothing is recorded in a log. INSECURE=1 is for a
# registry without TLS. The registry's login is that of `docker login` or `crane auth login`.
set -euo pipefail

usage="usage: hack/publish.sh <registry>/<name> <directory of make snapshot> <version>"
image=${1:?${usage}}
out=${2:?${usage}}
version=${3:?${usage}}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ ! -f ${out}/checksums.txt ]]; then
    echo "${out} holds no release: run make snapshot VERSION=... first" >&2
    exit 1
fi
built=$(sed -n 's/.*"org.opencontainers.image.ref.name": *"\([^"]*\)".*/\1/p' "${out}/image/index.json")
if [[ ${built} != "${version}" ]]; then
    echo "${out} holds $(printf %q "${built}"), and not ${version}: run make snapshot VERSION=${version}" >&2
    exit 1
fi
# The names become arguments of commands.
while read -r _ name || [[ -n ${name:-} ]]; do
    if [[ ! ${name} =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ || ! -f ${out}/${name} || -L ${out}/${name} ]]; then
        echo "${out}/checksums.txt names $(printf %q "${name}"), which is not a file of the release" >&2
        exit 1
    fi
done < "${out}/checksums.txt"
crane="$("${root}/hack/tools/build.sh" image)/crane"
cosign="$("${root}/hack/tools/build.sh" cosign)/cosign"

how=(--yes)
if [[ -n ${COSIGN_KEY:-} ]]; then
    # Without a log there is nothing to look up in the network either. Newer releases of cosign want a signing config for that.
    how+=(--key "${COSIGN_KEY}" --use-signing-config=false --tlog-upload=false)
fi
registry=() insecure=()
if [[ -n ${INSECURE:-} ]]; then
    registry=(--allow-insecure-registry --allow-http-registry) insecure=(--insecure)
fi

pushed=$("${crane}" "${insecure[@]}" push "${out}/image" "${image}:${version}")
if [[ ${pushed##*@} != "$(cat "${out}/image-digest.txt")" ]]; then
    echo "${image}:${version} has the digest ${pushed##*@}, and not that of ${out}/image-digest.txt: run make snapshot again" >&2
    exit 1
fi
# The index and each of its images, so that a cluster may verify what it pulls.
"${cosign}" sign "${how[@]}" "${registry[@]}" --recursive "${image}@${pushed##*@}" >&2
for architecture in amd64 arm64; do
    digest=$("${crane}" "${insecure[@]}" digest --platform "linux/${architecture}" "${image}@${pushed##*@}")
    "${cosign}" attest "${how[@]}" "${registry[@]}" --type cyclonedx --predicate "${out}/work_${version}_linux_${architecture}.cdx.json" \
        "${image}@${digest}" >&2
done
"${cosign}" sign-blob "${how[@]}" --bundle "${out}/checksums.txt.sigstore.json" "${out}/checksums.txt" >/dev/null
echo "${image}:${version}@${pushed##*@}"
