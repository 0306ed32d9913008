//! Pages on which something moves all the time: it is not waited for, and hides nothing else.

use std::time::Duration;

use telechir_device::Computer as _;
use telechir_protocol::UnsettledReason;
use telechir_testkit::gate::{Part, require};

use super::cases::{Act, App, CHROMIUM, Step};
use super::fixture::{Outcome, Play};

/// A button that counts how often it was pressed, left of what moves.
macro_rules! page {
    ($moves:literal) => {
        concat!(
            "<!doctype html><title>Page</title><style>body{font:16px monospace}",
            "*{position:absolute;top:20px;margin:0}button{left:20px;width:200px;height:40px}",
            "canvas,p,input{left:300px}</style>",
            "<button onclick=\"this.textContent='pressed '+(window.n=-~window.n)\">press</button>",
            $moves,
            "<script>const c=document.querySelector('canvas');let i=0;",
            "const draw=()=>{const x=c.getContext('2d');i++;x.fillStyle=`hsl(${i*37%360} 90% 50%)`;",
            "x.fillRect(0,0,c.width,c.height);x.clearRect(i*5%c.width,0,9,c.height)};</script>"
        )
    };
}

const SPINNER: &str =
    page!("<canvas width=32 height=32></canvas><script>setInterval(()=>draw(),50)</script>");
const VIDEO: &str = page!(
    "<canvas width=480 height=300></canvas><script>const f=()=>{draw();requestAnimationFrame(f)};\
     requestAnimationFrame(f)</script>"
);
const CLOCK: &str = page!(
    "<p></p><script>setInterval(()=>{document.querySelector('p').textContent=Date.now()},1000)\
     </script>"
);
const CARET: &str = page!("<input autofocus>");

/// Where things move, as left, top, right and bottom of the window, with room for where the
/// window's frame puts the page.
const MOVING: [i32; 4] = [290, 70, 900, 560];

/// Presses the button three times while something moves.
async fn press(files: &'static [(&'static str, &'static str)]) -> Vec<Outcome> {
    require(Part::Chromium);
    let app = App { files, ..CHROMIUM };
    let mut play = Play::begin(&app).await;
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        let act = Act {
            name: "presses a button",
            steps: vec![Step::Click(100, 130)],
            comes_later: false,
        };
        let outcome = play.act(act).await;
        let off = outcome.off.map(|off| play.in_window(off));
        let is_final = off.is_none_or(|off| {
            off[0] >= MOVING[0] && off[1] >= MOVING[1] && off[2] <= MOVING[2] && off[3] <= MOVING[3]
        });
        assert!(is_final, "{outcome:?}: {off:?}");
        outcomes.push(outcome);
    }
    play.desktop.close().await.unwrap();
    outcomes
}

/// No wait was as long as this.
fn all_below(limit_ms: u64, outcomes: &[Outcome]) {
    let longest = outcomes.iter().map(|one| one.settled.waited).max().unwrap();
    assert!(longest < Duration::from_millis(limit_ms), "{outcomes:?}");
}

/// What moves by itself was named.
fn is_named(outcomes: &[Outcome]) {
    let held = |one: &Outcome| one.settled.unsettled == Some(UnsettledReason::Animated);
    assert!(outcomes.iter().any(held), "{outcomes:?}");
}

fn are_settled(outcomes: &[Outcome]) {
    let is_settled = |one: &Outcome| one.settled.is_settled();
    assert!(outcomes.iter().all(is_settled), "{outcomes:?}");
}

#[tokio::test]
async fn a_spinner_of_a_page_is_named_and_not_waited_for() {
    let outcomes = press(&[("page.html", SPINNER)]).await;
    all_below(900, &outcomes);
    is_named(&outcomes);
}

#[tokio::test]
async fn a_video_of_a_page_is_named_and_not_waited_for() {
    let outcomes = press(&[("page.html", VIDEO)]).await;
    all_below(1_800, &outcomes);
    is_named(&outcomes);
}

#[tokio::test]
async fn a_clock_of_a_page_is_not_waited_for() {
    let outcomes = press(&[("page.html", CLOCK)]).await;
    all_below(900, &outcomes);
    are_settled(&outcomes);
}

#[tokio::test]
async fn a_caret_of_a_page_is_not_waited_for() {
    let outcomes = press(&[("page.html", CARET)]).await;
    all_below(900, &outcomes);
    are_settled(&outcomes);
}
