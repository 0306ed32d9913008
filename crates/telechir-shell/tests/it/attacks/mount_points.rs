//! No mount point leads over a link of the workspace, with any version of bubblewrap.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use telechir_process::confinement::{Confinement, ResourceLimits};
use telechir_process::{Spawn, Stdio};
use telechir_shell::{Bash, Isolation, Sandbox};

use crate::{run, settings, workspace};

/// A folder outside that everybody can write to.
fn outside() -> tempfile::TempDir {
    let folder = workspace();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    folder
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// The attack of CVE-2026-87766: during the setup, the machine's root is at `/oldroot`.
fn plant(workspace: &Path, outside: &Path) {
    let target = Path::new("/oldroot").join(outside.strip_prefix("/").unwrap());
    symlink(target, workspace.join("link")).unwrap();
}

#[tokio::test]
async fn a_link_in_a_mount_point_creates_nothing_outside() {
    let (folder, other) = (workspace(), outside());
    plant(folder.path(), other.path());
    let identity = settings(&folder).identity;
    for name in ["link/file", "link/sub/file"] {
        let confinement = Confinement::new(identity, &ResourceLimits::default()).unwrap();
        let confinement = confinement.writable(folder.path());
        let confinement = confinement.read_only("/etc/passwd", folder.path().join(name));
        let error = confinement.command(["true"]).unwrap_err().to_string();
        assert!(error.contains("over a link"), "{error}");
    }
    assert!(is_empty(other.path()));
}

/// What bubblewrap alone does shows that the test above tests something.
#[tokio::test]
async fn bubblewrap_alone_before_0_12_creates_a_file_outside() {
    let (folder, other) = (workspace(), outside());
    plant(folder.path(), other.path());
    let mut version = Spawn::new("bwrap")
        .arg("--version")
        .stdout(Stdio::Piped)
        .spawn()
        .await
        .unwrap();
    let text = std::io::read_to_string(fs::File::from(version.take_stdout().unwrap())).unwrap();
    let minor = text
        .split('.')
        .nth(1)
        .and_then(|minor| minor.parse::<u32>().ok());
    let (top, point) = (folder.path(), folder.path().join("link/file"));
    let bwrap = Spawn::new("bwrap")
        .args(["--unshare-user", "--ro-bind", "/usr", "/usr", "--bind"])
        .args([top, top])
        .args(["--ro-bind", "/etc/passwd"])
        .arg(&point)
        .arg("/usr/bin/true")
        .identity(settings(&folder).identity);
    bwrap.spawn().await.unwrap().wait().await.unwrap();
    // A distribution may have mended an older version.
    if minor >= Some(12) {
        assert!(is_empty(other.path()), "{text}");
    }
}

#[tokio::test]
async fn a_shell_does_not_start_over_a_link() {
    let (folder, other, extra) = (workspace(), outside(), workspace());
    plant(extra.path(), other.path());
    let sandbox = Sandbox {
        writable: vec![extra.path().into(), extra.path().join("link/new")],
        ..settings(&folder)
    };
    let error = Bash::start(Isolation::Sandbox(sandbox)).await.unwrap_err();
    assert!(error.to_string().contains("over a link"), "{error}");
    assert!(is_empty(other.path()));
}

/// Ends a thread when it is dropped, also by a failed assertion.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn folders_that_are_exchanged_during_the_start_mount_nothing_else() {
    let (folder, other, extra) = (workspace(), outside(), outside());
    fs::create_dir(other.path().join("inner")).unwrap();
    fs::write(other.path().join("inner/secret"), "secret").unwrap();
    let (point, aside) = (extra.path().join("sub"), extra.path().join("aside"));
    let inner = point.join("inner");
    fs::create_dir_all(&inner).unwrap();
    let target = Path::new("/oldroot").join(other.path().strip_prefix("/").unwrap());
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let _may_be_missing = fs::rename(&point, &aside);
                let _may_exist = symlink(&target, &point);
                let _may_be_a_folder = fs::remove_file(&point);
                let _may_be_missing = fs::rename(&aside, &point);
            }
        });
        let _stop = Stop(&ended);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            for _ in 0..20 {
                let sandbox = Sandbox {
                    writable: vec![extra.path().into(), inner.clone()],
                    ..settings(&folder)
                };
                if let Ok(mut shell) = Bash::start(Isolation::Sandbox(sandbox)).await {
                    let output = run(&mut shell, &format!("cat {}/secret", inner.display())).await;
                    assert_eq!(output.stdout, "", "{output:?}");
                    shell.close().await.unwrap();
                }
            }
        });
    });
}
