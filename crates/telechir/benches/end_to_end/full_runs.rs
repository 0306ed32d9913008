//! Complete runs of the binary, measured from outside.

use std::process::Command;

use crate::fixture::{BenchFixture, EXEC, TELECHIR, command, run, screenshot, telechir};
use crate::peers::{Peers, absent};
use crate::table::{Contestant, compare, remark, table};

/// Runs with devices started for each call.
pub(crate) fn cold(_stage: &BenchFixture) {
    table("Complete `telechir exec`, devices included");
    for (flag, input) in [
        ("--desktop", screenshot()),
        ("--browser", screenshot()),
        ("--shell", command()),
    ] {
        let call = || drop(telechir(&[&EXEC[..], &[flag]].concat(), &input));
        compare(
            15,
            vec![Contestant::new(format!("`exec {flag}`, cold"), call)],
        );
    }
    remark(
        "Each run starts and stops its device, guardian and journal. No installable tool that provides a private device for one call was found.",
    );
}

/// Calls of a running session.
pub(crate) fn sessions(_stage: &BenchFixture) {
    table("Complete `telechir exec --session`, warm");
    let name = format!("bench-{}", std::process::id());
    let named = ["--session", name.as_str()];
    let first = [&EXEC[..], &named, &["--desktop", "--shell"]].concat();
    telechir(&first, &screenshot());
    let again = [&EXEC[..], &named].concat();
    for (what, input) in [("a screenshot", screenshot()), ("`true`", command())] {
        let call = || drop(telechir(&again, &input));
        compare(40, vec![Contestant::new(what, call)]);
    }
    telechir(&["sessions", "close", &name], "");
    remark("Nothing changes on the screen, which telechir detects immediately.");
}

/// Startup time of the binary alone.
pub(crate) fn starts(peers: &mut Peers) {
    table("Program start");
    let version = Contestant::new("`telechir --version`", || {
        run(Command::new(TELECHIR).arg("--version"));
    });
    let scrot = match absent("scrot") {
        Some(why) => Contestant::missing("`scrot --version`", why),
        None => Contestant::new("`scrot --version`", || {
            run(Command::new("scrot").arg("--version"));
        }),
    };
    let library = |name: &'static str| match peers.python() {
        Some(python) => Contestant::new(format!("Python with `import {name}`"), move || {
            run(Command::new(python).args(["-c", &format!("import {name}")]));
        }),
        None => Contestant::missing(format!("Python with `import {name}`"), "no such Python"),
    };
    compare(40, vec![version, scrot, library("mss")]);
    let input = screenshot();
    let arguments = ["decode", "--dialect", "anthropic-messages"];
    let decode = Contestant::new("`telechir decode` of one call", || {
        telechir(&arguments, &input);
    });
    compare(40, vec![decode]);
}
