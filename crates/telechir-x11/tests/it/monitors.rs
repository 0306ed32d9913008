//! A private desktop with several monitors.

use telechir_device::{Computer as _, ScreenPart, Viewport, WindowSystem as _};
use telechir_protocol::{Action, Size};
use telechir_testkit::assert_eventually;
use telechir_testkit::gate::{Component, require};
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::fixture;
use crate::windows::{launch, perform_on, region, report_of};

#[tokio::test]
async fn windows_are_on_one_of_several_monitors() {
    let folder = fixture::session_dir();
    let options = DisplayOptions {
        monitors: vec![Size::new(800, 600), Size::new(640, 480)],
        ..fixture::options(&folder)
    };
    require(Component::XServer);
    let display = PrivateDisplay::start(options).await.unwrap();
    let mut desktop = display.into_desktop().await.unwrap();
    let screen = Size::new(1440, 600);
    assert_eq!(desktop.size(), screen);
    desktop.set_viewport(Viewport::unscaled(screen));
    assert_eq!(
        report_of(&mut desktop, Action::ListMonitors).await,
        "Monitors, each with its [left, top, right, bottom]:\n\
         1. monitor-1 at [0, 0, 800, 600], primary\n\
         2. monitor-2 at [800, 0, 1440, 480]"
    );
    let second = ScreenPart::Monitor(Some("2".to_owned()));
    let part = desktop.locate_part(&second).await.unwrap();
    assert_eq!(part.region.size(), Size::new(640, 480));
    launch(&mut desktop, "xterm", &["-T", "terminal"], 1).await;
    let terminal = Some("terminal".to_owned());
    let move_window = Action::PlaceWindow {
        window: terminal.clone(),
        region: region(900, 50, 1300, 350),
    };
    perform_on(&mut desktop, move_window).await.unwrap();
    let listed = report_of(&mut desktop, Action::ListWindows).await;
    assert!(listed.ends_with(", on monitor-2"), "{listed}");
    // The window manager fills one monitor, not the screen.
    let maximize = Action::MaximizeWindow { window: terminal };
    perform_on(&mut desktop, maximize).await.unwrap();
    assert_eventually!(
        report_of(&mut desktop, Action::ListWindows).await,
        |listed| listed.contains("[800, 0, 1440, 480]") && listed.contains(", maximized")
    );
    desktop.close().await.unwrap();
}
