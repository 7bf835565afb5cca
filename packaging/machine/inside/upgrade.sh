#!/bin/bash
# The Debian package is upgraded while its daemon runs.
. /inside/lib.sh

echo "== upgrade"
echo '# kept' >>/etc/permd/permd.toml
socket=$(stat -c %i /run/permd/permd.sock)
decided=$(as ana permd log list --json | wc -l)
[ "$decided" -ge 3 ] || fail "ana has $decided decisions in the log"
# Both the settings here and those of the package have changed: without this option, dpkg asks.
dpkg --force-confold -i /new.deb || fail "upgrading"
is "settings are kept" "$(tail -1 /etc/permd/permd.toml)" "# kept"
grep -q 'Settings of the organisation' /etc/permd/permd.toml.dpkg-dist || fail "the new settings are not next to them"
ok "the new settings are next to them"
is "the socket is the same" "$(stat -c %i /run/permd/permd.sock)" "$socket"
is "what was decided is kept" "$(as ana permd log list --json | wc -l)" "$decided"
is "it decides" "$(verdict ana 'npm publish x')" deny
