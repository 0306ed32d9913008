#!/usr/bin/env bash
# Becomes a Chromium with an open DevTools port and its own sandbox, which telechir does not manage.
# Argument: a folder for its profile and its log `chromium.log`, which has the address.
set -euo pipefail
folder=$1
# Chromium's own sandbox needs a user that is not root.
unprivileged=()
mkdir "$folder/profile"
if [ "$(id -u)" = 0 ]; then
    unprivileged=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    chmod 755 "$folder" && chown 65534:65534 "$folder/profile"
fi
export HOME=$folder/profile
exec "${unprivileged[@]}" /usr/lib/chromium/chromium --headless --remote-debugging-port=0 \
    --disable-background-networking --disable-component-update --no-first-run \
    --user-data-dir="$folder/profile" about:blank >/dev/null 2>"$folder/chromium.log"
