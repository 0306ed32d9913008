//! Screenshots show what is on the screen.

use std::time::Duration;

use telechir_device::{Computer, Frame, Screen, Settle};
use telechir_protocol::Size;
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::fixture::{self, POLITE};

const SETTLE: Settle = Settle {
    quiet: Duration::from_millis(50),
    ceiling: Duration::from_secs(3),
};
const RED: [u8; 3] = [200, 30, 20];
const GREEN: [u8; 3] = [10, 220, 40];

fn is_filled(frame: &Frame, (x, y): (u32, u32), (width, height): (u32, u32), rgb: [u8; 3]) -> bool {
    (y..y + height).all(|y| (x..x + width).all(|x| frame.pixel(x, y) == Some(rgb)))
}

#[tokio::test]
async fn painted_pixels_come_out_exactly() {
    let folder = fixture::session_dir();
    let (mut desktop, witness) = fixture::watched(fixture::bare(&folder).await, POLITE).await;
    desktop
        .perform(&fixture::move_to(desktop.size(), 700, 700))
        .await
        .unwrap();
    witness.paint(100, 50, 200, 100, 0x00c8_1e14);
    witness.paint(299, 149, 1, 1, 0x000a_dc28);
    let frame = desktop.capture().await.unwrap();
    assert_eq!(frame.size(), Size::new(1280, 800));
    assert!(is_filled(&frame, (100, 50), (200, 99), RED));
    assert_eq!(frame.pixel(299, 149), Some(GREEN));
    assert_ne!(frame.pixel(99, 50), Some(RED));
    assert_ne!(frame.pixel(300, 50), Some(RED));
    // A second capture through the same memory shows the new state.
    witness.paint(100, 50, 200, 100, 0x000a_dc28);
    let frame = desktop.capture().await.unwrap();
    assert!(is_filled(&frame, (100, 50), (200, 100), GREEN));
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn the_screenshot_includes_the_pointer() {
    let folder = fixture::session_dir();
    let (mut desktop, witness) = fixture::watched(fixture::bare(&folder).await, POLITE).await;
    witness.paint(0, 0, 1280, 800, 0x000a_dc28);
    witness.show_square_pointer(9, [200 * 257, 30 * 257, 20 * 257]);
    let size = desktop.size();
    desktop
        .perform(&fixture::move_to(size, 400, 300))
        .await
        .unwrap();
    let frame = desktop.capture().await.unwrap();
    assert!(
        is_filled(&frame, (400, 300), (9, 9), RED),
        "{:?}",
        frame.pixel(400, 300)
    );
    assert_eq!(frame.pixel(399, 300), Some(GREEN));
    assert_eq!(frame.pixel(409, 300), Some(GREEN));
    // At the last pixel only a corner of the pointer is visible.
    desktop
        .perform(&fixture::move_to(size, 1279, 799))
        .await
        .unwrap();
    let frame = desktop.capture().await.unwrap();
    assert_eq!(frame.pixel(1279, 799), Some(RED));
    assert!(is_filled(&frame, (400, 300), (9, 9), GREEN));
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn the_screen_has_exactly_the_requested_size() {
    telechir_testkit::gate::require(telechir_testkit::gate::Component::XServer);
    let folder = fixture::session_dir();
    let size = Size::new(1023, 767);
    let options = DisplayOptions {
        monitors: vec![size],
        window_manager: false,
        ..fixture::options(&folder)
    };
    let display = PrivateDisplay::start(options).await.unwrap();
    let mut screen = display.into_screen().await.unwrap();
    assert_eq!(screen.size(), size);
    assert_eq!(screen.capture().await.unwrap().size(), size);
    screen.close().await.unwrap();
}

#[tokio::test]
async fn an_unchanged_screen_returns_the_same_pixel_buffer() {
    let folder = fixture::session_dir();
    let (mut desktop, witness) = fixture::watched(fixture::bare(&folder).await, POLITE).await;
    let size = desktop.size();
    desktop
        .perform(&fixture::move_to(size, 700, 700))
        .await
        .unwrap();
    witness.paint(100, 50, 200, 100, 0x00c8_1e14);
    let first = desktop.capture().await.unwrap();
    let again = desktop.capture().await.unwrap();
    assert!(std::ptr::eq(first.bgrx(), again.bgrx()));
    // The same colour again: damage without a visible change.
    witness.paint(100, 50, 200, 100, 0x00c8_1e14);
    let same = desktop.capture().await.unwrap();
    assert!(std::ptr::eq(first.bgrx(), same.bgrx()));
    // Settling consumes the damage; the next screenshot still shows the change.
    witness.paint(100, 50, 200, 100, 0x000a_dc28);
    desktop.settle(SETTLE).await.unwrap();
    let next = desktop.capture().await.unwrap();
    assert!(is_filled(&next, (100, 50), (200, 100), GREEN));
    // A retained frame is not overwritten.
    assert!(is_filled(&first, (100, 50), (200, 100), RED));
    desktop
        .perform(&fixture::move_to(size, 701, 700))
        .await
        .unwrap();
    let moved = desktop.capture().await.unwrap();
    assert!(
        !std::ptr::eq(next.bgrx(), moved.bgrx()),
        "the pointer has moved"
    );
    desktop.close().await.unwrap();
}

#[tokio::test]
async fn a_4k_screen_is_captured_to_its_last_pixel() {
    telechir_testkit::gate::require(telechir_testkit::gate::Component::XServer);
    let folder = fixture::session_dir();
    let size = Size::new(3840, 2160);
    let options = DisplayOptions {
        monitors: vec![size],
        window_manager: false,
        ..fixture::options(&folder)
    };
    let display = PrivateDisplay::start(options).await.unwrap();
    let (mut desktop, witness) = fixture::watched(display, POLITE).await;
    witness.paint(3800, 2100, 40, 60, 0x00c8_1e14);
    let frame = desktop.capture().await.unwrap();
    assert_eq!(frame.size(), size);
    assert!(is_filled(&frame, (3800, 2100), (40, 60), RED));
    desktop.close().await.unwrap();
}
