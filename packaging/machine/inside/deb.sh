#!/bin/bash
# The Debian package: installed, used, after a crash, and when the daemon hangs.
. /inside/lib.sh

echo "== install"
dpkg -i /old.deb || fail "installing"
is "the user" "$(id -un permd)" permd
is "nothing runs by itself" "$(property ActiveState) $(systemctl is-enabled permd.socket)" "inactive disabled"
is "rules are root's" "$(stat -c '%U:%G %a' /etc/permd /etc/permd/policy.d | sort -u)" "root:root 755"
for user in ana bob eve; do useradd --create-home "$user"; chmod 700 "/home/$user"; done
usermod -aG permd ana
usermod -aG permd bob
for user in ana bob eve; do as "$user" mkdir -p "/home/$user/work/.git"; done

echo "== start by the first question"
systemctl enable --now permd.socket permd-admin.socket || fail "enabling"
is "the daemon waits" "$(property ActiveState)" inactive
is "ana: looking is allowed" "$(verdict ana 'git status')" allow
is "the daemon runs" "$(property ActiveState) $(stat -c %U "/proc/$(property MainPID)")" "active permd"
is "bob: deleting is asked" "$(verdict bob 'rm -rf build')" ask
is "eve is in no group and gets nothing" "$(verdict eve 'git status')" ""
as ana sh -c 'mkdir ~/.ssh && echo canary >~/.ssh/id_rsa && ln -s ../.ssh/id_rsa ~/work/notes'
is "where a link in ana's home leads is seen, though nobody else may enter it" "$(verdict ana 'cat notes')" ask
grep -q secret /home/ana/decision || fail "the decision does not say secret: $(cat /home/ana/decision)"

echo "== rules of the organisation"
printf 'deny:\n  run: ["npm publish *"]\n' >/etc/permd/policy.d/rules.yaml
systemctl reload permd.service || fail "reloading"
denies() { [ "$(verdict ana 'npm publish x')" = deny ]; }
within "it is denied" denies
chown bob /etc/permd/policy.d/rules.yaml
printf '{}\n' >/etc/permd/policy.d/rules.yaml
systemctl reload permd.service || fail "reloading"
within "the status says what is wrong" sh -c 'systemctl status permd.service --no-pager | grep -q "Status:.*degraded"'
is "rules of another owner change nothing" "$(verdict ana 'npm publish x')" deny
chown root /etc/permd/policy.d/rules.yaml
printf 'deny:\n  run: ["npm publish *"]\n' >/etc/permd/policy.d/rules.yaml
systemctl reload permd.service || fail "reloading"

echo "== a crash"
socket=$(stat -c %i /run/permd/permd.sock)
was=$(property MainPID)
kill -9 "$was"
within "another process answers" sh -c '[ "$(systemctl show --value -p MainPID permd.service)" != '"$was"' ]'
is "it decides as before" "$(verdict ana 'npm publish x')" deny
is "the socket is the same" "$(stat -c %i /run/permd/permd.sock)" "$socket"

echo "== the watchdog"
mkdir -p /run/systemd/system/permd.service.d
printf '[Service]\nWatchdogSec=2\n' >/run/systemd/system/permd.service.d/fast.conf
systemctl daemon-reload
systemctl restart permd.service || fail "restarting"
was=$(property MainPID)
kill -STOP "$was"
within "a daemon that hangs is replaced" sh -c '[ "$(systemctl show --value -p MainPID permd.service)" != '"$was"' ] && systemctl is-active -q permd.service'
is "it decides" "$(verdict ana 'git status')" allow
rm -r /run/systemd/system/permd.service.d
systemctl daemon-reload

echo "== limits and the system's journal"
is "no dumps of memory" "$(awk '/core file/ { print $5 }' "/proc/$(property MainPID)/limits")" 0
[ "$(property MemoryMax)" != infinity ] || fail "memory has no limit"
ok "at most $(property MemoryMax) bytes and $(property TasksMax) tasks"
systemctl restart permd.service
within "heads of the journal are in the system's" sh -c 'journalctl -u permd.service -o json --no-pager | jq -e "select(.PERMD_HEAD // .PERMD_HASH // .MESSAGE_ID)" >/dev/null'
systemd-analyze security permd.service --no-pager | tail -1
