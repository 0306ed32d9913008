//! Runs a test on a machine of its own: with a network where every datagram is counted, and without
//! a route to anything real.
#![expect(
    clippy::disallowed_methods,
    reason = "the test starts itself again, in other namespaces"
)]

use std::fs;
use std::process::Command;

use telechir_process::{Identity, is_root};

/// Its only network accepts everything and answers nothing; its resolver would be asked there.
const SETUP: &str = "
    ip link set lo up
    ip link add net0 type veth peer name net1
    ip address add 192.0.2.1/24 dev net0
    ip link set net0 up
    ip link set net1 up
    ip route add default via 192.0.2.254 dev net0
    mount --bind \"$1\" /etc/resolv.conf
    shift
";

/// Set where a test runs on its own machine.
const OWN: &str = "TELECHIR_TEST_OWN_MACHINE";

/// Whether this is such a machine.
pub(super) fn is_own() -> bool {
    std::env::var_os(OWN).is_some()
}

/// Runs a test of this binary there.
pub(super) fn run_on_own_machine(test: &str) {
    run_after("", test);
}

/// Runs it where bubblewrap cannot be executed.
pub(super) fn run_without_bubblewrap(test: &str) {
    run_after("mount --bind /dev/null \"$(command -v bwrap)\"\n", test);
}

/// Runs it with a bubblewrap of its own, for [`forbid_bubblewrap`].
pub(super) fn run_with_own_bubblewrap(test: &str) {
    let own = "own=$(mktemp) && cp \"$(command -v bwrap)\" \"$own\" && chmod 755 \"$own\"\n\
               mount --bind \"$own\" \"$(command -v bwrap)\" && rm \"$own\"\n";
    run_after(own, test);
}

/// From now on, bubblewrap cannot be executed on this own machine.
pub(super) fn forbid_bubblewrap() {
    use std::os::unix::fs::PermissionsExt as _;
    assert!(is_own());
    let folders = std::env::var_os("PATH").unwrap();
    let mut programs = std::env::split_paths(&folders).map(|folder| folder.join("bwrap"));
    let program = programs.find(|program| program.exists()).unwrap();
    fs::set_permissions(program, fs::Permissions::from_mode(0o600)).unwrap();
}

fn run_after(more: &str, test: &str) {
    let folder = tempfile::tempdir().unwrap();
    let resolver = folder.path().join("resolv.conf");
    fs::write(
        &resolver,
        "nameserver 192.0.2.53\noptions timeout:1 attempts:1\n",
    )
    .unwrap();
    let as_before = if is_root() {
        "exec \"$@\"".to_owned()
    } else {
        let Identity { uid, gid } = Identity::current();
        format!("exec unshare --user --map-user={uid} --map-group={gid} \"$@\"")
    };
    let mut machine = Command::new("unshare");
    machine.args(["--net", "--mount", "--propagation=private"]);
    if !is_root() {
        machine.args(["--user", "--map-root-user"]);
    }
    let ran = machine
        .args(["sh", "-ec", &format!("{SETUP}{more}{as_before}"), "sh"])
        .arg(&resolver)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(OWN, "1")
        .output()
        .unwrap();
    let text = [ran.stdout, ran.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(ran.status.success() && text.contains("1 passed"), "{text}");
}

/// How many datagrams this machine has sent.
pub(super) fn datagrams_sent() -> u64 {
    let table = fs::read_to_string("/proc/self/net/snmp").unwrap();
    let mut rows = table.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let names = rows.next().unwrap().split(' ');
    let values = rows.next().unwrap().split(' ');
    let mut sent = names
        .zip(values)
        .filter(|(name, _)| *name == "OutDatagrams");
    let over_four: u64 = sent.next().unwrap().1.parse().unwrap();
    let six = fs::read_to_string("/proc/self/net/snmp6").unwrap_or_default();
    let over_six = six
        .lines()
        .find_map(|line| line.strip_prefix("Udp6OutDatagrams"));
    over_four + over_six.map_or(0, |number| number.trim().parse().unwrap())
}
