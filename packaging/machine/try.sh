#!/usr/bin/env bash
# Installs, uses, upgrades and removes the Debian and RPM packages on a machine of its own: a
# Debian in a folder, booted with a systemd of its own by systemd-nspawn. Each RPM package is
# installed by rpm there, after the Debian one was purged, with its scripts and systemd's presets
# as on a system of RPM packages; that the names in its Requires are packages of such a system
# needs one of those.
#
#   packaging/machine/try.sh OLD NEW [FOLDER]
#   packaging/machine/try.sh --prepare FOLDER
#
#   OLD, NEW   folders of packages.sh with a Debian and an RPM package of this architecture:
#              what is installed first, and what it is upgraded to. OLD has settings of its own
#              (--settings packaging/machine/older.toml)
#   FOLDER     where the Debian is kept for the next time; without it, it is made by debootstrap
#              each time, which needs a mirror of Debian
#   --prepare  only make it, and see whether a container starts here
#
# It needs root, debootstrap and systemd-nspawn (Debian: debootstrap, systemd-container).
# What is tried is in the folder inside; the exit code is 0 if all of it holds.
set -euo pipefail
[ $# = 2 ] || [ $# = 3 ] || { sed -n '8,17s/^#  *//p' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "it needs root" >&2; exit 1; }
for tool in debootstrap systemd-nspawn; do
  command -v "$tool" >/dev/null || { echo "missing: $tool" >&2; exit 1; }
done
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ "$1" = --prepare ]; then
  base=$2
else
  base=${3:-$work/base}
fi
included=systemd,dbus,jq,rpm
# One makes it at a time; what is mounted there by debootstrap is never removed with it.
mkdir -p "$base"
exec 9>"$base/lock"
flock 9
if [ "$(cat "$base/complete" 2>/dev/null)" != "$included" ]; then
  rm -rf --one-file-system "$base/complete" "$base/root"
  debootstrap --variant=minbase --include=$included bookworm "$base/root" >"$work/debootstrap.log" 2>&1 || { tail -20 "$work/debootstrap.log" >&2; exit 1; }
  rm -rf "$base"/root/var/cache/apt/archives/*.deb
  echo "$included" >"$base/complete"
fi
exec 9>&-
# A name of its own: several may run at the same time.
container=(systemd-nspawn --quiet --machine="permd-try-$$" --register=no --keep-unit --link-journal=no --private-network)
if [ "$1" = --prepare ]; then
  "${container[@]}" --directory="$base/root" /bin/true
  exit
fi
root=$work/root
cp -a --reflink=auto "$base/root" "$root"
deb=$(dpkg --print-architecture)
rpm=$(uname -m)
one() { # the packages that a pattern names
  [ $# = 1 ] && [ -f "$1" ] || { echo "want one package: $*" >&2; exit 1; }
  echo "$1"
}
for which in "old $1" "new $2"; do
  name=${which%% *} from=${which#* }
  install -m 644 "$(one "$from"/permd_*_"$deb".deb)" "$root/$name.deb"
  install -m 644 "$(one "$from"/permd-*."$rpm".rpm)" "$root/$name.rpm"
done
cp -r "$here/inside" "$root/inside"
# What harnesses write to their hooks, and data of an earlier permd.
cp -r "$here/../../socket/hook/testdata" "$root/inside/calls"
mkdir "$root/inside/earlier"
cp "$here"/../../remember/testdata/9eb77c9/remember.db "$here"/../../decisions/journal/testdata/9eb77c9/decisions.db* "$root/inside/earlier/"
chown -R root:root "$root/inside"
cat >"$root/etc/systemd/system/inside.service" <<'UNIT'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c 'bash /inside/all.sh >/output 2>&1; echo $? >/status'
ExecStopPost=/bin/systemctl --no-block poweroff
UNIT
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../inside.service "$root/etc/systemd/system/multi-user.target.wants/inside.service"
timeout 600 "${container[@]}" --directory="$root" --boot >"$work/console" 2>&1 || true
cat "$root/output" 2>/dev/null || tail -30 "$work/console"
[ "$(cat "$root/status" 2>/dev/null)" = 0 ]
