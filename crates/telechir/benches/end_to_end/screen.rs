//! Clicks on a private desktop, measured until they arrive.

use std::process::Command as Program;
use std::time::{Duration, Instant};

use telechir_device::{Computer as _, Viewport};
use telechir_protocol::{Action, Point, Target};
use telechir_testkit::contract::computer::{ObservedInput, Witness as _};
use telechir_testkit::witness::{ReadMode, XWitness};
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::fixture::BenchFixture;
use crate::peers::{Peers, absent};
use crate::table::{Contestant, compare, remark, table};

type Environment = Vec<(String, String)>;

pub(crate) fn click(x: i32, y: i32) -> Action {
    Action::Click {
        at: Some(Target::Point(Point::new(x, y))),
        button: Default::default(),
        count: Default::default(),
        modifiers: Vec::new(),
    }
}

/// Different points in turn, so that every click moves the pointer.
fn points() -> impl FnMut() -> (i32, i32) {
    let mut count = 0;
    move || {
        count += 1;
        (100 + count * 37 % 900, 100 + count * 53 % 500)
    }
}

pub(crate) fn clicks(fixture: &BenchFixture, peers: &mut Peers) {
    table("Click, until the window under it has received press and release");
    let options = DisplayOptions::new(fixture.folder(), fixture.identity);
    let (mut desktop, environment) = fixture.runtime.block_on(async {
        let display = PrivateDisplay::start(options).await.expect("an X server");
        let environment = display.environment();
        let desktop = display.into_desktop().await.expect("a desktop");
        (desktop, environment)
    });
    peers.restart(fixture, &environment);
    let opened = XWitness::open(&environment, ReadMode::default());
    let witness = std::cell::RefCell::new(fixture.runtime.block_on(opened));
    let (mut point, viewport) = (points(), Viewport::unscaled(desktop.size()));
    let telechir_run = || {
        let (x, y) = point();
        delivered(fixture, &witness, || {
            let action = viewport.action(&click(x, y)).expect("on the screen");
            let performed = fixture.runtime.block_on(desktop.perform(&action));
            drop(performed.expect("a click"));
        })
    };
    let mut python = |x: i32, y: i32| peers.request(&format!("pynput {x} {y}"));
    let mut other_point = points();
    let pynput = match python(90, 90) {
        Ok(()) => Contestant::timed("pynput (Python)", || {
            let (x, y) = other_point();
            delivered(fixture, &witness, || {
                python(x, y).expect("it succeeded before")
            })
        }),
        Err(why) => Contestant::missing("pynput (Python)", why),
    };
    let all = vec![
        Contestant::timed("move and click", telechir_run),
        pynput,
        xdotool(fixture, &witness, &environment),
    ];
    compare(40, all);
    remark("xdotool returns about 100 ms after its click has arrived; that time is not counted.");
}

fn xdotool<'a>(
    fixture: &'a BenchFixture,
    witness: &'a std::cell::RefCell<XWitness>,
    environment: &Environment,
) -> Contestant<'a> {
    let name = "xdotool, one process per click";
    if let Some(why) = absent("xdotool") {
        return Contestant::missing(name, why);
    }
    let (mut point, environment) = (points(), environment.clone());
    Contestant::timed(name, move || {
        let (x, y) = point();
        let mut child = None;
        let time = delivered(fixture, witness, || {
            let (x, y) = (x.to_string(), y.to_string());
            let mut command = Program::new("xdotool");
            command.args(["mousemove", &x, &y, "click", "1"]);
            child = command.envs(environment.clone()).spawn().ok();
        });
        let ended = child.expect("the program starts").wait();
        assert!(ended.expect("an exit status").success(), "xdotool fails");
        time
    })
}

/// Time from the start of `work` until a complete click has arrived.
fn delivered(
    fixture: &BenchFixture,
    witness: &std::cell::RefCell<XWitness>,
    work: impl FnOnce(),
) -> Duration {
    let mut witness = witness.borrow_mut();
    fixture.runtime.block_on(witness.forget());
    let is_click = |seen: &[ObservedInput]| {
        seen.iter()
            .any(|one| matches!(one, ObservedInput::ButtonUp { .. }))
    };
    let start = Instant::now();
    work();
    let arrived = fixture.runtime.block_on(witness.arrives(&is_click));
    let time = start.elapsed();
    assert!(arrived, "no click arrives");
    time
}
