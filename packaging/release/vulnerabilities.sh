#!/usr/bin/env bash
# Looks for known vulnerabilities that permd can reach, in Go's database. The exit
# status is that of govulncheck, or 4 if the database cannot be reached: then nothing
# was checked.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOFLAGS= GOBIN=$bin go install golang.org/x/vuln/cmd/govulncheck@v1.9.0
status=0
"$bin/govulncheck" "$@" ./cmd/permd >"$bin/out" 2>&1 || status=$?
cat "$bin/out"
if grep -q 'fetching vulnerabilities' "$bin/out"; then
  echo 'the database of vulnerabilities cannot be reached: nothing was checked' >&2
  exit 4
fi
exit "$status"
