//! Prints a page as a model sees it: `snapshot URL [VIEW]`.
#![expect(clippy::print_stdout, reason = "the example prints its result")]

use std::error::Error;
use std::time::Duration;

use telechir_browser::{AllowedUrls, Browser, Options, Surface};
use telechir_device::{Computer as _, Settle, Viewport};
use telechir_process::{Identity, is_root};
use telechir_protocol::{Action, Size};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let url = arguments.next().ok_or("usage: snapshot URL [VIEW]")?;
    let identity = if is_root() {
        Identity::unprivileged(3_878)
    } else {
        None
    };
    let options = Options {
        identity,
        allowed_urls: AllowedUrls::WebAndData,
        ..Options::default()
    };
    let size = Size::new(1280, 800);
    let mut browser = Browser::launch(Surface::Headless(size), options).await?;
    let read = Action::ReadPage {
        filter: arguments.next(),
        depth: None,
        root: None,
        tab: None,
    };
    let viewport = Viewport::unscaled(size);
    browser
        .perform(&viewport.action(&Action::Navigate { url, tab: None })?)
        .await?;
    let settle = Settle {
        quiet: Duration::from_millis(100),
        ceiling: Duration::from_secs(5),
    };
    browser.settle(settle).await?;
    let read = browser.perform(&viewport.action(&read)?).await?;
    println!("{}", read.text.unwrap_or_default());
    browser.close().await?;
    Ok(())
}
