//! A program that sandboxes itself, in a network namespace of its own.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use telechir_process::confinement::NetworkNamespace;
use telechir_process::{Identity, Spawn, Stdio, is_root};
use telechir_testkit::gate::{Component, require};
use tempfile::TempDir;

use crate::{lifeline, read_all, sh};

fn namespace() -> NetworkNamespace {
    require(Component::Sandbox);
    NetworkNamespace::new().unwrap()
}

/// A folder that any user can enter.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

/// A script for a program in a namespace, run by an unprivileged user.
fn program(script: &str) -> Spawn {
    let identity = is_root().then(|| Identity::unprivileged(3_830)).flatten();
    let script = sh(script).env("PATH", "/usr/bin:/bin");
    script.identity(identity)
}

/// What a script prints in a namespace.
async fn output_in(namespace: NetworkNamespace, script: &str) -> String {
    let (reader, writer) = lifeline();
    let program = program(script).stdout(Stdio::Fd(writer));
    let (spawn, waiting) = namespace.wrap(program).unwrap();
    let _child = spawn.spawn().await.unwrap();
    waiting.ready().await.unwrap();
    waiting.start().unwrap();
    read_all(reader).await
}

#[tokio::test]
async fn a_program_waits_for_its_permission_and_has_a_loopback_interface_alone() {
    let folder = folder();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let mark = folder.path().join("started");
    let (reader, writer) = lifeline();
    let script = format!(
        "touch {}; ls /proc/self/fd; sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' '",
        mark.display()
    );
    let program = program(&script).stdout(Stdio::Fd(writer));
    let (spawn, waiting) = namespace().wrap(program).unwrap();
    let _child = spawn.spawn().await.unwrap();
    let process = waiting.ready().await.unwrap();
    let network = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
    let pid = process.as_raw_nonzero().to_string();
    assert_ne!(network(&pid), network("self"));
    assert!(!mark.exists(), "it waits");
    waiting.start().unwrap();
    let text = read_all(reader).await;
    assert!(mark.exists());
    // The standard streams and the folder that is listed, but no pipe of bubblewrap's.
    assert_eq!(text, "0\n1\n2\n3\nlo\n");
}

#[tokio::test]
async fn a_hidden_folder_has_only_what_stays_visible() {
    let folder = folder();
    let at = |name: &str| folder.path().join(name);
    for name in ["hidden/one", "hidden/two", "beside"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    fs::write(at("hidden/two/file"), "").unwrap();
    symlink(at("hidden"), at("link")).unwrap();
    let visible = [at("hidden/two"), at("hidden/missing"), at("beside")];
    let visible: [&Path; 3] = visible.each_ref().map(PathBuf::as_path);
    let hidden = namespace()
        .without_folder(&at("hidden"), &visible)
        .without_folder(&at("missing"), &visible);
    let script = format!(
        "cd {}; ls hidden hidden/two; touch hidden/new || echo read-only; ls",
        folder.path().display()
    );
    assert_eq!(
        output_in(hidden, &script).await,
        "hidden:\ntwo\n\nhidden/two:\nfile\nread-only\nbeside\nhidden\nlink\n"
    );
    // A link stays as it is.
    let link = namespace().without_folder(&at("link"), &visible);
    let script = format!("ls {}", at("hidden").display());
    assert_eq!(output_in(link, &script).await, "one\ntwo\n");
}

#[tokio::test]
async fn a_folder_is_shown_where_none_is_beside_what_is_there() {
    let (folder, shown) = (folder(), folder());
    let at = |name: &str| folder.path().join(name);
    fs::write(shown.path().join("policy"), "text\n").unwrap();
    fs::create_dir(at("existing")).unwrap();
    fs::write(at("file"), "kept\n").unwrap();
    symlink("file", at("link")).unwrap();
    for (target, others) in [
        ("new/deep", "existing\nfile\nlink\nnew\n"),
        ("existing", "existing\nfile\nlink\n"),
    ] {
        let namespace = namespace().with_folder(shown.path(), &at(target)).unwrap();
        let script = format!(
            "cd {}; cat {target}/policy link; ls; echo x > {target}/policy || echo read-only",
            folder.path().display()
        );
        let expected = format!("text\nkept\n{others}read-only\n");
        assert_eq!(output_in(namespace, &script).await, expected, "{target}");
    }
    assert!(!at("new").exists(), "nothing is made outside");
}

#[tokio::test]
async fn a_program_whose_folder_cannot_be_shown_is_not_started() {
    let (reader, writer) = lifeline();
    let program = program("echo started").stdout(Stdio::Fd(writer));
    let namespace = namespace().with_folder("/no/such/folder".as_ref(), "/tmp".as_ref());
    let (spawn, waiting) = namespace.unwrap().wrap(program).unwrap();
    let child = spawn.spawn().await.unwrap();
    // bubblewrap reports the process before it mounts something.
    let _may_be_gone = waiting.ready().await;
    let _may_be_gone = waiting.start();
    assert_eq!(read_all(reader).await, "");
    assert_ne!(child.wait().await.unwrap().code(), Some(0));
}
