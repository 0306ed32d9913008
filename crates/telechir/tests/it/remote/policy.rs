//! What the policy holds back of a browser at a service.

use std::fs;

use serde_json::json;
use telechir_testkit::remote::Face;

use super::{RemoteFixture, assert_read_hello};
use crate::network::page;
use crate::telechir::Ran;

const CLOSED: &str = "[[url]]\ndefault = 'deny'\nreason = 'Only the page.'\n";

#[test]
fn hosts_that_a_service_does_not_enforce_are_refused_in_strict_mode_and_reported_otherwise() {
    let mut remote = RemoteFixture::new(Face::Steel);
    for strict in ["--remote-strict", "--strict"] {
        let (mut command, input) = remote.clicking(CLOSED, &[strict]);
        let refused = Ran::of(&mut command, &input);
        refused.fails(
            2,
            &[
                "--remote-strict: WebSockets",
                "Steel takes no list",
                "Nothing was",
            ],
        );
    }
    assert_eq!(remote.double.requests(), [], "nothing was asked");
    let (mut command, input) = remote.clicking(CLOSED, &[]);
    let ran = Ran::of(&mut command, &input);
    assert_read_hello(&ran);
    assert!(ran.stderr.contains("Steel takes no list"), "{}", ran.stderr);
    // A policy that names no host restricts none.
    assert_read_hello(&remote.click(&["--remote-strict"]));

    remote.become_another(Face::Kernel);
    let (mut command, input) = remote.clicking(CLOSED, &["--remote-strict"]);
    let listed = Ran::of(&mut command, &input);
    assert_read_hello(&listed);
    assert!(!listed.stderr.contains("WebSockets"), "{}", listed.stderr);
    let creation = remote.double.sessions().remove(0).creation;
    assert_eq!(
        creation["network"],
        json!({ "allowed_hosts": ["127.0.0.1"] })
    );
    let denies = format!("{CLOSED}[[url]]\nhost = ['b.example']\nverdict = 'deny'\nreason = 'x'\n");
    let (mut command, input) = remote.clicking(&denies, &["--remote-strict"]);
    Ran::of(&mut command, &input).fails(2, &["Kernel takes a list of permitted hosts alone"]);
}

#[test]
fn what_a_page_at_a_service_requests_is_judged_and_recorded() {
    let mut remote = RemoteFixture::new(Face::Steel);
    let inner = page("inner".to_owned());
    let port = page(format!(
        "hello<img src='http://localhost:{inner}/denied'>\
         <iframe src='http://127.0.0.1:{inner}/permitted'></iframe>"
    ));
    remote.fixture.url = format!("http://127.0.0.1:{port}/");
    let record = remote.fixture.telechir.folder().join("record");
    let record = record.display().to_string();
    let denied =
        "[[url]]\nname = 'no images'\nhost = ['localhost']\nverdict = 'deny'\nreason = 'No.'\n";
    let (mut command, input) = remote.clicking(denied, &[&format!("--record={record}")]);
    let ran = Ran::of(&mut command, &input);
    assert_read_hello(&ran);
    let html = remote.fixture.telechir.folder().join("report.html");
    let out = format!("--out={}", html.display());
    let report = Ran::of(&mut remote.command(&["report", &record, &out]), "");
    assert_eq!(report.code, Some(0), "{report:?}");
    let html = fs::read_to_string(html).expect("a report");
    let denied = format!("browser: no access to localhost:{inner}: No. (no images)");
    for part in [denied.as_str(), "Steel takes no list of permitted hosts"] {
        assert!(html.contains(part), "{part} is not in the report");
    }
    // The frame at the permitted host was loaded.
    assert!(ran.stdout.contains("inner"), "{}", ran.stdout);
}
