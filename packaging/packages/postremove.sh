#!/bin/sh
# After the files were removed. What was decided and what people chose stays, so that
# removing the program hides nothing; Debian's purge is the explicit wish to delete it. The
# user stays as well, since it may own files elsewhere.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload || true
fi
if [ "$1" = purge ]; then
	rm -rf /var/lib/permd /etc/permd
fi
