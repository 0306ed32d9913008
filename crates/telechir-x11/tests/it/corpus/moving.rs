//! Pages with continuous animations: they neither delay settling nor hide other changes.

use telechir_device::{Computer as _, WindowSystem as _};
use telechir_protocol::UnsettledReason;
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Component, require};

use super::LATER;
use super::cases::{App, CHROMIUM, Case, Step};
use super::fixture::{AppFixture, Outcome};

/// A button that counts its presses, left of the animation.
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

/// Bounds of the animation in the window, with a margin for the window frame.
const MOVING: [i32; 4] = [290, 70, 900, 560];

/// Presses the button three times, after the animation has begun if the page has one.
async fn press(files: &'static [(&'static str, &'static str)], is_animated: bool) -> Vec<Outcome> {
    require(Component::Chromium);
    let app = App { files, ..CHROMIUM };
    let mut fixture = AppFixture::start(&app).await;
    // A window that is still may not have its page yet.
    assert_eventually!(fixture.desktop.windows().await.unwrap(), |windows| {
        windows.iter().any(|one| one.title.starts_with("Page"))
    });
    if is_animated {
        let first = fixture.desktop.capture().await.unwrap();
        assert_eventually!(fixture.desktop.capture().await.unwrap(), |next| *next
            != first);
    }
    let mut outcomes = Vec::new();
    for _ in 0..3 {
        let case = Case {
            name: "presses a button",
            steps: vec![Step::Click(100, 130)],
            comes_later: false,
        };
        let outcome = fixture.run(case, LATER).await;
        let off = outcome.off.map(|off| fixture.in_window(off));
        let is_final = off.is_none_or(|off| {
            off[0] >= MOVING[0] && off[1] >= MOVING[1] && off[2] <= MOVING[2] && off[3] <= MOVING[3]
        });
        assert!(is_final, "{outcome:?}: {off:?}");
        outcomes.push(outcome);
    }
    fixture.desktop.close().await.unwrap();
    outcomes
}

/// Asserts that the animation was reported.
fn assert_animated_once(outcomes: &[Outcome]) {
    let is_animated = |one: &Outcome| one.settled.unsettled == Some(UnsettledReason::Animated);
    assert!(outcomes.iter().any(is_animated), "{outcomes:?}");
}

fn assert_all_settled(outcomes: &[Outcome]) {
    let is_settled = |one: &Outcome| one.settled.is_settled();
    assert!(outcomes.iter().all(is_settled), "{outcomes:?}");
}

#[tokio::test]
async fn a_page_spinner_is_reported() {
    let outcomes = press(&[("page.html", SPINNER)], true).await;
    assert_animated_once(&outcomes);
}

#[tokio::test]
async fn a_page_video_is_reported() {
    let outcomes = press(&[("page.html", VIDEO)], true).await;
    assert_animated_once(&outcomes);
}

#[tokio::test]
async fn a_page_clock_does_not_extend_the_wait() {
    let outcomes = press(&[("page.html", CLOCK)], false).await;
    assert_all_settled(&outcomes);
}

#[tokio::test]
async fn a_page_caret_does_not_extend_the_wait() {
    let outcomes = press(&[("page.html", CARET)], false).await;
    assert_all_settled(&outcomes);
}
