#!/usr/bin/env bash
# Checks that permd and every module in it have a licence that allows it to be shipped
# under permd's own, and with a FOLDER copies the texts there.
#
#   packaging/release/licences.sh [FOLDER]
set -euo pipefail
out=${1:+$(realpath -m "$1")}
cd "$(dirname "$0")/../.."
allowed=Apache-2.0,BSD-2-Clause,BSD-3-Clause,ISC,MIT,Unicode-DFS-2016
tool=github.com/google/go-licenses@v1.6.0
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
GOFLAGS= GOBIN=$bin go install "$tool"
# The standard library has no module: it is Go's licence, BSD-3-Clause.
"$bin/go-licenses" check ./cmd/permd --allowed_licenses="$allowed" --ignore "$(go list -m)" 2>"$bin/log" || { grep -v '^W' "$bin/log" >&2; exit 1; }
if [ -n "$out" ]; then
  rm -rf "$out"
  "$bin/go-licenses" save ./cmd/permd --save_path "$out" --ignore "$(go list -m)" 2>"$bin/log" || { grep -v '^W' "$bin/log" >&2; exit 1; }
  cp LICENSE "$out/LICENSE"
  cp "$(go env GOROOT)/LICENSE" "$out/LICENSE.go" 2>/dev/null || true
fi
echo "every module has one of the licences $allowed" >&2
