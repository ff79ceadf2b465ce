#!/usr/bin/env bash
# Builds this project against a checkout of OCM instead of the release that go.mod names, and runs the tests that involve OCM:
#   hack/test-ocm.sh CHECKOUT [PACKAGE...]
# It writes only to _output/ocm: a copy of the checkout, and a module file that names the copy. RUN selects tests by name.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checkout=${1:?name a checkout of OCM: make test-ocm OCM=<directory>}
shift
release=$(git -C "$checkout" describe --tags --always --dirty 2>/dev/null || echo 'a directory without git')
packages=("$@")
[[ $# -gt 0 ]] || packages=(
	./deploy ./cmd/work ./pkg/hub/... ./pkg/webhook/... ./pkg/cloudevents/... ./internal/sandbox/... ./test/simulation ./test/webhook ./test/operator/... ./test/integration
)

# The tools are built from their own modules, with the module files in git.
go run ./cmd/sandbox tools

tracked() { git status --porcelain --untracked-files=no; git diff HEAD | cksum; }
before=$(tracked)

# In GOFLAGS, because the tests run the go command too.
GOFLAGS=$(hack/link-ocm.sh "$checkout" _output/ocm)
export GOFLAGS

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
