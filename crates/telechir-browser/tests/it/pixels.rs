//! What is captured is what the page paints.

use telechir_device::{Computer as _, Frame};
use telechir_testkit::page::{SQUARE_PIXELS, SQUARES};

use crate::common::{SETTLE, SIZE, witnessed};

/// Whether every square is exactly where the page paints it.
pub(crate) fn check_squares(frame: &Frame) {
    for square in SQUARES {
        let (right, bottom) = (
            square.left + SQUARE_PIXELS - 1,
            square.top + SQUARE_PIXELS - 1,
        );
        for (x, y) in [
            (square.left, square.top),
            (right, square.top),
            (square.left, bottom),
            (right, bottom),
        ] {
            assert_eq!(frame.pixel(x, y), Some(square.rgb), "{x}, {y}");
        }
        assert_eq!(frame.pixel(right + 1, square.top), Some([255; 3]));
        assert_eq!(frame.pixel(square.left, bottom + 1), Some([255; 3]));
    }
}

#[tokio::test]
async fn a_page_without_a_window_has_the_screen_s_size_and_its_colours() {
    let (mut browser, _witness) = witnessed().await;
    browser.settle(SETTLE).await.unwrap();
    let frame = browser.capture().await.unwrap();
    assert_eq!(frame.size(), SIZE);
    // A model gets it as Chromium wrote it.
    assert!(frame.png().is_some());
    check_squares(&frame);
}
