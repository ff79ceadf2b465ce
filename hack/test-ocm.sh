#!/usr/bin/env bash
# Builds this project against a checkout of OCM instead of the release that go.mod names, and runs the tests that meet OCM:
#   hack/test-ocm.sh CHECKOUT [PACKAGE...]
# All that it writes is in _output/ocm: a copy of the checkout, and a module file that names the copy. RUN narrows the tests by name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD

checkout=${1:?name a checkout of OCM: make test-ocm OCM=<directory>}
shift
[[ -f $checkout/go.mod ]] && grep -qx 'module open-cluster-management.io/ocm' "$checkout/go.mod" \
	|| { echo "$checkout is no checkout of open-cluster-management.io/ocm: name one" >&2; exit 2; }
release=$(git -C "$checkout" describe --tags --always --dirty 2>/dev/null || echo 'a directory without git')
packages=("$@")
[[ $# -gt 0 ]] || packages=(
	./deploy ./cmd/work ./pkg/hub/... ./pkg/webhook/... ./pkg/cloudevents/... ./internal/sandbox/... ./test/simulation ./test/webhook ./test/operator/... ./test/integration
)

# They are built from modules of their own, by the module files that git has.
go run ./cmd/sandbox tools

tracked() { git status --porcelain --untracked-files=no; git diff HEAD | cksum; }
before=$(tracked)

# A copy, because Go takes a vendor folder in a replaced module for a part of its sources only to find it inconsistent.
rm -rf _output/ocm
mkdir -p _output/ocm/src
tar -C "$checkout" --exclude=./vendor --exclude=./.git --exclude=./_output -cf - . | tar -C _output/ocm/src -xf -
cp go.mod go.sum _output/ocm
go mod edit -replace="open-cluster-management.io/ocm=$root/_output/ocm/src" _output/ocm/go.mod
# In GOFLAGS, because the tests run the go command too. -mod=mod lets the module file take up what this release asks for.
export GOFLAGS="-modfile=$root/_output/ocm/go.mod -mod=mod"
linked=$(go list -m -f '{{with .Replace}}{{.Path}}{{end}}' open-cluster-management.io/ocm)
[[ $linked == "$root/_output/ocm/src" ]] || { echo "the build links $linked instead of the copy of $checkout" >&2; exit 1; }

echo "OCM $release: building"
go build ./...
go vet "${packages[@]}"
echo "OCM $release: testing ${packages[*]}${RUN:+ (only $RUN)}"
status=0
go test -timeout 40m ${RUN:+-run "$RUN"} "${packages[@]}" || status=$?

if [[ $(tracked) != "$before" ]]; then
	echo "OCM $release: tracked files changed:" >&2
	git status --porcelain --untracked-files=no >&2
	exit 1
fi
[[ $status == 0 ]] || { echo "OCM $release: FAILED" >&2; exit "$status"; }
echo "OCM $release: passed; no tracked file changed"
