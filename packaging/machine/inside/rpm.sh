#!/bin/bash
# The RPM package: installed, upgraded and erased by rpm, with its scripts and systemd's presets.
# rpm's database has no packages here, so that --nodeps is needed; what is required is compared.
. /inside/lib.sh
sockets() { systemctl is-enabled permd.socket permd-admin.socket | tr '\n' ' '; }

echo "== rpm: what it requires"
is "required" "$(rpm -qp --requires /new.rpm | grep -v '^rpmlib(' | sort -u)" systemd
is "its scripts" "$(rpm -qp --scripts /new.rpm | grep -c '^\(postinstall\|preuninstall\|postuninstall\) scriptlet (using /bin/sh)')" 3
is "settings that are kept" "$(rpm -qp --qf '[%{FILEFLAGS:fflags} %{FILENAMES}\n]' /new.rpm | awk 'NF == 2 { print $1, $2 }')" "cn /etc/permd/permd.toml"

echo "== rpm: install"
userdel permd || fail "removing the user of the Debian package"
groupdel permd 2>/dev/null # which is left while it has members
! getent passwd permd && ! getent group permd || fail "the user is left"
mkdir -p /etc/systemd/system-preset
# Such systems enable nothing, unless the machine's administrator says so.
echo 'disable *' >/etc/systemd/system-preset/99-default-disable.preset
rpm --nodeps -i /old.rpm || fail "installing"
is "rpm finds every file as it was packed" "$(rpm -V --nodeps permd)" ""
is "the user" "$(id -un permd):$(id -gn permd)" permd:permd
is "folders" "$(stat -c '%n %U:%G %a' /etc/permd /etc/permd/policy.d /var/lib/permd /run/permd | tr '\n' ' ')" \
  "/etc/permd root:root 755 /etc/permd/policy.d root:root 755 /var/lib/permd permd:permd 700 /run/permd permd:permd 750 "
is "nothing runs by itself" "$(property ActiveState) $(sockets)" "inactive disabled disabled "
usermod -aG permd ana
systemctl enable --now permd.socket permd-admin.socket || fail "enabling"
is "looking is allowed" "$(verdict ana 'git status')" allow
printf 'deny:\n  run: ["npm publish *"]\n' >/etc/permd/policy.d/rules.yaml
systemctl reload permd.service || fail "reloading"
denies() { [ "$(verdict ana 'npm publish x')" = deny ]; }
within "the organisation's rule denies" denies

echo "== rpm: upgrade"
echo '# kept' >>/etc/permd/permd.toml
socket=$(stat -c %i /run/permd/permd.sock)
was=$(property MainPID)
decided=$(as ana permd log list --json | wc -l)
rpm --nodeps -U /new.rpm || fail "upgrading"
is "one version is installed" "$(rpm -q permd)" "$(rpm -qp /new.rpm)"
is "settings are kept" "$(tail -1 /etc/permd/permd.toml)" "# kept"
grep -q 'Settings of the organisation' /etc/permd/permd.toml.rpmnew || fail "the new settings are not next to them"
ok "the new settings are next to them"
[ "$(property MainPID)" != "$was" ] || fail "the daemon was not started again"
is "the sockets go on" "$(sockets)$(stat -c %i /run/permd/permd.sock)" "enabled enabled $socket"
is "what was decided is kept" "$(as ana permd log list --json | wc -l)" "$decided"
is "it decides" "$(verdict ana 'npm publish x')" deny

echo "== rpm: erase"
rpm -e permd || fail "erasing"
is "nothing runs" "$(readlink /proc/[0-9]*/exe | grep -c "^/usr/bin/permd")" 0
[ ! -S /run/permd/permd.sock ] && [ ! -e /usr/bin/permd ] && [ ! -e /usr/lib/systemd/system/permd.socket ] || fail "the program or its socket is left"
is "changed settings are kept" "$(tail -1 /etc/permd/permd.toml.rpmsave)" "# kept"
[ -f /var/lib/permd/decisions.db ] && [ -f /etc/permd/policy.d/rules.yaml ] || fail "data or rules were removed"
ok "data and rules are kept"

echo "== rpm: a preset"
rm -f /etc/permd/permd.toml.rpmnew
printf 'enable permd.socket\nenable permd-admin.socket\n' >/etc/systemd/system-preset/50-site.preset
rpm --nodeps -i /new.rpm || fail "installing again"
is "a preset of the machine enables the sockets" "$(sockets)" "enabled enabled "
rpm -e permd || fail "erasing again"
is "nothing is left of settings that nobody changed" "$(ls /etc/permd)" "$(printf 'permd.toml.rpmsave\npolicy.d')"
