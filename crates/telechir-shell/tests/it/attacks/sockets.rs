//! Servers outside cannot be reached by their sockets in the workspace.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use telechir_shell::{Bash, Isolation, Sandbox};
use tempfile::TempDir;

use crate::{run, settings, workspace};

/// Listens at a path of a folder, as a server that lets everybody connect.
fn listen(folder: &Path, name: &str) -> UnixListener {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let listener = UnixListener::bind(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    listener
}

/// Connects to each path in turn and prints what happened.
fn connect(paths: &[&str]) -> String {
    format!(
        "perl -MIO::Socket::UNIX -e 'for (@ARGV) {{ print IO::Socket::UNIX->new($_) ? \"met\" : $!+0, \" \" }}' {}",
        paths.join(" ")
    )
}

async fn started(folder: &TempDir) -> Bash {
    Bash::start(Isolation::Sandbox(settings(folder)))
        .await
        .unwrap()
}

const REFUSED: &str = "111 ";

#[tokio::test]
async fn a_server_in_the_workspace_is_unreachable() {
    let folder = workspace();
    let names = [
        "docker.sock",
        "sub/.deep/run/s",
        "with space",
        ".git/daemon.ipc",
    ];
    let _servers = names.map(|name| listen(folder.path(), name));
    let mut shell = started(&folder).await;
    let paths = [
        "docker.sock",
        "sub/.deep/run/s",
        "'with space'",
        ".git/daemon.ipc",
    ];
    let output = run(&mut shell, &connect(&paths)).await;
    assert_eq!(output.stdout, REFUSED.repeat(4), "{output:?}");
    let around = [
        "$PWD/docker.sock",
        "../*/docker.sock",
        "/proc/self/cwd/docker.sock",
        "/proc/1/root/$PWD/docker.sock",
    ];
    let output = run(&mut shell, &connect(&around)).await;
    assert!(!output.stdout.contains("met"), "{output:?}");
}

#[tokio::test]
async fn a_covered_socket_cannot_be_uncovered() {
    let folder = workspace();
    let _servers = ["a/s", "t"].map(|name| listen(folder.path(), name));
    fs::set_permissions(folder.path().join("a"), fs::Permissions::from_mode(0o777)).unwrap();
    let mut shell = started(&folder).await;
    let attempts = "mv a b; mv t u; ln t v; ln -s a/s w; rm -f t; cp -a t x; \
                    perl -e 'link \"t\", \"y\"; rename \"t\", \"z\"; unlink \"t\"'; umount t; true";
    run(&mut shell, attempts).await;
    let every = connect(&["a/s", "b/s", "t", "u", "v", "w", "x", "y", "z"]);
    let output = run(&mut shell, &every).await;
    assert!(
        !output.stdout.contains("met") && !output.stdout.is_empty(),
        "{output:?}"
    );
}

#[tokio::test]
async fn sockets_in_additional_folders_are_unreachable() {
    let (folder, other) = (workspace(), workspace());
    let _server = listen(other.path(), "sub/s");
    for is_writable in [false, true] {
        let path: PathBuf = other.path().into();
        let (read_only, writable) = match is_writable {
            true => (Vec::new(), vec![path]),
            false => (vec![path], Vec::new()),
        };
        let sandbox = Sandbox {
            read_only,
            writable,
            ..settings(&folder)
        };
        let mut shell = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap();
        let socket = other.path().join("sub/s");
        let output = run(&mut shell, &connect(&[socket.to_str().unwrap()])).await;
        assert_eq!(output.stdout, REFUSED, "{output:?}");
    }
}

#[tokio::test]
async fn programs_inside_use_sockets_of_their_own() {
    let folder = workspace();
    let mut shell = started(&folder).await;
    let server = "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => \"own\", Listen => 5); \
        print \"up\\n\"; while ($c = $s->accept) {}' >up & until [[ -s up || -S own ]]; do sleep 0.05; done";
    run(&mut shell, server).await;
    let output = run(&mut shell, &connect(&["own"])).await;
    assert_eq!(output.stdout, "met ", "{output:?}");
    run(&mut shell, "sleep 1.2").await;
    let output = run(&mut shell, &format!("{}; kill %1", connect(&["own"]))).await;
    assert_eq!(
        output.stdout, "met ",
        "still after other commands: {output:?}"
    );
}

#[tokio::test]
async fn covered_sockets_stay_as_they_are_outside() {
    let folder = workspace();
    let server = listen(folder.path(), "s");
    let shell = started(&folder).await;
    shell.close().await.unwrap();
    std::os::unix::net::UnixStream::connect(folder.path().join("s")).unwrap();
    drop(server);
}

#[tokio::test]
async fn a_server_that_starts_later_is_out_of_reach_after_a_command() {
    let folder = workspace();
    let mut shell = started(&folder).await;
    let _server = listen(folder.path(), "later/docker.sock");
    let line = connect(&["later/docker.sock"]);
    telechir_testkit::assert_eventually!(run(&mut shell, &line).await.stdout, |met| met == REFUSED);
}

#[tokio::test]
async fn a_server_that_starts_again_is_out_of_reach_after_a_command() {
    let folder = workspace();
    let server = listen(folder.path(), "s");
    let mut shell = started(&folder).await;
    drop(server);
    fs::remove_file(folder.path().join("s")).unwrap();
    let _again = listen(folder.path(), "s");
    let line = connect(&["s"]);
    telechir_testkit::assert_eventually!(run(&mut shell, &line).await.stdout, |met| met == REFUSED);
}

#[tokio::test]
async fn a_name_that_was_used_inside_does_not_hide_a_server_outside() {
    let folder = workspace();
    let mut shell = started(&folder).await;
    let decoy = "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => $ENV{PWD} . \"/s\", Listen => 5); \
        rename \"s\", \"moved\"; sleep 1000' & until [[ -S moved ]]; do sleep 0.05; done";
    run(&mut shell, decoy).await;
    let _server = listen(folder.path(), "s");
    let line = connect(&["s"]);
    telechir_testkit::assert_eventually!(run(&mut shell, &line).await.stdout, |met| met == REFUSED);
    assert_eq!(run(&mut shell, &connect(&["moved"])).await.stdout, "met ");
}

#[tokio::test]
async fn a_socket_whose_server_inside_ended_can_be_removed() {
    let folder = workspace();
    let mut shell = started(&folder).await;
    let dead = "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => \"s\", Listen => 5)'";
    run(&mut shell, dead).await;
    run(&mut shell, "sleep 0.5").await;
    let output = run(&mut shell, "rm s && echo gone").await;
    assert_eq!(output.stdout, "gone\n", "{output:?}");
}
