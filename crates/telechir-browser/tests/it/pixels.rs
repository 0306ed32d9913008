//! Screenshots show exactly what the page paints.

use std::time::Duration;

use telechir_device::{Computer as _, Frame, Settle};
use telechir_testkit::page::{SQUARE_PIXELS, SQUARES};

use crate::common::{SETTLE, SIZE, click, go, headless, page, perform, witnessed};

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
async fn a_headless_page_has_the_screen_s_size_and_colours() {
    let (mut browser, _witness) = witnessed().await;
    browser.settle(SETTLE).await.unwrap();
    let frame = browser.capture().await.unwrap();
    assert_eq!(frame.size(), SIZE);
    // Passed through as Chromium encoded it.
    assert!(frame.png().is_some());
    check_squares(&frame);
}

#[tokio::test]
async fn every_screenshot_shows_the_effect_of_the_previous_click() {
    let mut browser = headless().await;
    // The first is painted by a script without any event; the second takes long to paint.
    let html = "<body style='margin:0'><canvas id=c width=100 height=100></canvas>\
        <div id=d style='width:900px;height:600px'></div>\
        <script>n = 0; onclick = () => { n = (n + 1) % 200; const s = 'rgb(' + [n, 0, 200 - n] + ')';\
        const x = c.getContext('2d'); x.fillStyle = s; x.fillRect(0, 0, 100, 100);\
        if (n % 3 == 0) d.innerHTML = ('<p style=\"filter:blur(9px);height:20px;background:' + s + '\"></p>').repeat(40) }\
        </script>";
    go(&mut browser, &page(html)).await.unwrap();
    let settle = Settle {
        quiet: Duration::from_millis(45),
        ceiling: Duration::from_secs(20),
    };
    for n in 1..=30_u8 {
        perform(&mut browser, click(50, 50)).await.unwrap();
        let (frame, settled) = browser.settle_and_capture(settle).await.unwrap();
        assert!(settled.is_settled(), "{settled:?}");
        assert_eq!(frame.size(), SIZE);
        assert_eq!(frame.pixel(50, 50), Some([n, 0, 200 - n]));
        let drawn = browser.capture().await.unwrap();
        assert!(frame == drawn, "after click {n}");
    }
}
