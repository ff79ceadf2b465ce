#!/usr/bin/env bash
# Pushes the image that `make snapshot` built, and signs it, its SBOMs and the checksums of the other files.
#
#   hack/publish.sh ghcr.io/open-cluster-management-io/work-rollback/work _output/release
#
# In a GitHub workflow with the permission id-token: write, cosign needs no key: it signs with the workflow's identity, and records that in the
# public transparency log. COSIGN_KEY names a key instead (cosign generate-key-pair), and nothing is recorded in a log. INSECURE=1 is for a
# registry without TLS. The registry's login is that of `docker login` or `crane auth login`.
set -euo pipefail

image=${1:?usage: hack/publish.sh <registry>/<name> <directory of make snapshot>}
out=${2:?usage: hack/publish.sh <registry>/<name> <directory of make snapshot>}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
if [[ ! -f ${out}/checksums.txt ]]; then
    echo "${out} holds no release: run make snapshot VERSION=... first" >&2
    exit 1
fi
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

version=$(sed -n 's/.*"org.opencontainers.image.ref.name": *"\([^"]*\)".*/\1/p' "${out}/image/index.json")
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
