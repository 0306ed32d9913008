//! Attempts to escape from a private desktop, each from a real terminal window.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;

use telechir_device::{Computer, DeviceError};
use telechir_process::confinement::{MissingFiles, ResourceLimits};
use telechir_process::{Cgroup, Pid};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Component, Privilege, lacks, require};
use telechir_testkit::xvfb::value;
use telechir_x11::{DisplayOptions, PrivateDisplay};
use tempfile::TempDir;

use crate::lifecycle::processes_of;
use crate::{fixture, programs};

/// Waits for a file that appears complete.
async fn read(path: &Path) -> String {
    let read = assert_eventually!(fs::read_to_string(path), |text| text.is_ok());
    read.unwrap()
}

/// The output and exit status of a script in a terminal window on this display.
pub(crate) async fn output_of(
    display: &mut PrivateDisplay,
    folder: &TempDir,
    script: &str,
) -> String {
    let workspace = fixture::workspace(folder);
    let (attempt, text) = (workspace.join("attempt"), workspace.join("said"));
    let _from_before = fs::remove_file(&text);
    fs::write(&attempt, script).unwrap();
    fs::set_permissions(&attempt, fs::Permissions::from_mode(0o644)).unwrap();
    let run = "bash attempt >part 2>&1; echo \"exit $?\" >>part; mv part said";
    display
        .launch("xterm", &["-e", "sh", "-c", run])
        .await
        .unwrap();
    read(&text).await
}

/// The output of a script in a terminal window on a separate display.
async fn alone(script: &str) -> String {
    require(Component::Sandbox);
    let folder = fixture::session_dir();
    let mut display = fixture::bare(&folder).await;
    let text = output_of(&mut display, &folder, script).await;
    display.close().await.unwrap();
    text
}

/// Runs an attempt that must fail and returns its output.
async fn refused(attempt: &str) -> String {
    let text = alone(attempt).await;
    assert!(!text.ends_with("exit 0\n"), "`{attempt}`: {text}");
    assert!(!text.contains("command not found"), "`{attempt}`: {text}");
    text
}

/// A world-readable folder with a file in it.
fn readable(parent: &str) -> TempDir {
    let folder = tempfile::tempdir_in(parent).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    folder
}

#[tokio::test]
async fn a_terminal_cannot_read_recordings_or_other_sessions() {
    require(Component::Sandbox);
    let (folder, recording, other) = (
        fixture::session_dir(),
        readable("/var/tmp"),
        fixture::session_dir(),
    );
    let others = fixture::workspace(&other).join("secret");
    fs::write(&others, "secret").unwrap();
    fixture::own(&others);
    let secrets = format!("{}/secret {}", recording.path().display(), others.display());
    let display = fixture::managed(&folder).await;
    let mut desktop = programs::started(display, "xterm", &["-e", "sh"]).await;
    let line = format!("cat {secrets} >got 2>why; mv why said");
    desktop.perform(&fixture::type_text(&line)).await.unwrap();
    programs::press(&mut desktop, "Return").await;
    let why = read(&fixture::workspace(&folder).join("said")).await;
    assert_eq!(why.matches("No such file").count(), 2, "{why}");
    assert_eq!(read(&fixture::workspace(&folder).join("got")).await, "");
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn homes_and_host_files_cannot_be_read() {
    let mut paths: Vec<String> = [
        "/root",
        "/home/*",
        "/etc/shadow",
        "/etc/hostname",
        "/var/log",
        "/boot",
        "/sys/kernel",
        "/run/user",
        "/run/dbus",
    ]
    .map(str::to_owned)
    .into();
    let homes = fs::read_to_string("/etc/passwd").unwrap();
    let uid = rustix::process::getuid().as_raw().to_string();
    let own_home = homes.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.get(2) == Some(&uid.as_str())).then(|| fields[5].to_owned())
    });
    paths.extend(own_home);
    let script: String = paths
        .iter()
        .map(|path| format!("(cat {path} || ls {path}) >/dev/null 2>&1 && echo read {path}\n"))
        .collect();
    assert_eq!(alone(&(script + "true")).await, "exit 0\n");
}

#[tokio::test]
async fn there_is_no_network() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("(exec 3<>/dev/tcp/127.0.0.1/{port})");
    assert!(refused(&connect).await.contains("refused"));
    assert!(
        refused("(exec 3<>/dev/tcp/192.0.2.1/80)")
            .await
            .contains("unreachable")
    );
    let devices = alone("tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '").await;
    assert_eq!(devices, "lo\nexit 0\n");
}

#[tokio::test]
async fn sockets_of_the_host_cannot_be_reached() {
    let name = format!("telechir-desktop-{}", std::process::id());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let connect = format!(
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 0; \
         connect(S, pack(\"S a*\", AF_UNIX, \"\\0{name}\")) or die $!'"
    );
    assert!(refused(&connect).await.contains("refused"));
}

#[tokio::test]
async fn only_the_own_display_can_be_reached() {
    let (folder, others) = (fixture::session_dir(), fixture::session_dir());
    let (mut display, other) = (fixture::bare(&folder).await, fixture::bare(&others).await);
    let script = "ls /tmp/.X11-unix; basename \"$XAUTHORITY\"";
    let number = display.name().replace(':', "X");
    let found = output_of(&mut display, &folder, script).await;
    assert_eq!(found, format!("{number}\nauthority\nexit 0\n"));
    let cookie = other.environment();
    let steal = format!("cat {}", value(&cookie, "XAUTHORITY"));
    let stolen = output_of(&mut display, &folder, &steal).await;
    assert!(stolen.contains("No such file"), "{stolen}");
    display.close().await.unwrap();
    other.close().await.unwrap();
}

#[tokio::test]
async fn host_processes_are_not_visible() {
    let script = "ls -d /proc/[0-9]* | wc -l; cat /proc/[0-9]*/cmdline | tr '\\0' ' '";
    let text = alone(script).await;
    let count: u32 = text.lines().next().unwrap().parse().unwrap();
    assert!(count < 10, "{text}");
    assert!(!text.contains("Xvfb"), "{text}");
}

#[tokio::test]
async fn programs_have_no_privileges() {
    let script = "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' \
                  /proc/self/status | tr -d '\\t'; id -u; id -un";
    let zero = "0000000000000000";
    let expected = format!(
        "CapInh:{zero}\nCapPrm:{zero}\nCapEff:{zero}\nCapBnd:{zero}\nCapAmb:{zero}\n\
         NoNewPrivs:1\nSeccomp:2\n"
    );
    let text = alone(script).await;
    let user = text
        .strip_prefix(&expected)
        .unwrap_or_else(|| panic!("{text}"));
    assert!(
        !user.starts_with("0\n") && user.ends_with("\ndesktop\nexit 0\n"),
        "{user}"
    );
}

#[tokio::test]
async fn no_namespace_can_be_nested_and_no_process_traced() {
    let script = "unshare --user --map-root-user true && echo nested\n\
                  bwrap --ro-bind / / true && echo confined\n\
                  su -c true root </dev/null && echo root\n\
                  mount -t tmpfs none /tmp && echo mounted\n\
                  sleep 100 & pid=$!\n\
                  perl -e '$r = syscall(101, 16, '$pid', 0, 0); print $r, \" \", $!+0, \"\\n\"'\n\
                  kill $pid";
    let text = alone(script).await;
    for success in ["nested", "confined", "mounted", "root\n"] {
        assert!(!text.contains(&format!("\n{success}")), "{text}");
    }
    if cfg!(target_arch = "x86_64") {
        assert!(text.contains("-1 1\n"), "{text}");
    }
}

#[tokio::test]
async fn nothing_can_be_typed_into_the_terminal() {
    let ioctl = "perl -e 'open(T, \"+<\", \"/dev/tty\") or exit 0; $x = \"x\"; \
                 ioctl(T, 0x5412, $x) and exit 0; print $!; exit 1'";
    assert!(refused(ioctl).await.contains("not permitted"));
}

#[tokio::test]
async fn only_the_workspace_the_home_and_memory_can_be_written() {
    let script = "for d in / /usr /etc /run /home /var /dev /proc /tmp /tmp/.X11-unix /dev/shm \"$HOME\" . \
         \"$(dirname \"$HOME\")\"; do (: >$d/probe) 2>/dev/null && echo ${d/#$HOME/home}; done; true";
    let text = alone(script).await;
    // The parent of the home is tmpfs, not the display folder.
    let expected = "/run\n/tmp\n/tmp/.X11-unix\n/dev/shm\nhome\n.\n";
    assert!(text.starts_with(expected), "{text}");
    for path in ["/run/probe", "/tmp/probe", "/tmp/.X11-unix/probe"] {
        assert!(!fs::exists(path).unwrap(), "{path} is the host's");
    }
}

#[tokio::test]
async fn the_home_of_programs_is_the_workspace_and_settings_stay_out_of_it() {
    let script = "for d in ~ \"$HOME\" \"$(getent passwd $(id -u) | cut -d: -f6)\" \
         \"$(. $XDG_CONFIG_HOME/user-dirs.dirs; echo $XDG_DESKTOP_DIR)\"; do \
         [ $d -ef . ] && echo workspace || echo $d; done; \
         for d in $XDG_CONFIG_HOME $XDG_CACHE_HOME $XDG_DATA_HOME $XDG_STATE_HOME; do \
         mkdir -p $d && [[ $d/ != $HOME/* ]] && echo outside || echo $d; done";
    let text = alone(script).await;
    let expected = "workspace\n".repeat(4) + &"outside\n".repeat(4);
    assert!(text.starts_with(&expected), "{text}");
}

#[tokio::test]
async fn protected_files_cannot_be_changed_from_a_terminal_window() {
    require(Component::Sandbox);
    let folder = fixture::session_dir();
    let workspace = fixture::workspace(&folder);
    for name in [".git/hooks/pre-commit", ".git/config", ".mcp.json"] {
        let path = workspace.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "own\n").unwrap();
    }
    for path in [
        "",
        ".git",
        ".git/hooks",
        ".git/hooks/pre-commit",
        ".mcp.json",
    ] {
        fixture::own(&workspace.join(path));
    }
    let options = DisplayOptions {
        missing: MissingFiles::Masked,
        ..fixture::options(&folder)
    };
    let mut display = PrivateDisplay::start(options).await.unwrap();
    let script = "echo evil > .git/hooks/pre-commit; echo evil > .git/hooks/post-commit\n\
                  rm -f .mcp.json; echo evil > .mcp.json; mv .git away\n\
                  echo evil > .bashrc; rm -f .bashrc; mkdir .claude; mv .vscode away\n\
                  echo mine > kept && touch .git/index";
    let first = output_of(&mut display, &folder, script).await;
    assert!(first.ends_with("exit 0\n"), "{first}");
    // In every program on the display, not only in the first one.
    output_of(&mut display, &folder, script).await;
    for name in [".git/hooks/pre-commit", ".mcp.json"] {
        assert_eq!(fs::read_to_string(workspace.join(name)).unwrap(), "own\n");
    }
    assert_eq!(fs::read_to_string(workspace.join(".bashrc")).unwrap(), "");
    assert!(!workspace.join(".git/hooks/post-commit").exists());
    display.close().await.unwrap();
    let mut left: Vec<String> = fs::read_dir(&workspace)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".git", ".mcp.json", "attempt", "kept", "said"]);
}

#[tokio::test]
async fn a_terminal_reaches_no_server_in_the_workspace_and_makes_no_setuid_file() {
    require(Component::Sandbox);
    let folder = fixture::session_dir();
    let workspace = fixture::workspace(&folder);
    let socket = workspace.join("docker.sock");
    let server = UnixListener::bind(&socket).unwrap();
    fs::set_permissions(&socket, fs::Permissions::from_mode(0o777)).unwrap();
    let options = fixture::options(&folder);
    let mut display = PrivateDisplay::start(options).await.unwrap();
    let script = "perl -MIO::Socket::UNIX -e 'print IO::Socket::UNIX->new(\"docker.sock\") ? \"met\" : $!+0'\n\
                  cp /usr/bin/id own; chmod 4755 own; echo 0 >/proc/self/oom_score_adj; stat -c %a own";
    let text = output_of(&mut display, &folder, script).await;
    assert!(
        text.starts_with("111") && !text.contains("4755\n"),
        "{text}"
    );
    assert!(text.contains("Read-only file system"), "{text}");
    // A server that ended does not keep later programs from starting.
    drop(server);
    fs::remove_file(&socket).unwrap();
    let text = output_of(&mut display, &folder, "echo started").await;
    assert_eq!(text, "started\nexit 0\n");
    assert!(!socket.exists());
    display.close().await.unwrap();
}

#[tokio::test]
async fn all_programs_share_one_cgroup_limit() {
    let has_limits = Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals();
    if lacks(Privilege::CgroupLimits, has_limits) {
        return;
    }
    let folder = fixture::session_dir();
    let mut display = fixture::bare(&folder).await;
    let pid = display.launch("sleep", &["1000"]).await.unwrap();
    let group = |pid: Pid| fs::read_to_string(format!("/proc/{}/cgroup", pid.as_raw_nonzero()));
    let first = group(pid).unwrap();
    assert!(first.contains("/telechir-"), "{first}");
    let second = display.launch("sleep", &["1000"]).await.unwrap();
    assert_eq!(group(second).unwrap(), first);
    display.close().await.unwrap();
}

#[tokio::test]
async fn display_files_cannot_be_changed() {
    let attempts = "for f in $XAUTHORITY ${XAUTHORITY%/*}/openbox.xml /etc/passwd /etc/machine-id; do \
                    echo x >>$f && echo changed $f; rm -f $f && echo removed $f; done 2>/dev/null; false";
    assert_eq!(refused(attempts).await, "exit 1\n");
}

#[tokio::test]
async fn the_bus_and_accessibility_work_and_all_programs_are_confined() {
    require(Component::Dbus);
    require(Component::Sandbox);
    let folder = fixture::session_dir();
    let options = DisplayOptions {
        accessibility: true,
        ..fixture::options(&folder)
    };
    let mut display = PrivateDisplay::start(options).await.unwrap();
    let script = "dbus-send --session --print-reply=literal --dest=org.freedesktop.DBus \
                  / org.freedesktop.DBus.GetId || exit\n\
                  address=$(dbus-send --session --print-reply=literal --dest=org.a11y.Bus \
                  /org/a11y/bus org.a11y.Bus.GetAddress) || exit\n\
                  dbus-send --bus=\"${address// /}\" --print-reply=literal \
                  --dest=org.a11y.atspi.Registry /org/a11y/atspi/accessible/root \
                  org.freedesktop.DBus.Peer.Ping";
    let answer = output_of(&mut display, &folder, script).await;
    assert!(answer.ends_with("exit 0\n"), "{answer}");
    let programs = processes_of(&display.environment());
    for (pid, name) in &programs {
        let namespace = |pid: &str, kind| fs::read_link(format!("/proc/{pid}/ns/{kind}"));
        let seen = fs::read_to_string(format!("/proc/{pid}/status"));
        let kinds = ["user", "mnt", "pid", "net", "ipc"];
        let other_user: Result<Vec<_>, _> = kinds
            .iter()
            .map(|kind| namespace(&pid.to_string(), kind))
            .collect();
        // The requesting window may be destroyed at any time.
        let (Ok(status), Ok(other_user)) = (seen, other_user) else {
            continue;
        };
        for line in ["CapEff:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"] {
            assert!(status.contains(line), "{name}: {status}");
        }
        for (kind, other_user) in kinds.iter().zip(other_user) {
            assert_ne!(other_user, namespace("self", kind).unwrap(), "{name}");
        }
    }
    for expected in ["openbox", "dbus-daemon", "at-spi"] {
        assert!(
            programs.iter().any(|(_, name)| name.starts_with(expected)),
            "{programs:?}"
        );
    }
    display.close().await.unwrap();
}

#[tokio::test]
async fn descendants_of_an_application_end_with_it() {
    require(Component::Sandbox);
    let folder = fixture::session_dir();
    let mut display = fixture::bare(&folder).await;
    let script = "setsid -f sleep 1000; touch begun; while [ ! -e end ]; do sleep 0.05; done";
    display.launch("sh", &["-c", script]).await.unwrap();
    read(&fixture::workspace(&folder).join("begun")).await;
    let environment = display.environment();
    let sleeps = || {
        let mut found = processes_of(&environment).into_iter();
        found.any(|(_, name)| name == "sleep")
    };
    // Wait until setsid has executed its program.
    assert_eventually!(sleeps(), "what it left behind sleeps");
    fs::write(fixture::workspace(&folder).join("end"), "").unwrap();
    assert_eventually!(!sleeps(), "all it started ends");
    display.close().await.unwrap();
}

#[tokio::test]
async fn a_missing_program_is_reported_with_its_package() {
    let folder = fixture::session_dir();
    let mut display = fixture::bare(&folder).await;
    let error = display.launch("no-such-program", &[]).await.unwrap_err();
    assert!(error.to_string().contains("was not found"), "{error}");
    display.launch("true", &[]).await.unwrap();
    display.close().await.unwrap();
}

#[tokio::test]
async fn a_system_folder_is_refused_as_workspace() {
    let folder = fixture::session_dir();
    for path in ["/", "/etc", "/home", "/root", "/tmp"] {
        let options = DisplayOptions {
            workspace: Some(path.into()),
            ..fixture::options(&folder)
        };
        let error = PrivateDisplay::start(options).await.unwrap_err();
        assert!(matches!(error, DeviceError::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains("a system directory"), "{error}");
    }
}
