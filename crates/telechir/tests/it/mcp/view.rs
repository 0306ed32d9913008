//! `mcp --view`: a page that shows and answers nothing.

use std::io::{BufRead as _, BufReader};

use serde_json::json;
use telechir_testkit::gate::{Component, require};

use super::{Client, MODERN};
use crate::view::OpenedPage;

#[test]
fn the_page_of_a_server_shows_its_session_and_answers_nothing() {
    require(Component::Sandbox);
    let mut client = Client::start(MODERN, &["--view"]);
    let mut line = String::new();
    let mut stderr = BufReader::new(client.server.stderr.take().expect("a pipe"));
    stderr.read_line(&mut line).expect("an address");
    let id = format!("mcp-{}", client.server.id());
    assert!(
        line.contains("read-only") && line.contains(&format!("telechir view {id}")),
        "{line}"
    );
    let url = line
        .split(' ')
        .find_map(|word| word.strip_suffix(';').filter(|url| url.starts_with("http")));
    let page = OpenedPage::of(url.expect("an address"));
    assert_eq!(
        (page.role.as_str(), &page.shows),
        ("viewer", &format!("session={id}"))
    );
    // It starts with the first call.
    assert_eq!(page.get("/v1/sessions").json(), json!({"sessions": []}));
    let ran = client.call("execute_cli", &json!({"command": "echo seen"}));
    assert!(ran.to_string().contains("seen"), "{ran}");
    assert_eq!(page.get("/v1/sessions").json()["sessions"][0]["id"], *id);
    page.get("/v1/approvals").is_problem(403, "forbidden");
    client.leave();
    assert!(page.is_gone());
}
