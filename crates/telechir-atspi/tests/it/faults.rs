//! Hanging and exiting applications, and a lost bus.

use std::time::{Duration, Instant};

use telechir_device::{Accessibility as _, Computer as _, Detail, DeviceError, ElementTree};
use telechir_process::Signal;
use telechir_protocol::{Action, NamedElement, Point, Target};
use telechir_testkit::assert_eventually;

use crate::fixture::{DesktopFixture, click, named};

#[tokio::test]
async fn a_hanging_application_does_not_delay_the_others() {
    let mut fixture = DesktopFixture::with("mousepad", &[]).await;
    fixture.launch("speedcrunch", &[]).await;
    fixture.element(&named("menu", "File")).await;
    let menu = fixture.element(&named("menuitem", "Session")).await;
    let hung = fixture.processes("speedcrunch");
    assert!(!hung.is_empty(), "its process is found");
    for pid in &hung {
        rustix::process::kill_process(*pid, Signal::STOP).unwrap();
    }
    // On a busy machine another application may be late as well.
    let is_reported = |tree: &ElementTree| {
        let has = |name| tree.elements.iter().any(|one| one.name == name);
        has("File") && !has("Session") && !tree.unresponsive.is_empty()
    };
    fixture.until("the other's elements", is_reported).await;
    // The first timeout is a second, that of an application which was silent is shorter.
    let mut took = async || {
        let start = Instant::now();
        fixture.tree(Detail::Basic).await;
        start.elapsed()
    };
    assert_eventually!(took().await, |took| *took < Duration::from_secs(1));
    let result = fixture.desktop.applications().invoke(&menu.id, None).await;
    assert!(
        matches!(result, Err(DeviceError::Timeout { .. })),
        "{result:?}"
    );
    for pid in &hung {
        rustix::process::kill_process(*pid, Signal::CONT).unwrap();
    }
    fixture
        .until("it to answer again", |tree| tree.unresponsive.is_empty())
        .await;
    fixture.element(&named("menuitem", "Session")).await;
    fixture.close().await;
}

#[tokio::test]
async fn a_lost_bus_is_reported_without_a_timeout() {
    let mut fixture = DesktopFixture::with("mousepad", &[]).await;
    fixture.element(&named("menu", "File")).await;
    for pid in fixture.processes("dbus-daemon") {
        // One of them may exit with the other.
        let _gone = rustix::process::kill_process(pid, Signal::KILL);
    }
    let windows = [];
    let mut answer = fixture
        .desktop
        .applications()
        .tree(Detail::Basic, &windows)
        .await;
    if answer.is_ok() {
        // The connection may not have been closed yet.
        answer = fixture
            .desktop
            .applications()
            .tree(Detail::Basic, &windows)
            .await;
    }
    assert!(
        matches!(answer, Err(DeviceError::Unavailable { .. })),
        "{answer:?}"
    );
    // Screenshots, pointer and keyboard still work.
    let before = fixture.desktop.capture().await.unwrap();
    let at = Target::Point(Point::new(640, 400));
    fixture.perform(click(at)).await.unwrap();
    let typed = Action::Type {
        text: "still here".to_owned(),
        at: None,
        clear_first: false,
        submit: false,
    };
    fixture.perform(typed).await.unwrap();
    assert_eventually!(fixture.desktop.capture().await.unwrap() != before);
    fixture.close().await;
}

#[tokio::test]
async fn an_unknown_name_lists_the_available_elements() {
    let mut fixture = DesktopFixture::with("mousepad", &[]).await;
    fixture.element(&named("menu", "File")).await;
    let nothing = NamedElement {
        name: Some("Fly to the moon".to_owned()),
        ..NamedElement::default()
    };
    let target = Target::Named(nothing);
    let error = fixture.perform(click(target)).await.unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("no element matches") && text.contains("menu \"File\""),
        "{text}"
    );
    fixture.close().await;
}
