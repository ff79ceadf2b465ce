#!/usr/bin/env bash
# Runs every fuzz target for the given time, one after the other: Go fuzzes one at a time.
# Usage: hack/fuzz.sh 1m [package ...]
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:?how long each target runs, such as 1m}
shift
[[ $# -gt 0 ]] || set -- ./pkg/...

log=$(mktemp)
trap 'rm -f "$log"' EXIT
for package in $(go list "$@"); do
	listed=$(go test -list '^Fuzz' "$package") # A package that does not build ends this.
	for target in $(grep '^Fuzz' <<<"$listed" || true); do
		echo "$package $target"
		if ! go test "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" 2>&1 | tee "$log"; then
			# If the time ends while a target is busy, Go reports a failure. If the target found an error, the output names the
			# input.
			grep -q '^ *context deadline exceeded$' "$log" && ! grep -q 'Failing input written' "$log" || exit 1
		fi
	done
done
