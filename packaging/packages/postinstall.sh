#!/bin/sh
# After the files are in place, of a deb or rpm. Debian gives the words "configure" and the
# former version, RPM the number of versions that are installed now.
set -e
case "$1" in
configure | [1-9]*) ;;
*) exit 0 ;; # such as abort-upgrade: nothing was changed
esac
systemd-sysusers /usr/lib/sysusers.d/permd.conf
systemd-tmpfiles --create /usr/lib/tmpfiles.d/permd.conf || true # says itself what it could not make
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# The sockets stay, so that nobody's question is refused while the new program starts.
	systemctl try-restart permd.service
fi
