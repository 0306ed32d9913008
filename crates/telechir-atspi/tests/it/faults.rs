//! Applications that hang or end, and a bus that goes away.

use std::time::{Duration, Instant};

use telechir_device::{Accessibility as _, Computer as _, Detail, DeviceError};
use telechir_process::Signal;
use telechir_protocol::{Action, Named, Point, Target};

use crate::fixture::{Stage, click, named};

#[tokio::test]
async fn an_application_that_hangs_does_not_hold_up_the_others() {
    let mut stage = Stage::with("mousepad", &[]).await;
    stage.launch("speedcrunch", &[]).await;
    stage.element(&named("menu", "File")).await;
    let menu = stage.element(&named("menuitem", "Session")).await;
    let hung = stage.processes("speedcrunch");
    assert!(!hung.is_empty(), "its process is found");
    for pid in &hung {
        rustix::process::kill_process(*pid, Signal::STOP).unwrap();
    }
    let began = Instant::now();
    let tree = stage.tree(Detail::Basic).await;
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "{:?}",
        began.elapsed()
    );
    assert!(tree.elements.iter().any(|one| one.name == "File"));
    assert_eq!(tree.silent.len(), 1, "{:?}", tree.silent);
    // The second time it is not waited for as long.
    let began = Instant::now();
    stage.tree(Detail::Basic).await;
    assert!(
        began.elapsed() < Duration::from_secs(2),
        "{:?}",
        began.elapsed()
    );
    let asked = stage.desktop.applications().invoke(&menu.id, None).await;
    assert!(
        matches!(asked, Err(DeviceError::Timeout { .. })),
        "{asked:?}"
    );
    for pid in &hung {
        rustix::process::kill_process(*pid, Signal::CONT).unwrap();
    }
    stage
        .until("it to answer again", |tree| tree.silent.is_empty())
        .await;
    stage.element(&named("menuitem", "Session")).await;
    stage.close().await;
}

#[tokio::test]
async fn without_its_bus_a_desktop_says_so_at_once() {
    let mut stage = Stage::with("mousepad", &[]).await;
    stage.element(&named("menu", "File")).await;
    for pid in stage.processes("dbus-daemon") {
        // One of them may end with the other.
        let _gone = rustix::process::kill_process(pid, Signal::KILL);
    }
    let began = Instant::now();
    let windows = [];
    let mut answer = stage
        .desktop
        .applications()
        .tree(Detail::Basic, &windows)
        .await;
    if answer.is_ok() {
        // The end of the bus had not come through.
        answer = stage
            .desktop
            .applications()
            .tree(Detail::Basic, &windows)
            .await;
    }
    assert!(
        matches!(answer, Err(DeviceError::Unavailable { .. })),
        "{answer:?}"
    );
    assert!(
        began.elapsed() < Duration::from_secs(3),
        "{:?}",
        began.elapsed()
    );
    // Pictures, pointer and keys go on.
    let before = stage.desktop.capture().await.unwrap();
    let at = Target::Point(Point::new(640, 400));
    stage.perform(click(at)).await.unwrap();
    let typed = Action::Type {
        text: "still here".to_owned(),
        at: None,
        clear_first: false,
        submit: false,
    };
    stage.perform(typed).await.unwrap();
    assert_ne!(stage.desktop.capture().await.unwrap(), before);
    stage.close().await;
}

#[tokio::test]
async fn a_name_that_nothing_has_is_an_error_that_says_what_there_is() {
    let mut stage = Stage::with("mousepad", &[]).await;
    stage.element(&named("menu", "File")).await;
    let nothing = Named {
        name: Some("Fly to the moon".to_owned()),
        ..Named::default()
    };
    let target = Target::Named(nothing);
    let error = stage.perform(click(target)).await.unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("there is none") && said.contains("menu \"File\""),
        "{said}"
    );
    stage.close().await;
}
