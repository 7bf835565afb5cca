#!/usr/bin/env bash
# Installs, uses, upgrades, removes and purges the Debian package on a machine of its own: a
# Debian in a folder, booted with a systemd of its own by systemd-nspawn.
#
#   packaging/machine/try.sh OLD.deb NEW.deb [FOLDER]
#   packaging/machine/try.sh --prepare FOLDER
#
#   OLD.deb, NEW.deb  the package that is installed first, and that it is upgraded to
#   FOLDER            where the Debian is kept for the next time; without it, it is made
#                     by debootstrap each time, which needs a mirror of Debian
#   --prepare         only make it, and see whether a container starts here
#
# It needs root, debootstrap and systemd-nspawn (Debian: debootstrap, systemd-container).
# What is tried is in inside.sh; the exit code is 0 if all of it holds.
set -euo pipefail
[ $# = 2 ] || [ $# = 3 ] || { sed -n '5,11s/^#  *//p' "$0" >&2; exit 2; }
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
  old=$(realpath "$1") new=$(realpath "$2") base=${3:-$work/base}
fi
if [ ! -e "$base/complete" ]; then
  rm -rf "$base"
  mkdir -p "$base"
  debootstrap --variant=minbase --include=systemd,dbus,jq bookworm "$base/root" >"$work/debootstrap.log" 2>&1 || { tail -20 "$work/debootstrap.log" >&2; exit 1; }
  rm -rf "$base"/root/var/cache/apt/archives/*.deb
  touch "$base/complete"
fi
if [ "$1" = --prepare ]; then
  systemd-nspawn --quiet --directory="$base/root" --machine="permd-try-$$" --register=no --keep-unit --link-journal=no --private-network /bin/true
  exit
fi
root=$work/root
cp -a --reflink=auto "$base/root" "$root"
install -m 644 "$old" "$root/old.deb"
install -m 644 "$new" "$root/new.deb"
install -m 755 "$here/inside.sh" "$root/inside.sh"
cat >"$root/etc/systemd/system/inside.service" <<'END'
[Unit]
After=multi-user.target
[Service]
Type=oneshot
ExecStart=/bin/sh -c '/inside.sh >/output 2>&1; echo $? >/status'
ExecStopPost=/bin/systemctl --no-block poweroff
END
mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
ln -s ../inside.service "$root/etc/systemd/system/multi-user.target.wants/inside.service"
# A name of its own: several may run at the same time.
timeout 600 systemd-nspawn --quiet --directory="$root" --machine="permd-try-$$" --register=no --keep-unit --link-journal=no \
  --private-network --boot >"$work/console" 2>&1 || true
cat "$root/output" 2>/dev/null || tail -30 "$work/console"
[ "$(cat "$root/status" 2>/dev/null)" = 0 ]
