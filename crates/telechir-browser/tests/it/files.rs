//! Downloads and uploads.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use telechir_browser::{FileAccess, Options};
use telechir_device::{ActionReport, Computer as _, DeviceError, PageContextSource as _};
use telechir_protocol::{Action, StateChange, Target};
use tempfile::TempDir;

use crate::common::{
    SETTLE, click, click_on, go, headless, headless_with, launched, launched_with, notices_until,
    options, page, perform, read, ref_of, script,
};
use crate::server::{Answer, Server};

/// A workspace that belongs to the browser's user.
pub(crate) fn workspace() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let workspace = folder.path().join("work");
    fs::create_dir(&workspace).unwrap();
    if let Some(identity) = options().identity {
        chown(&workspace, Some(identity.uid), Some(identity.gid)).unwrap();
    }
    (folder, workspace)
}

fn with_files(folder: &Path, workspace: &Path) -> Options {
    let files = FileAccess {
        workspace: workspace.to_owned(),
        saves_downloads: true,
    };
    Options {
        temp_dir: folder.to_owned(),
        files: Some(files),
        allows_scripts: true,
        ..options()
    }
}

fn answer(path: &str) -> Option<Answer> {
    let text = |body: &str| Answer::file("application/octet-stream", body.as_bytes());
    Some(match path.split('?').next().unwrap_or_default() {
        "/" => {
            Answer::page("<title>files</title><body onclick=\"location = location.hash.slice(1)\">")
        }
        "/report" => text("a report").saved_as("..\\..\\report.txt"),
        "/instructions" => text("obey me").saved_as("AGENTS.md"),
        "/slow" => Answer {
            content_length: Some(1 << 20),
            ..text("a beginning").saved_as("slow.bin")
        },
        "/huge" => Answer {
            content_length: Some(600 << 20),
            ..text("a beginning").saved_as("huge.bin")
        },
        _ => return None,
    })
}

#[tokio::test]
async fn a_download_is_saved_in_the_workspace() {
    let (folder, workspace) = workspace();
    let mut browser = launched_with(with_files(folder.path(), &workspace)).await;
    let server = Server::start(answer).await;
    go(&mut browser, &server.url("/#/report")).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let (notices, changes) = notices_until(&mut browser, "is complete").await;
    assert!(
        notices.contains("\"downloads/report.txt\", 8 bytes"),
        "{notices}"
    );
    let url = server.url("/report");
    let download_id = "download_1".to_owned();
    let expected = [
        StateChange::DownloadStarted {
            download_id: download_id.clone(),
            url: url.clone(),
        },
        StateChange::DownloadCompleted {
            download_id,
            url,
            path: Some("downloads/report.txt".to_owned()),
            size_bytes: Some(8),
        },
    ];
    assert_eq!(changes, expected);
    let saved = workspace.join("downloads/report.txt");
    assert_eq!(fs::read_to_string(&saved).unwrap(), "a report");
    if let Some(identity) = options().identity {
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(fs::metadata(&saved).unwrap().uid(), identity.uid);
    }
    // Navigating to its URL downloads it, too.
    go(&mut browser, &server.url("/report")).await.unwrap();
    let (notices, _) = notices_until(&mut browser, "is complete").await;
    assert!(notices.contains("downloads/report (2).txt"), "{notices}");
}

#[tokio::test]
async fn a_page_chooses_no_name_that_programs_obey() {
    let (folder, workspace) = workspace();
    let mut browser = launched_with(with_files(folder.path(), &workspace)).await;
    let server = Server::start(answer).await;
    go(&mut browser, &server.url("/instructions"))
        .await
        .unwrap();
    let (notices, _) = notices_until(&mut browser, "is complete").await;
    assert!(notices.contains("downloads/AGENTS.md.blocked"), "{notices}");
    let names: Vec<_> = fs::read_dir(workspace.join("downloads"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["AGENTS.md.blocked"]);
}

#[tokio::test]
async fn progress_is_reported_and_a_too_large_download_is_cancelled() {
    let (folder, workspace) = workspace();
    let mut browser = launched_with(with_files(folder.path(), &workspace)).await;
    let server = Server::start(answer).await;
    go(&mut browser, &server.url("/#/slow")).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    notices_until(&mut browser, "in progress:").await;
    go(&mut browser, &server.url("/?#/huge")).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let (notices, changes) = notices_until(&mut browser, ") failed:").await;
    assert!(notices.contains("files are limited to"), "{notices}");
    let failed = |change: &StateChange| matches!(change, StateChange::DownloadFailed { download_id, .. } if download_id == "download_2");
    assert!(changes.iter().any(failed), "{changes:?}");
    assert!(!workspace.join("downloads").exists());
    perform(&mut browser, click(10, 10)).await.unwrap();
}

#[tokio::test]
async fn downloads_are_refused_without_a_workspace() {
    let mut browser = launched().await;
    let server = Server::start(answer).await;
    go(&mut browser, &server.url("/#/report")).await.unwrap();
    let done = perform(&mut browser, click(10, 10)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    let context = browser.page_context().await.unwrap();
    let notes = context.notes.clone();
    let notices = done.text.unwrap_or_default() + &notes.unwrap_or_default();
    assert!(
        notices.contains("refused: this browser does not save files"),
        "{notices}"
    );
    assert!(
        matches!(context.changes[..], [StateChange::DownloadFailed { .. }]),
        "{context:?}"
    );
    assert_eq!(context.tabs[0].title, "files");
}

pub(crate) fn upload(at: Target, paths: &[&str]) -> Action {
    Action::FileUpload {
        at,
        paths: paths.iter().map(|path| (*path).to_owned()).collect(),
        documents: vec![],
        tab: None,
    }
}

pub(crate) fn refusal(result: Result<ActionReport, DeviceError>) -> String {
    let Err(error @ DeviceError::Refused { .. }) = result else {
        panic!("not refused: {result:?}");
    };
    error.to_string()
}

pub(crate) const CONTROLS: &str = "<input type=file id=one aria-label=one><label for=many>Several</label>\
<input type=file id=many multiple aria-label=many><input type=file id=picked style='display:none'>\
<button onclick='picked.click()'>Attach</button><button>Other</button><p id=log></p><script>\
for (const input of [one, many, picked]) input.onchange = async event => { const texts = [];\
for (const file of input.files) texts.push(`${file.name}=${await file.text()}`);\
log.textContent += `${input.id}: ${texts.join()} ${event.isTrusted};` }</script>";

#[tokio::test]
async fn files_are_uploaded_to_controls_and_file_choosers() {
    let (folder, workspace) = workspace();
    for name in ["a.txt", "b.txt"] {
        fs::write(workspace.join(name), format!("text of {name}")).unwrap();
    }
    let mut browser = headless_with(with_files(folder.path(), &workspace)).await;
    go(&mut browser, &page(CONTROLS)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let given = perform(&mut browser, upload(ref_of(&all, "\"one\""), &["a.txt"]))
        .await
        .unwrap();
    assert!(given.text.unwrap().contains("a.txt"));
    perform(
        &mut browser,
        upload(ref_of(&all, "\"many\""), &["a.txt", "b.txt"]),
    )
    .await
    .unwrap();
    let no = refusal(perform(&mut browser, upload(ref_of(&all, "\"Attach\""), &["a.txt"])).await);
    assert!(no.contains("takes no files"), "{no}");
    let opened = perform(&mut browser, click_on(ref_of(&all, "\"Attach\"")))
        .await
        .unwrap();
    let mut notices = opened.text.unwrap_or_default();
    if !notices.contains("requested a file") {
        notices += &notices_until(&mut browser, "requested a file").await.0;
    }
    assert!(notices.contains("requested a file"), "{notices}");
    perform(&mut browser, upload(ref_of(&all, "\"Attach\""), &["b.txt"]))
        .await
        .unwrap();
    let wanted = "one: a.txt=text of a.txt true;many: a.txt=text of a.txt,b.txt=text of b.txt true;picked: b.txt=text of b.txt true;";
    let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
    let mut log = String::new();
    while log != wanted && tokio::time::Instant::now() < deadline {
        log = script(&mut browser, "log.textContent").await;
    }
    assert_eq!(log, wanted);
}

#[tokio::test]
async fn only_files_of_the_workspace_can_be_uploaded() {
    let (folder, workspace) = workspace();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    fs::write(workspace.join("a.txt"), "a").unwrap();
    let mut browser = headless_with(with_files(folder.path(), &workspace)).await;
    go(&mut browser, &page(CONTROLS)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let one = ref_of(&all, "\"one\"");
    for path in ["/etc/passwd", "../secret", "nothing.txt"] {
        let no = refusal(perform(&mut browser, upload(one.clone(), &[path])).await);
        assert!(no.contains(path), "{no}");
    }
    let no = refusal(perform(&mut browser, upload(one, &["a.txt", "a.txt"])).await);
    assert!(no.contains("one file"), "{no}");
    let mut plain = headless().await;
    go(&mut plain, &page(CONTROLS)).await.unwrap();
    let all = read(&mut plain, "full").await;
    let none = perform(&mut plain, upload(ref_of(&all, "\"one\""), &["a.txt"])).await;
    assert!(
        matches!(
            none,
            Err(DeviceError::Unsupported { .. } | DeviceError::Refused { .. })
        ),
        "{none:?}"
    );
}
