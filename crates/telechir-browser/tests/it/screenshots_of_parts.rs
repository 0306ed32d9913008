//! Screenshots of one element, and of a region with twice the pixels.

use telechir_browser::Browser;
use telechir_device::{Computer as _, PageContextSource as _, ScreenRegion, ScreenTarget};
use telechir_protocol::Size;

use crate::common::{SIZE, go, headless, page, read, ref_of, script, scripted};

/// Two boxes of one colour each far below, in a page that scrolls both ways.
const PAGE: &str = "<body style='margin:0;width:3000px;height:5000px;background:white'>\
    <button style='position:absolute;left:1500px;top:3000px;width:120px;height:60px;border:0;\
    padding:0;background:rgb(200,0,0);color:rgb(200,0,0)'>Red</button>\
    <button style='position:absolute;left:1500px;top:3200px;width:2000px;height:40px;border:0;\
    padding:0;background:rgb(0,0,200);color:rgb(0,0,200)'>Wide</button>";

const RED: [u8; 3] = [200, 0, 0];

fn element(browser_text: &str, name: &str) -> ScreenTarget {
    let target = ref_of(browser_text, name);
    let telechir_protocol::Target::Ref { id, frame } = target else {
        panic!("no ref: {target:?}");
    };
    ScreenTarget::Element { id, frame }
}

/// The pixels in the corners of a region, one pixel inside, and in its middle.
fn colours(frame: &telechir_device::Frame) -> Vec<Option<[u8; 3]>> {
    let Size { width, height } = frame.size();
    let points = [
        (1, 1),
        (width - 2, 1),
        (1, height - 2),
        (width - 2, height - 2),
        (width / 2, height / 2),
    ];
    points.map(|(x, y)| frame.pixel(x, y)).to_vec()
}

async fn part(browser: &mut Browser, region: ScreenRegion) -> telechir_device::Frame {
    let frame = browser.capture().await.unwrap();
    frame.crop(region).unwrap()
}

#[tokio::test]
async fn an_element_is_scrolled_into_view_and_located() {
    let mut browser = scripted().await;
    go(&mut browser, &page(PAGE)).await.unwrap();
    let text = read(&mut browser, "full").await;
    let located = browser
        .locate_element(&element(&text, "Red"))
        .await
        .unwrap();
    assert_eq!(located.region.size(), Size::new(120, 60));
    assert!(
        located.description.contains("Red"),
        "{}",
        located.description
    );
    let seen = part(&mut browser, located.region).await;
    assert_eq!(colours(&seen), [Some(RED); 5]);
    let detail = browser
        .capture_detail(located.region)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(detail.size(), Size::new(240, 120));
    assert_eq!(colours(&detail), [Some(RED); 5]);
    let wide = browser
        .locate_element(&element(&text, "Wide"))
        .await
        .unwrap();
    assert!(
        wide.description.contains("of its 2000x40 pixels"),
        "{}",
        wide.description
    );
    assert!(wide.region.size().width <= SIZE.width);
    // The page is as it was.
    assert_eq!(script(&mut browser, "devicePixelRatio").await, "1");
}

#[tokio::test]
async fn an_element_that_is_gone_is_stale() {
    let mut browser = headless().await;
    go(&mut browser, &page(PAGE)).await.unwrap();
    let text = read(&mut browser, "full").await;
    let red = element(&text, "Red");
    go(&mut browser, &page("<p>other")).await.unwrap();
    let gone = browser.locate_element(&red).await.unwrap_err();
    assert!(
        matches!(gone, telechir_device::DeviceError::Stale { .. }),
        "{gone}"
    );
}
