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
# The first version of an RPM: what such a system does with new units is said by its presets,
# which by default enable nothing. Debian's would enable them.
if [ "$1" = 1 ]; then
	systemctl --no-reload preset permd.socket permd-admin.socket >/dev/null 2>&1 || true
fi
