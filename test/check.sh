#!/bin/sh
# Runs the checks that are named (`lint` is `npm run check:lint`) side by side, and prints the output of each one. Fails if one fails.

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for name in "$@"; do
  (npm run --silent "check:$name" >"$folder/$name" 2>&1 || touch "$folder/$name.failed") &
done
wait

status=0
for name in "$@"; do
  cat "$folder/$name"
  if [ -e "$folder/$name.failed" ]; then
    echo "check:$name failed"
    status=1
  fi
done
exit $status
