#!/bin/bash
# What try.sh tries, as root on a machine that systemd has booted: each line is printed, and
# the first that does not hold ends it.
set -u
fail() { echo "FAILS: $*"; systemctl status permd.service permd.socket permd-admin.socket --no-pager; journalctl -u permd.service --no-pager | tail -30; exit 1; }
ok() { echo "ok: $*"; }
is() { # what, got, want
  [ "$2" = "$3" ] || fail "$1: got \"$2\", want \"$3\""
  ok "$1: $2"
}
within() { # what, command: until it holds, for at most 60 seconds
  local what=$1 end=$((SECONDS + 60)); shift
  until "$@"; do [ $SECONDS -lt $end ] || fail "$what: not within a minute"; sleep 0.1; done
  ok "$what"
}
property() { systemctl show --value -p "$1" "${2:-permd.service}"; }
as() { setpriv --reuid "$1" --regid "$1" --init-groups env -i HOME="/home/$1" PATH=/usr/bin:/bin "${@:2}"; }
# The verdict on a command of the shell, by the daemon, of the agent of a person.
verdict() {
  jq -cn --arg c "$2" '{tool: {name: "Bash"}, input: {command: $c}}' >"/home/$1/call"
  as "$1" sh -c "cd /home/$1/work && permd decide --json --agent claude-agent-acp /home/$1/call" 2>"/home/$1/error" | tee "/home/$1/decision" | jq -r .verdict
}

echo "== install"
dpkg -i /old.deb || fail "installing"
is "the user" "$(id -un permd)" permd
is "nothing runs by itself" "$(property ActiveState) $(systemctl is-enabled permd.socket)" "inactive disabled"
is "rules are root's" "$(stat -c '%U:%G %a' /etc/permd /etc/permd/policy.d | sort -u)" "root:root 755"
for user in ann bob eve; do useradd --create-home "$user"; chmod 700 "/home/$user"; done
usermod -aG permd ann
usermod -aG permd bob
for user in ann bob eve; do as "$user" mkdir -p "/home/$user/work/.git"; done

echo "== start by the first question"
systemctl enable --now permd.socket permd-admin.socket || fail "enabling"
is "the daemon waits" "$(property ActiveState)" inactive
is "ann: looking is allowed" "$(verdict ann 'git status')" allow
is "the daemon runs" "$(property ActiveState) $(stat -c %U "/proc/$(property MainPID)")" "active permd"
is "bob: deleting is asked" "$(verdict bob 'rm -rf build')" ask
is "eve is in no group and gets nothing" "$(verdict eve 'git status')" ""
as ann sh -c 'mkdir ~/.ssh && echo canary >~/.ssh/id_rsa && ln -s ../.ssh/id_rsa ~/work/notes'
is "where a link in ann's home leads is seen, though nobody else may enter it" "$(verdict ann 'cat notes')" ask
grep -q secret /home/ann/decision || fail "the decision does not say secret: $(cat /home/ann/decision)"

echo "== rules of the organisation"
printf 'deny:\n  run: ["npm publish *"]\n' >/etc/permd/policy.d/rules.yaml
systemctl reload permd.service || fail "reloading"
denies() { [ "$(verdict ann 'npm publish x')" = deny ]; }
within "it is denied" denies
chown bob /etc/permd/policy.d/rules.yaml
printf '{}\n' >/etc/permd/policy.d/rules.yaml
systemctl reload permd.service || fail "reloading"
within "the status says what is wrong" sh -c 'systemctl status permd.service --no-pager | grep -q "Status:.*degraded"'
is "rules of another owner change nothing" "$(verdict ann 'npm publish x')" deny
chown root /etc/permd/policy.d/rules.yaml
printf 'deny:\n  run: ["npm publish *"]\n' >/etc/permd/policy.d/rules.yaml
systemctl reload permd.service || fail "reloading"

echo "== a crash"
socket=$(stat -c %i /run/permd/permd.sock)
was=$(property MainPID)
kill -9 "$was"
within "another process answers" sh -c '[ "$(systemctl show --value -p MainPID permd.service)" != '"$was"' ]'
is "it decides as before" "$(verdict ann 'npm publish x')" deny
is "the socket is the same" "$(stat -c %i /run/permd/permd.sock)" "$socket"

echo "== the watchdog"
mkdir -p /run/systemd/system/permd.service.d
printf '[Service]\nWatchdogSec=2\n' >/run/systemd/system/permd.service.d/fast.conf
systemctl daemon-reload
systemctl restart permd.service || fail "restarting"
was=$(property MainPID)
kill -STOP "$was"
within "a daemon that hangs is replaced" sh -c '[ "$(systemctl show --value -p MainPID permd.service)" != '"$was"' ] && systemctl is-active -q permd.service'
is "it decides" "$(verdict ann 'git status')" allow
rm -r /run/systemd/system/permd.service.d
systemctl daemon-reload

echo "== limits and the system's journal"
is "no dumps of memory" "$(awk '/core file/ { print $5 }' "/proc/$(property MainPID)/limits")" 0
[ "$(property MemoryMax)" != infinity ] || fail "memory has no limit"
ok "at most $(property MemoryMax) bytes and $(property TasksMax) tasks"
systemctl restart permd.service
within "heads of the journal are in the system's" sh -c 'journalctl -u permd.service -o json --no-pager | jq -e "select(.PERMD_HEAD // .PERMD_HASH // .MESSAGE_ID)" >/dev/null'
systemd-analyze security permd.service --no-pager | tail -1

echo "== upgrade"
echo '# kept' >>/etc/permd/permd.toml
decided=$(as ann permd log list --json | wc -l)
[ "$decided" -ge 3 ] || fail "ann has $decided decisions in the log"
dpkg -i /new.deb || fail "upgrading"
is "settings are kept" "$(tail -1 /etc/permd/permd.toml)" "# kept"
is "the socket is the same" "$(stat -c %i /run/permd/permd.sock)" "$socket"
is "what was decided is kept" "$(as ann permd log list --json | wc -l)" "$decided"
is "it decides" "$(verdict ann 'npm publish x')" deny

echo "== remove and purge"
dpkg -r permd || fail "removing"
is "nothing runs" "$(readlink /proc/[0-9]*/exe | grep -c "^/usr/bin/permd")" 0
[ ! -S /run/permd/permd.sock ] || fail "the socket is still there"
[ -f /var/lib/permd/decisions.db ] && [ -f /etc/permd/permd.toml ] || fail "data or settings were removed"
ok "data and settings are kept"
dpkg -P permd || fail "purging"
[ ! -e /var/lib/permd ] && [ ! -e /etc/permd ] || fail "data or settings are left"
ok "nothing is left"
