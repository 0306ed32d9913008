//! Cookies and stored data: listed, set and cleared, saved and loaded as Playwright does.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use telechir_browser::{Browser, FileAccess, Options, StorageStateFiles};
use telechir_device::PageContextSource as _;
use telechir_protocol::Action;
use telechir_testkit::site::Site;

use crate::common::{go, headless_with, launched_with, options, perform, script, text_of};
use crate::files::workspace;

/// Stores a value of each kind that a database can hold and JSON cannot, beside plain ones.
const STORE: &str = "await new Promise((resolve, reject) => {\
    localStorage.theme = 'dark'; document.cookie = 'login=ada; max-age=3600';\
    const opening = indexedDB.open('shop', 3);\
    opening.onupgradeneeded = () => {\
        const items = opening.result.createObjectStore('items', { keyPath: 'id' });\
        items.createIndex('by name', 'name', { unique: true });\
        items.createIndex('by both', ['name', 'id']);\
        opening.result.createObjectStore('plain', { autoIncrement: true });\
    };\
    opening.onsuccess = () => {\
        const change = opening.result.transaction(['items', 'plain'], 'readwrite');\
        change.objectStore('items').put({ id: 1, name: 'pen', price: { eur: 2.5 } });\
        const ring = { at: new Date(0), big: 10n ** 20n, odd: [NaN, -0, undefined, null],\
            bytes: new Uint8Array([1, 2, 255]), map: new Map([['a', new Set([1])]]),\
            pattern: /x+/gi, buffer: new ArrayBuffer(2) };\
        ring.self = ring;\
        change.objectStore('plain').put(ring, new Date(86400000));\
        change.objectStore('plain').put('text', 7);\
        change.oncomplete = () => { opening.result.close(); resolve('stored') };\
        change.onerror = () => reject(change.error);\
    };\
})";

/// Describes what is stored.
const DESCRIBE: &str = "await (async () => {\
    const done = request => new Promise((resolve, reject) => {\
        request.onsuccess = () => resolve(request.result); request.onerror = () => reject(request.error) });\
    const db = await done(indexedDB.open('shop'));\
    const change = db.transaction(['items', 'plain']);\
    const [items, plain] = ['items', 'plain'].map(name => change.objectStore(name));\
    const item = await done(items.index('by name').get('pen'));\
    const text = await done(plain.get(7));\
    const ring = await done(plain.get(new Date(86400000)));\
    const both = items.index('by both').keyPath.join();\
    db.close();\
    return [localStorage.theme, document.cookie, db.version, item.price.eur, both, text,\
        ring.at.getTime(), ring.big, ring.odd.map(value => Object.is(value, -0) ? '-0' : String(value)).join(),\
        [...ring.bytes].join(), ring.map.get('a').has(1), ring.pattern.flags, ring.buffer.byteLength,\
        ring.self === ring].join(' | ');\
})()";

const STORED: &str = "dark | login=ada | 3 | 2.5 | name,id | text | 0 | 100000000000000000000 | \
                      NaN,-0,undefined,null | 1,2,255 | true | gi | 2 | true";

fn with_workspace(workspace: &Path, temp: &Path) -> Options {
    Options {
        temp_dir: temp.to_owned(),
        allows_scripts: true,
        files: Some(FileAccess {
            workspace: workspace.to_owned(),
            saves_downloads: false,
        }),
        ..options()
    }
}

async fn site() -> Site {
    Site::serve([("page", "<title>shop</title>")])
        .await
        .unwrap()
}

async fn store(browser: &mut Browser, site: &Site) {
    go(browser, &site.url("page")).await.unwrap();
    assert_eq!(script(browser, STORE).await, "stored");
    assert_eq!(script(browser, DESCRIBE).await, STORED);
}

#[tokio::test]
async fn a_saved_state_is_loaded_by_another_browser() {
    let site = site().await;
    let (folder, workspace) = workspace();
    let options = with_workspace(&workspace, folder.path());
    let mut browser = headless_with(options.clone()).await;
    store(&mut browser, &site).await;
    let save = Action::SaveStorageState { path: None };
    let saved = text_of(&mut browser, save).await;
    assert!(
        saved.contains("downloads/storage-state.json with 1 cookies"),
        "{saved}"
    );
    assert!(!saved.contains("ada"), "{saved}");
    assert_eq!(browser.page_context().await.unwrap().tabs.len(), 1);
    assert_eq!(browser.page_context().await.unwrap().notes, None);
    let file = workspace.join("downloads/storage-state.json");
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o077, 0, "only its owner reads it");

    let mut other = headless_with(options).await;
    let path = "downloads/storage-state.json".to_owned();
    let loaded = text_of(&mut other, Action::LoadStorageState { path }).await;
    assert_eq!(loaded, "Loaded 1 cookies and the stored data of 1 origins.");
    go(&mut other, &site.url("page")).await.unwrap();
    assert_eq!(script(&mut other, DESCRIBE).await, STORED);
    assert_eq!(other.page_context().await.unwrap().tabs.len(), 1);
}

#[tokio::test]
async fn files_of_the_options_are_loaded_at_the_start_and_written_at_the_end() {
    let site = site().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let save = StorageStateFiles {
        load: None,
        save: Some(file.clone()),
    };
    let load = StorageStateFiles {
        load: Some(file.clone()),
        save: None,
    };
    let with = |storage_state| Options {
        allows_scripts: true,
        storage_state,
        ..options()
    };
    let mut browser = launched_with(with(save)).await;
    store(&mut browser, &site).await;
    browser.close().await.unwrap();
    let mode = std::fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut browser = launched_with(with(load)).await;
    go(&mut browser, &site.url("page")).await.unwrap();
    assert_eq!(script(&mut browser, DESCRIBE).await, STORED);
}

#[tokio::test]
async fn a_file_of_the_options_loses_no_origin_that_fails() {
    let site = site().await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state.json");
    let origin = site.url("").trim_end_matches('/').to_owned();
    let works = json!({"origin": origin, "localStorage": [{"name": "theme", "value": "dark"}]});
    let fails = [
        json!({"origin": "ftp://h", "localStorage": [{"name": "a", "value": "b"}]}),
        // A database has no version 0.
        json!({
            "origin": "http://127.0.0.1:25",
            "indexedDB": [{"name": "a", "version": 0, "stores": []}],
        }),
    ];
    let state = json!({"cookies": [], "origins": [fails[0], works, fails[1]]});
    std::fs::write(&file, state.to_string()).unwrap();
    let mut browser = launched_with(Options {
        allows_scripts: true,
        storage_state: StorageStateFiles {
            load: Some(file.clone()),
            save: Some(file.clone()),
        },
        ..options()
    })
    .await;
    go(&mut browser, &site.url("page")).await.unwrap();
    script(&mut browser, "localStorage.theme = 'light'; 1").await;
    browser.close().await.unwrap();
    let saved: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let origins = saved["origins"].as_array().unwrap();
    assert_eq!(origins.len(), 3, "{saved}");
    assert!(fails.iter().all(|data| origins.contains(data)), "{saved}");
    let changed = json!([{"name": "theme", "value": "light"}]);
    assert_eq!(origins[0]["localStorage"], changed, "{saved}");
}

#[tokio::test]
async fn cookies_are_listed_without_values_set_and_cleared() {
    let site = site().await;
    let mut browser = headless_with(Options {
        allows_scripts: true,
        ..options()
    })
    .await;
    let url = site.url("page");
    let cookies = vec![
        json!({"name": "sid", "value": "s3cret", "url": url, "httpOnly": true}),
        json!({"name": "other", "value": "x", "domain": "b.example", "path": "/"}),
    ];
    let set = text_of(&mut browser, Action::SetCookies { cookies }).await;
    assert_eq!(set, "Set 2 cookies.");
    let list = |url: Option<String>| Action::ListCookies { url };
    let all = text_of(&mut browser, list(None)).await;
    assert!(
        all.contains("sid for 127.0.0.1") && all.contains("other for b.example"),
        "{all}"
    );
    assert!(!all.contains("s3cret"), "{all}");
    let ours = text_of(&mut browser, list(Some(url.clone()))).await;
    assert_eq!(ours.lines().count(), 1, "{ours}");
    let clear = Action::ClearCookies {
        url: Some(url.clone()),
    };
    assert_eq!(text_of(&mut browser, clear).await, "Deleted 1 cookies.");
    let rest = text_of(&mut browser, list(None)).await;
    assert!(rest.starts_with("other for b.example"), "{rest}");
    let clear = Action::ClearCookies { url: None };
    assert_eq!(text_of(&mut browser, clear).await, "Deleted 1 cookies.");
    assert_eq!(text_of(&mut browser, list(None)).await, "No cookies.");
    for (cookie, fragment) in [
        (json!("a=b"), "is an object"),
        (json!({"name": "a", "value": "b"}), "url"),
    ] {
        let cookies = vec![cookie];
        let refused = perform(&mut browser, Action::SetCookies { cookies }).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(fragment), "{refused}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_state_is_one_clear_error() {
    let (folder, workspace) = workspace();
    let mut browser = headless_with(with_workspace(&workspace, folder.path())).await;
    for (content, fragment) in [
        ("no json", "no JSON at line 1"),
        ("[]", "neither `cookies` nor `origins`"),
        (r#"{"cookies": 5}"#, "`cookies` is no list"),
        (
            r#"{"origins": [{"origin": "ftp://h"}]}"#,
            "http or https origin",
        ),
    ] {
        std::fs::write(workspace.join("state.json"), content).unwrap();
        let path = "state.json".to_owned();
        let refused = perform(&mut browser, Action::LoadStorageState { path }).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(fragment), "{refused}");
    }
    assert_eq!(browser.page_context().await.unwrap().tabs.len(), 1);
}

#[tokio::test]
async fn an_origin_that_fails_leaves_the_others() {
    let site = site().await;
    let (folder, workspace) = workspace();
    let mut browser = headless_with(with_workspace(&workspace, folder.path())).await;
    let origin = site.url("");
    let state = json!({"origins": [
        {"origin": "ftp://h", "localStorage": []},
        // A database has no version 0.
        {"origin": "http://127.0.0.1:25", "indexedDB": [{"name": "a", "version": 0, "stores": []}]},
        // As a URL, not as an origin.
        {"origin": origin, "localStorage": [{"name": "theme", "value": "dark"}]},
    ]});
    std::fs::write(workspace.join("state.json"), state.to_string()).unwrap();
    let path = "state.json".to_owned();
    let loaded = text_of(&mut browser, Action::LoadStorageState { path }).await;
    assert!(
        loaded.starts_with("Loaded 0 cookies and the stored data of 1 origins. "),
        "{loaded}"
    );
    assert!(
        loaded.contains("ftp://h (expected an http or https origin)"),
        "{loaded}"
    );
    assert!(
        loaded.contains("http://127.0.0.1:25 (TypeError: "),
        "{loaded}"
    );
    go(&mut browser, &site.url("page")).await.unwrap();
    assert_eq!(script(&mut browser, "localStorage.theme").await, "dark");
}

#[tokio::test]
async fn a_page_is_saved_as_a_pdf() {
    let (folder, workspace) = workspace();
    let mut browser = headless_with(with_workspace(&workspace, folder.path())).await;
    go(
        &mut browser,
        &crate::common::page(&"<h1 style='break-after:page'>Invoice</h1>".repeat(3)),
    )
    .await
    .unwrap();
    for (path, saved) in [
        (None, "downloads/page.pdf"),
        (Some("../invoice.pdf"), "downloads/invoice.pdf"),
        (Some("invoice.pdf"), "downloads/invoice (2).pdf"),
        (Some("CLAUDE.md"), "downloads/CLAUDE.md.blocked"),
    ] {
        let path = path.map(str::to_owned);
        let text = text_of(&mut browser, Action::SavePdf { path, tab: None }).await;
        let bytes = std::fs::read(workspace.join(saved)).unwrap();
        assert!(bytes.starts_with(b"%PDF-"), "{saved}");
        let expected = format!("Saved {saved} (3 pages, {} bytes).", bytes.len());
        assert_eq!(text, expected);
        let notes = browser.page_context().await.unwrap().notes;
        assert_eq!(notes, None);
    }
}

/// The folder of Playwright, if the benchmarks installed it.
fn playwright() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let named = std::env::var_os("TELECHIR_PLAYWRIGHT").map(PathBuf::from);
    let installed = target.join("peers-pages-2/node_modules/playwright-core");
    named.or(Some(installed)).filter(|folder| folder.is_dir())
}

/// Runs a script with Playwright's `chromium` and its arguments after the first.
#[expect(
    clippy::disallowed_methods,
    reason = "Playwright is started as a user starts it"
)]
fn run_playwright(folder: &Path, body: &str, arguments: &[&str]) -> Value {
    let script = format!(
        "const {{ chromium }} = require({});
        (async () => {{
            const browser = await chromium.launch({{ executablePath: '{}', args: ['--no-sandbox'] }});
            const result = await ({body})(browser, ...process.argv.slice(1));
            await browser.close();
            console.log(JSON.stringify(result ?? null));
        }})();",
        json!(folder),
        crate::common::CHROMIUM
    );
    let mut command = Command::new("node");
    let output = command.arg("-e").arg(script).args(arguments).output();
    let output = output.unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test]
async fn playwright_reads_our_state_and_we_read_its() {
    let Some(playwright) = playwright() else {
        return;
    };
    let site = site().await;
    let (folder, workspace) = workspace();
    let options = with_workspace(&workspace, folder.path());
    let mut browser = headless_with(options.clone()).await;
    store(&mut browser, &site).await;
    let save = Action::SaveStorageState { path: None };
    perform(&mut browser, save).await.unwrap();
    let ours = workspace.join("downloads/storage-state.json");
    let theirs = workspace.join("theirs.json");
    let round = "async (browser, url, ours, theirs, describe) => {
        const context = await browser.newContext({ storageState: ours });
        const page = await context.newPage();
        await page.goto(url);
        const seen = await page.evaluate(describe);
        await context.storageState({ path: theirs, indexedDB: true });
        return seen;
    }";
    let url = site.url("page");
    let arguments = [
        url.as_str(),
        ours.to_str().unwrap(),
        theirs.to_str().unwrap(),
        DESCRIBE.trim_start_matches("await "),
    ];
    let seen = tokio::task::spawn_blocking({
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        move || {
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            run_playwright(&playwright, round, &arguments)
        }
    });
    assert_eq!(seen.await.unwrap(), STORED);
    let mut other = headless_with(options).await;
    let path = "theirs.json".to_owned();
    perform(&mut other, Action::LoadStorageState { path })
        .await
        .unwrap();
    go(&mut other, &url).await.unwrap();
    assert_eq!(script(&mut other, DESCRIBE).await, STORED);
}
