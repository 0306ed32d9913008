#!/usr/bin/env bash
# Runs the shell's tests in a real container, with Podman as root. The image is built from this
# machine's bash and its libraries; nothing is pulled. Needs `apt-get install podman crun`.
set -euo pipefail
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
image=localhost/telechir-test:1

command -v podman >/dev/null || { echo "podman not found; run: apt-get install podman crun" >&2; exit 1; }
# Three workarounds, for the engine only: crun refuses cgroup v1 and v2 mounted at once, Podman sets
# resource limits above those of this process, and neither can make a cgroup where they are read-only.
engine=$scratch/podman
cgroups=
[[ -w /sys/fs/cgroup ]] || cgroups=--cgroups=disabled
cat >"$engine" <<WRAPPER
#!/bin/bash
[[ \$1 != run ]] || set -- run --ulimit=nproc=4096:4096 $cgroups "\${@:2}"
exec unshare --mount bash -c '
    if grep -q "^cgroup " /proc/mounts; then
        while read -r _ place kind _; do [[ \$kind != cgroup2 ]] || umount "\$place"; done </proc/mounts
    fi
    exec "\$@"' podman $(command -v podman) "\$@"
WRAPPER
chmod +x "$engine"
cleanup() {
    "$engine" image rm --force "$image" >/dev/null 2>&1 || true
    rm -rf "$scratch"
}
trap cleanup EXIT

root=$scratch/root
mkdir -p "$root"/{etc,usr/{bin,sbin,lib,lib64},tmp,run,proc,sys,dev,var/tmp,root}
for folder in bin sbin lib lib64; do
    if [[ -L /$folder ]]; then ln -s "$(readlink "/$folder")" "$root/$folder"; else mkdir "$root/$folder"; fi
done
copy() { mkdir -p "$root$(dirname "$1")" && cp --dereference "$1" "$root$1"; }
for program in bash sh env setsid sleep cat ls grep tr touch mkdir rm mount nohup stty id head tail seq sed; do
    path=$(command -v "$program")
    [[ $path == /* ]] || continue
    copy "$path"
    ldd "$path" | grep -o '/[^ ]*' | while read -r library; do copy "$library"; done
done
printf 'root:x:0:0::/root:/bin/bash\n' >"$root/etc/passwd"
printf 'root:x:0:\n' >"$root/etc/group"
printf 'root:*:0:0:::::\n' >"$root/etc/shadow"
chmod 600 "$root/etc/shadow"
tar -C "$root" -cf - . | "$engine" import - "$image" >/dev/null

TELECHIR_TEST_ENGINE=$engine TELECHIR_TEST_IMAGE=$image \
    cargo test --quiet --package telechir-shell --test it -- container:: "$@"
