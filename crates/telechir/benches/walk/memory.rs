//! What a session that waits for its next call keeps in memory, without the programs it runs.

use std::fs;

use serde_json::Value;

use crate::stage::{Stage, command, screenshot, telechir};
use crate::table::remark;

/// Bytes of one process, or of several.
#[derive(Clone, Copy, Default)]
struct Memory {
    resident: u64,
    proportional: u64,
}

pub(crate) fn idle(_stage: &Stage) {
    println!("\n## Memory of an idle session\n");
    println!("| session | processes of ours | resident (RSS) | shared fairly (PSS) |");
    println!("|---|---|---|---|");
    for (devices, input) in [
        (&["--shell"][..], command()),
        (&["--desktop"][..], screenshot()),
        (&["--desktop", "--shell"][..], screenshot()),
    ] {
        let name = format!("bench-{}", std::process::id());
        let exec = [
            "exec",
            "--dialect",
            "anthropic-messages",
            "--session",
            &name,
        ];
        telechir(&[&exec[..], devices].concat(), &input);
        let ours = ours(holder(&name));
        let sum = ours.iter().fold(Memory::default(), |sum, pid| {
            let one = memory(*pid);
            Memory {
                resident: sum.resident + one.resident,
                proportional: sum.proportional + one.proportional,
            }
        });
        let megabytes = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
        println!(
            "| `{}` | {} | **{}** | {} |",
            devices.join(" "),
            ours.len(),
            megabytes(sum.resident),
            megabytes(sum.proportional)
        );
        telechir(&["sessions", "close", &name], "");
    }
    remark(
        "The holder of the session and its guardian, after one call; X server, window manager, \
         bus, bubblewrap and bash are not counted. One measurement each. No tool that could be \
         installed here holds a session of this kind.",
    );
}

fn holder(name: &str) -> u64 {
    let listed = telechir(&["sessions", "list", "--json"], "");
    let listed: Value = serde_json::from_slice(&listed).expect("JSON");
    let rows = listed.as_array().expect("rows");
    let ours = rows.iter().find(|row| row["name"] == name);
    ours.and_then(|row| row["pid"].as_u64()).expect("a holder")
}

/// The holder and those below it that run the same program.
fn ours(holder: u64) -> Vec<u64> {
    let program = |pid: u64| fs::read_link(format!("/proc/{pid}/exe")).ok();
    let parent = |pid: u64| -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        stat.rsplit_once(')')?
            .1
            .split_whitespace()
            .nth(1)?
            .parse()
            .ok()
    };
    let all = fs::read_dir("/proc").expect("/proc").flatten();
    let pids = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| *pid == holder || parent(*pid) == Some(holder))
        .filter(|pid| program(*pid).is_some_and(|it| Some(it) == program(holder)))
        .collect()
}

fn memory(pid: u64) -> Memory {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).expect("its memory");
    let field = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.expect("a number") * 1024
    };
    Memory {
        resident: field("Rss:"),
        proportional: field("Pss:"),
    }
}
