//! Reads all elements of a page in Chromium, with the positions of visible ones.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use telechir_atspi::{AtSpi, BusSocket};
use telechir_device::{Accessibility as _, Detail};
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::fixture::BenchFixture;
use crate::table::{Contestant, compare, table};

/// The Python of Debian's pyatspi package.
const PYTHON: &str = "/usr/bin/python3";
const HELPER: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/benches/end_to_end/accessibility.py"
);
/// Rows of the page, with three or four elements each.
const ROWS: usize = 900;
const ELEMENTS: usize = 3_600;

pub(crate) fn trees(fixture: &BenchFixture) {
    table("All accessible elements of a page in Chromium, with the bounds of those in view");
    let workspace = fixture.make("page");
    let path = workspace.join("page.html");
    let mut html = "<!doctype html><title>Rows</title>".to_owned();
    for row in 0..ROWS {
        write!(html, "<p>Row {row} <a href='#{row}'>link {row}</a></p>").expect("a text");
    }
    fs::write(&path, html).expect("a page");
    let mut options = DisplayOptions::new(fixture.folder(), fixture.identity);
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
    let (display, mut applications) = fixture.runtime.block_on(async {
        let mut display = PrivateDisplay::start(options).await.expect("an X server");
        display.launch("chromium", &args).await.expect("Chromium");
        let socket = display.session_bus().expect("a bus");
        let mut applications = AtSpi::new(BusSocket::new(socket, fixture.identity));
        for _ in 0..600 {
            let tree = applications.tree(Detail::Basic, &[]).await;
            if tree.is_ok_and(|tree| tree.elements.len() >= ELEMENTS) {
                return (display, applications);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the page was not accessible within a minute");
    });
    let mut elements = 0;
    let telechir_run = || {
        let tree = fixture
            .runtime
            .block_on(applications.tree(Detail::Basic, &[]));
        elements = tree.expect("elements").elements.len();
    };
    let name = "pyatspi (Python)";
    let mut walker = Walker::start(fixture, &display.environment());
    let peer = match walker.as_mut().map_err(|why| why.clone()) {
        Ok(walker) => Contestant::new(name, || {
            assert!(walker.walk() >= ELEMENTS, "it saw less");
        }),
        Err(why) => Contestant::missing(name, why),
    };
    compare(
        20,
        vec![Contestant::new("telechir, bulk query", telechir_run), peer],
    );
    drop(walker);
    crate::table::remark(&format!("{elements} elements."));
    fixture
        .runtime
        .block_on(display.close())
        .expect("a clean close");
}

/// A process that walks the tree on request.
struct Walker {
    child: Child,
    stdin: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Walker {
    fn start(fixture: &BenchFixture, environment: &[(String, String)]) -> Result<Self, String> {
        let has = Command::new(PYTHON).args(["-c", "import pyatspi"]).output();
        if !has.is_ok_and(|tried| tried.status.success()) {
            return Err("no python3-pyatspi".to_owned());
        }
        let mut command = Command::new(PYTHON);
        command.env_clear().envs(environment.iter().cloned());
        if let Some(identity) = fixture.identity {
            command.uid(identity.uid).gid(identity.gid);
        }
        // This process reads the script, because the user may have no access to its folder.
        let script = fs::read_to_string(HELPER).map_err(|error| error.to_string())?;
        let mut child = command
            .args(["-c", &script])
            .current_dir(fixture.folder())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            stdin: child.stdin.take().ok_or("no pipe")?,
            answers: BufReader::new(child.stdout.take().ok_or("no pipe")?),
            child,
        })
    }

    fn walk(&mut self) -> usize {
        self.stdin.write_all(b"\n").expect("the walker reads");
        let mut line = String::new();
        self.answers
            .read_line(&mut line)
            .expect("the walker replies");
        line.trim().parse().expect("a number of elements")
    }
}

impl Drop for Walker {
    fn drop(&mut self) {
        let _it_may_have_ended = self.child.kill();
        let _it_may_have_ended = self.child.wait();
    }
}
