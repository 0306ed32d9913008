//! A first page that the policy denies: nothing starts for it.

use serde_json::json;

use crate::exec::{anthropic, member};
use crate::telechir::{Ran, Telechir};

/// No X server has this number, so a session that starts its devices fails with another message.
const NO_DISPLAY: &str = "--desktop=:59999";

fn open(page: &str, rules: &str) -> Ran {
    let telechir = Telechir::new();
    let policy = telechir.folder().join("policy.toml");
    std::fs::write(&policy, rules).expect("a policy");
    let arguments = [
        "exec",
        "--dialect",
        "anthropic-messages",
        NO_DISPLAY,
        &format!("--browser={page}"),
        "--headless",
        "--policy",
        &policy.to_string_lossy(),
    ];
    let response = anthropic(&[member("toolu_1", "browser", "screenshot", json!({}))]);
    telechir.run(&arguments, &response)
}

#[test]
fn a_denied_first_page_is_refused_before_a_device_starts() {
    let by_tool = "[[computer]]\nactions = ['navigate']\nverdict = 'deny'\n\
                   reason = 'No pages.'\n";
    let by_host = "[[url]]\nhost = ['*.example']\nverdict = 'deny'\nreason = 'Blocked.'\n";
    let closed = "[[url]]\ndefault = 'deny'\nreason = 'Only the listed.'\n";
    for (page, rules, reason) in [
        ("file:///etc/passwd", "", "Navigation to file: URLs"),
        ("http://2130706433/", "", "127.0.0.1 is a loopback address"),
        (
            "http://localhost.:1/",
            "",
            "localhost is a loopback address",
        ),
        ("http://good.example@shop.example/", "", "has a user name"),
        ("https://shop.example/", by_host, "Blocked."),
        ("https://shop.example/", by_tool, "No pages."),
        ("https://shop.example/", closed, "Only the listed."),
    ] {
        open(page, rules).fails(1, &[&format!("--browser={page}: Not executed: "), reason]);
    }
}

#[test]
fn a_first_page_that_is_not_denied_starts_the_devices() {
    let open_host = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'Served here.'\n";
    for (page, rules) in [
        ("about:blank", ""),
        ("http://127.0.0.1:9/", open_host),
        // Its addresses are unknown, so a person is asked once the session runs.
        ("http://nowhere.invalid/", ""),
    ] {
        open(page, rules).fails(1, &["59999"]);
    }
}
