#!/bin/bash
# The organisation's settings of each harness with the daemon of the machine: their command lines
# are run as the harness runs them, with what it writes to its hooks, within its time limit.
. /inside/lib.sh
harnesses="claude codex gemini cursor copilot"
calls=/root/calls
file() {
  case $1 in
    claude) echo /etc/claude-code/managed-settings.json ;;
    codex) echo /etc/codex/requirements.toml ;;
    gemini) echo /etc/gemini-cli/settings.json ;;
    cursor) echo /etc/cursor/hooks.json ;;
    copilot) echo /etc/github-copilot/policy.d/permd.json ;;
  esac
}
# The limit in seconds and the command line of the hook at an event; nothing if there is none.
entry() { # harness, event
  case $1 in
    codex) awk -v at="[[hooks.$2.hooks]]" '$0 == at { in_it = 1 } /^$/ { in_it = 0 }
      in_it && /^command = / { gsub(/^command = "|"$/, ""); command = $0 }
      in_it && /^timeout = / { print $3, command; exit }' "$(file codex)" ;;
    *) jq -r --arg e "$2" '.hooks[$e][0] // empty | (.hooks[0] // .) |
      "\((.timeoutSec // .timeout) / (if .name == "permd" then 1000 else 1 end)) \(.bash // .command)"' "$(file "$1")" ;;
  esac
}
event() { jq -r '.hook_event_name // "preToolUse"' "$1"; }
# Runs the hook on a call. What it has said is left in NAME.said, NAME.error and NAME.code; the
# last is 137 if it took longer than its limit, with which harnesses go on.
hook() { # person, harness, call, name
  local limit command
  read -r limit command < <(entry "$2" "$(event "$3")")
  [ -n "$command" ] || fail "$2 has no hook at $(event "$3")"
  [ "$limit" = 10 ] || fail "$2 lets its hook run for $limit seconds"
  as "$1" timeout --signal=KILL "$limit" sh -c "cd /home/$1/work && ${OTHERWISE:-$command}" <"$3" >"$4.said" 2>"$4.error"
  echo $? >"$4.code"
}
# What the harness does by that: allow, deny, ask, or nothing that it was told.
means() { # name
  case $(cat "$1.code") in
    0) if [ -s "$1.said" ]; then
        jq -r '[.hookSpecificOutput.permissionDecision, .hookSpecificOutput.decision.behavior, .permissionDecision, .permission, .decision] | map(select(. != null)) | join(" ")' "$1.said"
      else echo nothing; fi ;;
    2) echo deny ;;
    *) echo "exit code $(cat "$1.code")" ;;
  esac
}
# The harness's call of its shell, with another command and in the person's folder.
shell() { # person, harness, command
  jq --arg c "$3" --arg d "/home/$1/work" '.cwd = $d | if .workspace_roots then .workspace_roots = [$d] else . end |
    if .command then .command = $c elif .toolArgs then .toolArgs.command = $c else .tool_input.command = $c end' /inside/calls/"$2"/01-*.stdin.json >"$calls/$1-$2"
  echo "$calls/$1-$2"
}
# All that the harness writes at the events of its file.
every() { # harness
  local call
  for call in /inside/calls/"$1"/*.stdin.json; do
    [ -z "$(entry "$1" "$(event "$call")")" ] || echo "$call"
  done
}
mkdir -p $calls

echo "== hooks of the organisation"
for harness in $harnesses; do
  permd hook install $harness --managed --system --yes >/root/installed || fail "installing the hook of $harness"
  is "$harness: the file is root's" "$(stat -c '%U %a' "$(file $harness)")" "root 644"
  n=$(every $harness | wc -l)
  [ "$n" -ge 1 ] || fail "$harness: no call is for an event of its file"
done

echo "== hooks: the daemon answers"
logged() { permd log list --json --limit 1000 | jq -s '[.[] | select(.client.name == "permd hook")] | length'; }
before=$(logged)
for harness in $harnesses; do
  hook ana $harness "$(shell ana $harness 'npm publish x')" $calls/deny
  is "$harness: what the organisation denies" "$(means $calls/deny)" deny
  grep -q 'npm publish' $calls/deny.said $calls/deny.error || fail "$harness is not told why: $(cat $calls/deny.said $calls/deny.error)"
  hook ana $harness "$(shell ana $harness 'git status')" $calls/allow
  want=allow
  [ $harness != codex ] || want=nothing # before a tool, Codex takes only a no
  is "$harness: what is allowed" "$(means $calls/allow)" $want
done
is "all ten are in the log of the machine's daemon" "$(($(logged) - before))" 10
is "as calls of the person" "$(permd log list --json --limit 10 | jq -r .peer.uid | sort -u)" "$(id -u ana)"
for harness in $harnesses; do
  n=0
  for call in $(every $harness); do
    hook ana $harness "$call" $calls/any
    [ "$(cat $calls/any.code)" = 0 ] || fail "$harness, $call: $(cat $calls/any.*)"
    n=$((n + 1))
  done
  ok "$harness: $n calls that it writes are answered"
done

echo "== hooks: a daemon of the person's own"
as ana mkdir -p /home/ana/.config/permd/policy.d
as ana sh -c 'printf "allow:\n  run: [\"deploy\"]\n" >~/.config/permd/policy.d/rules.yaml'
as ana permd serve >/root/own.log 2>&1 &
# Without --system it is found first, so that this shows that it is there.
OTHERWISE="/usr/bin/permd hook cursor || exit 2"
allows() { hook ana cursor "$(shell ana cursor deploy)" $calls/own; [ "$(means $calls/own)" = allow ]; }
within "it allows what the machine's does not" allows
OTHERWISE=
for harness in $harnesses; do
  hook ana $harness "$(shell ana $harness deploy)" $calls/own
  [ "$(means $calls/own)" != allow ] || fail "$harness takes the answer of a daemon of the person's own"
done
ok "no hook of the organisation asks it"
socket=$(as ana permd status --json | jq -r .socket)
OTHERWISE="PERMD_SOCKET=$socket /usr/bin/permd hook cursor --system || exit 2"
hook ana cursor "$(shell ana cursor deploy)" $calls/own
is "nor by a variable of the environment" "$(means $calls/own)" deny
OTHERWISE=
kill "$(as ana permd status --json | jq .pid)" || fail "ending it"
wait
rm -r /home/ana/.config/permd

closed() { # what, why: all harnesses, after the hooks of ana were run into $calls/HARNESS
  local harness got
  for harness in $harnesses; do
    got=$(means $calls/$harness)
    case $harness:$got in
      claude:ask | gemini:ask | codex:deny | cursor:deny | copilot:deny) ;;
      *:deny) [ "$2" = "" ] || fail "$harness: $1: $got" ;;
      *) fail "$harness: $1: $got ($(cat $calls/$harness.*))" ;;
    esac
    [ -z "$2" ] || grep -q "$2" $calls/$harness.said $calls/$harness.error || fail "$harness does not say why: $(cat $calls/$harness.*)"
  done
  ok "$1: $(for harness in $harnesses; do printf '%s %s, ' "$harness" "$(means $calls/$harness)"; done | sed 's/, $//')"
}
at_once() { # person: all harnesses at the same time
  local harness
  rm -f $calls/*.code
  for harness in $harnesses; do shell "$1" $harness 'git status' >/dev/null; done
  for harness in $harnesses; do hook "$1" $harness $calls/"$1"-$harness $calls/$harness & done
  wait
}

echo "== hooks: a person in no group"
at_once eve
closed "eve, who is in no group" "not in the group"
ok "and is told: $(jq -r '.hookSpecificOutput.permissionDecisionReason' $calls/claude.said)"

echo "== hooks: a daemon that hangs"
pid=$(property MainPID)
kill -STOP "$pid"
begun=$(date +%s%N)
at_once ana
took=$((($(date +%s%N) - begun) / 1000000))
kill -CONT "$pid"
closed "a daemon that hangs, after $took ms" "it took too long"

echo "== hooks: no daemon"
systemctl stop permd.service permd.socket permd-admin.socket
systemctl disable permd.socket permd-admin.socket 2>/dev/null
at_once ana
closed "no daemon and no socket" "no permd daemon\|nothing at /run/permd/permd.sock"
for mode in bypassPermissions dontAsk; do
  jq --arg m $mode '.permission_mode = $m' $calls/ana-claude >$calls/mode
  hook ana claude $calls/mode $calls/claude
  is "no daemon, claude in $mode" "$(means $calls/claude)" deny
done
for harness in $harnesses; do
  for call in $(every $harness); do
    hook ana $harness "$call" $calls/any
    case $(means $calls/any) in
      ask | deny) ;;
      nothing) [ "$(event "$call")" = PermissionRequest ] || fail "$harness, $call: nothing is said" ;; # its person is asked
      *) fail "$harness, $call: $(means $calls/any)" ;;
    esac
  done
done
ok "no daemon: no call of any harness is allowed"

echo "== hooks: no program"
mv /usr/bin/permd /usr/bin/permd.away
at_once ana
closed "no program" ""
mv /usr/bin/permd.away /usr/bin/permd
systemctl enable --now permd.socket permd-admin.socket 2>/dev/null || fail "enabling again"
is "the daemon decides again" "$(verdict ana 'npm publish x')" deny
is "that of the machine" "$(property ActiveState)" active
