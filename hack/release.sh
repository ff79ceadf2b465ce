#!/usr/bin/env bash
# Builds a release: ko builds the image, and goreleaser builds the other files (.goreleaser.yaml).
#
#   hack/release.sh snapshot    # needs no network
#   hack/release.sh push        # also pushes the image, and signs it, its SBOMs and the checksums
#   hack/release.sh publish     # also creates the release on GitHub, as a draft
#
# VERSION is the version of the release, such as v1.0.0. If it is empty, the build is a snapshot of the commit. All files of the release use the
# names REPOSITORY and IMAGE, which the Makefile sets. OUT is the directory of the files, by default _output/release. publish requires VERSION, a
# clean checkout of that tag, and GITHUB_TOKEN.
#
# In a GitHub workflow with the permission id-token: write, cosign needs no key: it signs with the workflow's identity, and records the
# signature in the public transparency log. If COSIGN_KEY names a key (cosign generate-key-pair), cosign uses the key, and records nothing.
set -euo pipefail

usage="usage: hack/release.sh snapshot|push|publish"
mode=${1:?${usage}}
fail() {
    echo "$*" >&2
    exit 1
}
[[ ${mode} == snapshot || ${mode} == push || ${mode} == publish ]] || fail "${usage}"
out=${OUT:-}
if [[ -n ${out} && ${out} != /* ]]; then
    out=${PWD}/${out}
fi
if [[ -n $(ls -A "${out}" 2> /dev/null) && ! -f ${out}/image.txt ]]; then
    fail "${out} has files that are not part of a release: set OUT to another directory"
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=${out:-_output/release}
export REPOSITORY=${REPOSITORY:?} IMAGE=${IMAGE:?}

if [[ ${mode} != snapshot && ${GITHUB_ACTIONS:-} != true && ${IMAGE} == "ghcr.io/$(tr A-Z a-z <<< "${REPOSITORY}")/work" ]]; then
    fail "only the release workflow pushes ${IMAGE}: set IMAGE=<registry>/<name>"
fi
if [[ ${mode} == publish ]]; then
    [[ -n ${VERSION:-} ]] || fail "publish needs the version of the release: set VERSION, for example to v1.0.0"
    [[ -n ${GITHUB_TOKEN:-} ]] || fail "publish creates the release on GitHub: set GITHUB_TOKEN, or use push"
fi
commit=$(git rev-parse HEAD)
export VERSION=${VERSION:-v0.0.0-snapshot.g${commit:0:12}}
hack/image.sh "${IMAGE}" "${VERSION}" --check
if [[ ${mode} == publish ]]; then
    # goreleaser makes the same checks, but only after the image is pushed.
    [[ -z $(git status --porcelain) ]] || fail "the checkout has changes that ${VERSION} does not have: commit or remove them"
    git tag --points-at HEAD | grep -Fxq -e "${VERSION}" || fail "the checkout is not the tag ${VERSION}: check out the tag"
fi

# The timestamp of all files, in two forms. goreleaser provides neither form in a checkout without a remote.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
COMMIT_DATE=$(TZ=UTC git log -1 --date=format-local:%Y-%m-%dT%H:%M:%SZ --format=%cd)
export SOURCE_DATE_EPOCH COMMIT_DATE
inputs=_output/inputs notes=_output/release-notes.md
rm -rf "${out}" "${inputs}"
mkdir -p "${out}" "${inputs}"

heading=${VERSION}
if [[ ${VERSION} == v0.0.0-snapshot.* ]]; then
    heading=Unreleased
fi
hack/notes.sh "${heading}" < CHANGELOG.md > "${notes}"

for module in ko syft goreleaser cosign; do
    if [[ ${module} != cosign || ${mode} != snapshot ]]; then
        PATH="$(hack/tools/build.sh "${module}"):${PATH}"
    fi
done
pushed=()
if [[ ${mode} != snapshot ]]; then
    pushed=(--push)
fi
reference=$(hack/image.sh "${IMAGE}" "${VERSION}" "${pushed[@]}")
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
    # Without the log, cosign needs no network access to look anything up. Newer releases of cosign require a signing config for this.
    how+=(--key "${COSIGN_KEY}" --use-signing-config=false --tlog-upload=false)
fi
if [[ -n ${INSECURE:-} ]]; then
    registry=(--allow-insecure-registry --allow-http-registry) insecure=(--insecure)
fi
if [[ ${mode} != snapshot ]]; then
    # Signs the index and each of its images, so that a cluster can verify the image that it pulls.
    cosign sign "${how[@]}" "${registry[@]}" --recursive "${IMAGE}@${reference##*@}" >&2
    for arch in amd64 arm64; do
        digest=$(crane digest "${insecure[@]}" --platform "linux/${arch}" "${IMAGE}@${reference##*@}")
        cosign attest "${how[@]}" "${registry[@]}" --type cyclonedx --predicate "${inputs}/work_${VERSION}_linux_${arch}.cdx.json" \
            "${IMAGE}@${digest}" >&2
    done
fi

# goreleaser publishes to GitHub unless it builds a snapshot.
case ${mode} in
snapshot) kind=(--snapshot --skip=sign) ;;
push) kind=(--snapshot) ;;
publish) kind=(--release-notes "${notes}") ;;
esac
COSIGN_FLAGS=$(printf '%q ' "${how[@]}") GORELEASER_CURRENT_TAG=${VERSION} goreleaser release --clean "${kind[@]}" >&2
cp "${inputs}"/* _output/goreleaser/krew/mwrs.yaml "${notes}" "${out}"
find _output/goreleaser -maxdepth 1 -type f \( -name 'kubectl-mwrs_*' -o -name 'checksums.txt*' \) -exec cp {} "${out}" \;
cp -R _output/image "${out}"
echo "${reference}"
