//! Every system call is answered as the committed table says.

use std::collections::BTreeMap;

use telechir_process::{Spawn, Stdio};

use crate::{run, sandboxed, settings, workspace};

#[cfg(target_arch = "x86_64")]
const TABLE: &str = include_str!("../../../../telechir-process/src/confinement/seccomp/x86_64.txt");
#[cfg(target_arch = "aarch64")]
const TABLE: &str =
    include_str!("../../../../telechir-process/src/confinement/seccomp/aarch64.txt");

/// The lines of the table: number, name and answer.
pub(super) fn calls() -> impl Iterator<Item = (i64, &'static str, &'static str)> {
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields[0].parse().unwrap(), fields[1], fields[2])
        })
}

/// The number of a listed call.
pub(super) fn number(name: &str) -> i64 {
    let found = calls().find(|(_, listed, _)| *listed == name);
    found.map(|(number, ..)| number).unwrap()
}

/// Makes each call with invalid arguments in a child of its own and prints its number and error
/// number; `0` if it succeeded, or ended or blocked the child.
const WALK: &str = r#"
use POSIX ();
for my $number (@ARGV ? @ARGV : (0 .. 600, 1000, 0x3fffffff)) {
    my $child = fork // die "fork: $!";
    if (!$child) {
        alarm 2;
        open STDERR, ">", "/dev/null";
        my $got = syscall($number, -1, -1, -1, -1, -1, -1);
        POSIX::_exit($got == -1 ? $! + 0 : 0);
    }
    waitpid $child, 0;
    print "$number ", ($? & 127) || $? >> 8 == 255 ? 0 : $? >> 8, "\n";
}"#;

const EPERM: i32 = 1;
const ENOSYS: i32 = 38;

fn walked(text: &str) -> BTreeMap<i64, i32> {
    let lines = text.lines().map(|line| line.split_once(' ').unwrap());
    lines
        .map(|(number, errno)| (number.parse().unwrap(), errno.parse().unwrap()))
        .collect()
}

#[tokio::test]
async fn every_system_call_is_answered_as_the_table_lists_it() {
    let (mut shell, folder) = sandboxed().await;
    std::fs::write(folder.path().join("walk"), WALK).unwrap();
    let output = run(&mut shell, "perl walk").await;
    let found = walked(&output.stdout);
    assert_eq!(found.len(), 603, "{output:?}");
    let listed: BTreeMap<i64, (&str, &str)> = calls()
        .map(|(number, name, answer)| (number, (name, answer)))
        .collect();
    let mut unknown_here = Vec::new();
    for (number, errno) in found {
        match listed.get(&number) {
            None => assert_eq!(errno, ENOSYS, "the unlisted call {number}"),
            Some((name, "refused")) => assert_eq!(errno, EPERM, "{name}"),
            Some(_) if errno == ENOSYS => unknown_here.push(number.to_string()),
            Some(_) => {}
        }
    }
    // The kernel itself has no such call: it is unknown outside, too.
    let outside = Spawn::new("perl")
        .args(["-e", WALK])
        .args(&unknown_here)
        .identity(settings(&workspace()).identity)
        .stdout(Stdio::Piped);
    if !unknown_here.is_empty() {
        let mut child = outside.spawn().await.unwrap();
        let stdout = child.take_stdout().unwrap();
        child.wait().await.unwrap();
        let text = std::io::read_to_string(std::fs::File::from(stdout)).unwrap();
        let answers = walked(&text);
        assert!(
            answers.values().all(|errno| *errno == ENOSYS) && answers.len() == unknown_here.len(),
            "allowed calls that fail inside alone: {answers:?}"
        );
    }
}

#[tokio::test]
async fn calls_newer_than_the_table_do_not_exist() {
    let (mut shell, _workspace) = sandboxed().await;
    // open_tree_attr mounts like open_tree, file_setattr, and numbers that no kernel has yet.
    for number in [467, 469, 500, 4096] {
        let attempt = format!(
            "perl -e '$path = \"/\"; exit 9 if syscall({number}, -100, $path, 1, 0, 0) >= 0; print $!+0'"
        );
        let output = run(&mut shell, &attempt).await;
        assert_eq!(output.stdout, "38", "{number}: {output:?}");
    }
}

#[tokio::test]
async fn compilers_interpreters_and_version_control_work() {
    let (mut shell, _workspace) = sandboxed().await;
    let programs = [
        (
            "git",
            "git init -q r && cd r && echo a >f && git add f && git -c user.name=a -c user.email=a@b commit -qm a && git log --oneline | wc -l; cd ..",
            "1\n",
        ),
        (
            "gcc",
            "printf 'int main(){return 7;}' >m.c && gcc m.c -o m && ./m; echo $?",
            "7\n",
        ),
        (
            "/usr/bin/python3",
            "/usr/bin/python3 -c 'import os, subprocess, tempfile, threading, multiprocessing as m; t = threading.Thread(target=print, args=(1,)); t.start(); t.join(); tempfile.TemporaryFile().write(b\"x\"); print(subprocess.check_output([\"echo\", \"2\"]).decode().strip()); p = m.Process(target=print, args=(3,)); p.start(); p.join()'",
            "1\n2\n3\n",
        ),
        (
            "node",
            "node -e 'require(\"child_process\").exec(\"echo 4\", (e, o) => process.stdout.write(o)); require(\"fs\").writeFileSync(\"n\", \"x\")'",
            "4\n",
        ),
        ("java", "java -version 2>&1 | grep -c -i version", "1\n"),
        (
            "tar",
            "mkdir -p d/e && chmod 1777 d && echo x >d/e/f && tar cf d.tar d && rm -r d && tar xpf d.tar && stat -c %a d",
            "1777\n",
        ),
        (
            "perl",
            "perl -MSocket -e 'socketpair(A, B, AF_UNIX, SOCK_STREAM, 0) or die; print \"5\\n\"'",
            "5\n",
        ),
        (
            "sort",
            "seq 20000 | sort -n --parallel=4 | tail -1",
            "20000\n",
        ),
    ];
    for (program, line, expected) in programs {
        let present = run(&mut shell, &format!("type -P {program}")).await;
        if present.exit_code != Some(0) {
            continue;
        }
        let output = run(&mut shell, line).await;
        let lines: Vec<&str> = output.stdout.lines().collect();
        assert!(
            output.stdout.ends_with(expected),
            "{program}: {lines:?} {}",
            output.stderr
        );
    }
}
