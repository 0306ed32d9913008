//! Pages that packages of npm ship: each control of Chromium's accessibility tree is in the snapshot.
//!
//! `scripts/package-pages.sh` installs the packages, pinned; `tests/package_pages/pages.txt` lists the
//! pages. The tests print a row per page, which `scripts/package-pages.sh --table` collects.

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use telechir_device::{Computer as _, Settle, Viewport};
use telechir_process::{Identity, is_root};
use telechir_protocol::{Action, Size};
use telechir_testkit::gate::{Component, require};
use telechir_testkit::site::Site;

use super::Browser;
use crate::cdp_session::CdpSession;
use crate::options::{Options, Surface};
use crate::snapshot::{PageTree, Scope, SnapshotRequest, SnapshotView};

/// One page a line: the folder that is served, in that of the packages, and the path.
const PAGES: &str = include_str!("../../tests/package_pages/pages.txt");
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/package-pages");
/// The roles of controls, in Chromium's words.
const CONTROLS: &str = "button link textbox searchbox checkbox radio combobox listbox option slider \
    spinbutton switch tab menuitem menuitemcheckbox menuitemradio treeitem scrollbar ColorWell Date \
    DateTime InputTime DisclosureTriangle PopUpButton ToggleButton";
const SIZE: Size = Size::new(1280, 800);
const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(150),
    ceiling: Duration::from_secs(3),
};
/// Pages that change while they are compared are compared again.
const ATTEMPTS: usize = 3;
/// The share of the names and of the roles that must equal Chromium's on each page, in percent.
const MIN_EQUAL: usize = 93;
/// A page with fewer controls did not load.
const MIN_CONTROLS: usize = 4;
/// The tests that share the pages, so that none takes long.
const SHARES: usize = 6;
/// Finds the numbers of elements in a snapshot. Chromium's tree has the parts of its own controls, too:
/// they are described with the control. A hidden checkbox is listed in place of its label.
const FIND: &str = "(numbers, ...elements) => {
    const known = new Map(numbers.map(number => [telechirWalker.element(number), number]))
    return elements.map(element => {
        let control = element
        for (let root = control.getRootNode(); root instanceof ShadowRoot; root = control.getRootNode()) {
            if (!/^(input|select|textarea|video|audio|details|meter|progress)$/.test(root.host.localName)) break
            control = root.host
        }
        const own = [control, ...(control.labels ?? [])].find(one => known.has(one))
        const list = control.closest('select, datalist')
        return {
            number: known.get(own ?? list) ?? 0,
            isWhole: control === element && own !== undefined,
            isCurrent: control.isConnected,
            html: control.outerHTML.slice(0, 160),
        }
    })
}";

/// A control of Chromium's accessibility tree.
struct Control {
    role: String,
    name: String,
    /// What `FIND` returns for its element.
    found: Value,
}

/// The result of a page.
#[derive(Default)]
struct Compared {
    controls: usize,
    /// Controls whose name and role can be compared, and how many of them are equal.
    comparable: usize,
    same_names: usize,
    same_roles: usize,
    missing: Vec<String>,
    differences: Vec<String>,
}

impl Compared {
    /// Whether enough names and roles are Chromium's.
    const fn is_equal_enough(&self) -> bool {
        let least = MIN_EQUAL * self.comparable;
        100 * self.same_names >= least && 100 * self.same_roles >= least
    }

    /// Whether the page has loaded, and nothing is wrong.
    const fn is_complete(&self) -> bool {
        self.missing.is_empty() && self.controls >= MIN_CONTROLS && self.is_equal_enough()
    }
}

/// What Chromium's accessibility tree lists as controls of the page's main frame.
async fn controls(page: &CdpSession, world: i64, tree: &PageTree) -> Vec<Control> {
    let answer = page.call("Accessibility.getFullAXTree", json!({})).await;
    let answer = answer.unwrap();
    let text = |value: &Value| value["value"].as_str().unwrap_or_default().to_owned();
    let is_control = |role: &str| CONTROLS.split_whitespace().any(|known| known == role);
    let (mut controls, mut candidates, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    for node in answer["nodes"].as_array().unwrap() {
        let (role, id) = (text(&node["role"]), &node["backendDOMNodeId"]);
        if node["ignored"] == true || id.is_null() || !is_control(&role) {
            continue;
        }
        let params = json!({
            "backendNodeId": id, "executionContextId": world, "objectGroup": "package-pages",
        });
        let name = text(&node["name"]);
        candidates.push((role, name, page.call("DOM.resolveNode", params)));
    }
    let (described, resolved): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .map(|(role, name, resolved)| ((role, name), resolved))
        .unzip();
    for ((role, name), resolved) in described.into_iter().zip(join_all(resolved).await) {
        // The element may be gone meanwhile.
        let Ok(resolved) = resolved else { continue };
        arguments.push(json!({ "objectId": resolved["object"]["objectId"] }));
        controls.push(Control {
            role,
            name,
            found: Value::Null,
        });
    }
    let elements = tree.nodes.iter().filter(|node| !node.is_text());
    let numbers: Vec<u32> = elements.map(|node| node.element.number).collect();
    arguments.insert(0, json!({ "value": numbers }));
    let params = json!({
        "functionDeclaration": FIND, "executionContextId": world, "arguments": arguments,
        "returnByValue": true,
    });
    let mut answer = page.call("Runtime.callFunctionOn", params).await.unwrap();
    for (at, control) in controls.iter_mut().enumerate() {
        control.found = answer["result"]["value"][at].take();
    }
    page.notify(
        "Runtime.releaseObjectGroup",
        json!({ "objectGroup": "package-pages" }),
    );
    controls
}

/// A name without what is invisible, and without case: icon fonts draw characters of the private use
/// area, and Chromium applies `text-transform`, which accname does not.
fn visible(name: &str) -> String {
    let is_seen = |letter: &char| !matches!(letter, '\u{e000}'..='\u{f8ff}' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{feff}');
    let seen: String = name.chars().filter(is_seen).collect();
    let words: Vec<&str> = seen.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

fn is_same_name(ours: &str, theirs: &str) -> bool {
    let (ours, theirs) = (visible(ours), visible(theirs));
    match ours.strip_suffix('…') {
        Some(start) => theirs.starts_with(start.trim_end()),
        None => ours == theirs,
    }
}

/// Whether a role is Chromium's; telechir tells some fields apart.
fn is_same_role(ours: &str, theirs: &str) -> bool {
    let theirs = match theirs {
        "Date" | "DateTime" | "InputTime" => "textbox",
        "ColorWell" => "color",
        "DisclosureTriangle" | "PopUpButton" | "ToggleButton" => "button",
        other => other,
    };
    ours == theirs || matches!((ours, theirs), ("password", "textbox") | ("file", "button"))
}

async fn compare(browser: &mut Browser) -> Compared {
    let (tab, page) = browser.front().await.unwrap();
    let tree = browser.tree(&tab, Scope::default()).await.unwrap();
    let world = browser.world_in(&tab, &page).await.unwrap();
    let mut compared = Compared::default();
    for control in controls(&page, world, &tree).await {
        let Control { role, name, found } = &control;
        if found["isCurrent"] != true {
            continue;
        }
        compared.controls += 1;
        let html = &found["html"];
        let node = tree
            .nodes
            .iter()
            .find(|node| !node.is_text() && found["number"] == node.element.number);
        let Some(node) = node else {
            compared
                .missing
                .push(format!("{role} {name:?}: not in the snapshot: {html}"));
            continue;
        };
        let is_inert = node.states.split(' ').any(|state| state == "inert");
        if !node.is_interactive() && !is_inert {
            compared
                .missing
                .push(format!("{role} {name:?}: without a ref: {html}"));
        }
        if found["isWhole"] != true {
            continue;
        }
        compared.comparable += 1;
        compared.same_names += usize::from(is_same_name(&node.name, name));
        compared.same_roles += usize::from(is_same_role(&node.role, role));
        if !is_same_name(&node.name, name) || !is_same_role(&node.role, role) {
            compared.differences.push(format!(
                "{role} {name:?}, in the snapshot {} {:?}: {html}",
                node.role, node.name
            ));
        }
    }
    for view in [SnapshotView::Brief, SnapshotView::Interactive] {
        let uncounted = uncounted(browser, &tab.target, &tree, view);
        compared.missing.extend(uncounted);
    }
    compared
}

/// The number of refs that a view should have or count, if it does not.
fn uncounted(
    browser: &mut Browser,
    tab: &str,
    tree: &PageTree,
    view: SnapshotView,
) -> Option<String> {
    let request = SnapshotRequest {
        view,
        ..SnapshotRequest::default()
    };
    let text = browser.snapshots.render(tab, tree, request).unwrap();
    let is_word = |letter: char| letter.is_ascii_alphanumeric();
    let words: HashSet<&str> = text.split(|letter| !is_word(letter)).collect();
    let elements = tree.nodes.iter().filter(|node| node.is_interactive());
    let refs: Vec<String> = elements
        .map(|node| browser.snapshots.ref_of(node))
        .collect();
    let left = refs
        .iter()
        .filter(|id| !words.contains(id.as_str()))
        .count();
    let counted = text.rsplit_once('[').and_then(|(_, end)| {
        let (count, what) = end.split_once(" more ")?;
        (what.starts_with("interactive elements") || what.starts_with("omitted"))
            .then(|| count.parse::<usize>().ok())?
    });
    let counted = counted.unwrap_or(0);
    (left != counted).then(|| format!("{view:?}: {left} refs left out, {counted} counted"))
}

async fn open(browser: &mut Browser, url: &str) {
    let url = url.to_owned();
    let action = Action::Navigate { url, tab: None };
    let action = Viewport::unscaled(SIZE).action(&action).unwrap();
    browser.perform(&action).await.unwrap();
}

/// Compares a share of the pages, each SHARES-th from this one.
async fn a_share_has_all_controls(first: usize) {
    require(Component::Chromium);
    assert!(
        PathBuf::from(FOLDER).exists(),
        "the packages are not installed: run scripts/package-pages.sh, as `make test` does"
    );
    let options = Options {
        identity: is_root().then(|| Identity::unprivileged(3_880).unwrap()),
        ..Options::default()
    };
    let surface = Surface::Headless(SIZE);
    let mut browser = Browser::launch(surface, options).await.unwrap();
    let mut problems = Vec::new();
    for line in PAGES.lines().skip(first).step_by(SHARES) {
        let (folder, path) = line.split_once(' ').unwrap();
        let site = Site::of_folder(PathBuf::from(FOLDER).join(folder));
        let site = site.await.unwrap();
        open(&mut browser, &site.url(path)).await;
        let mut compared = Compared::default();
        for _ in 0..ATTEMPTS {
            browser.settle(SETTLE).await.unwrap();
            compared = compare(&mut browser).await;
            if compared.is_complete() {
                break;
            }
        }
        let is_equal_enough = compared.is_equal_enough();
        let Compared {
            controls,
            comparable,
            same_names,
            same_roles,
            ..
        } = compared;
        println!(
            "page | {folder}/{path} | {controls} | {} | {same_names} of {comparable} | {same_roles} of {comparable} |",
            compared.missing.len()
        );
        println!("{}", compared.differences.join("\n"));
        problems.extend(
            compared
                .missing
                .iter()
                .map(|missing| format!("{line}: {missing}")),
        );
        if !is_equal_enough {
            problems.push(format!(
                "{line}: {same_names} names and {same_roles} roles of {comparable} are Chromium's"
            ));
        }
        if controls < MIN_CONTROLS {
            problems.push(format!("{line}: only {controls} controls"));
        }
    }
    browser.close().await.unwrap();
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
async fn controls_of_package_pages_are_listed_1() {
    a_share_has_all_controls(0).await;
}

#[tokio::test]
async fn controls_of_package_pages_are_listed_2() {
    a_share_has_all_controls(1).await;
}

#[tokio::test]
async fn controls_of_package_pages_are_listed_3() {
    a_share_has_all_controls(2).await;
}

#[tokio::test]
async fn controls_of_package_pages_are_listed_4() {
    a_share_has_all_controls(3).await;
}

#[tokio::test]
async fn controls_of_package_pages_are_listed_5() {
    a_share_has_all_controls(4).await;
}

#[tokio::test]
async fn controls_of_package_pages_are_listed_6() {
    a_share_has_all_controls(5).await;
}
