//! What a server costs before its first call: clients start all their servers, used or not.

use std::fs;

use serde_json::json;

use super::{Client, MODERN};

/// Memory of its own; the pages of the binary are shared and depend on the build.
const MAX_PRIVATE_KILOBYTES: u64 = 6 << 10;
/// One serves the client, one watches whether it is still there.
const MAX_THREADS: u64 = 2;
/// In hundredths of a second; a start takes one in a debug build.
const MAX_PROCESSOR_TIME: u64 = 10;

#[test]
fn a_server_without_a_session_costs_little() {
    let mut client = Client::start(MODERN, &["--desktop", "--browser"]);
    let listed = client.request("tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
    let size = listed["result"]["tools"].to_string().len();
    assert!(size <= 12_500, "the list of tools has {size} bytes");

    let process = format!("/proc/{}", client.server.id());
    let status = fs::read_to_string(format!("{process}/status")).expect("a process");
    let number = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.and_then(|text| text.parse().ok()).expect("a number")
    };
    let private = number("RssAnon:");
    assert!(private <= MAX_PRIVATE_KILOBYTES, "{private} kB");
    assert!(number("Threads:") <= MAX_THREADS, "{status}");

    let stat = fs::read_to_string(format!("{process}/stat")).expect("a process");
    // After the name, which may have spaces: user and system time are the 12th and 13th.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let times = fields.split_whitespace().skip(11).take(2);
    let spent: u64 = times.map(|time| time.parse::<u64>().expect("ticks")).sum();
    assert!(spent <= MAX_PROCESSOR_TIME, "{spent} ticks");

    let children = fs::read_to_string(format!("{process}/task/{}/children", client.server.id()));
    assert_eq!(children.expect("a process"), "", "no program was started");
    client.leave();
}
