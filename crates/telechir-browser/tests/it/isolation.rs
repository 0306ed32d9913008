//! The confinement and cleanup of the browser, verified at the operating system.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use telechir_browser::{Browser, Options, Surface};
use telechir_device::{Computer as _, DeviceError};
use telechir_process::is_root;
use telechir_testkit::assert_eventually;
use telechir_testkit::eventually::PATIENCE;

use crate::common::{
    SIZE, click, click_on, go, launched, launched_with, options, page, perform, read, ref_of, title,
};
use crate::server::{Answer, Server};

/// All processes of the group with this leader.
pub(crate) fn group(leader: i32) -> Vec<i32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(state, pgrp)| pgrp == leader && state != 'Z'))
        .collect()
}

fn stat(pid: i32) -> Option<(char, i32)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.nth(1)?.parse().ok()?))
}

/// The renderer processes of the group.
pub(crate) fn renderers(leader: i32) -> Vec<i32> {
    let is_renderer = |pid: &i32| {
        fs::read_to_string(format!("/proc/{pid}/cmdline"))
            .is_ok_and(|line| line.contains("--type=renderer"))
    };
    group(leader).into_iter().filter(is_renderer).collect()
}

/// The program names of the group.
pub(crate) fn programs(leader: i32) -> Vec<String> {
    let name = |pid: i32| fs::read_to_string(format!("/proc/{pid}/comm")).ok();
    let names = group(leader).into_iter().filter_map(name);
    names.map(|name| name.trim().to_owned()).collect()
}

fn status(pid: i32, field: &str) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap();
    line.split_once(':').unwrap().1.trim().to_owned()
}

fn namespace(pid: &str, kind: &str) -> String {
    fs::read_link(format!("/proc/{pid}/ns/{kind}"))
        .unwrap()
        .display()
        .to_string()
}

pub(crate) async fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if holds() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    false
}

fn profiles(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

/// A folder in which the browser's user may have a profile.
pub(crate) fn folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

#[tokio::test]
async fn renderers_are_confined_and_nothing_runs_as_root() {
    let mut browser = launched().await;
    go(&mut browser, &page("x")).await.unwrap();
    let renderers = renderers(browser.pid().unwrap());
    assert!(!renderers.is_empty());
    for pid in renderers {
        let pid_text = pid.to_string();
        assert_eq!(status(pid, "Seccomp"), "2", "a seccomp filter is active");
        assert_ne!(namespace(&pid_text, "user"), namespace("self", "user"));
        assert_ne!(namespace(&pid_text, "pid"), namespace("self", "pid"));
        assert_ne!(namespace(&pid_text, "net"), namespace("self", "net"));
    }
    if is_root() {
        for pid in group(browser.pid().unwrap()) {
            let uids = status(pid, "Uid");
            assert!(uids.split_whitespace().all(|uid| uid != "0"), "{uids}");
        }
    }
}

#[tokio::test]
async fn no_port_is_open() {
    let mut browser = launched().await;
    go(&mut browser, &page("x")).await.unwrap();
    let mut sockets = Vec::new();
    for pid in group(browser.pid().unwrap()) {
        let Ok(fds) = fs::read_dir(format!("/proc/{pid}/fd")) else {
            continue;
        };
        sockets.extend(fds.flatten().filter_map(|fd| {
            let link = fs::read_link(fd.path()).ok()?.display().to_string();
            Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())
        }));
    }
    assert!(!sockets.is_empty(), "the browser has other sockets");
    const LISTEN: &str = "0A";
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let Ok(table) = fs::read_to_string(table) else {
            continue;
        };
        for line in table.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            assert!(
                fields[3] != LISTEN || !sockets.contains(&fields[9].to_owned()),
                "{line}"
            );
        }
    }
}

#[tokio::test]
async fn closing_leaves_no_process_and_no_profile() {
    let folder = folder();
    let browser = launched_with(Options {
        temp_dir: folder.path().to_owned(),
        ..options()
    })
    .await;
    let pid = browser.pid().unwrap();
    assert_eq!(profiles(folder.path()), 1);
    browser.close().await.unwrap();
    assert!(
        eventually(|| group(pid).is_empty()).await,
        "{:?}",
        group(pid)
    );
    assert_eq!(profiles(folder.path()), 0);
}

#[tokio::test]
async fn dropping_leaves_no_process_and_no_profile() {
    let folder = folder();
    let mut browser = launched_with(Options {
        temp_dir: folder.path().to_owned(),
        ..options()
    })
    .await;
    go(&mut browser, &page("x")).await.unwrap();
    let pid = browser.pid().unwrap();
    drop(browser);
    assert!(
        eventually(|| group(pid).is_empty()).await,
        "{:?}",
        group(pid)
    );
    assert!(eventually(|| profiles(folder.path()) == 0).await);
}

#[tokio::test]
async fn only_its_user_can_read_a_profile() {
    use std::os::unix::fs::MetadataExt as _;
    let folder = folder();
    let _browser = launched_with(Options {
        temp_dir: folder.path().to_owned(),
        ..options()
    })
    .await;
    let profile = fs::read_dir(folder.path())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let found = fs::metadata(profile.path()).unwrap();
    assert_eq!(found.mode() & 0o777, 0o700);
    if let Some(identity) = options().identity {
        assert_eq!(found.uid(), identity.uid);
    }
}

const HANGS_WHEN_PRESSED: &str = "<button>old</button><script>onmousedown = () => {\
    const asked = new XMLHttpRequest(); asked.open('GET', '/never', false); asked.send() }</script>";

#[tokio::test]
async fn a_killed_browser_is_reported_and_restarted() {
    let folder = folder();
    let mut browser = launched_with(Options {
        temp_dir: folder.path().to_owned(),
        ..options()
    })
    .await;
    // The page does nothing more once it has asked for an answer that never comes.
    static IS_HANGING: AtomicBool = AtomicBool::new(false);
    let server = Server::start(|path| match path {
        "/never" => {
            IS_HANGING.store(true, Ordering::Relaxed);
            None
        }
        _ => Some(Answer::page(HANGS_WHEN_PRESSED)),
    })
    .await;
    go(&mut browser, &server.url("/")).await.unwrap();
    let before = ref_of(&read(&mut browser, "full").await, "\"old\"");
    let (pid, lost) = (browser.pid().unwrap(), browser.lost());
    // People who look at it.
    let mut viewer = browser.viewer().unwrap();
    let mut outline = browser.page_outline().unwrap();
    // One look may be late on a busy machine.
    assert_eventually!(viewer.capture().await.is_ok());
    assert_eventually!(outline.outline().await, |shown| {
        matches!(shown, Ok(text) if text.contains("button \"old\""))
    })
    .unwrap();
    let pending = perform(&mut browser, click(10, 10));
    let killed = async {
        assert_eventually!(IS_HANGING.load(Ordering::Relaxed));
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
        Instant::now()
    };
    let noticed = async {
        lost.await;
        Instant::now()
    };
    let (failed, since, noticed) = tokio::join!(pending, killed, noticed);
    // At once, and not when a reply is late.
    assert!(noticed < since + Options::default().reply_timeout);
    let Err(error @ DeviceError::Restarted { .. }) = failed else {
        panic!("{failed:?}");
    };
    assert!(error.to_string().contains("new, empty browser"), "{error}");
    let gone = perform(&mut browser, click_on(before)).await;
    assert!(matches!(gone, Err(DeviceError::Stale { .. })), "{gone:?}");
    go(&mut browser, &page("<title>after</title>"))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "after");
    assert_eventually!(viewer.capture().await, |shown| {
        matches!(shown, Ok(image) if image.size() == SIZE)
    })
    .unwrap();
    assert_eventually!(outline.outline().await, |shown| {
        matches!(shown, Ok(text) if text.starts_with("\"after\""))
    })
    .unwrap();
    assert!(eventually(|| group(pid).is_empty()).await);
    drop(browser);
    assert!(eventually(|| profiles(folder.path()) == 0).await);
}

#[tokio::test]
async fn a_missing_program_is_named() {
    let options = Options {
        program: Some("/nowhere/chromium".into()),
        ..options()
    };
    let error = Browser::launch(Surface::Headless(SIZE), options)
        .await
        .unwrap_err();
    assert!(matches!(error, DeviceError::Unavailable { .. }));
    assert!(error.to_string().contains("/nowhere/chromium"), "{error}");
}

#[tokio::test]
async fn root_must_name_another_user() {
    if !is_root() {
        return;
    }
    let options = Options {
        identity: None,
        ..options()
    };
    let error = Browser::launch(Surface::Headless(SIZE), options)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("root"), "{error}");
}

#[tokio::test]
async fn a_program_that_exits_at_once_is_an_error_with_its_stderr() {
    let options = Options {
        program: Some("/bin/ls".into()),
        ..options()
    };
    let error = Browser::launch(Surface::Headless(SIZE), options)
        .await
        .unwrap_err();
    assert!(matches!(error, DeviceError::Unavailable { .. }));
    assert!(error.to_string().contains("unrecognized option"), "{error}");
}
