//! Clicks in a browser behind a DevTools port, in its default context:
//! `remote_clicks PORT PATH PAGE CLICKS`. Prints the times in milliseconds and the messages per click as
//! JSON; the proxy at the port counts messages.
#![expect(clippy::print_stdout, reason = "the example prints its result")]

use std::error::Error;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::{Map, json};
use telechir_browser::{AllowedUrls, AttachedTabs, Attachment, Browser, CdpEndpoint, Options};
use telechir_device::{Computer as _, Viewport};
use telechir_protocol::{Action, Button, ClickCount, Point, Size, Target};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [port, path, url, count] = &arguments[..] else {
        return Err("usage: remote_clicks PORT PATH PAGE CLICKS".into());
    };
    let count: u32 = count.parse()?;
    let attachment = Attachment {
        endpoint: CdpEndpoint::new(&format!("ws://127.0.0.1:{port}{path}"))?,
        tabs: AttachedTabs::Default,
    };
    let options = Options {
        allowed_urls: AllowedUrls::WebAndData,
        ..Options::default()
    };
    let size = Size::new(1280, 800);
    let mut browser = Browser::attach(attachment, size, options).await?;
    let viewport = Viewport::unscaled(size);
    let navigate = Action::Navigate {
        url: url.clone(),
        tab: None,
    };
    browser.perform(&viewport.action(&navigate)?).await?;
    let find = Action::Find {
        query: "Click".to_owned(),
        tab: None,
    };
    let found = browser.perform(&viewport.action(&find)?).await?;
    let found = found.text.unwrap_or_default();
    let id = found
        .split_once('[')
        .and_then(|(_, rest)| rest.split_once(']'));
    let (id, _) = id.ok_or("the page has no button")?;
    let element = Target::Ref {
        id: id.to_owned(),
        frame: None,
    };
    let mut seen = Map::new();
    for (name, target) in [
        ("element", element),
        ("point", Target::Point(Point::new(60, 40))),
    ] {
        let click = viewport.action(&Action::Click {
            at: Some(target),
            button: Button::Left,
            count: ClickCount::Single,
            modifiers: Vec::new(),
        })?;
        browser.perform(&click).await?;
        let (before, mut times) = (sent(port)?, Vec::new());
        for _ in 0..count {
            let started = Instant::now();
            browser.perform(&click).await?;
            times.push(started.elapsed().as_secs_f64() * 1000.0);
        }
        let commands = f64::from(sent(port)? - before) / f64::from(count);
        seen.insert(
            name.to_owned(),
            json!({ "times": times, "commands": commands }),
        );
    }
    println!("{}", json!(seen));
    browser.close().await?;
    Ok(())
}

/// The messages that clients have sent through the proxy.
fn sent(port: &str) -> Result<u32, Box<dyn Error>> {
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}"))?;
    stream.write_all(b"GET /commands HTTP/1.1\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    let count = answer.rsplit('\n').next().unwrap_or_default();
    Ok(count.parse()?)
}
