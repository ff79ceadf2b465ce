#!/usr/bin/env bash
# Makes a module file that builds this project against a checkout of OCM instead of the release that go.mod names, and prints the GOFLAGS
# that use it:
#   hack/link-ocm.sh CHECKOUT DIRECTORY
# All that it writes is in the directory: a copy of the checkout, and the module file that names the copy.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checkout=${1:?name a checkout of OCM}
directory=${2:?name a directory for the copy}
[[ -f $checkout/go.mod ]] && grep -qx 'module open-cluster-management.io/ocm' "$checkout/go.mod" \
	|| { echo "$checkout is no checkout of open-cluster-management.io/ocm: name one" >&2; exit 2; }

# A copy, because Go takes a vendor folder in a replaced module for a part of its sources only to find it inconsistent.
rm -rf "$directory"
mkdir -p "$directory/src"
directory=$(cd "$directory" && pwd)
tar -C "$checkout" --exclude=./vendor --exclude=./.git --exclude=./_output -cf - . | tar -C "$directory/src" -xf -
cp go.mod go.sum "$directory"
go mod edit -replace="open-cluster-management.io/ocm=$directory/src" "$directory/go.mod"
# -mod=mod lets the module file take up what this release asks for.
flags="-modfile=$directory/go.mod -mod=mod"
linked=$(GOFLAGS=$flags go list -m -f '{{with .Replace}}{{.Path}}{{end}}' open-cluster-management.io/ocm)
[[ $linked == "$directory/src" ]] || { echo "the build links $linked instead of the copy of $checkout" >&2; exit 1; }
echo "$flags"
