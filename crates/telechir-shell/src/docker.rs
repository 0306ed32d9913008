//! bash in a Docker or Podman container: its arguments, and checks of the engine.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::time::Duration;

use telechir_device::DeviceError;
use telechir_process::{Child, Spawn, Stdio, find_program, is_root};
use tokio::time::timeout;

use crate::config::{ContainerRuntime, Docker};
use crate::control_channel::read_now;
use crate::sandbox::{CHANNEL_DIR, OUTPUT_DIR};
use crate::script::quote;

/// Path of bash's terminal in the container.
const TERMINAL: &str = "/dev/telechir-terminal";
/// Time limit for a query of the engine, which normally responds immediately.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum length of an engine's message, in characters.
const MAX_ERROR_CHARS: usize = 500;

/// Paths outside that are mounted in the container.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ContainerMounts<'a> {
    pub(crate) workspace: &'a Path,
    pub(crate) channel: &'a Path,
    pub(crate) outputs: &'a Path,
    pub(crate) terminal: &'a Path,
}

/// The arguments that start bash: only the workspace and memory disks are writable, there is no
/// network and no privilege, and the container ends with its first process.
pub(crate) fn arguments(docker: &Docker, mounts: ContainerMounts<'_>) -> Vec<OsString> {
    let limits = &docker.limits;
    let mut args = run_command(docker);
    args.extend(
        [
            "--rm",
            "--interactive",
            "--pull=never",
            "--network=none",
            "--read-only",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            "--ipc=private",
            "--log-driver=none",
            "--entrypoint=bash",
        ]
        .map(OsString::from),
    );
    let mut option = |name: &str, value: String| args.push(format!("--{name}={value}").into());
    option("pids-limit", limits.processes.to_string());
    option("memory", limits.memory_bytes.to_string());
    // Additional swap would double the limit.
    option("memory-swap", limits.memory_bytes.to_string());
    option("shm-size", limits.shared_memory_bytes.to_string());
    let (files, bytes) = (limits.open_files, limits.file_bytes);
    option("ulimit", format!("nofile={files}:{files}"));
    option("ulimit", format!("fsize={bytes}:{bytes}"));
    option("ulimit", "core=0:0".to_owned());
    option(
        "tmpfs",
        format!("/tmp:rw,nosuid,nodev,size={}", limits.tmp_bytes),
    );
    let identity = docker.identity;
    option("user", format!("{}:{}", identity.uid, identity.gid));
    if is_podman(docker) && !is_root() {
        // Rootless Podman maps users, except with this option.
        option("userns", "keep-id".to_owned());
    }
    let mut mount = |from: &Path, to: &Path, options: &str| {
        let mut value = OsString::from("--mount=type=bind,");
        value.push(mount_field("source=", from));
        value.push(",");
        value.push(mount_field("target=", to));
        value.push(options);
        args.push(value);
    };
    let workspace = mounts.workspace.to_string_lossy();
    mount(mounts.workspace, mounts.workspace, "");
    mount(mounts.channel, CHANNEL_DIR.as_ref(), ",readonly");
    mount(mounts.outputs, OUTPUT_DIR.as_ref(), ",readonly");
    mount(mounts.terminal, TERMINAL.as_ref(), "");
    args.push(format!("--workdir={workspace}").into());
    let fixed = [
        ("HOME", workspace.as_ref()),
        ("TERM", "dumb"),
        ("LANG", "C.UTF-8"),
    ];
    let extra_env = docker.env.iter();
    let extra_env = extra_env.map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in fixed.into_iter().chain(extra_env) {
        args.push(format!("--env={name}={value}").into());
    }
    // An image name with a leading dash is not an option.
    args.push("--".into());
    args.push(docker.image.clone().into());
    args.extend(["--noprofile", "--norc", "-c", &init_script()].map(OsString::from));
    args
}

/// The command that runs a container, with the runtime that was chosen: Podman takes it before its
/// command, Docker after.
fn run_command(docker: &Docker) -> Vec<OsString> {
    let mut args = vec![OsString::from("run")];
    if let Some(runtime) = &docker.runtime {
        let option = format!("--runtime={}", runtime.as_str());
        let at = if is_podman(docker) { 0 } else { 1 };
        args.insert(at, option.into());
    }
    args
}

/// A mount field, quoted as CSV: a comma in a folder's name must not start another field.
fn mount_field(name: &str, path: &Path) -> OsString {
    let mut mount_field = OsString::from(name);
    mount_field.push(path);
    let is_special = |byte: &u8| matches!(byte, b',' | b'"' | b'\n' | b'\r');
    if !mount_field.as_bytes().iter().any(is_special) {
        return mount_field;
    }
    let doubled = |byte: u8| std::iter::repeat_n(byte, if byte == b'"' { 2 } else { 1 });
    let inner = mount_field.into_vec().into_iter().flat_map(doubled);
    let quote = || std::iter::once(b'"');
    OsString::from_vec(quote().chain(inner).chain(quote()).collect())
}

/// The first command inside. The container ends with it: when bash exits, or when the other end of
/// its input is closed, however our process ended.
fn init_script() -> String {
    let startup = quote(&format!("{CHANNEL_DIR}/startup"));
    format!(
        "exec 3<&0\n\
         trap 'wait $shell; exit $?' TERM\n\
         (setsid --ctty bash --noprofile --rcfile {startup} --noediting +H -i <{TERMINAL} 3<&-\n\
         code=$?; kill -TERM $$; exit $code) &\n\
         shell=$!\n\
         read -r <&3\n\
         exit 129\n"
    )
}

fn is_podman(docker: &Docker) -> bool {
    let name = Path::new(&docker.engine).file_name();
    name.is_some_and(|name| name.to_string_lossy().starts_with("podman"))
}

/// The engine's client program. It runs as our own user, whom the engine's operator trusts.
pub(crate) fn engine(docker: &Docker, arguments: Vec<OsString>) -> Spawn {
    Spawn::new(docker.engine.as_str())
        .args(arguments)
        .envs(docker.engine_env.iter().map(|(name, value)| (name, value)))
        // Rootless Podman needs setuid helpers.
        .no_new_privs(false)
        .new_session()
        .stderr(Stdio::Piped)
}

/// The available output of the engine's program, on one line.
pub(crate) fn pipe_text(pipe: Option<&OwnedFd>) -> String {
    let Some(pipe) = pipe else {
        return String::new();
    };
    let _best_effort = rustix::io::ioctl_fionbio(pipe, true);
    let text = String::from_utf8_lossy(&read_now(pipe.as_fd())).into_owned();
    let parts: Vec<&str> = text.split_whitespace().collect();
    parts.join(" ").chars().take(MAX_ERROR_CHARS).collect()
}

/// Checks that the engine runs and has the image.
///
/// # Errors
/// If the engine is not installed or does not respond, or the image is missing.
pub(crate) async fn check_engine(docker: &Docker) -> Result<(), DeviceError> {
    let engine = &docker.engine;
    if find_program(Path::new(engine)).is_none() {
        return Err(unavailable(&format!(
            "`{engine}` was not found; install the package `docker.io` or `podman`"
        )));
    }
    let no_answer = |reason: String| {
        unavailable(&format!(
            "the engine of `{engine}` does not respond ({reason}); start it, for example with \
             `systemctl start docker`, and check that you have permission to use it"
        ))
    };
    let or_unavailable =
        |reason: Option<String>| reason.map_or(Ok(()), |reason| Err(no_answer(reason)));
    // `version` succeeds without a running engine.
    or_unavailable(engine_error(docker, &["info"]).await)?;
    check_runtime(docker).await?;
    let image = &docker.image;
    // After `--`, a name with a leading dash is not an option.
    let inspect = [
        "image",
        "inspect",
        "--format",
        "{{.Id}}",
        "--",
        image.as_str(),
    ];
    match engine_error(docker, &inspect).await {
        None => Ok(()),
        Some(reason) => Err(unavailable(&format!(
            "`{engine}` has no image `{image}` ({reason}); get it with `{engine} pull {image}`, or \
             choose a local one with --shell={engine}:IMAGE"
        ))),
    }
}

/// Checks that the engine has the chosen runtime.
async fn check_runtime(docker: &Docker) -> Result<(), DeviceError> {
    let Some(runtime) = docker.runtime.as_ref().map(ContainerRuntime::as_str) else {
        return Ok(());
    };
    let engine = &docker.engine;
    let option = format!("--runtime={runtime}");
    let list = "{{range $name, $_ := .Runtimes}}{{$name}} {{end}}";
    // Podman fails if it does not have the runtime; Docker lists those that it has.
    let answer = if is_podman(docker) {
        let answer = engine_output(docker, &[&option, "info", "--format=ok"]).await;
        answer.map(drop)
    } else {
        let answer = engine_output(docker, &["info", "--format", list]).await;
        answer.and_then(|names| {
            let has_it = names.split_whitespace().any(|name| name == runtime);
            let names = names.trim();
            has_it
                .then_some(())
                .ok_or_else(|| format!("it has: {names}"))
        })
    };
    let Err(reason) = answer else {
        return Ok(());
    };
    let package = match runtime {
        "runsc" => "; install the package `runsc`, and for Docker run `runsc install`",
        _ => "",
    };
    Err(unavailable(&format!(
        "`{engine}` has no runtime `{runtime}` ({reason}){package}, or leave out --runtime"
    )))
}

/// Runs a command of the engine; returns its error message if it fails.
async fn engine_error(docker: &Docker, arguments: &[&str]) -> Option<String> {
    engine_output(docker, arguments).await.err()
}

/// The output of a command of the engine, on one line, or its error message.
async fn engine_output(docker: &Docker, arguments: &[&str]) -> Result<String, String> {
    let arguments = arguments.iter().map(OsString::from).collect();
    let spawn = engine(docker, arguments).stdout(Stdio::Piped);
    let spawned = spawn.spawn().await;
    let mut child: Child = spawned.map_err(|error| format!("failed to {error}"))?;
    let (stdout, stderr) = (child.take_stdout(), child.take_stderr());
    let status = timeout(ENGINE_TIMEOUT, child.wait()).await;
    let status = status.map_err(|_| "timed out".to_owned())?;
    let status = status.map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(pipe_text(stdout.as_ref()));
    }
    let stderr_text = pipe_text(stderr.as_ref());
    Err(if stderr_text.is_empty() {
        status.to_string()
    } else {
        stderr_text
    })
}

/// An error with the reason why no container is available, and the alternative.
pub(crate) fn unavailable(reason: &str) -> DeviceError {
    let message = format!("{reason}. The sandboxed shell works without a container engine");
    DeviceError::Unavailable {
        what: "the shell in a container",
        message,
    }
}

#[cfg(test)]
mod tests {
    use telechir_process::Identity;

    use super::*;

    fn docker() -> Docker {
        let identity = Identity {
            uid: 4321,
            gid: 4321,
        };
        Docker::new("docker", "debian:12", "/work", identity)
    }

    #[test]
    fn a_container_has_no_capabilities_and_no_network() {
        let mounts = ContainerMounts {
            workspace: "/work".as_ref(),
            channel: "/dev/shm/x".as_ref(),
            outputs: "/tmp/o".as_ref(),
            terminal: "/dev/pts/7".as_ref(),
        };
        let mut docker = docker();
        docker.image = "--privileged".to_owned();
        docker.env = vec![("KEY".to_owned(), "a b".to_owned())];
        let args = arguments(&docker, mounts);
        let args: Vec<&str> = args.iter().filter_map(|arg| arg.to_str()).collect();
        for expected in [
            "--network=none",
            "--read-only",
            "--cap-drop=ALL",
            "--security-opt=no-new-privileges",
            "--pull=never",
            "--user=4321:4321",
            "--interactive",
            "--pids-limit=512",
            "--memory=4294967296",
            "--memory-swap=4294967296",
            "--tmpfs=/tmp:rw,nosuid,nodev,size=536870912",
            "--mount=type=bind,source=/work,target=/work",
            "--mount=type=bind,source=/dev/shm/x,target=/run/telechir,readonly",
            "--mount=type=bind,source=/tmp/o,target=/run/telechir-output,readonly",
            "--mount=type=bind,source=/dev/pts/7,target=/dev/telechir-terminal",
            "--env=KEY=a b",
        ] {
            assert!(args.contains(&expected), "{expected}: {args:?}");
        }
        // An image name with a leading dash stays an image.
        let end = args.iter().position(|arg| *arg == "--");
        let image = args.iter().position(|arg| *arg == "--privileged");
        assert_eq!(end.map(|end| end + 1), image);
    }

    #[test]
    fn a_folder_name_with_mount_syntax_is_escaped() {
        let mounts = ContainerMounts {
            workspace: "/w,source=\"/\",x".as_ref(),
            channel: "/dev/shm/x".as_ref(),
            outputs: "/tmp/o".as_ref(),
            terminal: "/dev/pts/7".as_ref(),
        };
        let args = arguments(&docker(), mounts);
        let expected = r#"--mount=type=bind,"source=/w,source=""/"",x","target=/w,source=""/"",x""#;
        assert!(args.iter().any(|arg| arg == expected), "{args:?}");
    }

    #[test]
    fn the_chosen_runtime_is_passed_on() {
        let mounts = ContainerMounts {
            workspace: "/work".as_ref(),
            channel: "/dev/shm/x".as_ref(),
            outputs: "/tmp/o".as_ref(),
            terminal: "/dev/pts/7".as_ref(),
        };
        let mut docker = docker();
        assert_eq!(arguments(&docker, mounts)[..2], ["run", "--rm"]);
        docker.runtime = Some(ContainerRuntime::parse("runsc").expect("a name"));
        assert_eq!(arguments(&docker, mounts)[..2], ["run", "--runtime=runsc"]);
        docker.engine = "/usr/bin/podman".to_owned();
        assert_eq!(arguments(&docker, mounts)[..2], ["--runtime=runsc", "run"]);
    }

    #[test]
    fn a_runtime_is_a_name() {
        let too_long = "x".repeat(65);
        for text in [
            "",
            "-v",
            "--privileged",
            "/bin/sh",
            "../runsc",
            "a b",
            "a\n",
            "a=b",
            "a,b",
            "ｒunsc",
            &too_long,
        ] {
            let error = ContainerRuntime::parse(text).expect_err(text);
            assert!(error.contains("such as runsc"), "{error}");
        }
        for text in ["runsc", "io.containerd.runsc.v1", "kata-fc", "crun_2"] {
            assert_eq!(ContainerRuntime::parse(text).expect(text).as_str(), text);
        }
    }

    /// An engine that has the runtime `runc` alone.
    fn engine_with_runc(folder: &Path, name: &str) -> Docker {
        use std::os::unix::fs::PermissionsExt;
        let program = folder.join(name);
        let script = "#!/bin/sh\ncase $* in\n--runtime=runc*) ;;\n--runtime=*) \
                      echo 'no such runtime' >&2; exit 125 ;;\n\
                      info*) echo 'io.containerd.runc.v2 runc ' ;;\nesac\n";
        std::fs::write(&program, script).expect("a script");
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(&program, executable).expect("permissions");
        let mut docker = docker();
        docker.engine = program.to_string_lossy().into_owned();
        docker
    }

    #[tokio::test]
    async fn a_missing_runtime_is_refused_with_instructions() {
        let folder = tempfile::tempdir().expect("a folder");
        for engine in ["docker", "podman"] {
            let mut docker = engine_with_runc(folder.path(), engine);
            docker.runtime = Some(ContainerRuntime::parse("runc").expect("a name"));
            check_engine(&docker).await.expect("it has runc");
            docker.runtime = Some(ContainerRuntime::parse("run").expect("a name"));
            check_engine(&docker).await.expect_err("not a prefix");
            docker.runtime = Some(ContainerRuntime::parse("runsc").expect("a name"));
            let error = check_engine(&docker)
                .await
                .expect_err("no runsc")
                .to_string();
            assert!(error.contains("has no runtime `runsc`"), "{error}");
            assert!(error.contains("install the package `runsc`"), "{error}");
        }
    }

    #[tokio::test]
    async fn a_missing_engine_is_refused_with_instructions() {
        let mut docker = docker();
        docker.engine = "no-such-engine".to_owned();
        let error = check_engine(&docker).await.expect_err("no engine");
        let text = error.to_string();
        assert!(
            text.contains("`no-such-engine` was not found; install"),
            "{text}"
        );
        // A program that exists but fails.
        docker.engine = "false".to_owned();
        let error = check_engine(&docker).await.expect_err("no engine");
        let text = error.to_string();
        assert!(
            text.contains("does not respond") && text.contains("start it"),
            "{text}"
        );
    }
}
