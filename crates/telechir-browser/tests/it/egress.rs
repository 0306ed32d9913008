//! A hostile page in a real Chromium behind the egress proxy: no request arrives that the policy
//! does not permit.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use telechir_browser::{AttachedTabs, Attachment, Browser, CdpEndpoint, Options, OwnNetwork};
use telechir_device::DeviceError;
use telechir_egress::{ConnectionDecision, Egress};
use telechir_policy::{NetworkClient, Policy};
use telechir_testkit::gateway::{Gateway, HEADER};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::attached::Foreign;
use crate::common::{SIZE, click, go, launched_with, options, perform};

/// The attempts of the page, each with its own path.
const TRIED: [&str; 21] = [
    "fetch",
    "image",
    "style",
    "script",
    "frame",
    "beacon",
    "video",
    "events",
    "xhr",
    "worker",
    "blob-worker",
    "shared-worker",
    "data-frame",
    "blob-frame",
    "service-worker",
    "prefetch",
    "redirect",
    "form",
    "popup",
    "socket",
    "navigate",
];
const PATIENCE: Duration = Duration::from_secs(30);

/// Two servers on this machine: one that the policy permits and one that it does not.
struct EgressFixture {
    good: SocketAddr,
    bad: SocketAddr,
    /// Request lines that reached the forbidden server, or `connection` without a request.
    seen: Arc<Mutex<Vec<String>>>,
    /// Paths requested from the permitted server.
    requested: Arc<Mutex<BTreeSet<String>>>,
    _tasks: JoinSet<()>,
}

impl EgressFixture {
    async fn new() -> Self {
        let mut tasks = JoinSet::new();
        let (seen, requested) = (
            Arc::<Mutex<Vec<String>>>::default(),
            Arc::<Mutex<_>>::default(),
        );
        let bad = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let bad_address = bad.local_addr().unwrap();
        let datagrams = UdpSocket::bind(bad_address).await.unwrap();
        let noting = Arc::clone(&seen);
        tasks.spawn(async move {
            let mut bytes = [0; 2048];
            while datagrams.recv_from(&mut bytes).await.is_ok() {
                noting.lock().unwrap().push("datagram".to_owned());
            }
        });
        let noting = Arc::clone(&seen);
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = bad.accept().await {
                let noting = Arc::clone(&noting);
                tokio::spawn(async move {
                    let line = first_line(&mut stream).await;
                    noting.lock().unwrap().push(line);
                    let answer = "HTTP/1.1 200 OK\r\nAccess-Control-Allow-Origin: *\r\n\
                                  Content-Length: 2\r\nConnection: close\r\n\r\nok";
                    let _gone = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = good.local_addr().unwrap();
        let requesting: Arc<Mutex<BTreeSet<String>>> = Arc::clone(&requested);
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = good.accept().await {
                let requesting = Arc::clone(&requesting);
                tokio::spawn(async move {
                    let line = first_line(&mut stream).await;
                    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
                    let answer = answer(&path, bad_address);
                    requesting.lock().unwrap().insert(path);
                    let _gone = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Self {
            good: address,
            bad: bad_address,
            seen,
            requested,
            _tasks: tasks,
        }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// The attempts that arrived.
    fn arrived(&self) -> BTreeSet<String> {
        let seen = self.seen();
        let arrived = |name: &&&str| seen.iter().any(|line| line.contains(&format!("/{name} ")));
        let mut arrived: BTreeSet<String> = TRIED
            .iter()
            .filter(arrived)
            .map(|name| (*name).to_owned())
            .collect();
        let more = seen.iter().filter(|line| *line == "datagram");
        arrived.extend(more.cloned());
        arrived
    }

    /// Runs all attempts and waits until the page reports that they are done.
    async fn attack(&self, browser: &mut Browser) {
        go(browser, &format!("http://{}/page", self.good))
            .await
            .unwrap();
        perform(browser, click(10, 10)).await.unwrap();
        let done = async {
            while !self.requested.lock().unwrap().contains("/done") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, done).await.unwrap();
        // The last attempt navigates, which removes the page.
        let _refused_or_not = go(browser, &format!("http://{}/away", self.good)).await;
    }
}

async fn first_line(stream: &mut tokio::net::TcpStream) -> String {
    let mut bytes = vec![0; 8192];
    let read = timeout(Duration::from_secs(5), stream.read(&mut bytes)).await;
    let count = read.ok().and_then(Result::ok).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
    match text.lines().next() {
        Some(line) => line.to_owned(),
        None => "connection".to_owned(),
    }
}

fn answer(path: &str, bad: SocketAddr) -> String {
    let (kind, body) = match path {
        "/page" => ("text/html", PAGE.replace("BAD", &bad.to_string())),
        "/away" => {
            let script = format!("<script>location = 'http://{bad}/navigate'</script>");
            ("text/html", script)
        }
        "/worker.js" => {
            let script = format!("fetch('http://{bad}/worker').finally(() => postMessage(1))");
            ("text/javascript", script)
        }
        "/shared.js" => {
            let script = format!("onconnect = () => fetch('http://{bad}/shared-worker')");
            ("text/javascript", script)
        }
        "/sw.js" => {
            let script = format!(
                "addEventListener('install', e => e.waitUntil(\
                 fetch('http://{bad}/service-worker', {{ mode: 'no-cors' }}).catch(() => 0)))"
            );
            ("text/javascript", script)
        }
        "/to-bad" => {
            return format!(
                "HTTP/1.1 302 Found\r\nLocation: http://{bad}/redirect\r\n\
                 Content-Length: 0\r\nConnection: close\r\n\r\n"
            );
        }
        _ => ("text/plain", "ok".to_owned()),
    };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

const PAGE: &str = r#"<!doctype html><body>
<div style="position: fixed; inset: 0; z-index: 9" onclick="window.open('http://BAD/popup')"></div><script>
const bad = 'http://BAD/';
const add = (tag, attributes) => {
  const element = Object.assign(document.createElement(tag), attributes);
  document.body.append(element);
  return new Promise(done => element.onload = element.onerror = element.onloadstart = done);
};
const late = ms => new Promise(done => setTimeout(done, ms));
const first = (...tries) => Promise.race([Promise.all(tries), late(4000)]);
const socket = () => new Promise(done => {
  const socket = new WebSocket('ws://BAD/socket');
  socket.onerror = socket.onclose = done;
});
const events = () => new Promise(done => {
  const source = new EventSource(bad + 'events');
  source.onerror = () => { source.close(); done(); };
});
const xhr = () => new Promise(done => {
  const request = new XMLHttpRequest();
  request.onloadend = done;
  request.open('GET', bad + 'xhr');
  request.send();
});
const worker = () => new Promise(done => {
  const worker = new Worker('/worker.js');
  worker.onmessage = worker.onerror = done;
});
const blob = (type, text) => URL.createObjectURL(new Blob([text], { type }));
const blobWorker = () => new Promise(done => {
  const script = `fetch('${bad}blob-worker').finally(() => postMessage(1))`;
  const worker = new Worker(blob('text/javascript', script));
  worker.onmessage = worker.onerror = done;
});
const image = name => `<img src="${bad}${name}">`;
const rtc = async () => {
  const peer = new RTCPeerConnection({ iceServers: [
    { urls: 'stun:BAD' },
    { urls: 'turn:BAD?transport=udp', username: 'u', credential: 'p' },
    { urls: 'turn:BAD?transport=tcp', username: 'u', credential: 'p' },
  ] });
  peer.createDataChannel('x');
  await peer.setLocalDescription(await peer.createOffer());
  await late(1500);
  peer.close();
};
(async () => {
  await first(
    fetch(bad + 'fetch').catch(() => 0),
    fetch('/to-bad', { mode: 'no-cors' }).catch(() => 0),
    add('img', { src: bad + 'image' }),
    add('script', { src: bad + 'script' }),
    add('iframe', { src: bad + 'frame' }),
    add('video', { src: bad + 'video', preload: 'auto' }),
    add('link', { rel: 'stylesheet', href: bad + 'style' }),
    socket(), events(), xhr(), worker(), blobWorker(),
    new SharedWorker('/shared.js'),
    add('iframe', { src: `data:text/html,${image('data-frame')}` }),
    add('iframe', { src: blob('text/html', image('blob-frame')) }),
    navigator.serviceWorker.register('/sw.js').then(() => late(500), () => 0),
    rtc().catch(() => 0),
  );
  navigator.sendBeacon(bad + 'beacon', 'x');
  add('link', { rel: 'preconnect', href: bad });
  add('link', { rel: 'dns-prefetch', href: bad });
  add('link', { rel: 'prefetch', href: bad + 'prefetch' });
  const form = document.createElement('form');
  Object.assign(form, { action: bad + 'form', method: 'post', target: 'frame' });
  const frame = Object.assign(document.createElement('iframe'), { name: 'frame' });
  document.body.append(frame, form);
  form.submit();
  await late(1000);
  fetch('/done');
})();
</script>"#;

/// A page that navigates by itself on load never settles as the requested one.
fn hurried() -> Options {
    Options {
        navigation_timeout: Duration::from_secs(4),
        ..options()
    }
}

/// An egress proxy that permits the good server.
fn way_out(good: SocketAddr, more: &str) -> (Egress, Arc<Mutex<Vec<ConnectionDecision>>>) {
    let port = good.port();
    let text = format!(
        "[[url]]\nhost = ['127.0.0.1']\nport = [{port}]\nverdict = 'allow'\nreason = 'Good.'\n{more}"
    );
    let decisions: Arc<Mutex<Vec<ConnectionDecision>>> = Arc::default();
    let telling = Arc::clone(&decisions);
    let policy = Policy::from_toml(&text, "test").unwrap();
    let egress = Egress::new(policy.gate(NetworkClient::Browser))
        .on_decision(move |decision| telling.lock().unwrap().push(decision));
    (egress, decisions)
}

#[tokio::test]
async fn no_attempt_of_a_hostile_page_arrives() {
    let fixture = EgressFixture::new().await;
    let (egress, decisions) = way_out(fixture.good, "");
    let mut browser = launched_with(Options {
        egress: Some(egress),
        ..hurried()
    })
    .await;
    fixture.attack(&mut browser).await;
    browser.close().await.unwrap();
    assert_eq!(fixture.seen(), [""; 0], "not even a connection");
    let decisions = decisions.lock().unwrap().clone();
    let bad = |decision: &&ConnectionDecision| decision.port == Some(fixture.bad.port());
    assert!(
        decisions
            .iter()
            .filter(bad)
            .all(|decision| !decision.passed)
    );
    assert!(decisions.iter().filter(bad).count() >= 10, "{decisions:?}");
    // Chromium makes no connections by itself.
    let port = fixture.good.port();
    let strange: Vec<&ConnectionDecision> = decisions
        .iter()
        .filter(|decision| ![Some(port), Some(fixture.bad.port())].contains(&decision.port))
        .collect();
    assert!(
        strange.iter().all(|decision| !decision.passed),
        "{strange:?}"
    );
}

/// A browser that telechir did not start, whose requests Chromium pauses for the policy.
async fn elsewhere(endpoint: CdpEndpoint, egress: Egress) -> Browser {
    let attachment = Attachment {
        endpoint,
        tabs: AttachedTabs::Default,
    };
    let options = Options {
        egress: Some(egress),
        ..hurried()
    };
    Browser::attach(attachment, SIZE, options).await.unwrap()
}

#[tokio::test]
async fn no_request_of_a_hostile_page_elsewhere_arrives() {
    let fixture = EgressFixture::new().await;
    let (egress, decisions) = way_out(fixture.good, "");
    let foreign = Foreign::start("about:blank").await;
    let endpoint = CdpEndpoint::new(&foreign.socket).unwrap();
    let mut browser = elsewhere(endpoint, egress).await;
    fixture.attack(&mut browser).await;
    let decisions = decisions.lock().unwrap().clone();
    // What the documentation names: Chromium does not pause these.
    let leaks = BTreeSet::from(["socket", "datagram"].map(str::to_owned));
    let arrived = fixture.arrived();
    assert!(arrived.is_subset(&leaks), "{arrived:?}");
    let bad = decisions
        .iter()
        .filter(|decision| decision.port == Some(fixture.bad.port()));
    assert!(bad.clone().all(|decision| !decision.passed));
    assert!(bad.count() >= 10, "{decisions:?}");
}

#[tokio::test]
async fn after_a_cut_requests_of_a_browser_elsewhere_are_judged_again() {
    let fixture = EgressFixture::new().await;
    let rule =
        "[[url]]\nname = 'not there'\nhost = ['localhost']\nverdict = 'deny'\nreason = 'No.'";
    let (egress, decisions) = way_out(fixture.good, rule);
    let foreign = Foreign::start("about:blank").await;
    let gateway = Gateway::start(&foreign.socket).await.unwrap();
    let endpoint = CdpEndpoint::new(&gateway.url("ws")).unwrap();
    let endpoint = endpoint.with_header(HEADER.0, HEADER.1).unwrap();
    let mut browser = elsewhere(endpoint, egress).await;
    for _ in 0..2 {
        let there = format!("http://{}/style", fixture.good);
        go(&mut browser, &there).await.unwrap();
        let denied = go(&mut browser, "https://localhost:4443/")
            .await
            .unwrap_err();
        let text = denied.to_string();
        assert!(text.contains("ERR_BLOCKED_BY_CLIENT"), "{text}");
        assert!(text.contains("No. (not there)"), "{text}");
        gateway.cut();
        browser.lost().await;
        let _not_performed = go(&mut browser, &there).await;
    }
    let decisions = decisions.lock().unwrap().clone();
    let denied = decisions.iter().filter(|decision| !decision.passed);
    assert_eq!(denied.count(), 2, "{decisions:?}");
}

/// Shows that the attempts of the test above reach the server without the proxy.
#[tokio::test]
async fn without_the_proxy_most_attempts_arrive() {
    let fixture = EgressFixture::new().await;
    let mut browser = launched_with(hurried()).await;
    fixture.attack(&mut browser).await;
    let deadline = Instant::now() + PATIENCE;
    let wanted = |fixture: &EgressFixture| {
        let arrived = fixture.arrived();
        TRIED
            .iter()
            .filter(|name| !arrived.contains(**name))
            .copied()
            .collect::<Vec<_>>()
    };
    while !wanted(&fixture).is_empty() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(wanted(&fixture), [""; 0], "of {:?}", fixture.arrived());
    assert!(
        fixture.arrived().contains("datagram"),
        "WebRTC sends datagrams"
    );
}

#[tokio::test]
async fn a_refused_load_names_the_rule() {
    let fixture = EgressFixture::new().await;
    let rule =
        "[[url]]\nname = 'not there'\nhost = ['localhost']\nverdict = 'deny'\nreason = 'Never.'";
    let (egress, _) = way_out(fixture.good, rule);
    let mut browser = launched_with(Options {
        egress: Some(egress),
        ..options()
    })
    .await;
    let refused = go(&mut browser, "https://localhost:4443/")
        .await
        .unwrap_err();
    let DeviceError::Refused { .. } = &refused else {
        panic!("{refused:?}")
    };
    let text = refused.to_string();
    assert!(
        text.contains("Never.") && text.contains("not there"),
        "{text}"
    );
}

#[tokio::test]
async fn an_approved_host_is_reached_with_its_subresources() {
    let fixture = EgressFixture::new().await;
    let text = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'ask'\nreason = 'Asked.'";
    let policy = Policy::from_toml(text, "test").unwrap();
    let egress = Egress::new(policy.gate(NetworkClient::Browser));
    let mut browser = launched_with(Options {
        egress: Some(egress),
        ..options()
    })
    .await;
    // The policy judges a navigation before a device sees it.
    go(&mut browser, &format!("http://{}/page", fixture.good))
        .await
        .unwrap();
    let done = async {
        while !fixture.requested.lock().unwrap().contains("/done") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, done).await.unwrap();
    assert_eq!(fixture.seen(), [""; 0]);
}

#[tokio::test]
async fn only_the_browser_s_user_can_use_its_proxy() {
    let fixture = EgressFixture::new().await;
    let (egress, _) = way_out(fixture.good, "");
    let Some(identity) = options().identity else {
        return; // An ordinary user's browser is that user's.
    };
    let browser = launched_with(Options {
        egress: Some(egress),
        // In a namespace of its own, no other program can connect at all.
        own_network: OwnNetwork::Off,
        ..options()
    })
    .await;
    // The user of the tests is not the browser's user.
    assert_ne!(identity.uid, 0);
    let url = format!("http://{}/x", fixture.good);
    let line = std::fs::read(format!("/proc/{}/cmdline", browser.pid().unwrap())).unwrap();
    let line = String::from_utf8_lossy(&line).into_owned();
    let flag = |fragment: &str| {
        fragment
            .strip_prefix("--proxy-server=http://")
            .map(str::to_owned)
    };
    let proxy = line.split(['\0', ' ']).find_map(flag).unwrap();
    let mut stream = tokio::net::TcpStream::connect(proxy).await.unwrap();
    let request = format!("GET {url} HTTP/1.1\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _cut_off = timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    assert!(
        answer.starts_with("HTTP/1.1 403") && answer.contains("does not belong to it"),
        "{answer}"
    );
    assert!(!fixture.requested.lock().unwrap().contains("/x"));
    drop(browser);
}
