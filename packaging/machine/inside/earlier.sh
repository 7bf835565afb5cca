#!/bin/bash
# The Debian package is upgraded from one whose databases an earlier permd has written, and a
# daemon finds those of a later one. Uid 1000 is the person of the earlier databases.
. /inside/lib.sh
data=/var/lib/permd
stop() { systemctl stop permd.service permd.socket permd-admin.socket || fail "stopping"; }
start() { systemctl reset-failed permd.service; systemctl start permd.socket permd-admin.socket || fail "starting"; }
# The version of a database's tables: four bytes of its header.
version() { od -An -tu1 -j60 -N4 "$1" | awk '{ print $1 * 16777216 + $2 * 65536 + $3 * 256 + $4 }'; }

echo "== upgrade with databases of an earlier version"
stop
dpkg --force-confold --force-downgrade -i /old.deb || fail "going back to the older package"
stop
find $data -mindepth 1 -delete
install -o permd -g permd -m 600 /inside/earlier/* $data/
earlier=$(version $data/remember.db) log=$(version $data/decisions.db)
is "the person of the databases" "$(id -u ana)" 1000
as ana mkdir -p /home/ana/shop/.git /home/ana/shop/a
as ana touch /home/ana/shop/victim
dpkg --force-confold -i /new.deb || fail "upgrading"
systemctl start permd.socket permd-admin.socket || fail "starting"
is "what was rejected is denied" "$(verdict ana 'rm victim' shop)" deny
is "by the memory" "$(jq -r .decidedBy /home/ana/decision)" memory
backup=$(echo $data/remember.db.backup-v"$earlier"-*)
is "there is one copy of the choices, for the daemon alone" "$(stat -c '%U %a' "$backup")" "permd 600"
is "the copy has the earlier version" "$(version "$backup")" "$earlier"
choices=$(as ana permd remember list --json | jq -s 'map(if type == "array" then .[] else . end) | length')
[ "$choices" -ge 10 ] || fail "ana has $choices choices"
ok "ana has $choices choices"
as ana permd log list --json --limit 500 >/home/ana/list || fail "the log cannot be read"
grep -q '/home/ana/shop' /home/ana/list || fail "the log has no decision of the earlier daemon"
ok "the log has $(wc -l </home/ana/list) decisions, those of the earlier daemon among them"
permd log verify --system >/root/verified 2>&1 || fail "the log does not verify: $(cat /root/verified)"
grep -q 'of the running daemon' /root/verified || fail "it was not compared with the daemon: $(cat /root/verified)"
permd status | grep -q '^ *verified ' || fail "the status does not say that it was verified: $(permd status)"
ok "the log verifies: $(tail -1 /root/verified)"

stop
now=$(version $data/remember.db)
[ "$earlier" -lt "$now" ] && [ "$log" -lt "$(version $data/decisions.db)" ] || fail "the databases have versions $now (of choices) and $(version $data/decisions.db), which they had before"
ok "the databases are of a later version: choices $earlier -> $now, log $log -> $(version $data/decisions.db)"

echo "== databases of a later version"
printf '\0\0\0\143' | dd of=$data/remember.db bs=1 seek=60 conv=notrunc status=none
since=$(date '+%F %T')
start
is "nothing is decided" "$(verdict ana 'git status')" ""
within "the daemon has given up" sh -c '[ "$(systemctl show --value -p ActiveState permd.service)" = failed ]'
journalctl -u permd.service --since "$since" --no-pager -o cat >/root/said
grep -q "from a newer version of permd" /root/said || fail "the daemon does not say why: $(cat /root/said)"
grep -q "remember.db.backup-v" /root/said || fail "the daemon does not say what to do: $(cat /root/said)"
ok "the daemon says: $(grep -m1 -A1 'newer version' /root/said | tr '\n' ' ')"
is "the database is as it was" "$(version $data/remember.db)" 99
stop
# What the daemon said to do.
mv $data/remember.db $data/remember.db.newer
rm -f $data/remember.db-wal $data/remember.db-shm
cp -p "$backup" $data/remember.db
start
is "with the copy it decides again" "$(verdict ana 'rm victim' shop)" deny
