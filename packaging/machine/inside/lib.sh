# What the parts share. Each line is printed, and the first that does not hold ends the part.
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
# The verdict on a command of the shell, by the daemon, of the agent of a person in a folder of
# their home, which is "work" if it is left out.
verdict() { # person, command, folder
  jq -cn --arg c "$2" '{tool: {name: "Bash"}, input: {command: $c}}' >"/home/$1/call"
  as "$1" sh -c "cd /home/$1/${3:-work} && permd decide --json --agent claude-agent-acp /home/$1/call" 2>"/home/$1/error" | tee "/home/$1/decision" | jq -r .verdict
}
sockets_are() { systemctl is-enabled permd.socket permd-admin.socket | sort | uniq -c | sed 's/^ *//'; }
