#!/usr/bin/env bash
# Attacks telechir and prints a table of what held: the attack tests of all crates, then attacks on
# the complete binary in a lab (scripts/attack_lab.py) with a network namespace, a DNS server, a
# sniffer, a second local user and a home full of canaries. Exits with 1 if anything got through.
#
# ATTACK_CRATES: crates whose tests to run [default: all with tests/it/attacks; `none`: no tests].
# ATTACK_LAB: attacks of the lab to run [default: all; `none`: no lab].
set -euo pipefail
cd "$(dirname "$0")/.."
fail() {
    echo "attack: $*" >&2
    exit 1
}

[[ $(id -u) == 0 ]] || fail "root is required for the lab's network and second user; without it run: cargo test --test it attacks::"
for program in unshare ip setpriv /usr/bin/python3 perl git; do
    command -v "$program" >/dev/null || fail "$program not found; run: apt-get install util-linux iproute2 python3 perl git"
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
results=$scratch/results
: >"$results"
failed=0

read -ra crates <<<"${ATTACK_CRATES:-$(for folder in crates/*/tests/it/attacks; do
    folder=${folder#crates/}
    echo "${folder%%/*}"
done | tr '\n' ' ')}"
[[ ${crates[*]} != none ]] || crates=()
for crate in "${crates[@]}"; do
    log=$scratch/$crate.log
    if ! cargo test --quiet --package "$crate" --test it -- attacks:: --test-threads=2 --format=pretty \
        >"$log" 2>&1; then
        failed=1
        # The messages of failed tests, or of a failed build.
        sed -n '/^failures:/,$p; /^error/,$p' "$log" >&2
    fi
    sed -nE 's/^test attacks::([a-z0-9_:]+) \.\.\. (ok|FAILED|ignored).*/\1 \2/p' "$log" |
        while read -r name result; do
            case $result in
            ok) result=held ;;
            FAILED) result='**got through**' ;;
            *) result='**not tried**' ;;
            esac
            name=${name##*::}
            printf '%s (%s)\t%s\n' "${name//_/ }" "$crate" "$result"
        done >>"$results"
    grep -q '^test result: ' "$log" || { failed=1 && printf 'the tests of %s\t**not tried**\n' "$crate" >>"$results"; }
done

# Inside: a network with one card, whose other end nobody answers, and the DNS server's and the
# page's addresses; and a resolver that asks this server.
lab() {
    ip link set lo up
    ip link add lab0 type veth peer name lab1
    ip address add 192.0.2.1/24 dev lab0
    ip address add 192.0.2.53/32 dev lo
    ip address add 192.0.2.80/32 dev lo
    ip link set lab0 up
    ip link set lab1 up
    ip neighbour add 192.0.2.254 lladdr 02:00:00:00:00:fe dev lab0
    ip route add default via 192.0.2.254
    echo "nameserver 192.0.2.53" >"$1/resolv.conf"
    mount --bind "$1/resolv.conf" "$(realpath /etc/resolv.conf)"
    shift
    exec /usr/bin/python3 scripts/attack_lab.py "$@"
}
if [[ ${ATTACK_LAB:-} != none ]]; then
    cargo build --quiet --package telechir --bin telechir
    binary=$(realpath "${CARGO_TARGET_DIR:-target}/debug/telechir")
    export -f lab
    read -ra attacks <<<"${ATTACK_LAB:-}"
    unshare --net --mount bash -euo pipefail -c 'lab "$@"' lab \
        "$scratch" "$binary" lab1 "${attacks[@]}" | tee -a "$results.lab" || failed=1
    cat "$results.lab" >>"$results"
fi

printf '\n| attack | result |\n|---|---|\n'
sed -E 's/^([^\t]*)\t(.*)$/| \1 | \2 |/' "$results"
if grep -q '\*\*' "$results"; then failed=1; fi
held=$(grep -c '	held$' "$results" || true)
printf '\n%s of %s attacks held.\n' "$held" "$(wc -l <"$results")"
exit "$failed"
