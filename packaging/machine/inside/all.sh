#!/bin/bash
# What try.sh tries, as root on a machine that systemd has booted: the parts in their order,
# until one fails.
for part in deb hooks upgrade earlier remove rpm; do
  begun=$(date +%s%N)
  bash /inside/$part.sh || exit 1
  echo "-- $part: $((($(date +%s%N) - begun) / 1000000)) ms"
done
