#!/usr/bin/env bash
# Builds the programs of a release into a folder: static, for Linux on amd64 and arm64,
# with checksums, an SBOM for each and the licences of what is in them. Everything is
# built twice, in two folders and without a cache, and must come out the same.
#
#   packaging/release/build.sh [--once] [--arch "amd64 arm64"] [--cache] FOLDER
#
#   --once   build once, and do not compare
#   --cache  build with Go's cache: quicker, but a difference that lies in an object of
#            the cache does not show
#
# What is built is the last commit, not the files as they are. It needs Go, git and a C
# compiler for each architecture (Debian: gcc, gcc-aarch64-linux-gnu, libc6-dev-arm64-cross).
set -euo pipefail

usage() { sed -n '6,10s/^#  *//p' "$0" >&2; exit 2; }
arches="amd64 arm64" times="a b" cache=
while [ $# -gt 0 ]; do
  case $1 in
    --once) times=a ;;
    --cache) cache=yes ;;
    --arch) [ $# -gt 1 ] || usage; arches=$2; shift ;;
    -*) usage ;;
    *) break ;;
  esac
  shift
done
[ $# = 1 ] || usage
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/../.."

compiler() {
  case $1 in
    "$(go env GOHOSTARCH)") echo gcc ;;
    amd64) echo x86_64-linux-gnu-gcc ;;
    arm64) echo aarch64-linux-gnu-gcc ;;
    *) echo "no compiler is known for $1" >&2; return 1 ;;
  esac
}
for arch in $arches; do
  cc=$(compiler "$arch")
  command -v "$cc" >/dev/null || { echo "missing: $cc, the C compiler for $arch" >&2; exit 1; }
done

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
# Without osusergo and netgo the C library would be asked for names of users and
# hosts, which it cannot do in a static program.
tags=osusergo,netgo,sqlite_omit_load_extension
for time in $times; do
  git clone --quiet --no-hardlinks . "$work/$time/permd"
  for arch in $arches; do
    echo "building permd for $arch${cache:+ with the cache} ($time)" >&2
    (
      cd "$work/$time/permd"
      [ -n "$cache" ] || export GOCACHE=$work/$time/cache-$arch
      CGO_ENABLED=1 GOOS=linux GOARCH=$arch CC=$(compiler "$arch") GOFLAGS=-mod=readonly GOAMD64=v1 GOARM64=v8.0 \
        go build -trimpath -buildvcs=true -tags "$tags" -o "$work/permd-linux-$arch.$time" \
        -ldflags '-s -w -buildid= -linkmode external -extldflags "-static -Wl,--build-id=none"' ./cmd/permd
    )
    [ -n "$cache" ] || rm -rf "$work/$time/cache-$arch"
  done
done
for arch in $arches; do
  name=permd-linux-$arch
  if [ "$times" != a ]; then
    cmp "$work/$name.a" "$work/$name.b" || { echo "permd for $arch is not the same when it is built again" >&2; exit 1; }
    echo "permd for $arch is the same when it is built again" >&2
  fi
  cp "$work/$name.a" "$out/$name"
  (cd "$work/a/permd" && go run ./packaging/release/sbom "$out/$name") >"$out/$name.spdx.json"
done
(cd "$work/a/permd" && packaging/release/licences.sh "$out/licences")
# The checksums tell of everything that is shipped.
(cd "$out" && find . -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs -d '\n' sha256sum >"$work/sums" && mv "$work/sums" SHA256SUMS)
echo "written to $out" >&2
