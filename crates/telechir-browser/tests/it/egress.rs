//! A hostile page in a real Chromium whose traffic takes the session's way out: nothing of what
//! it tries arrives where the policy does not let it.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use telechir_browser::{Browser, Options};
use telechir_device::{Computer as _, DeviceError};
use telechir_egress::{Decision, Egress};
use telechir_policy::{Client, Policy};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, UdpSocket};
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::common::{click, go, headless_with, options, perform};

/// What the page tries, each under a path of its own.
const TRIED: [&str; 17] = [
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
    "service-worker",
    "prefetch",
    "redirect",
    "form",
    "popup",
    "socket",
    "navigate",
];
const PATIENCE: Duration = Duration::from_secs(30);

/// Two servers of this machine: one that the policy lets the browser reach, and one beside it.
struct Scene {
    good: SocketAddr,
    bad: SocketAddr,
    /// First lines of what arrived at the bad one; `connection` where none came.
    seen: Arc<Mutex<Vec<String>>>,
    /// Paths asked of the good one.
    asked: Arc<Mutex<BTreeSet<String>>>,
    _tasks: JoinSet<()>,
}

impl Scene {
    async fn new() -> Self {
        let mut tasks = JoinSet::new();
        let (seen, asked) = (
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
        let asking: Arc<Mutex<BTreeSet<String>>> = Arc::clone(&asked);
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = good.accept().await {
                let asking = Arc::clone(&asking);
                tokio::spawn(async move {
                    let line = first_line(&mut stream).await;
                    let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
                    let answer = answer(&path, bad_address);
                    asking.lock().unwrap().insert(path);
                    let _gone = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Self {
            good: address,
            bad: bad_address,
            seen,
            asked,
            _tasks: tasks,
        }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    /// Which of the tries arrived.
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

    /// Lets the page try everything, and waits until it says that it has.
    async fn attack(&self, browser: &mut Browser) {
        go(browser, &format!("http://{}/page", self.good))
            .await
            .unwrap();
        perform(browser, click(10, 10)).await.unwrap();
        let told = async {
            while !self.asked.lock().unwrap().contains("/done") {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, told).await.unwrap();
        // It leaves by itself at last, which takes the page away.
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
    socket(), events(), xhr(), worker(),
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

/// A page that goes on by itself as soon as it is there never settles as the one asked for.
fn hurried() -> Options {
    Options {
        navigation_limit: Duration::from_secs(4),
        ..options()
    }
}

/// A way out that lets the browser reach the good server.
fn way_out(good: SocketAddr, more: &str) -> (Egress, Arc<Mutex<Vec<Decision>>>) {
    let port = good.port();
    let text = format!(
        "[[url]]\nhost = ['127.0.0.1']\nport = [{port}]\nverdict = 'allow'\nreason = 'Good.'\n{more}"
    );
    let decisions: Arc<Mutex<Vec<Decision>>> = Arc::default();
    let telling = Arc::clone(&decisions);
    let policy = Policy::from_toml(&text, "test").unwrap();
    let egress = Egress::new(policy.gate(Client::Browser))
        .on_decision(move |decision| telling.lock().unwrap().push(decision));
    (egress, decisions)
}

#[tokio::test]
async fn nothing_that_a_hostile_page_tries_arrives() {
    let scene = Scene::new().await;
    let (egress, decisions) = way_out(scene.good, "");
    let mut browser = headless_with(Options {
        egress: Some(egress),
        ..hurried()
    })
    .await;
    scene.attack(&mut browser).await;
    browser.close().await.unwrap();
    assert_eq!(scene.seen(), [""; 0], "not even a connection");
    let decisions = decisions.lock().unwrap().clone();
    let bad = |decision: &&Decision| decision.port == Some(scene.bad.port());
    assert!(
        decisions
            .iter()
            .filter(bad)
            .all(|decision| !decision.passed)
    );
    assert!(decisions.iter().filter(bad).count() >= 10, "{decisions:?}");
    // It speaks with nobody of its own accord.
    let port = scene.good.port();
    let strange: Vec<&Decision> = decisions
        .iter()
        .filter(|decision| ![Some(port), Some(scene.bad.port())].contains(&decision.port))
        .collect();
    assert!(
        strange.iter().all(|decision| !decision.passed),
        "{strange:?}"
    );
}

/// The test above would not fail if the page tried nothing; this shows that it does.
#[tokio::test]
async fn without_a_way_out_most_of_it_would_arrive() {
    let scene = Scene::new().await;
    let mut browser = headless_with(hurried()).await;
    scene.attack(&mut browser).await;
    let deadline = Instant::now() + PATIENCE;
    let wanted = |scene: &Scene| {
        let arrived = scene.arrived();
        TRIED
            .iter()
            .filter(|name| !arrived.contains(**name))
            .copied()
            .collect::<Vec<_>>()
    };
    while !wanted(&scene).is_empty() && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(wanted(&scene), [""; 0], "of {:?}", scene.arrived());
    assert!(
        scene.arrived().contains("datagram"),
        "WebRTC sends datagrams"
    );
}

#[tokio::test]
async fn a_load_that_is_refused_says_by_which_rule() {
    let scene = Scene::new().await;
    let rule =
        "[[url]]\nname = 'not there'\nhost = ['localhost']\nverdict = 'deny'\nreason = 'Never.'";
    let (egress, _) = way_out(scene.good, rule);
    let mut browser = headless_with(Options {
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
async fn a_place_that_a_person_agreed_to_is_reached_with_all_of_its_page() {
    let scene = Scene::new().await;
    let text = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'ask'\nreason = 'Asked.'";
    let policy = Policy::from_toml(text, "test").unwrap();
    let egress = Egress::new(policy.gate(Client::Browser));
    let mut browser = headless_with(Options {
        egress: Some(egress),
        ..options()
    })
    .await;
    // A device is only ever told to go where that is permitted.
    go(&mut browser, &format!("http://{}/page", scene.good))
        .await
        .unwrap();
    let done = async {
        while !scene.asked.lock().unwrap().contains("/done") {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, done).await.unwrap();
    assert_eq!(scene.seen(), [""; 0]);
}

#[tokio::test]
async fn nobody_else_can_use_its_proxy() {
    let scene = Scene::new().await;
    let (egress, _) = way_out(scene.good, "");
    let Some(identity) = options().identity else {
        return; // An ordinary user's browser is that user's.
    };
    let browser = headless_with(Options {
        egress: Some(egress),
        ..options()
    })
    .await;
    // The tests' own user is not the browser's.
    assert_ne!(identity.uid, 0);
    let url = format!("http://{}/x", scene.good);
    let line = std::fs::read(format!("/proc/{}/cmdline", browser.pid().unwrap())).unwrap();
    let line = String::from_utf8_lossy(&line).into_owned();
    let flag = |word: &str| {
        word.strip_prefix("--proxy-server=http://")
            .map(str::to_owned)
    };
    let proxy = line.split(['\0', ' ']).find_map(flag).unwrap();
    let mut stream = tokio::net::TcpStream::connect(proxy).await.unwrap();
    let request = format!("GET {url} HTTP/1.1\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _cut_off = timeout(PATIENCE, stream.read_to_string(&mut answer)).await;
    assert!(
        answer.starts_with("HTTP/1.1 403") && answer.contains("not of it"),
        "{answer}"
    );
    assert!(!scene.asked.lock().unwrap().contains("/x"));
    drop(browser);
}
