#!/usr/bin/env bash
# Runs `make demo` and `make test` as an ordinary user: creates a user with a clone of HEAD, a home
# of its own, no sudo and no login session, and removes it afterwards. Also fails if a process of
# that user is left. Needs root and about 8 GB.
#
# ORDINARY_HOME: keep the home in this folder, so that the next run builds less
# [default: a temporary folder].
# ORDINARY_RUNS: commands to run, one per line [default: make demo, make test].
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
fail() {
    echo "ordinary: $*" >&2
    exit 1
}

[[ $(id -u) == 0 ]] || fail "root is required to create a user; as an ordinary user, run make demo and make test directly"
for program in useradd userdel setpriv unshare git rustc cargo; do
    command -v "$program" >/dev/null || fail "$program not found; run apt-get install passwd util-linux git, and install Rust from https://rustup.rs"
done
"$repository/scripts/setup.sh"

user=telechir-$$
home=${ORDINARY_HOME:-$(mktemp -d /var/tmp/telechir-ordinary.XXXXXX)}
uid=

# Processes of the user with their arguments, except zombies.
running() { ps -o stat=,pid=,args= -u "$uid" | grep -v '^Z' || true; }

clean_up() {
    if [[ -n $uid ]]; then
        local pids
        pids=$(running | awk '{ print $2 }')
        # shellcheck disable=SC2086 # one word per process id
        [[ -z $pids ]] || kill -KILL $pids 2>/dev/null || true
        # --force: userdel counts zombies as logged in.
        userdel --force "$user" 2>/dev/null || true
        rm -rf "/tmp/telechir-$uid"
    fi
    [[ -n ${ORDINARY_HOME:-} ]] || rm -rf --one-file-system "$home"
}
trap clean_up EXIT

useradd --no-create-home --home-dir "$home" --shell /bin/bash "$user"
uid=$(id -u "$user")
mkdir -p "$home/.cargo" "$home/rust" "$home/tmp"
if [[ -d $home/telechir ]]; then
    git -c safe.directory='*' -C "$home/telechir" fetch --quiet "$repository" HEAD
    git -c safe.directory='*' -C "$home/telechir" reset --quiet --hard FETCH_HEAD
else
    git -c safe.directory='*' clone --quiet "$repository" "$home/telechir"
fi

# Registry configuration and downloaded crates; never credentials.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
for part in config.toml config registry/index registry/cache; do
    if [[ -e $cargo_home/$part && ! -e $home/.cargo/$part ]]; then
        mkdir -p "$(dirname "$home/.cargo/$part")"
        cp -a "$cargo_home/$part" "$home/.cargo/$part"
    fi
done
chown -R --no-dereference "$user:" "$home"

# Runs a command as the user, with a clean environment. The toolchain may be in a folder that only
# root can enter, so it is mounted into the user's home for this command.
as_user() {
    local toolchain
    toolchain=$(rustc --print sysroot)
    unshare --mount bash -euc '
        user=$1 home=$2 toolchain=$3 command=$4
        mount -o bind,ro "$toolchain" "$home/rust"
        cd "$home/telechir"
        exec setpriv --reuid="$user" --regid="$user" --init-groups --inh-caps=-all --bounding-set=-all \
            /usr/bin/env -i HOME="$home" USER="$user" LOGNAME="$user" TERM=dumb LANG=C.UTF-8 \
            PATH="$home/rust/bin:/usr/local/bin:/usr/bin:/bin" \
            bash -ec "$command"
    ' ordinary "$user" "$home" "$toolchain" "$1" </dev/null
}

times=()
# Runs a command, records how long it took, and fails if a process is left.
timed() {
    local start=$SECONDS left
    echo "ordinary: $1"
    as_user "$1" || fail "$1 failed as $user"
    left=$(running)
    [[ -z $left ]] || fail "$1 left these processes running:
$left"
    times+=("$(printf '%-12s %d min %02d s' "$1" $(((SECONDS - start) / 60)) $(((SECONDS - start) % 60)))")
}

as_user 'cargo --version; id'
while read -r run; do
    [[ -z $run ]] || timed "$run"
done <<<"${ORDINARY_RUNS:-make demo
make test}"
echo
echo "ordinary: passed as an ordinary user ($uid), with no process left:"
printf '  %s\n' "${times[@]}"
