//! Attempts to escape from the real sandbox.

use std::fs;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use telechir_device::Shell;
use telechir_process::{Spawn, is_root};
use telechir_protocol::ShellOutcome;
use telechir_shell::{Bash, Isolation};
use telechir_testkit::gate::{Privilege, lacks};

use crate::{command, run, sandboxed, settings, workspace};

/// Runs an attempt that must fail; returns its output.
async fn refused(attempt: &str) -> String {
    let (mut shell, _workspace) = sandboxed().await;
    assert!(shell.is_sandboxed());
    let output = run(&mut shell, attempt).await;
    assert_eq!(
        output.outcome,
        ShellOutcome::Error,
        "`{attempt}`: {output:?}"
    );
    assert!(
        !output.stderr.contains("command not found"),
        "`{attempt}`: {output:?}"
    );
    output.stdout + &output.stderr
}

/// Makes a system call from Perl, which every Debian has, and prints the result.
fn system_call(number: libc_number::Number, arguments: &str) -> String {
    let number = number.0;
    format!("perl -e '$r = syscall({number}, {arguments}); exit 0 if $r >= 0; print $!+0; exit 1'")
}

/// System call numbers by name.
mod libc_number {
    #[derive(Clone, Copy)]
    pub(crate) struct Number(pub(crate) i64);
}

#[tokio::test]
async fn the_kernels_settings_cannot_be_written() {
    refused(
        "cat /proc/sys/kernel/core_pattern > /tmp/x; cat /tmp/x > /proc/sys/kernel/core_pattern",
    )
    .await;
}

#[tokio::test]
async fn there_is_no_privilege_inside() {
    let (mut shell, _workspace) = sandboxed().await;
    let text = "grep -E '^(CapInh|CapPrm|CapEff|CapBnd|CapAmb|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t'; id -u";
    let zero = "0000000000000000";
    let expected = format!(
        "CapInh:{zero}\nCapPrm:{zero}\nCapEff:{zero}\nCapBnd:{zero}\nCapAmb:{zero}\nNoNewPrivs:1\nSeccomp:2\n"
    );
    let output = run(&mut shell, text).await.stdout;
    let uid = output
        .strip_prefix(&expected)
        .unwrap_or_else(|| panic!("{output}"));
    assert_ne!(uid.trim(), "0");
}

#[tokio::test]
async fn nothing_of_the_host_can_be_read() {
    for path in [
        "/etc/shadow",
        "/root",
        "/home/*",
        "/var/log",
        "/boot",
        "/sys/kernel",
        "/etc/hostname",
    ] {
        refused(&format!("cat {path} || ls {path}")).await;
    }
}

#[tokio::test]
async fn the_environment_of_the_host_is_absent() {
    let (mut shell, folder) = sandboxed().await;
    let names = run(&mut shell, "env | cut -d= -f1 | sort | tr '\\n' ' '")
        .await
        .stdout;
    assert_eq!(
        names,
        "HOME LANG LOGNAME PATH PWD SHELL SHLVL TERM TMPDIR USER _ "
    );
    let home = run(&mut shell, "echo $HOME").await.stdout;
    assert_eq!(home.trim(), folder.path().to_str().unwrap());
}

#[tokio::test]
async fn only_the_workspace_and_memory_can_be_written() {
    let (mut shell, folder) = sandboxed().await;
    let text = "for d in / /usr /usr/local /etc /run /run/telechir /home /var /dev /proc /tmp /dev/shm . ; do
        (: > $d/probe) 2>/dev/null && echo $d; done";
    assert_eq!(
        run(&mut shell, text).await.stdout,
        "/run\n/tmp\n/dev/shm\n.\n"
    );
    assert!(folder.path().join("probe").exists());
    for path in ["/run/probe", "/tmp/probe", "/dev/shm/probe"] {
        assert!(!fs::exists(path).unwrap(), "{path} is the host's");
    }
}

#[tokio::test]
async fn sockets_of_the_host_cannot_be_reached() {
    let outside = workspace();
    let socket = outside.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    refused(&format!(
        "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(\"{}\") or die $!'",
        socket.display()
    ))
    .await;
    refused("ls /run/dbus /run/user /var/run/docker.sock /tmp/.X11-unix").await;
}

#[tokio::test]
async fn abstract_sockets_of_the_host_cannot_be_reached() {
    let name = format!("telechir-escape-{}", std::process::id());
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let connect = format!(
        "perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0) or exit 0; \
         connect(S, pack(\"S a*\", AF_UNIX, \"\\0{name}\")) or die $!'"
    );
    assert!(refused(&connect).await.contains("refused"));
}

#[tokio::test]
async fn services_of_the_host_cannot_be_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    refused(&format!("(exec 3<>/dev/tcp/127.0.0.1/{port})")).await;
    refused("(exec 3<>/dev/tcp/169.254.169.254/80)").await;
    refused("(exec 3<>/dev/udp/192.0.2.1/53)").await;
}

#[tokio::test]
async fn only_a_loopback_interface_exists() {
    let (mut shell, _workspace) = sandboxed().await;
    let output = run(
        &mut shell,
        "tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '",
    )
    .await;
    assert_eq!(output.stdout, "lo\n");
}

#[tokio::test]
async fn terminal_input_cannot_be_injected() {
    let ioctl = "perl -e 'open(T, \"+<\", \"/dev/tty\") or exit 0; $x = \"x\"; ioctl(T, 0x5412, $x) and exit 0; print $!; exit 1'";
    let text = refused(ioctl).await;
    assert!(text.contains("not permitted"), "{text}");
    let upper_half_set = "perl -e 'open(T, \"+</dev/tty\") or exit 0; \
        $x = \"x\"; $r = syscall(16, fileno(T), 0x100005412, $x); exit 0 if $r >= 0; print $!; exit 1'";
    if cfg!(target_arch = "x86_64") {
        assert!(refused(upper_half_set).await.contains("not permitted"));
    }
}

#[tokio::test]
async fn terminal_queries_type_no_reply() {
    let (mut shell, _workspace) = sandboxed().await;
    let questions = r"\033[c\033[6n\033]10;?\007\033[21t";
    let attempt = format!(
        "stty -icanon min 0 time 0 </dev/tty; printf '{questions}' | tee /dev/tty; sleep 0.3; \
         dd bs=100 count=1 </dev/tty 2>/dev/null | wc -c; stty icanon </dev/tty"
    );
    let output = run(&mut shell, &attempt).await;
    let expected = "\u{1b}[c\u{1b}[6n\u{1b}]10;?\u{7}\u{1b}[21t0\n";
    assert_eq!(output.stdout, expected, "{output:?}");
    let next = run(&mut shell, "echo next").await;
    assert_eq!((next.stdout.as_str(), next.exit_code), ("next\n", Some(0)));
}

#[tokio::test]
async fn processes_of_the_host_are_invisible() {
    let (mut shell, _workspace) = sandboxed().await;
    let us = std::process::id();
    let output = run(&mut shell, "ls -d /proc/[0-9]* | wc -l").await.stdout;
    assert!(output.trim().parse::<u32>().unwrap() < 8, "{output}");
    let text = format!("[[ -e /proc/{us} ]] && grep -q it- /proc/{us}/cmdline && echo seen");
    assert_eq!(run(&mut shell, &text).await.stdout, "");
}

#[tokio::test]
async fn processes_of_the_host_cannot_be_signalled() {
    let workspace = workspace();
    let settings = settings(&workspace);
    // It has the same user: only the namespaces protect it.
    let stranger = Spawn::new("sleep").arg("1000").identity(settings.identity);
    let stranger = stranger.spawn().await.unwrap();
    let mut shell = Bash::start(Isolation::Sandbox(settings)).await.unwrap();
    let number = stranger.pid().as_raw_nonzero();
    let output = run(&mut shell, &format!("kill -9 {number}")).await;
    assert_eq!(output.outcome, ShellOutcome::Error, "{output:?}");
    // Inside, it kills everything; the loss may be reported with the next command.
    run(&mut shell, "kill -9 -1").await;
    run(&mut shell, "true").await;
    assert_eq!(run(&mut shell, "echo next").await.stdout, "next\n");
    assert_eq!(stranger.try_wait().unwrap(), None, "it goes on");
}

#[tokio::test]
async fn our_environment_memory_and_secrets_are_invisible() {
    let outside = workspace();
    let cookie = outside.path().join("authority");
    fs::write(&cookie, "cookie").unwrap();
    refused(&format!("cat {}", cookie.display())).await;
    let us = std::process::id();
    for file in ["environ", "mem", "maps", "root/etc/shadow", "cwd/x"] {
        refused(&format!("head -c1 /proc/{us}/{file}")).await;
    }
    let (mut shell, _workspace) = sandboxed().await;
    let text = "cat /proc/[0-9]*/environ | tr '\\0' '\\n' | cut -d= -f1 | sort -u | tr '\\n' ' '";
    let names = run(&mut shell, text).await.stdout;
    assert!(
        !names.contains("CARGO") && !names.contains("KEY"),
        "{names}"
    );
}

#[tokio::test]
async fn there_is_no_display_and_no_bus() {
    let (mut shell, _workspace) = sandboxed().await;
    let text = "echo \"[$DISPLAY$WAYLAND_DISPLAY$XAUTHORITY$DBUS_SESSION_BUS_ADDRESS$AT_SPI_BUS]\"; \
                ls -d /tmp/.X11-unix /run/user /run/dbus 2>/dev/null";
    assert_eq!(run(&mut shell, text).await.stdout, "[]\n");
}

#[tokio::test]
async fn cgroups_cannot_be_left_or_changed() {
    refused("ls /sys/fs/cgroup").await;
    refused("mkdir -p /sys/fs/cgroup/x").await;
    let (mut shell, _workspace) = sandboxed().await;
    // Only the existence of cgroups is visible.
    let seen = run(&mut shell, "cut -d: -f3 /proc/self/cgroup | sort -u").await;
    assert!(!seen.stdout.contains("telechir"), "{seen:?}");
}

#[tokio::test]
async fn nothing_is_resolved_and_no_datagram_leaves() {
    refused("getent hosts secret.example.com").await;
    let datagram = "perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 0) or exit 0; \
        send(S, \"x\", 0, pack_sockaddr_in(53, inet_aton(\"192.0.2.1\"))) and exit 0; print $!; exit 1'";
    assert!(refused(datagram).await.contains("unreachable"));
    let echo = "perl -MSocket -e 'socket(S, AF_INET, SOCK_DGRAM, 1) or socket(S, AF_INET, SOCK_RAW, 1) \
        or (print $! and exit 1); send(S, \"\\10\\0\\0\\0\\0\\0\\0\\0\", 0, \
        pack_sockaddr_in(0, inet_aton(\"192.0.2.1\"))) and exit 0; print $!; exit 1'";
    refused(echo).await;
}

#[tokio::test]
async fn the_working_directory_of_a_command_grants_no_access() {
    let (mut shell, _workspace) = sandboxed().await;
    for folder in ["/", "/etc", "/root", "/home", "/proc/1/root"] {
        let there = telechir_device::ShellCommand {
            cwd: Some(folder.to_owned()),
            ..command("touch probe")
        };
        let output = shell.run(&there).await.unwrap();
        assert_eq!(output.outcome, ShellOutcome::Error, "{folder}: {output:?}");
    }
}

/// An x86-64 program that calls `getpid` by the i386 gate and number, and exits with 0 if that
/// works.
#[cfg(target_arch = "x86_64")]
fn foreign_call() -> Vec<u8> {
    const CODE: [u8; 22] = [
        0xb8, 0x14, 0, 0, 0, // mov eax, 20
        0xcd, 0x80, // int 0x80
        0x31, 0xff, // xor edi, edi
        0x85, 0xc0, // test eax, eax
        0x7f, 0x02, // jg +2
        0xff, 0xc7, // inc edi
        0xb8, 0x3c, 0, 0, 0, // mov eax, 60
        0x0f, 0x05, // syscall
    ];
    const ADDRESS: u64 = 0x40_0000;
    const HEADERS: u64 = 64 + 56;
    let mut file = b"\x7fELF\x02\x01\x01".to_vec();
    file.resize(16, 0);
    let half = |file: &mut Vec<u8>, values: &[u16]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    half(&mut file, &[2, 62, 1, 0]);
    let wide = |file: &mut Vec<u8>, values: &[u64]| {
        file.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    };
    wide(&mut file, &[ADDRESS + HEADERS, 64, 0]);
    half(&mut file, &[0, 0, 64, 56, 1, 0, 0, 0]);
    half(&mut file, &[1, 0, 5, 0]);
    let length = HEADERS + CODE.len() as u64;
    wide(&mut file, &[0, ADDRESS, ADDRESS, length, length, 0x1000]);
    file.extend(CODE);
    file
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn system_calls_of_another_architecture_are_refused() {
    let (mut shell, folder) = sandboxed().await;
    let program = folder.path().join("foreign");
    fs::write(&program, foreign_call()).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&program, mode).unwrap();
    let outside = Spawn::new(&program).spawn().await.unwrap();
    let outside = outside.wait().await.unwrap();
    // On kernels with that gate, the program works outside.
    assert!(outside.success() || !fs::exists("/proc/sys/abi/vsyscall32").unwrap());
    let output = run(&mut shell, "./foreign").await;
    assert_ne!(output.exit_code, Some(0), "{output:?}");
    assert_ne!(output.exit_code, Some(126), "{output:?}");
}

#[tokio::test]
async fn a_setuid_program_in_the_workspace_has_no_effect() {
    if lacks(Privilege::Root, is_root()) {
        return;
    }
    let (workspace, shown) = (workspace(), workspace());
    let program = shown.path().join("id");
    fs::copy("/usr/bin/id", &program).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o4755);
    fs::set_permissions(&program, mode).unwrap();
    let sandbox = telechir_shell::Sandbox {
        read_only: vec![shown.path().into()],
        ..settings(&workspace)
    };
    let mut shell = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap();
    let output = run(&mut shell, &format!("{} -u", program.display())).await;
    assert_eq!(output.outcome, ShellOutcome::Success, "{output:?}");
    assert_ne!(output.stdout, "0\n");
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn dangerous_system_calls_are_refused() {
    const EPERM: &str = "1";
    const ENOSYS: &str = "38";
    let attempts = [
        (101, "0, 0, 0, 0", EPERM, "ptrace"),
        (310, "$$, 0, 0, 0, 0, 0", EPERM, "process_vm_readv"),
        (311, "$$, 0, 0, 0, 0, 0", EPERM, "process_vm_writev"),
        (250, "0, 0, 0", EPERM, "keyctl"),
        (321, "0, 0, 0", EPERM, "bpf"),
        (323, "0", EPERM, "userfaultfd"),
        (298, "0, 0, -1, -1, 0", EPERM, "perf_event_open"),
        (304, "0, 0, 0", EPERM, "open_by_handle_at"),
        (272, "0x10000000", EPERM, "unshare"),
        (308, "0, 0", EPERM, "setns"),
        (165, "0, 0, 0, 0, 0", EPERM, "mount"),
        (155, "0, 0", EPERM, "pivot_root"),
        (161, "0", EPERM, "chroot"),
        (
            56,
            "0x10000011, 0, 0, 0, 0",
            EPERM,
            "clone with a new user namespace",
        ),
        (41, "40, 1, 0", EPERM, "a vsock socket"),
        (41, "38, 5, 0", EPERM, "a socket to the kernel's ciphers"),
        (425, "1, 0", ENOSYS, "io_uring_setup"),
        (426, "0, 0, 0, 0, 0, 0", ENOSYS, "io_uring_enter"),
        (435, "0, 0", ENOSYS, "clone3"),
        (
            0x4000_0000 + 521,
            "0, 0, 0, 0",
            ENOSYS,
            "ptrace by its second number",
        ),
        (
            0x4000_0000 + 39,
            "0",
            ENOSYS,
            "any call by its second number",
        ),
    ];
    let (mut shell, _workspace) = sandboxed().await;
    for (number, arguments, errno, what) in attempts {
        let output = run(
            &mut shell,
            &system_call(libc_number::Number(number), arguments),
        )
        .await;
        assert_eq!(
            (output.exit_code, output.stdout.as_str()),
            (Some(1), errno),
            "{what}: {output:?}"
        );
    }
}

#[tokio::test]
async fn no_namespace_can_be_nested() {
    refused("unshare --user --map-root-user true").await;
    refused("bwrap --ro-bind / / true").await;
}

#[tokio::test]
async fn setuid_programs_have_no_effect() {
    refused("su -c true root </dev/null").await;
    refused("mount -t tmpfs none /tmp").await;
}

#[tokio::test]
async fn no_other_descriptor_is_open() {
    let (mut shell, _workspace) = sandboxed().await;
    let output = run(
        &mut shell,
        "ls /proc/self/fd | tr '\\n' ' '; ls /proc/$$/fd | tr '\\n' ' '",
    )
    .await;
    // 3 is the directory that `ls` reads; 10 and up are bash's own, which programs do not inherit.
    let (of_program, of_bash) = output.stdout.split_at("0 1 2 3 ".len());
    assert_eq!(of_program, "0 1 2 3 ");
    assert!(
        of_bash.starts_with("0 1 ") && !of_bash.contains(" 3 "),
        "{of_bash}"
    );
    let first = run(&mut shell, "for p in 1 2; do readlink /proc/$p/fd/*; done")
        .await
        .stdout;
    for leak in ["telechir-seccomp", "ptmx", "control", "socket:"] {
        assert!(!first.contains(leak), "{first}");
    }
}

#[tokio::test]
async fn the_session_folder_is_read_only() {
    refused("echo 'echo evil' > /run/telechir/startup").await;
    refused("rm -f /run/telechir/command").await;
    refused("echo evil > /run/telechir/command").await;
    refused("touch /run/telechir/x").await;
}

#[tokio::test]
async fn a_system_folder_is_refused_as_workspace() {
    let workspace = workspace();
    for path in ["/", "/etc", "/usr", "/root", "/tmp"] {
        let sandbox = telechir_shell::Sandbox {
            workspace: path.into(),
            ..settings(&workspace)
        };
        let error = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap_err();
        assert!(
            error.to_string().contains("is a system directory"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn never_runs_as_root() {
    let workspace = workspace();
    let root = telechir_process::Identity { uid: 0, gid: 0 };
    let sandbox = telechir_shell::Sandbox {
        identity: Some(root),
        ..settings(&workspace)
    };
    let error = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap_err();
    assert!(
        error.to_string().contains("must not run as root"),
        "{error}"
    );
}
