//! Reading all elements of a page in Chromium, with the places of those in view.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use telechir_atspi::{AtSpi, BusSocket};
use telechir_device::{Accessibility as _, Detail};
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::fixture::Stage;
use crate::table::{Contestant, compare, table};

/// The Python that Debian's package of pyatspi is for.
const PYTHON: &str = "/usr/bin/python3";
const HELPER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/walk/accessibility.py");
/// Each row of the page is three elements or four.
const ROWS: usize = 900;
const ELEMENTS: usize = 3_600;

pub(crate) fn trees(stage: &Stage) {
    table("All accessible elements of a page in Chromium, with the bounds of those in view");
    let workspace = stage.make("page");
    let path = workspace.join("page.html");
    let mut html = "<!doctype html><title>Rows</title>".to_owned();
    for row in 0..ROWS {
        write!(html, "<p>Row {row} <a href='#{row}'>link {row}</a></p>").expect("a text");
    }
    fs::write(&path, html).expect("a page");
    let mut options = DisplayOptions::new(stage.folder(), stage.identity);
    options.accessibility = true;
    options.workspace = Some(workspace);
    let page = format!("file://{}", path.display());
    let args = [
        "--no-sandbox",
        "--no-first-run",
        "--disable-gpu",
        "--force-renderer-accessibility",
        page.as_str(),
    ];
    let (display, mut applications) = stage.runtime.block_on(async {
        let mut display = PrivateDisplay::start(options).await.expect("an X server");
        display.launch("chromium", &args).await.expect("Chromium");
        let socket = display.session_bus().expect("a bus");
        let mut applications = AtSpi::new(BusSocket::new(socket, stage.identity));
        for _ in 0..600 {
            let tree = applications.tree(Detail::Basic, &[]).await;
            if tree.is_ok_and(|tree| tree.elements.len() >= ELEMENTS) {
                return (display, applications);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the page was not told within a minute");
    });
    let mut elements = 0;
    let ours = || {
        let tree = stage
            .runtime
            .block_on(applications.tree(Detail::Basic, &[]));
        elements = tree.expect("elements").elements.len();
    };
    let name = "pyatspi (Python)";
    let mut walker = Walker::start(stage, &display.environment());
    let theirs = match walker.as_mut().map_err(|why| why.clone()) {
        Ok(walker) => Contestant::new(name, || {
            assert!(walker.walk() >= ELEMENTS, "it saw less");
        }),
        Err(why) => Contestant::missing(name, why),
    };
    compare(
        20,
        vec![Contestant::new("telechir, bulk query", ours), theirs],
    );
    drop(walker);
    crate::table::remark(&format!("{elements} elements."));
    stage.runtime.block_on(display.close()).expect("an end");
}

/// A process that walks the tree when it is asked to.
struct Walker {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Walker {
    fn start(stage: &Stage, environment: &[(String, String)]) -> Result<Self, String> {
        let has = Command::new(PYTHON).args(["-c", "import pyatspi"]).output();
        if !has.is_ok_and(|tried| tried.status.success()) {
            return Err("no python3-pyatspi".to_owned());
        }
        let mut command = Command::new(PYTHON);
        command.env_clear().envs(environment.iter().cloned());
        if let Some(identity) = stage.identity {
            command.uid(identity.uid).gid(identity.gid);
        }
        // The script is read by us: its folder may not be the user's to see.
        let script = fs::read_to_string(HELPER).map_err(|error| error.to_string())?;
        let mut child = command
            .args(["-c", &script])
            .current_dir(stage.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            asks: child.stdin.take().ok_or("no pipe")?,
            answers: BufReader::new(child.stdout.take().ok_or("no pipe")?),
            child,
        })
    }

    fn walk(&mut self) -> usize {
        self.asks.write_all(b"\n").expect("it listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        line.trim().parse().expect("a number of elements")
    }
}

impl Drop for Walker {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _it_may_have_ended = self.child.wait();
    }
}
