#!/usr/bin/env bash
# Creates a module file that builds this project against a checkout of OCM instead of the release that go.mod names, and prints the GOFLAGS
# that use it:
#   hack/link-ocm.sh CHECKOUT DIRECTORY
# It writes only to the directory: a copy of the checkout, and the module file that names the copy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checkout=${1:?name a checkout of OCM}
directory=${2:?name a directory for the copy}
[[ -f $checkout/go.mod ]] && grep -qx 'module open-cluster-management.io/ocm' "$checkout/go.mod" \
	|| { echo "$checkout is not a checkout of open-cluster-management.io/ocm: name one" >&2; exit 2; }

# A copy without the vendor folder. In a replaced module, Go uses the vendor folder as a source, and then reports that
# it is inconsistent.
rm -rf "$directory"
mkdir -p "$directory/src"
directory=$(cd "$directory" && pwd)
tar -C "$checkout" --exclude=./vendor --exclude=./.git --exclude=./_output -cf - . | tar -C "$directory/src" -xf -
cp go.mod go.sum "$directory"
go mod edit -replace="open-cluster-management.io/ocm=$directory/src" "$directory/go.mod"
# With -mod=mod, the go command adds the requirements of this release to the module file.
flags="-modfile=$directory/go.mod -mod=mod"
linked=$(GOFLAGS=$flags go list -m -f '{{with .Replace}}{{.Path}}{{end}}' open-cluster-management.io/ocm)
[[ $linked == "$directory/src" ]] || { echo "the build links $linked instead of the copy of $checkout" >&2; exit 1; }
echo "$flags"
