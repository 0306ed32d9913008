//! More time for what is rented at a service.

use serde_json::json;
use telechir_testkit::remote::{Face, ServiceFault, Verb};

use super::{RemoteFixture, assert_read_hello};
use crate::telechir::Ran;

fn extend(remote: &RemoteFixture, time: &str) -> Ran {
    let arguments = ["sessions", "extend", "work", "--for", time];
    Ran::of(&mut remote.command(&arguments), "")
}

#[test]
fn extending_a_session_extends_what_it_rents() {
    let mut remote = RemoteFixture::new(Face::BrowserEngine);
    let flags = [
        "--session=work",
        "--remote-timeout=600",
        "--max-rented-minutes=21",
    ];
    assert_read_hello(&remote.click(&flags));
    let extensions = |remote: &RemoteFixture| remote.double.sessions()[0].extensions.clone();
    assert_eq!(extend(&remote, "2m").code, Some(0));
    assert!(extensions(&remote).is_empty(), "it lasts longer anyway");
    let body = "{\"message\":\"not now\"}".to_owned();
    remote
        .double
        .fail(Verb::Extend, ServiceFault::Status(409, body));
    extend(&remote, "1h").fails(1, &["Browser Engine: it ends in", "not now"]);
    assert_eq!(extend(&remote, "1h").code, Some(0));
    assert_eq!(extensions(&remote), [json!({ "timeout": 600 })]);
    let left = remote.sessions()[0]["rented"]["seconds_left"].as_u64();
    assert!(left.is_some_and(|left| left > 590), "{left:?}");
    remote.close("work");

    remote.become_another(Face::Steel);
    assert_read_hello(&remote.click(&flags[..2]));
    extend(&remote, "1h").fails(1, &["Steel: it ends in", "the service cannot extend it"]);
    let left = remote.sessions()[0]["closes_in_seconds"].as_u64();
    assert!(
        left.is_some_and(|left| left > 3500),
        "the session stays open: {left:?}"
    );
    remote.close("work");
    assert_eq!((remote.double.running(), remote.entries()), (0, 0));
}
