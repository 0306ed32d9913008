//! Processes left over five seconds after SIGKILL to the owner of a browser.

use std::process::Command;
use std::time::Duration;

use telechir_testkit::page::ORDERS;
use telechir_testkit::site::Site;

use crate::fixture::{BenchFixture, EXEC, run, screenshot, telechir};
use crate::mcp::{self, Agent, Peer};
use crate::memory::session_host_pid;
use crate::page::Playwright;
use crate::processes::{Process, marked, tree};
use crate::table::remark;

const LATER: Duration = Duration::from_secs(5);

/// The killed process with its descendants, or why there is none.
type KilledProcesses = Result<(u32, Vec<Process>), String>;

pub(crate) fn killed(fixture: &BenchFixture) {
    println!("\n## Processes left after the owner of a browser is killed with SIGKILL\n");
    println!("| owner | processes before | left after 5 s |\n|---|---|---|");
    let site = fixture.runtime.block_on(Site::serve([("orders", ORDERS)]));
    let site = site.expect("loopback");
    let name = format!("bench-killed-{}", std::process::id());
    let servers = mcp::SERVERS.map(|server| Peer::open(fixture, server, &site));
    let playwright = Playwright::open(&site);
    let agent = Agent::open(fixture, &site);
    let mut all: Vec<(&str, KilledProcesses)> = vec![
        (
            "**`exec --session --browser`, windowed**",
            telechir_run(fixture, &site, &name),
        ),
        (
            "Playwright",
            playwright.pid().map(processes).ok_or_else(missing),
        ),
    ];
    for server in &servers {
        all.push((
            server.name(),
            server.pid().map(processes).ok_or_else(missing),
        ));
    }
    let daemon = marked(mcp::AGENT).map(processes).ok_or_else(missing);
    all.push(("agent-browser daemon", daemon));
    for (_, processes) in &all {
        if let Ok((pid, _)) = processes {
            run(Command::new("kill").args(["-KILL", &pid.to_string()]));
        }
    }
    std::thread::sleep(LATER);
    for (who, processes) in &all {
        match processes {
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

fn telechir_run(fixture: &BenchFixture, site: &Site, name: &str) -> KilledProcesses {
    let browser = format!("--browser={}", site.url("orders"));
    let policy = fixture.page_policy_flag();
    let first = [&EXEC[..], &["--session", name, &browser, &policy]].concat();
    telechir(&first, &screenshot());
    let session_host_pid = u32::try_from(session_host_pid(name)).expect("a process");
    Ok(processes(session_host_pid))
}

fn processes(pid: u32) -> (u32, Vec<Process>) {
    (pid, tree(pid))
}

fn missing() -> String {
    "not running".to_owned()
}
