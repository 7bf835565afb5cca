#!/bin/bash
# The Debian package is removed and purged.
. /inside/lib.sh

echo "== remove and purge"
dpkg -r permd || fail "removing"
is "nothing runs" "$(readlink /proc/[0-9]*/exe | grep -c "^/usr/bin/permd")" 0
[ ! -S /run/permd/permd.sock ] || fail "the socket is still there"
[ -f /var/lib/permd/decisions.db ] && [ -f /etc/permd/permd.toml ] || fail "data or settings were removed"
ok "data and settings are kept"
dpkg -P permd || fail "purging"
[ ! -e /var/lib/permd ] && [ ! -e /etc/permd ] || fail "data or settings are left"
ok "nothing is left"
