#!/bin/sh
# Before the files are removed; not for an upgrade, in which the daemon goes on.
set -e
case "$1" in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -d /run/systemd/system ]; then
	systemctl --no-reload disable --now permd.socket permd-admin.socket permd.service
fi
