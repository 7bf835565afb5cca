#!/usr/bin/env bash
# Makes the Debian and RPM packages of the programs that build.sh has made. Each is made
# twice, and must come out the same; Debian's are checked by lintian where that is installed.
#
#   packaging/release/packages.sh [OPTIONS] VERSION PROGRAMS FOLDER
#
#   --once           make each once, and do not compare
#   --format FORMAT  deb or rpm: make these packages alone
#   --settings FILE  have this file as /etc/permd/permd.toml, to try an upgrade from it
#   VERSION   of the packages, such as 0.9.0 or 0.9.0~rc1: of digits, letters, . + and ~
#   PROGRAMS  the folder of build.sh, with permd-linux-amd64, permd-linux-arm64 or both; that
#             of this machine is run to write the manual pages
#   FOLDER    where the packages are written; it is made anew
set -euo pipefail
times="a b" formats="deb rpm" settings=packaging/packages/permd.toml
while [ $# -gt 3 ]; do
  case $1 in
    --once) times=a ;;
    --format) formats=$2; shift ;;
    --settings) settings=$(realpath "$2"); shift ;;
    *) break ;;
  esac
  shift
done
[ $# = 3 ] || { sed -n '5,13s/^#  *//p' "$0" >&2; exit 2; }
[[ $1 =~ ^[0-9][0-9A-Za-z.+~]*$ ]] || { echo "the version $1 is none of a package" >&2; exit 2; }
version=$1
programs=$(realpath "$2")
rm -rf "$3"
mkdir -p "$3"
out=$(realpath "$3")
cd "$(dirname "$0")/../.."

# Pinned; a folder of its own keeps nfpm's modules out of permd's.
nfpm=2.44.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
bin=${NFPM_BIN:-$work/bin}
[ -x "$bin/nfpm" ] || GOFLAGS= GOBIN=$bin go install "github.com/goreleaser/nfpm/v2/cmd/nfpm@v$nfpm"

# All times in the packages are that of the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
time_of_commit=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)

here=$programs/permd-linux-$(go env GOHOSTARCH)
[ -x "$here" ] || { echo "missing: $here, which writes the manual pages" >&2; exit 1; }
fill() { # the program
  rm -rf "$stage"
  mkdir -p "$stage"
  install -m 755 "$1" "$stage/permd"
  "$here" generate man "$stage/man1"
  gzip -n9 "$stage"/man1/*
  "$here" generate completion "$stage/completions"
  cat >"$stage/changelog.yml" <<END
- semver: $version-1
  date: $time_of_commit
  packager: permd <permd@users.noreply.github.com>
  deb: {urgency: medium, distributions: [unstable]}
  changes: [{note: "What has changed is in CHANGELOG.md of the sources."}]
END
  gzip -n9 <CHANGELOG.md >"$stage/changelog.gz"
  cp "$settings" "$stage/permd.toml"
  mkdir "$stage/licences"
  cp LICENSE "$stage/licences/"
  # Those of the modules, which build.sh has collected.
  [ ! -d "$programs/licences" ] || cp -R "$programs/licences/." "$stage/licences/"
  find "$stage/licences" -type f -exec chmod 644 {} +
}

for program in "$programs"/permd-linux-*; do
  case $program in *.json) continue ;; esac
  arch=${program##*-}
  for format in $formats; do
    for time in $times; do
      fill "$program"
      mkdir -p "$work/$time"
      sed "s|\${STAGE}|$stage|g; s|\${ARCH}|$arch|; s|\${VERSION}|$version|" packaging/packages/nfpm.yaml >"$work/nfpm.yaml"
      "$bin/nfpm" package --config "$work/nfpm.yaml" --packager "$format" --target "$work/$time/" >"$work/log" || { cat "$work/log" >&2; exit 1; }
    done
  done
done
for package in "$work"/a/*; do
  name=$(basename "$package")
  [ "$times" = a ] || cmp "$package" "$work/b/$name" || { echo "$name is not the same when it is made again" >&2; exit 1; }
  cp "$package" "$out/"
done
if [ "$formats" = rpm ]; then
  : # lintian reads none
elif command -v lintian >/dev/null; then
  lintian --fail-on error,warning --allow-root "$out"/permd_"$version"-1_*.deb
else
  echo "missing: lintian (the packages are not checked)" >&2
fi
ls "$out"
