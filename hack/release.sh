#!/usr/bin/env bash
# Builds a release into _output/release: ko builds the image, and goreleaser builds the other files (.goreleaser.yaml).
#
#   hack/release.sh snapshot    # needs no network
#   hack/release.sh publish     # also pushes the image, and signs it, its SBOMs and the checksums
#
# VERSION is the version of the release, such as v1.0.0. If it is empty, the build is a snapshot of the commit. All files of the release use the
# names REPOSITORY and IMAGE, which the Makefile sets. With GITHUB_TOKEN, publish creates the release on GitHub.
#
# In a GitHub workflow with the permission id-token: write, cosign needs no key: it signs with the workflow's identity, and records the
# signature in the public transparency log. If COSIGN_KEY names a key (cosign generate-key-pair), cosign uses the key, and records nothing.
set -euo pipefail

mode=${1:?usage: hack/release.sh snapshot|publish}
cd "$(dirname "${BASH_SOURCE[0]}")/.."
commit=$(git rev-parse HEAD)
export VERSION=${VERSION:-v0.0.0-snapshot.${commit:0:12}}
export REPOSITORY=${REPOSITORY:?} IMAGE=${IMAGE:?}
# The timestamp of all files, in two forms. goreleaser provides neither form in a checkout without a remote.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
COMMIT_DATE=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
export SOURCE_DATE_EPOCH COMMIT_DATE
out=_output/release inputs=_output/inputs notes=_output/release-notes.md
rm -rf "${out}" "${inputs}"
mkdir -p "${out}" "${inputs}"

heading=${VERSION}
if [[ ${VERSION} == v0.0.0-snapshot.* ]]; then
    heading=Unreleased
fi
awk -v heading="${heading}" '/^## /{inside = $2 == heading; next} inside && (NF || begun) {begun = 1; print}' CHANGELOG.md > "${notes}"
if ! grep -q '[^[:space:]]' "${notes}"; then
    echo "CHANGELOG.md has no changes under the heading \"## ${heading}\": add them, or build without VERSION" >&2
    exit 1
fi

for module in ko syft goreleaser cosign; do
    if [[ ${module} != cosign || ${mode} == publish ]]; then
        PATH="$(hack/tools/build.sh "${module}"):${PATH}"
    fi
done
reference=$(hack/image.sh "${IMAGE}" "${VERSION}")
export SYFT_CHECK_FOR_APP_UPDATE=false
for arch in amd64 arm64; do
    syft scan oci-dir:_output/image --quiet --platform "linux/${arch}" --source-name work --source-version "${VERSION}" \
        --output "cyclonedx-json=${inputs}/work_${VERSION}_linux_${arch}.cdx.json"
done
printf '\n## Image\n\n```text\n%s\n```\n\n[How to verify the image and the files](%s).\n' "${reference}" \
    "https://github.com/${REPOSITORY}/blob/${commit}/docs/releases.md#verify" >> "${notes}"
echo "${reference}" > "${inputs}/image.txt"
go run ./hack/manifests -version "${VERSION}" -image "${reference}" -out "${inputs}"

how=(--yes) registry=() insecure=()
if [[ -n ${COSIGN_KEY:-} ]]; then
    # Without a log, cosign looks up nothing in the network. Newer releases of cosign require a signing config for this.
    how+=(--key "${COSIGN_KEY}" --use-signing-config=false --tlog-upload=false)
fi
if [[ -n ${INSECURE:-} ]]; then
    registry=(--allow-insecure-registry --allow-http-registry) insecure=(--insecure)
fi
if [[ ${mode} == publish ]]; then
    crane push "${insecure[@]}" _output/image "${IMAGE}:${VERSION}" >&2
    # Signs the index and each of its images, so that a cluster can verify the image that it pulls.
    cosign sign "${how[@]}" "${registry[@]}" --recursive "${IMAGE}@${reference##*@}" >&2
    for arch in amd64 arm64; do
        digest=$(crane digest "${insecure[@]}" --platform "linux/${arch}" "${IMAGE}@${reference##*@}")
        cosign attest "${how[@]}" "${registry[@]}" --type cyclonedx --predicate "${inputs}/work_${VERSION}_linux_${arch}.cdx.json" \
            "${IMAGE}@${digest}" >&2
    done
fi

# goreleaser builds a snapshot unless it publishes to GitHub. A release on GitHub requires a clean checkout of the tag.
kind=(--release-notes "${notes}")
if [[ ${mode} != publish ]]; then
    kind=(--snapshot --skip=sign)
elif [[ -z ${GITHUB_TOKEN:-} ]]; then
    kind=(--snapshot)
fi
COSIGN_FLAGS="${how[*]}" GORELEASER_CURRENT_TAG=${VERSION} goreleaser release --clean "${kind[@]}" >&2
cp "${inputs}"/* _output/goreleaser/krew/mwrs.yaml "${notes}" "${out}"
find _output/goreleaser -maxdepth 1 -type f \( -name 'kubectl-mwrs_*' -o -name 'checksums.txt*' \) -exec cp {} "${out}" \;
cp -R _output/image "${out}"
echo "${reference}"
