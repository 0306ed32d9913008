//! What pages see and store, through the binary: flags, and the verbs of `browser_session`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use telechir_testkit::gate::{Component, require};
use telechir_testkit::site::Site;

use crate::mcp::{Client, MODERN};
use crate::mcp_tools::{local_pages, runtime};
use crate::passwords::holding;
use crate::telechir::Telechir;

/// Shows what it sees, and stores a value.
const PAGE: &str = "<title>witness</title><p id=p></p><button style='width:200px;height:50px'>Pay</button>\
    <script>const show = text => p.textContent += ` ${text}.`;\
    show(`${innerWidth} wide`); show(Intl.DateTimeFormat().resolvedOptions().timeZone);\
    show(`cookie ${document.cookie || 'none'}`); show(`stored ${localStorage.kept || 'nothing'}`);\
    navigator.geolocation.getCurrentPosition(at => show(`at ${at.coords.latitude}`), () => show('nowhere'));\
    localStorage.kept = 'before'; document.cookie = 'login=s3cr3t-9f; max-age=999'</script>";

/// The text of a page in a new headless browser with these flags, once it has the position `at`, which
/// the browser reports later than the rest.
fn seen(telechir: &Telechir, url: &str, flags: &[&str], at: &str) -> (String, String) {
    let policy = local_pages(telechir.folder());
    let browser = format!("--browser={url}");
    let fixed = [
        "exec",
        "--dialect",
        "neutral",
        "--headless",
        &browser,
        &policy,
    ];
    let calls = json!([
        {"type": "computer_call", "call_id": "c1", "target": "browser",
            "actions": [{"action": "wait_for", "text": at, "duration": 20_000}, {"action": "page_text"}]},
    ]);
    let ran = telechir.run(&[&fixed, flags].concat(), &calls.to_string());
    (ran.json().to_string(), ran.stderr)
}

#[test]
fn flags_change_what_a_page_sees() {
    require(Component::Chromium);
    let (runtime, telechir) = (runtime(), Telechir::new());
    let site = runtime.block_on(Site::serve([("page", PAGE)]));
    let url = site.as_ref().expect("a site").url("page");
    let (text, _) = seen(&telechir, &url, &[], "nowhere");
    for expected in ["1280 wide", "nowhere", "stored nothing"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let flags = [
        "--geolocation=48.25,16.5",
        "--timezone=Asia/Tokyo",
        "--display=800x600",
    ];
    let (text, _) = seen(&telechir, &url, &flags, "at 48.25");
    for expected in ["800 wide", "Asia/Tokyo", "at 48.25"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let offline = ["exec", "--dialect", "neutral", "--headless", "--offline"];
    let (browser, policy) = (format!("--browser={url}"), local_pages(telechir.folder()));
    let ran = telechir.run(&[&offline[..], &[&browser, &policy]].concat(), "[]");
    assert_ne!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_storage_state_outlives_its_session_and_is_in_no_recording() {
    require(Component::Chromium);
    let (runtime, telechir) = (runtime(), Telechir::new());
    let site = runtime.block_on(Site::serve([("page", PAGE)]));
    let url = site.as_ref().expect("a site").url("page");
    let file = telechir.folder().join("state.json");
    let record = telechir.folder().join("record");
    let record_flag = format!("--record={}", record.display());
    let save = format!("--save-storage-state={}", file.display());
    let load = format!("--storage-state={}", file.display());
    let (_, stderr) = seen(&telechir, &url, &[&save, &record_flag, "-vv"], "nowhere");
    assert!(!stderr.contains("s3cr3t-9f"), "{stderr}");
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (mut found, mut count) = (Vec::new(), 0);
    holding(&record, b"s3cr3t-9f", &mut found, &mut count);
    assert!(count > 0 && found.is_empty(), "{found:?}");
    let (text, _) = seen(&telechir, &url, &[&load], "nowhere");
    assert!(text.contains("cookie login=s3cr3t-9f"), "{text}");
    assert!(text.contains("stored before"), "{text}");
    // Nothing is done whose state could not be saved.
    let nowhere = format!(
        "--save-storage-state={}",
        telechir.folder().join("no/state.json").display()
    );
    let exec = ["exec", "--dialect", "neutral", "--headless", "--browser"];
    let early = telechir.run(&[&exec[..], &[&nowhere]].concat(), "[]");
    early.fails(
        2,
        &[
            "--save-storage-state: there is no folder",
            "create it first",
        ],
    );
    // A model could read it in its workspace.
    let policy = local_pages(telechir.folder());
    let workspace = telechir.folder().join("work");
    fs::create_dir(&workspace).expect("a folder");
    let inside = format!(
        "--save-storage-state={}",
        workspace.join("s.json").display()
    );
    let workspace = format!("--workspace={}", workspace.display());
    let refused = telechir.run(&[&exec[..], &[&policy, &inside, &workspace]].concat(), "[]");
    refused.fails(1, &["storage state", "inside"]);
}

#[test]
fn a_model_emulates_and_saves_by_the_tools_and_logins_need_approval() {
    require(Component::Chromium);
    let runtime = runtime();
    let site = runtime.block_on(Site::serve([("page", PAGE)]));
    let url = site.as_ref().expect("a site").url("page");
    let folder = tempfile::tempdir().expect("a folder");
    let policy = local_pages(folder.path());
    let mut client = Client::start_with(MODERN, &["--browser", "--headless", &policy], &[]);
    let opened = client.call("browser_session", &json!({"action": "open", "url": url}));
    assert_eq!(opened["isError"], false, "{opened}");
    let settings = json!({"viewport": "640x480", "timezone": "Asia/Tokyo"});
    let emulate = json!({"action": "emulate", "settings": settings});
    let emulated = client.call("browser_session", &emulate);
    assert_eq!(emulated["isError"], false, "{emulated}");
    let reload = client.call("execute_browser", &json!({"action": "reload"}));
    assert_eq!(reload["isError"], false, "{reload}");
    let text = client.call("execute_browser", &json!({"action": "extract_text"}));
    let text = text.to_string();
    assert!(
        text.contains("640 wide") && text.contains("Asia/Tokyo"),
        "{text}"
    );

    let found = client.call(
        "execute_browser",
        &json!({"action": "find", "query": "Pay"}),
    );
    let found = found.to_string();
    let id = reference(&found).unwrap_or_else(|| panic!("a ref: {found}"));
    let shot = json!({"action": "screenshot", "ref": id});
    let screenshot = client.call("execute_browser", &shot);
    let blocks = screenshot["content"].as_array().expect("blocks");
    let image = blocks.iter().find(|block| block["type"] == "image");
    let data = image.unwrap_or_else(|| panic!("{screenshot}"))["data"].as_str();
    let size = crate::telechir::image_size(data.expect("base64"));
    assert_eq!(size, (400, 100), "the button with twice its pixels");

    let saved = client.call("browser_session", &json!({"action": "save_pdf"}));
    assert!(saved.to_string().contains("downloads/page.pdf"), "{saved}");
    let listed = client.call("browser_session", &json!({"action": "list_cookies"}));
    let listed = listed.to_string();
    assert!(listed.contains("login for 127.0.0.1"), "{listed}");
    assert!(!listed.contains("s3cr3t-9f"), "{listed}");
    for (arguments, expected) in [
        (json!({"action": "emulate"}), "settings"),
        (json!({"action": "set_cookies"}), "cookies"),
        (
            json!({"action": "emulate", "settings": {"zoom": 2}}),
            "expected one of viewport",
        ),
    ] {
        let refused = client.call("browser_session", &arguments);
        let text = refused["content"][0]["text"].as_str().unwrap_or_default();
        assert!(text.contains(expected), "{refused}");
    }
    let cookies = json!([{"name": "a", "value": "b", "url": url}]);
    let set = json!({"action": "set_cookies", "cookies": cookies});
    let question = client.call("browser_session", &set).to_string();
    assert!(
        question.contains("It sets cookies, which can hold logins."),
        "{question}"
    );
    client.leave();
}

/// The first ref of a button in a text.
fn reference(text: &str) -> Option<String> {
    let start = text.match_indices("[b").map(|(at, _)| at + 1);
    let ids = start.filter_map(|at| text[at..].split_once(']'));
    let mut ids = ids.map(|(id, _)| id.to_owned());
    ids.find(|id| id[1..].chars().all(|c| c.is_ascii_digit()))
}

#[test]
fn a_login_for_http_authentication_is_named_by_its_variable() {
    let telechir = Telechir::new();
    let exec = ["exec", "--dialect", "neutral", "--browser", "--headless"];
    let flag = "--http-credentials=https://h.example=NOT_SET_HERE";
    let unset = telechir.run(&[&exec[..], &[flag]].concat(), "[]");
    unset.fails(2, &["--http-credentials", "NOT_SET_HERE is not set"]);
    let literal = "--http-credentials=https://h.example=ada:love";
    let literal = telechir.run(&[&exec[..], &[literal]].concat(), "[]");
    assert_eq!(literal.code, Some(2), "{literal:?}");
    assert!(
        literal.stderr.contains("environment variable"),
        "{}",
        literal.stderr
    );
}
