//! Files from pages and for pages.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use telechir_browser::{Browser, Files, Options};
use telechir_device::{ActionReport, Computer as _, DeviceError};
use telechir_protocol::{Action, StateChange, Target};
use tempfile::TempDir;

use crate::common::{
    SETTLE, click, click_on, go, headless, headless_with, options, page, perform, read, ref_of,
    script, told,
};
use crate::server::{Answer, Server};

/// A workspace that the browser's user has.
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

async fn with_files(folder: &Path, workspace: &Path) -> Browser {
    let files = Files {
        workspace: workspace.to_owned(),
        keeps_downloads: true,
    };
    headless_with(Options {
        profiles: folder.to_owned(),
        files: Some(files),
        scripts: true,
        ..options()
    })
    .await
}

fn answer(path: &str) -> Option<Answer> {
    let text = |body: &str| Answer::file("application/octet-stream", body.as_bytes());
    Some(match path.split('?').next().unwrap_or_default() {
        "/" => {
            Answer::page("<title>files</title><body onclick=\"location = location.hash.slice(1)\">")
        }
        "/report" => text("a report").saved_as("..\\..\\report.txt"),
        "/slow" => Answer {
            said_length: Some(1 << 20),
            ..text("a beginning").saved_as("slow.bin")
        },
        "/huge" => Answer {
            said_length: Some(600 << 20),
            ..text("a beginning").saved_as("huge.bin")
        },
        _ => return None,
    })
}

#[tokio::test]
async fn a_file_that_a_page_gives_comes_to_the_workspace() {
    let (folder, workspace) = workspace();
    let mut browser = with_files(folder.path(), &workspace).await;
    let server = Server::start(answer).await;
    go(&mut browser, &server.url("/#/report")).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let (said, changes) = told(&mut browser, "is whole").await;
    assert!(said.contains("\"downloads/report.txt\", 8 bytes"), "{said}");
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
    let kept = workspace.join("downloads/report.txt");
    assert_eq!(fs::read_to_string(&kept).unwrap(), "a report");
    if let Some(identity) = options().identity {
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(fs::metadata(&kept).unwrap().uid(), identity.uid);
    }
    // By its address it is a file, too, and not a page.
    go(&mut browser, &server.url("/report")).await.unwrap();
    let (said, _) = told(&mut browser, "is whole").await;
    assert!(said.contains("downloads/report (2).txt"), "{said}");
}

#[tokio::test]
async fn a_file_under_way_is_told_and_one_that_is_too_large_is_broken_off() {
    let (folder, workspace) = workspace();
    let mut browser = with_files(folder.path(), &workspace).await;
    let server = Server::start(answer).await;
    go(&mut browser, &server.url("/#/slow")).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    told(&mut browser, "goes on:").await;
    go(&mut browser, &server.url("/?#/huge")).await.unwrap();
    perform(&mut browser, click(10, 10)).await.unwrap();
    let (said, changes) = told(&mut browser, "did not come").await;
    assert!(said.contains("a file may have"), "{said}");
    let failed = |change: &StateChange| matches!(change, StateChange::DownloadFailed { download_id, .. } if download_id == "download_2");
    assert!(changes.iter().any(failed), "{changes:?}");
    assert!(!workspace.join("downloads").exists());
    perform(&mut browser, click(10, 10)).await.unwrap();
}

#[tokio::test]
async fn a_file_is_refused_where_none_are_kept() {
    let mut browser = headless().await;
    let server = Server::start(answer).await;
    go(&mut browser, &server.url("/#/report")).await.unwrap();
    let done = perform(&mut browser, click(10, 10)).await.unwrap();
    browser.settle(SETTLE).await.unwrap();
    let context = browser.page_context().await.unwrap();
    let notes = context.notes.clone();
    let said = done.text.unwrap_or_default() + &notes.unwrap_or_default();
    assert!(
        said.contains("refused; this browser keeps no files"),
        "{said}"
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
async fn files_of_the_workspace_are_given_to_controls_and_to_pickers() {
    let (folder, workspace) = workspace();
    for name in ["a.txt", "b.txt"] {
        fs::write(workspace.join(name), format!("text of {name}")).unwrap();
    }
    let mut browser = with_files(folder.path(), &workspace).await;
    go(&mut browser, &page(CONTROLS)).await.unwrap();
    let all = read(&mut browser, "all").await;
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
    let asked = perform(&mut browser, click_on(ref_of(&all, "\"Attach\"")))
        .await
        .unwrap();
    let mut said = asked.text.unwrap_or_default();
    if !said.contains("file_upload") {
        said += &told(&mut browser, "file_upload").await.0;
    }
    assert!(said.contains("asked for a file"), "{said}");
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
async fn nothing_but_files_of_the_workspace_is_given_to_a_page() {
    let (folder, workspace) = workspace();
    fs::write(folder.path().join("secret"), "secret").unwrap();
    fs::write(workspace.join("a.txt"), "a").unwrap();
    let mut browser = with_files(folder.path(), &workspace).await;
    go(&mut browser, &page(CONTROLS)).await.unwrap();
    let all = read(&mut browser, "all").await;
    let one = ref_of(&all, "\"one\"");
    for path in ["/etc/passwd", "../secret", "nothing.txt"] {
        let no = refusal(perform(&mut browser, upload(one.clone(), &[path])).await);
        assert!(no.contains(path), "{no}");
    }
    let no = refusal(perform(&mut browser, upload(one, &["a.txt", "a.txt"])).await);
    assert!(no.contains("one file"), "{no}");
    let mut plain = headless().await;
    go(&mut plain, &page(CONTROLS)).await.unwrap();
    let all = read(&mut plain, "all").await;
    let none = perform(&mut plain, upload(ref_of(&all, "\"one\""), &["a.txt"])).await;
    assert!(
        matches!(
            none,
            Err(DeviceError::Unsupported { .. } | DeviceError::Refused { .. })
        ),
        "{none:?}"
    );
}
