//! What is left of a browser five seconds after whoever holds it was killed with -9.

use std::process::Command;
use std::time::Duration;

use telechir_testkit::page::ORDERS;
use telechir_testkit::site::Site;

use crate::fixture::{EXEC, Stage, run, screenshot, telechir};
use crate::mcp::{self, Agent, Peer};
use crate::memory::holder;
use crate::page::Playwright;
use crate::processes::{Process, marked, tree};
use crate::table::remark;

const LATER: Duration = Duration::from_secs(5);

/// Whoever is killed, with all that is below it; or why there is none.
type Held = Result<(u32, Vec<Process>), String>;

pub(crate) fn killed(stage: &Stage) {
    println!("\n## Processes left after the owner of a browser is killed with SIGKILL\n");
    println!("| owner | processes before | left after 5 s |\n|---|---|---|");
    let site = stage.runtime.block_on(Site::serve([("orders", ORDERS)]));
    let site = site.expect("loopback");
    let name = format!("bench-killed-{}", std::process::id());
    let servers = mcp::SERVERS.map(|server| Peer::open(stage, server, &site));
    let playwright = Playwright::open(&site);
    let agent = Agent::open(stage, &site);
    let mut all: Vec<(&str, Held)> = vec![
        (
            "**`exec --session --browser`, windowed**",
            ours(stage, &site, &name),
        ),
        ("Playwright", playwright.pid().map(held).ok_or_else(missing)),
    ];
    for server in &servers {
        all.push((server.name(), server.pid().map(held).ok_or_else(missing)));
    }
    let daemon = marked(mcp::AGENT).map(held).ok_or_else(missing);
    all.push(("agent-browser daemon", daemon));
    for (_, held) in &all {
        if let Ok((pid, _)) = held {
            run(Command::new("kill").args(["-KILL", &pid.to_string()]));
        }
    }
    std::thread::sleep(LATER);
    for (who, held) in &all {
        match held {
            Err(why) => println!("| {who} | missing: {why} | **not run** |"),
            Ok((_, before)) => {
                let left: Vec<&Process> = before.iter().filter(|one| one.is_there()).collect();
                println!("| {who} | {} | {} |", before.len(), left.len());
                for one in left {
                    run(Command::new("kill").args(["-KILL", &one.pid.to_string()]));
                }
            }
        }
    }
    remark(
        "Each owner has one browser that shows the page. The telechir row counts session host, guardian, X server, window manager and Chromium.",
    );
    drop((servers, playwright, agent));
}

fn ours(stage: &Stage, site: &Site, name: &str) -> Held {
    let browser = format!("--browser={}", site.url("orders"));
    let policy = stage.lets_pages();
    let first = [&EXEC[..], &["--session", name, &browser, &policy]].concat();
    telechir(&first, &screenshot());
    let holder = u32::try_from(holder(name)).expect("a process");
    Ok(held(holder))
}

fn held(pid: u32) -> (u32, Vec<Process>) {
    (pid, tree(pid))
}

fn missing() -> String {
    "not running".to_owned()
}
