//! Clients that hold the X server for themselves or fill its memory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use telechir_device::{Computer, DeviceError};
use telechir_process::confinement::ResourceLimits;
use telechir_process::{Cgroup, Pid};
use telechir_protocol::Action;
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Component, Privilege, lacks, require};
use telechir_x11::Desktop;
use tempfile::TempDir;

use crate::fixture;
use crate::lifecycle::processes_of;

/// An X client in Perl, which every Debian has: requests by their bytes.
const CLIENT: &str = r#"
use Socket;
$SIG{PIPE} = 'DEFAULT';
our ($base, $root);
sub client {
    my ($number) = $ENV{DISPLAY} =~ /:(\d+)/;
    open(my $file, '<:raw', $ENV{XAUTHORITY}) or die;
    my $cookie = substr(join('', <$file>), -16);
    socket(my $s, AF_UNIX, SOCK_STREAM, 0) or die;
    connect($s, sockaddr_un("/tmp/.X11-unix/X$number")) or die "connect: $!";
    my $name = 'MIT-MAGIC-COOKIE-1';
    syswrite($s, pack('CxSSSSxx a20 a16', 0x6c, 11, 0, length $name, 16, $name, $cookie));
    my $head = take($s, 8);
    my $setup = take($s, 4 * unpack('x6 S', $head));
    $base = unpack('x4 L', $setup);
    my ($vendor, $formats) = unpack('x16 S x3 C', $setup);
    $root = unpack('L', substr($setup, 32 + 4 * int(($vendor + 3) / 4) + 8 * $formats, 4));
    return $s;
}
sub take {
    my ($s, $count) = @_;
    my $got = '';
    while (length $got < $count) { sysread($s, $got, $count - length $got, length $got) or exit 3 }
    return $got;
}
sub say_to { my ($s, $bytes) = @_; while (length $bytes) {
    my $sent = syswrite($s, $bytes) or exit 4; substr($bytes, 0, $sent) = ''; } }
sub answer { my ($s) = @_; say_to($s, pack('CxS', 43, 1)); take($s, 32); }
sub grab { say_to($_[0], pack('CxS', 36, 1)) }
sub release { say_to($_[0], pack('CxS', 37, 1)) }
sub extension { my ($s, $name) = @_;
    say_to($s, pack('CxS SS a*', 98, 2 + int((length($name) + 3) / 4), length $name, 0,
        $name . "\0" x (-length($name) % 4)));
    return unpack('x9 C', take($s, 32)); }
# Pixmaps of 36 MiB each.
sub pixmap { my ($s, $id) = @_; say_to($s, pack('CCS LL SS', 53, 24, 4, $id, $root, 3072, 3072)) }
sub note { open(my $f, '>', $_[0]); close $f }
"#;

/// Starts a client that runs `script` on the desktop.
async fn start(desktop: &mut Desktop, folder: &TempDir, name: &str, script: &str) -> Pid {
    require(Component::Sandbox);
    let path = fixture::workspace(folder).join(name);
    fs::write(&path, format!("{CLIENT}\n{script}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    let display = desktop.private_display().unwrap();
    display.launch("perl", &[name]).await.unwrap()
}

async fn desktop(folder: &TempDir) -> Desktop {
    let display = fixture::managed(folder).await;
    display.into_desktop().await.unwrap()
}

fn mark(folder: &TempDir, name: &str) -> bool {
    fixture::workspace(folder).join(name).exists()
}

/// Performs actions until one reports that a program was ended; returns the report.
async fn notice(desktop: &mut Desktop) -> String {
    assert_eventually!(
        {
            let report = desktop.perform(&Action::CursorPosition).await;
            report.map_or_else(|error| error.to_string(), |report| report.text.unwrap())
        },
        |text| text.contains(" was "),
        "a program is ended"
    )
}

/// Whether a process of this name is on the display.
fn is_running(desktop: &Desktop, name: &str) -> bool {
    let processes = processes_of(&desktop.environment());
    processes.iter().any(|(_, other)| other == name)
}

/// Memory that the server reserved, in MiB.
fn server_mib(desktop: &mut Desktop) -> u64 {
    let server = desktop.private_display().unwrap().server_pid().unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", server.as_raw_nonzero())).unwrap();
    let data = status.lines().find_map(|line| line.strip_prefix("VmData:"));
    let kib = data.unwrap().split_whitespace().next().unwrap();
    kib.parse::<u64>().unwrap() / 1024
}

/// Checks that the display works and that its window manager has survived.
async fn assert_usable(desktop: &mut Desktop) {
    desktop.capture().await.unwrap();
    desktop.perform(&Action::ListWindows).await.unwrap();
    assert!(is_running(desktop, "openbox"));
}

#[tokio::test]
async fn a_client_that_grabs_the_server_is_ended_and_named() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    // A connection that does nothing is not the one to end.
    let idle = "my $s = client(); answer($s); note('idle'); sleep 1000";
    start(&mut desktop, &folder, "bystander", idle).await;
    assert_eventually!(mark(&folder, "idle"), "the bystander is connected");
    let script = "my $s = client(); answer($s); grab($s); answer($s); note('held'); sleep 1000";
    start(&mut desktop, &folder, "grabber", script).await;
    assert_eventually!(mark(&folder, "held"), "the server is grabbed");
    let start = Instant::now();
    let text = notice(&mut desktop).await;
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?}",
        start.elapsed()
    );
    assert!(text.contains("`perl` (process "), "{text}");
    assert!(text.contains("held the X server for itself"), "{text}");
    assert_usable(&mut desktop).await;
    let left = processes_of(&desktop.environment());
    let clients = left.iter().filter(|(_, name)| name == "perl").count();
    assert_eq!(clients, 1, "the bystander lives: {left:?}");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_grab_of_milliseconds_is_left_alone() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    let script = "my $s = client(); for (1..300) { grab($s); answer($s); \
                  select(undef, undef, undef, 0.005); release($s); answer($s); \
                  select(undef, undef, undef, 0.005) } note('done'); sleep 1000";
    start(&mut desktop, &folder, "polite", script).await;
    assert_eventually!(mark(&folder, "done"), "the grabs end");
    let report = desktop.perform(&Action::CursorPosition).await.unwrap();
    assert!(!report.text.unwrap().contains(" was "));
    assert!(is_running(&desktop, "perl"));
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_grabber_that_keeps_the_server_busy_is_ended() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    let script = "my $s = client(); answer($s); grab($s); answer($s); note('held'); \
                  while (1) { answer($s) }";
    start(&mut desktop, &folder, "busy", script).await;
    assert_eventually!(mark(&folder, "held"), "the server is grabbed");
    let text = notice(&mut desktop).await;
    assert!(text.contains("held the X server"), "{text}");
    assert_usable(&mut desktop).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_grab_that_is_released_for_a_moment_every_second_is_ended() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    let script = "my $s = client(); answer($s); while (1) { grab($s); answer($s); note('held'); \
                  sleep 1; release($s); answer($s); select(undef, undef, undef, 0.02); }";
    start(&mut desktop, &folder, "renewer", script).await;
    assert_eventually!(mark(&folder, "held"), "the server is grabbed");
    let text = notice(&mut desktop).await;
    assert!(text.contains("held the X server"), "{text}");
    assert_usable(&mut desktop).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn an_accomplice_that_a_grab_does_not_stop_hides_no_grabber() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    // XTestGrabControl makes the first connection impervious to grabs.
    let script = "my $a = client(); my $b = client(); my $xtest = extension($a, 'XTEST'); \
                  say_to($a, pack('CCSCxxx', $xtest, 3, 2, 1)); answer($a); grab($b); answer($b); \
                  note('held'); sleep 1000";
    start(&mut desktop, &folder, "pair", script).await;
    assert_eventually!(mark(&folder, "held"), "the server is grabbed");
    let text = notice(&mut desktop).await;
    assert!(text.contains("held the X server"), "{text}");
    assert_usable(&mut desktop).await;
    assert!(!is_running(&desktop, "perl"));
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn children_that_take_over_a_grab_end_with_their_application() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    let script = "for (1..20) { unless (fork) { my $s = client(); answer($s); grab($s); \
                  answer($s); note('held'); sleep 1000 } } sleep 1000";
    start(&mut desktop, &folder, "many", script).await;
    assert_eventually!(mark(&folder, "held"), "the server is grabbed");
    let start = Instant::now();
    let gone = Duration::from_secs(60);
    while is_running(&desktop, "perl") {
        let _may_time_out = desktop.capture().await;
        assert!(
            start.elapsed() < gone,
            "{:?}",
            processes_of(&desktop.environment())
        );
    }
    let text = notice(&mut desktop).await;
    assert!(text.contains("was ended with its application"), "{text}");
    assert_usable(&mut desktop).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_client_with_gigabytes_of_pixmaps_is_ended_and_named() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    let script = "my $s = client(); answer($s); my $id = $base; while (1) { pixmap($s, $id++); }";
    start(&mut desktop, &folder, "greedy", script).await;
    let text = notice(&mut desktop).await;
    assert!(text.contains("`perl` (process "), "{text}");
    assert!(text.contains("of the X server's memory"), "{text}");
    assert_eventually!(server_mib(&mut desktop) < 400, "the memory is free again");
    assert_usable(&mut desktop).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn pixmaps_that_a_client_leaves_behind_are_removed() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    // SetCloseDownMode RetainPermanent: the resources outlive the connection.
    let script = "my $s = client(); say_to($s, pack('CCS', 112, 1, 1)); \
                  for (1..24) { pixmap($s, $base + $_) } answer($s); note('left'); exit 0";
    start(&mut desktop, &folder, "leaver", script).await;
    assert_eventually!(mark(&folder, "left"), "the pixmaps exist");
    assert_eventually!(server_mib(&mut desktop) < 400, "the memory is free again");
    let text = notice(&mut desktop).await;
    assert!(text.contains("What a program left was removed"), "{text}");
    assert_usable(&mut desktop).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_client_with_gigabytes_of_properties_is_ended_and_named() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    // ChangeProperty: appends 255 KB of STRING, eight times to each predefined name of each window.
    let script = "my $s = client(); my $data = 'x' x 261120; my $w = $base; \
                  while (++$w) { \
                  say_to($s, pack('CCSLLssSSSSLL', 1, 0, 8, $w, $root, 0, 0, 1, 1, 0, 1, 0, 0)); \
                  for my $atom (1..68) { my $one = pack('CCSLLLCxxxL', 18, 2, \
                  6 + length($data) / 4, $w, $atom, 31, 8, length $data) . $data; \
                  say_to($s, $one) for 1..8 } }";
    start(&mut desktop, &folder, "properties", script).await;
    let text = notice(&mut desktop).await;
    assert!(text.contains("`perl` (process "), "{text}");
    assert_usable(&mut desktop).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_client_with_countless_small_resources_is_ended_and_named() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    // Each of its windows has one property of 16 KB, less than what is measured of all windows.
    let script = "my $s = client(); my $data = 'x' x 16384; my $w = $base; \
                  while (++$w) { \
                  say_to($s, pack('CCSLLssSSSSLL', 1, 0, 8, $w, $root, 0, 0, 1, 1, 0, 2, 0, 0) . \
                  pack('CCSLLLCxxxL', 18, 0, 6 + 4096, $w, 39, 31, 8, 16384) . $data) }";
    start(&mut desktop, &folder, "countless", script).await;
    let text = notice(&mut desktop).await;
    assert!(text.contains("`perl` (process "), "{text}");
    assert_usable(&mut desktop).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_client_that_never_reads_its_answers_cannot_fill_the_server() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    // GetImage of the root window: 4 MB each.
    let script = "my $s = client(); while (1) { \
                  say_to($s, pack('CCSLssSSL', 73, 2, 5, $root, 0, 0, 1280, 800, 0xffffffff)) }";
    start(&mut desktop, &folder, "silent", script).await;
    assert_eventually!(
        !is_running(&desktop, "perl") || server_mib(&mut desktop) > 100,
        "it has effect or is ended"
    );
    for _ in 0..20 {
        assert!(server_mib(&mut desktop) < 1400);
        desktop.capture().await.unwrap();
    }
    assert_usable(&mut desktop).await;
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn the_server_has_limits_of_its_own() {
    let has_limits = Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals();
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    let server = desktop.private_display().unwrap().server_pid().unwrap();
    let proc = format!("/proc/{}", server.as_raw_nonzero());
    let limits = fs::read_to_string(format!("{proc}/limits")).unwrap();
    let data = limits
        .lines()
        .find(|line| line.starts_with("Max data size"));
    let bytes: u64 = data
        .unwrap()
        .split_whitespace()
        .nth(3)
        .unwrap()
        .parse()
        .unwrap();
    assert!(bytes < 1400 << 20, "{limits}");
    if !lacks(Privilege::CgroupLimits, has_limits) {
        let group = |pid: &str| fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let own = group(&server.as_raw_nonzero().to_string());
        assert!(own.contains("/telechir-"), "{own}");
        let program = desktop
            .private_display()
            .unwrap()
            .launch("sleep", &["1000"])
            .await;
        let programs = group(&program.unwrap().as_raw_nonzero().to_string());
        assert_ne!(own, programs);
    }
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_killed_server_is_reported_with_its_reason() {
    let folder = fixture::session_dir();
    let mut desktop = desktop(&folder).await;
    let server = desktop.private_display().unwrap().server_pid().unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::KILL).unwrap();
    let error = desktop.capture().await.unwrap_err();
    assert!(matches!(error, DeviceError::Disconnected { .. }), "{error}");
    let text = error.to_failure().message;
    assert!(text.contains("the X server exited: signal: 9"), "{text}");
    desktop.close().await.unwrap();
}
