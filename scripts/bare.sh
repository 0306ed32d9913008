#!/usr/bin/env bash
# Tests a fresh installation: creates a bare Debian 12 root file system with git, make, a C compiler
# and this machine's Rust, clones HEAD into it, and runs `make setup`, `make demo` and `make test`
# there in separate namespaces. Prints the duration of each. Needs root and about 8 GB.
#
# BARE_ROOT: keep the root file system in this folder [default: a temporary folder].
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

[[ $(id -u) == 0 ]] || { echo "bare: root is required for mount and pivot_root" >&2; exit 1; }
if ! command -v debootstrap >/dev/null; then
    echo "installing: debootstrap"
    apt-get install -y -qq debootstrap >/dev/null
fi
toolchain=$(rustc --print sysroot)

root=${BARE_ROOT:-$(mktemp -d /var/tmp/telechir-bare.XXXXXX)}
[[ -n ${BARE_ROOT:-} ]] || trap 'rm -rf --one-file-system "$root"' EXIT
mkdir -p "$root"
chmod 755 "$root" # sessions run as another user, which must be able to enter it
if [[ ! -e $root/etc/debian_version ]]; then
    echo "bare: installing Debian 12 with git, make and gcc into $root"
    debootstrap --variant=minbase --include=ca-certificates,git,make,gcc,libc6-dev,procps \
        bookworm "$root" >/dev/null
    # Use the package sources of this machine.
    cp -a /etc/apt/sources.list* /etc/apt/apt.conf.d "$root/etc/apt/" 2>/dev/null || true
    cp -aL /etc/pip.conf "$root/etc/" 2>/dev/null || true
fi
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
rm -rf "$root/src" && mkdir -p "$root/src" "$root/opt/rust"
git clone --quiet "$repository" "$root/src/telechir"

# Runs a command inside, with an empty environment.
inside() {
    unshare --mount --pid --fork --kill-child bash -euc '
        root=$1 toolchain=$2 command=$3
        mount --bind "$root" "$root"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount --rbind /dev "$root/dev"
        mount -o bind,ro "$toolchain" "$root/opt/rust"
        # pivot_root, not chroot: the kernel refuses user namespaces inside a chroot.
        mkdir -p "$root/old" && cd "$root" && pivot_root . old
        umount --lazy /old
        exec /usr/bin/env -i HOME=/root TERM=dumb \
            PATH=/opt/rust/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            sh -ec "cd /src/telechir && $command"
    ' bare "$root" "$toolchain" "$1"
}

# Runs a command and records how long it took.
timed() {
    local start=$SECONDS
    echo "bare: $1"
    inside "$1" 2>&1 | tee "$root/src/${1//[^a-z]/-}.log" | tail -n 25
    times+=("$(printf '%-12s %d min %02d s' "$1" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)))")
}

times=()
timed "make setup"
timed "make demo"
timed "make test"
echo
echo "bare: passed on a bare Debian $(cat "$root/etc/debian_version") with $(rustc --version | cut -d' ' -f1,2):"
printf '  %s\n' "${times[@]}"
