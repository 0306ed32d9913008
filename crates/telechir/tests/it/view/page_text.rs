//! The page of a browser as text, for operators who ask for it.

use serde_json::json;

use super::page::{PageFixture, SCREEN};

#[test]
fn an_operator_reads_the_page_and_a_viewer_does_not() {
    let page = PageFixture::open("operator", &[]);
    page.start_screen();
    let content = "document.title = 'Order 5'; document.body.innerHTML = \
        '<h1>Basket</h1><button>Pay <b>now</b></button><input type=password value=s3cr3t>\
         <input aria-label=Name value=Anna>'; 1";
    page.browse_in(SCREEN, &[], "javascript_exec", json!({ "text": content }));
    page.show_screen();
    let text =
        "document.querySelector('pre[aria-label=\"The page as text\"]')?.innerText ?? 'none'";
    assert_eq!(
        page.script("document.querySelectorAll('.session details[open]').length"),
        "0"
    );
    page.click(".session details summary");
    page.wait(text, "\"Order 5\" <about:blank>");
    let shown = page.script(text);
    for expected in ["heading \"Basket\"", "button \"Pay now\""] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    assert!(
        !shown.contains("s3cr3t") && !shown.contains("[b1]"),
        "{shown}"
    );
    // It is what the page is now.
    let change = "document.title = 'Order 6'; 1";
    page.browse_in(SCREEN, &[], "javascript_exec", json!({ "text": change }));
    page.click(".session details button");
    page.wait(text, "Order 6");

    let path = format!("/v1/sessions/{SCREEN}/page");
    for role in ["viewer", "agent"] {
        let refused = page.server.client(role).request("GET", &path, None);
        refused.is_problem(403, "forbidden");
    }
    let shell = format!("/v1/sessions/{}/page", page.id);
    let none = page.server.client("operator").request("GET", &shell, None);
    assert!(none.body.contains("no browser"), "{none:?}");
    none.is_problem(409, "no-page");
}
