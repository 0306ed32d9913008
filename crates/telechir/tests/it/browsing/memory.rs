//! `--browser-memory-limit`: a page that exceeds it is killed with a reason; the next page loads.

use serde_json::json;
use telechir_process::Cgroup;
use telechir_process::confinement::ResourceLimits;
use telechir_testkit::gate::{Privilege, lacks};

use super::BrowsingFixture;
use super::anthropic::message;
use crate::exec::member;

#[test]
fn a_page_that_exceeds_the_memory_limit_is_killed() {
    let has_limits = Cgroup::new(&ResourceLimits::default())
        .effective_limits()
        .limits_totals();
    if lacks(Privilege::CgroupLimits, has_limits) {
        return;
    }
    let fixture = BrowsingFixture::new();
    let page = fixture.page();
    let mut flags = fixture.flags();
    flags[0] = format!("--browser={page}");
    flags.push("--browser-memory-limit=512".to_owned());
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let take = "window.kept = []; for (let i = 0; i < 4000; i++) {\
        kept.push(new Uint8Array(1 << 20).fill(i)) } 'all of it'";
    let taken = member(
        "toolu_1",
        "browser",
        "javascript_exec",
        json!({ "text": take }),
    );
    let reply = fixture.exec("anthropic-messages", &flags, &message(&[taken]));
    let output = reply.to_string();
    assert!(output.contains("more than 512 MiB of memory"), "{output}");
    assert!(!output.contains("all of it\""), "{output}");
    let calls = [
        member("toolu_2", "browser", "navigate", json!({ "url": page })),
        member("toolu_3", "browser", "get_page_text", json!({})),
    ];
    let reply = fixture.exec("anthropic-messages", &[], &message(&calls));
    assert!(reply.to_string().contains("Press"), "{reply}");
}
