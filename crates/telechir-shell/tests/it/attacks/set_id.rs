//! No command leaves a file in the workspace that runs as its owner or group.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use telechir_shell::{Bash, Isolation};

use super::system_calls::number;
use crate::{run, sandboxed, settings, workspace};

/// Files below a folder with a set-id bit.
fn set_id_files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let metadata = entry.path().symlink_metadata().unwrap();
        if metadata.permissions().mode() & 0o6000 != 0 {
            found.push(format!("{:?}", entry.path()));
        }
        if metadata.is_dir() {
            found.extend(set_id_files(&entry.path()));
        }
    }
    found
}

/// A call in Perl that must fail with `EPERM`, for each mode with a set-id bit.
async fn refused(name: &str, arguments: &str) {
    let (mut shell, folder) = sandboxed().await;
    fs::write(folder.path().join("file"), "").unwrap();
    fs::set_permissions(
        folder.path().join("file"),
        fs::Permissions::from_mode(0o666),
    )
    .unwrap();
    run(&mut shell, "cp file own").await;
    let call = number(name);
    for mode in [
        "04755",
        "02755",
        "06711",
        "07777",
        "0104755",
        "0x100000000 + 04755",
    ] {
        let arguments = arguments.replace("MODE", mode);
        let attempt = format!(
            "perl -e '{NAMES} open F, \"<\", \"own\"; umask 0; \
             $r = syscall({call}, {arguments}); print $r < 0 ? $!+0 : \"made\"'"
        );
        let output = run(&mut shell, &attempt).await;
        assert_eq!(output.stdout, "1", "{name} {mode}: {output:?}");
    }
    assert_eq!(set_id_files(folder.path()), [""; 0]);
    let allowed = arguments.replace("MODE", "01644");
    let attempt = format!(
        "perl -e '{NAMES} open F, \"<\", \"own\"; $r = syscall({call}, {allowed}); print $r < 0 ? $!+0 : \"made\"'"
    );
    let output = run(&mut shell, &attempt).await;
    assert_eq!(
        output.stdout, "made",
        "{name} without these bits: {output:?}"
    );
}

/// Perl passes only variables as strings to a system call.
const NAMES: &str = "$own = \"own\"; $new = \"new$$\"; $dot = \".\"; $none = \"\";";
const NOW: &str = "-100"; // AT_FDCWD
const CREATES: &str = "0101"; // O_CREAT | O_WRONLY
const TEMPORARY: &str = "020000000 | 0200000 | 2"; // O_TMPFILE | O_RDWR

#[tokio::test]
async fn fchmod_sets_no_set_id_bit() {
    refused("fchmod", "fileno(F), MODE").await;
}

#[tokio::test]
async fn fchmodat_sets_no_set_id_bit() {
    refused("fchmodat", &format!("{NOW}, $own, MODE")).await;
}

#[tokio::test]
async fn fchmodat2_sets_no_set_id_bit() {
    refused("fchmodat2", &format!("{NOW}, $own, MODE, 0")).await;
    refused("fchmodat2", "fileno(F), $none, MODE, 0x1000").await;
}

#[tokio::test]
async fn openat_creates_no_set_id_file() {
    refused("openat", &format!("{NOW}, $new, {CREATES}, MODE")).await;
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn a_temporary_file_that_gets_a_name_has_no_set_id_bit() {
    refused("openat", &format!("{NOW}, $dot, {TEMPORARY}, MODE")).await;
    refused("open", &format!("$dot, {TEMPORARY}, MODE")).await;
}

#[tokio::test]
async fn mknodat_creates_no_set_id_file() {
    refused("mknodat", &format!("{NOW}, $new, 0100000 | (MODE), 0")).await;
}

#[cfg(target_arch = "x86_64")]
#[tokio::test]
async fn the_older_calls_create_no_set_id_file() {
    refused("chmod", "$own, MODE").await;
    refused("open", &format!("$new, {CREATES}, MODE")).await;
    refused("creat", "$new, MODE").await;
    refused("mknod", "$new, 0100000 | (MODE), 0").await;
}

#[tokio::test]
async fn openat2_whose_mode_is_in_memory_does_not_exist() {
    let (mut shell, folder) = sandboxed().await;
    let attempt = "perl -e '$how = pack \"QQQ\", 0101, 04755, 0; \
        $new = \"new\"; $r = syscall(437, -100, $new, $how, 24); print $r < 0 ? $!+0 : \"made\"'";
    assert_eq!(run(&mut shell, attempt).await.stdout, "38");
    assert_eq!(set_id_files(folder.path()), [""; 0]);
}

#[tokio::test]
async fn ordinary_programs_leave_no_set_id_file() {
    let (mut shell, folder) = sandboxed().await;
    let attempts = [
        "cp /usr/bin/id a; chmod u+s a",
        "cp /usr/bin/id a; chmod 6755 a",
        "install -m 4755 /usr/bin/id b",
        "cp -p /usr/bin/su c || cp --preserve=mode /usr/bin/passwd c",
        "mkdir d && chmod g+s d",
        "mkdir -m 2775 e",
        "perl -e 'mkdir \"f\", 06755; mkfifo: use POSIX; POSIX::mkfifo(\"g\", 06666)'",
        "perl -e 'use Fcntl; sysopen F, \"h\", O_CREAT|O_WRONLY, 04755'",
        "cp /usr/bin/id i; setfacl -m u::rwx i; perl -e 'chmod 04755, \"/proc/self/cwd/i\"'",
        "cd /tmp && cp /usr/bin/id j && chmod 4755 j; cp -p j $HOME/j",
        "cp /usr/bin/id k; exec 5<k; chmod 4755 /proc/self/fd/5; chmod 4755 /dev/fd/5",
    ];
    for attempt in attempts {
        run(&mut shell, &format!("({attempt})")).await;
        assert_eq!(set_id_files(folder.path()), [""; 0], "{attempt}");
    }
    let archive = folder.path().join("archive.tar");
    let make = "import io, tarfile; t = tarfile.open('archive.tar', 'w'); i = tarfile.TarInfo('l'); \
        i.mode = 0o6755; i.size = 1; t.addfile(i, io.BytesIO(b'x')); t.close()";
    run(
        &mut shell,
        &format!("/usr/bin/python3 -c \"{make}\"; tar xpf archive.tar"),
    )
    .await;
    assert_eq!(set_id_files(folder.path()), [""; 0], "{}", archive.exists());
}

#[tokio::test]
async fn a_background_job_leaves_no_set_id_file() {
    use telechir_device::Shell;
    let folder = workspace();
    let mut shell = Bash::start(Isolation::Sandbox(settings(&folder)))
        .await
        .unwrap();
    let job = crate::command("cp /usr/bin/id a; chmod 4755 a; setsid chmod 2755 a; touch end");
    shell.start(&job).await.unwrap();
    telechir_testkit::assert_eventually!(folder.path().join("end").exists());
    assert_eq!(set_id_files(folder.path()), [""; 0]);
}

#[tokio::test]
async fn no_file_gets_capabilities() {
    let (mut shell, folder) = sandboxed().await;
    let call = number("setxattr");
    // Version 2 with every capability, permitted and effective.
    let attempt = format!(
        "cp /usr/bin/id own; perl -e '$f = \"own\"; $n = \"security.capability\"; \
         $v = pack \"V5\", 0x02000001, ~0, 0, ~0, 0; \
         $r = syscall({call}, $f, $n, $v, 20, 0); print $r < 0 ? $!+0 : \"made\"'"
    );
    assert_eq!(run(&mut shell, &attempt).await.stdout, "1");
    let mut value = [0; 32];
    let name = "security.capability";
    assert!(rustix::fs::getxattr(folder.path().join("own"), name, &mut value[..]).is_err());
}
