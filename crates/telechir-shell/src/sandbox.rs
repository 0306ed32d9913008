//! bash inside bubblewrap: what it is given, and proof that it holds.

mod seccomp;
mod workspace;

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::pipe::{PipeFlags, pipe_with};
use telechir_device::DeviceError;
use telechir_process::{Identity, Pid, Spawn, Stdio, am_root, find_program};

use crate::config::{Limits, Sandbox};
use crate::exchange::Exchange;
use crate::script::quote;

/// Where the exchange is inside.
pub(crate) const INSIDE: &str = "/run/telechir";
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";
/// Parts of `/etc` that programs need to start, to speak TLS and to know the time of day.
const ETC: [&str; 12] = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "pki",
    "protocols",
    "ssl/certs",
];
const FILTERS: [i32; 2] = [3, 4];
const INFO: i32 = 5;

/// What is needed to start and watch one sandbox.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) spawn: Spawn,
    /// bubblewrap writes here who its first process is.
    pub(crate) info: OwnedFd,
    /// What bubblewrap says when it fails.
    pub(crate) complaints: OwnedFd,
}

/// Whom commands run as.
///
/// # Errors
/// When we are root and no other user is named.
pub(crate) fn identity(sandbox: &Sandbox) -> Result<Option<Identity>, DeviceError> {
    match sandbox.identity {
        Some(identity) if identity.uid == 0 => Err(unavailable("commands must not run as root")),
        None if am_root() => Err(unavailable(
            "started as root, it needs an unprivileged user to run as",
        )),
        identity => Ok(identity),
    }
}

/// The workspace as it is named inside and out.
///
/// # Errors
/// When it cannot be one.
pub(crate) fn workspace(sandbox: &Sandbox) -> Result<PathBuf, DeviceError> {
    workspace::checked(&sandbox.workspace, sandbox.identity)
}

/// Puts together the command that starts bash in a sandbox.
///
/// # Errors
/// When a part of it cannot be made.
pub(crate) fn prepare(
    sandbox: &Sandbox,
    workspace: &Path,
    exchange: &Exchange,
    terminal: OwnedFd,
) -> Result<Prepared, DeviceError> {
    if find_program(Path::new("bwrap")).is_none() {
        return Err(unavailable(
            "`bwrap` was not found; install the package `bubblewrap`",
        ));
    }
    let failed = |what: &str, error: io::Error| unavailable(&format!("could not {what}: {error}"));
    write_files(exchange, workspace).map_err(|error| failed("write its files", error))?;
    let [refused, unknown] =
        seccomp::filters().map_err(|error| failed("make its system call filter", error))?;
    let pipe =
        || pipe_with(PipeFlags::CLOEXEC).map_err(|errno| failed("make a pipe", errno.into()));
    let ((info, info_writer), (complaints, complaints_writer)) = (pipe()?, pipe()?);
    let spawn = Spawn::new("bwrap")
        .args(isolation(&sandbox.limits))
        .args(system())
        .args(mounts(sandbox, workspace, exchange))
        .args(variables(sandbox, workspace))
        .args(["--info-fd", &INFO.to_string()])
        .args(
            FILTERS
                .iter()
                .flat_map(|number| ["--add-seccomp-fd".to_owned(), number.to_string()]),
        )
        .args([
            "--",
            "bash",
            "--noprofile",
            "--norc",
            "-c",
            &first(&sandbox.limits),
        ])
        .identity(sandbox.identity)
        .new_session()
        .cwd("/")
        .umask(0o022)
        .fd(FILTERS[0], refused)
        .fd(FILTERS[1], unknown)
        .fd(INFO, info_writer)
        .stdin(Stdio::Fd(terminal))
        .stderr(Stdio::Fd(complaints_writer));
    Ok(Prepared {
        spawn,
        info,
        complaints,
    })
}

fn isolation(limits: &Limits) -> Vec<String> {
    let (tmp, shared) = (
        limits.tmp_bytes.to_string(),
        limits.shared_memory_bytes.to_string(),
    );
    let fixed = "--unshare-all --unshare-user --disable-userns --new-session --die-with-parent \
                 --cap-drop ALL --clearenv --hostname telechir --proc /proc --dev /dev";
    let sized = [
        "--size", &shared, "--tmpfs", "/dev/shm", "--size", &tmp, "--tmpfs", "/tmp",
    ];
    let run = "--size 4194304 --tmpfs /run --symlink /run /var/run --dir /var/tmp --dir /home";
    let words = fixed
        .split_ascii_whitespace()
        .chain(sized)
        .chain(run.split_ascii_whitespace());
    words.map(str::to_owned).collect()
}

/// The system's folders, read-only, with the links that this machine has among them.
fn system() -> Vec<String> {
    let mut args: Vec<String> = ["--ro-bind", "/usr", "/usr"].map(str::to_owned).into();
    for name in ["bin", "sbin", "lib", "lib32", "lib64", "libx32"] {
        let path = format!("/{name}");
        if let Ok(target) = fs::read_link(&path) {
            args.extend([
                "--symlink".to_owned(),
                target.to_string_lossy().into_owned(),
                path,
            ]);
        } else if Path::new(&path).is_dir() {
            args.extend(["--ro-bind".to_owned(), path.clone(), path]);
        }
    }
    for name in ETC {
        let path = format!("/etc/{name}");
        args.extend(["--ro-bind-try".to_owned(), path.clone(), path]);
    }
    args
}

fn mounts(sandbox: &Sandbox, workspace: &Path, exchange: &Exchange) -> Vec<String> {
    let mut args = Vec::new();
    let mut bind = |how: &str, from: &Path, to: &str| {
        args.extend([
            how.to_owned(),
            from.to_string_lossy().into_owned(),
            to.to_owned(),
        ]);
    };
    bind("--ro-bind", exchange.path(), INSIDE);
    for name in ["passwd", "group", "hosts"] {
        bind(
            "--ro-bind",
            &exchange.path().join(name),
            &format!("/etc/{name}"),
        );
    }
    for path in &sandbox.read_only {
        bind("--ro-bind", path, &path.to_string_lossy());
    }
    for path in &sandbox.writable {
        bind("--bind", path, &path.to_string_lossy());
    }
    bind("--bind", workspace, &workspace.to_string_lossy());
    // What bubblewrap made of memory itself has no size, so nothing is written there.
    args.extend(["--remount-ro", "/", "--remount-ro", "/dev"].map(str::to_owned));
    args
}

fn variables(sandbox: &Sandbox, workspace: &Path) -> Vec<String> {
    let home = workspace.to_string_lossy().into_owned();
    let mut args = vec!["--chdir".to_owned(), home.clone()];
    let fixed = [
        ("PATH", PATH),
        ("HOME", &home),
        ("USER", "telechir"),
        ("LOGNAME", "telechir"),
        ("SHELL", "/bin/bash"),
        ("TERM", "dumb"),
        ("LANG", "C.UTF-8"),
        ("TMPDIR", "/tmp"),
    ];
    let given = sandbox
        .env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in fixed.into_iter().chain(given) {
        args.extend(["--setenv".to_owned(), name.to_owned(), value.to_owned()]);
    }
    args
}

/// The first command inside. It limits what counts by user only now, so that nothing outside is
/// counted, and stays to pass on how bash ended.
fn first(limits: &Limits) -> String {
    let Limits {
        processes,
        open_files,
        memory_bytes,
        file_bytes,
        ..
    } = limits;
    let (memory, file) = (memory_bytes / 1024, file_bytes / 1024);
    let startup = quote(&format!("{INSIDE}/startup"));
    format!(
        "ulimit -c 0 -u {processes} -n {open_files} -d {memory} -f {file} || exit 125\n\
         echo 900 >/proc/self/oom_score_adj\n\
         setsid --ctty bash --noprofile --rcfile {startup} --noediting +H -i\n\
         exit $?"
    )
}

fn write_files(exchange: &Exchange, workspace: &Path) -> io::Result<()> {
    let me = Identity::current();
    let (uid, gid) = exchange
        .owner()
        .map_or((me.uid, me.gid), |owner| (owner.uid, owner.gid));
    let home = workspace.to_string_lossy();
    let passwd = format!(
        "root:x:0:0:root:/root:/bin/bash\ntelechir:x:{uid}:{gid}:telechir:{home}:/bin/bash\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    );
    exchange.write("passwd", &passwd)?;
    exchange.write(
        "group",
        &format!("root:x:0:\ntelechir:x:{gid}:\nnogroup:x:65534:\n"),
    )?;
    exchange.write("hosts", "127.0.0.1 localhost telechir\n::1 localhost\n")
}

/// Looks from outside at a bash that was started, whether the sandbox is what it should be.
///
/// # Errors
/// When a layer is missing.
pub(crate) fn verify(shell: Pid) -> Result<(), DeviceError> {
    let shell = shell.as_raw_nonzero();
    let status = fs::read_to_string(format!("/proc/{shell}/status")).unwrap_or_default();
    let field = |name: &str| {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim).unwrap_or_default()
    };
    let expected = [
        ("CapEff", "0000000000000000"),
        ("CapBnd", "0000000000000000"),
        ("NoNewPrivs", "1"),
        ("Seccomp", "2"),
    ];
    for (name, value) in expected {
        let found = field(name);
        if found != value {
            return Err(unavailable(&format!(
                "it does not hold: {name} is `{found}`, not {value}"
            )));
        }
    }
    for name in ["user", "pid", "net", "mnt", "ipc", "uts"] {
        let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/{name}"));
        match (namespace(&shell.to_string()), namespace("self")) {
            (Ok(theirs), Ok(ours)) if theirs != ours => {}
            _ => {
                return Err(unavailable(&format!(
                    "it does not hold: the {name} namespace is shared"
                )));
            }
        }
    }
    Ok(())
}

/// That no sandbox can be had, why, and what else there is.
pub(crate) fn unavailable(why: &str) -> DeviceError {
    let message = format!(
        "{why}. To run commands without a sandbox, ask for the host shell in so many words"
    );
    DeviceError::Unavailable {
        what: "the sandboxed shell",
        message,
    }
}

/// What bubblewrap's own words mean for someone who can mend it.
pub(crate) fn explain(complaint: &str) -> DeviceError {
    let complaint = complaint.trim();
    let no_namespaces = ["namespace", "uid map", "uid_map", "Operation not permitted"];
    if no_namespaces.iter().any(|words| complaint.contains(words)) {
        return unavailable(&format!(
            "bubblewrap says \"{complaint}\"; unprivileged user namespaces may be switched off \
             (kernel.unprivileged_userns_clone, user.max_user_namespaces, \
             kernel.apparmor_restrict_unprivileged_userns)"
        ));
    }
    let said = if complaint.is_empty() {
        "nothing"
    } else {
        complaint
    };
    unavailable(&format!("bubblewrap ended and said: {said}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_outside_does_not_pass_for_one_inside() {
        assert!(verify(rustix::process::getpid()).is_err());
        let error = verify(Pid::INIT).map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains("it does not hold")));
    }

    #[test]
    fn a_refusal_says_how_to_mend_it_and_what_else_there_is() {
        let text = explain("bwrap: No permissions to create new namespace\n").to_string();
        for part in [
            "No permissions",
            "user namespaces may be switched off",
            "ask for the host shell",
        ] {
            assert!(text.contains(part), "{text}");
        }
        let text = explain("bwrap: Can't find source path /x: Permission denied").to_string();
        assert!(
            !text.contains("switched off") && text.contains("/x"),
            "{text}"
        );
    }
}
