//! Names and roles of elements, case by case, beside those that Chromium computes.
//!
//! The cases are in `tests/names`: expected role, expected name and HTML, under the step of the
//! specification that they show. `NAMES_REPORT=FILE` writes the table of shares and misses, with
//! `TELECHIR_PEERS_NODE=FOLDER` also the shares of the playwright-core in that folder.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use telechir_process::{Identity, is_root};
use telechir_protocol::Size;
use telechir_testkit::gate::{Component, require};

use super::Browser;
use crate::cdp_session::CdpSession;
use crate::options::{AllowedUrls, Options, Surface};
use crate::snapshot::Scope;

const FILES: [&str; 3] = [
    include_str!("../../tests/names/accname.txt"),
    include_str!("../../tests/names/html-aam.txt"),
    include_str!("../../tests/names/core-aam.txt"),
];
const HEAD: &str =
    "| step | HTML | expected | telechir | Chromium | reason |\n|---|---|---|---|---|---|\n";
/// The required shares in percent.
const MIN_NAMES: usize = 98;
const MIN_ROLES: usize = 98;

/// A case: an element with the id `t`, and what the specification says of it.
struct Case {
    step: &'static str,
    /// `-` if the element has no role of its own; `None` if any is right.
    role: Option<&'static str>,
    /// `None` if any name is right.
    name: Option<&'static str>,
    html: &'static str,
    /// Why the element is described in another way.
    reason: &'static str,
}

/// The role and the name that somebody computed; the role `-` if there is none.
struct Computed {
    role: String,
    name: String,
}

impl Computed {
    fn has_name_of(&self, case: &Case) -> bool {
        // An element without a role has no name to compare.
        case.name.is_none_or(|name| *name == self.name)
    }

    fn has_role_of(&self, case: &Case) -> bool {
        case.role.is_none_or(|role| *role == self.role)
    }
}

fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for text in FILES {
        let mut step = "";
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(title) = line.strip_prefix("## ") {
                step = title;
            } else if let Some(reason) = line.strip_prefix("! ") {
                cases.last_mut().unwrap().reason = reason;
            } else {
                cases.push(Case::read(step, line));
            }
        }
    }
    cases
}

impl Case {
    fn read(step: &'static str, line: &'static str) -> Self {
        let (role, rest) = line.split_once(' ').unwrap();
        let (name, html) = rest.split_at(rest.find(" <").unwrap());
        let name = name
            .strip_prefix('"')
            .and_then(|name| name.strip_suffix('"'));
        Self {
            step,
            role: (role != "*").then_some(role),
            name,
            html: html.trim_start(),
            reason: "",
        }
    }
}

/// Puts the HTML into the page, with declarative shadow roots.
async fn show(page: &CdpSession, html: &str) {
    let put = format!("document.body.setHTMLUnsafe({})", json!(html));
    page.evaluate(&put).await.unwrap();
}

/// What a snapshot reports of the element.
async fn reported(browser: &mut Browser) -> Computed {
    let (tab, page) = browser.front().await.unwrap();
    let scope = Scope {
        boxes: false,
        thorough: true,
    };
    let tree = browser.tree(&tab, scope).await.unwrap();
    let world = browser.world_in(&tab, &page).await.unwrap();
    let elements = tree.nodes.iter().filter(|node| !node.is_text());
    let numbers: Vec<u32> = elements.clone().map(|node| node.element.number).collect();
    let index = format!(
        "{}.findIndex(id => telechirWalker.element(id) === document.getElementById('t'))",
        json!(numbers)
    );
    let params = json!({ "expression": index, "contextId": world, "returnByValue": true });
    let answer = page.call("Runtime.evaluate", params).await.unwrap();
    let found = answer["result"]["value"].as_u64();
    let node = found.and_then(|index| elements.clone().nth(usize::try_from(index).unwrap()));
    node.map_or_else(
        || Computed {
            role: "-".to_owned(),
            name: String::new(),
        },
        |node| Computed {
            // An element without a role that is listed all the same.
            role: node.role.replace("generic", "-"),
            name: node.name.clone(),
        },
    )
}

/// What Chromium's own accessibility tree has.
async fn computed_by_chromium(page: &CdpSession) -> Computed {
    let find = json!({ "expression": "document.getElementById('t')" });
    let found = page.call("Runtime.evaluate", find).await.unwrap();
    let params = json!({ "objectId": found["result"]["objectId"], "fetchRelatives": false });
    let answer = page.call("Accessibility.getPartialAXTree", params).await;
    let node = answer.map_or(Value::Null, |answer| answer["nodes"][0].clone());
    let text = |member: &str| {
        node[member]["value"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let is_ignored = node["ignored"] == true;
    let role = match text("role").as_str() {
        _ if is_ignored => "-".to_owned(),
        "none" | "generic" | "" | "LabelText" | "LayoutTable" | "LayoutTableRow"
        | "LayoutTableCell" | "sectionheader" | "sectionfooter" => "-".to_owned(),
        "img" | "SvgRoot" => "image".to_owned(),
        "DisclosureTriangle" => "button".to_owned(),
        "ColorWell" => "color".to_owned(),
        "Iframe" => "iframe".to_owned(),
        "Video" => "video".to_owned(),
        "Audio" => "audio".to_owned(),
        "Canvas" => "canvas".to_owned(),
        other => other.to_owned(),
    };
    Computed {
        role,
        name: text("name")
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    }
}

/// What Playwright computes for all cases, if it is installed.
#[expect(
    clippy::disallowed_methods,
    reason = "Playwright is started as a user starts it"
)]
fn computed_by_playwright(cases: &[Case]) -> Option<Vec<Computed>> {
    let folder = std::env::var_os("TELECHIR_PEERS_NODE")?;
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/names/playwright.mjs");
    let mut node = Command::new("node")
        .args([script.as_ref(), folder.as_os_str(), "chromium".as_ref()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let html: Vec<&str> = cases.iter().map(|case| case.html).collect();
    let mut stdin = node.stdin.take().unwrap();
    stdin.write_all(json!(html).to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = node.wait_with_output().unwrap();
    let computed: Vec<(String, String)> = serde_json::from_slice(&output.stdout).unwrap();
    let computed = computed.into_iter().map(|(role, name)| Computed {
        role: match role.as_str() {
            "" | "none" | "presentation" | "generic" => "-".to_owned(),
            "img" => "image".to_owned(),
            _ => role,
        },
        name,
    });
    Some(computed.collect())
}

/// The shares of one describer.
#[derive(Default)]
struct Shares {
    names: usize,
    roles: usize,
}

impl Shares {
    fn add(&mut self, computed: &Computed, case: &Case) {
        self.names += usize::from(case.name.is_some() && computed.has_name_of(case));
        self.roles += usize::from(case.role.is_some() && computed.has_role_of(case));
    }
}

fn row(title: &str, right: &Shares, names: usize, roles: usize) -> String {
    let share = |right: usize, all: usize| 1_000 * right / all.max(1);
    let percent = |share: usize| format!("{}.{} %", share / 10, share % 10);
    format!(
        "| {title} | {} of {names} ({}) | {} of {roles} ({}) |\n",
        right.names,
        percent(share(right.names, names)),
        right.roles,
        percent(share(right.roles, roles)),
    )
}

/// A line of a table of misses.
fn miss(case: &Case, described: &Computed, other: &Computed) -> String {
    let html = case.html.replace('|', "\\|").replace('`', "'");
    let Computed { role, name } = described;
    format!(
        "| {} | `{html}` | {} \"{}\" | {role} \"{name}\" | {} \"{}\" | {} |\n",
        case.step,
        case.role.unwrap_or("any"),
        case.name.unwrap_or("any"),
        other.role,
        other.name,
        case.reason
    )
}

#[tokio::test]
async fn names_and_roles_are_those_of_the_specifications() {
    require(Component::Chromium);
    let options = Options {
        identity: is_root().then(|| Identity::unprivileged(3_879).unwrap()),
        allowed_urls: AllowedUrls::WebAndData,
        ..Options::default()
    };
    let size = Size::new(1024, 768);
    let surface = Surface::Headless(size);
    let mut browser = Browser::launch(surface, options).await.unwrap();
    let (_, page) = browser.front().await.unwrap();
    let (mut ours, mut chromium) = (Shares::default(), Shares::default());
    let (mut misses, mut differences) = (String::new(), String::new());
    let cases = cases();
    for case in &cases {
        show(&page, case.html).await;
        let described = reported(&mut browser).await;
        let other = computed_by_chromium(&page).await;
        ours.add(&described, case);
        chromium.add(&other, case);
        if !described.has_name_of(case) || !described.has_role_of(case) {
            misses += &miss(case, &described, &other);
        } else if !other.has_name_of(case) || !other.has_role_of(case) {
            differences += &miss(case, &described, &other);
        }
    }
    browser.close().await.unwrap();
    let names = cases.iter().filter(|case| case.name.is_some()).count();
    let roles = cases.iter().filter(|case| case.role.is_some()).count();
    let playwright = computed_by_playwright(&cases).map_or_else(
        || "| Playwright | **missing**: not installed | |\n".to_owned(),
        |computed| {
            let mut shares = Shares::default();
            for (computed, case) in computed.iter().zip(&cases) {
                shares.add(computed, case);
            }
            row("Playwright", &shares, names, roles)
        },
    );
    let report = format!(
        "# Names and roles\n\n{} cases in `crates/telechir-browser/tests/names`, each under a step of accname 1.2, \
         html-aam 1.0 or core-aam 1.2, read from a snapshot and from Chromium's accessibility tree in the same run. \
         Written by `NAMES_REPORT=benchmarks/names.md cargo test -p telechir-browser --lib names_and_roles`.\n\n\
         Roles that only telechir names (password, file, color, video, audio, canvas, iframe) count as missed by Playwright; \
         for Chromium, its own words for them count.\n\n\
         | | names | roles |\n|---|---|---|\n{}{}{playwright}\nMisses of telechir (`-`: no role of its own):\n\n{HEAD}{misses}\n\
         Misses of Chromium alone:\n\n{HEAD}{differences}",
        cases.len(),
        row("telechir", &ours, names, roles),
        row("Chromium", &chromium, names, roles),
    );
    if let Some(file) = std::env::var_os("NAMES_REPORT") {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        std::fs::write(std::path::Path::new(folder).join(file), &report).unwrap();
    }
    assert!(cases.len() >= 500, "{} cases", cases.len());
    assert!(100 * ours.names >= MIN_NAMES * names, "{report}");
    assert!(100 * ours.roles >= MIN_ROLES * roles, "{report}");
}
