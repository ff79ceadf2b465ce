#!/usr/bin/env bash
# Prints the changes to a version. It reads CHANGELOG.md from its standard input.
#
#   hack/notes.sh v1.0.0 < CHANGELOG.md
#
# The heading of a version is "## v1.0.0" or "## v1.0.0 - <date>". The heading of unreleased changes is "## Unreleased".
set -euo pipefail

heading=${1:?usage: hack/notes.sh <version>|Unreleased}
notes=$(awk -v heading="${heading}" '/^## /{inside = $2 == heading; next} inside && (NF || begun) {begun = 1; print}')
if [[ -z ${notes} ]]; then
    echo "CHANGELOG.md has no changes under the heading \"## ${heading}\": add them, or build without VERSION" >&2
    exit 1
fi
echo "${notes}"
