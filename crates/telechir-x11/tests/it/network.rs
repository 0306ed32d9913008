//! Network access of an application in a real terminal window of a private desktop.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use telechir_egress::{ConnectionDecision, Egress};
use telechir_policy::{NetworkClient, Policy};
use telechir_testkit::gate::{Component, require};
use telechir_x11::{DisplayOptions, PrivateDisplay};

use crate::confinement::output_of;
use crate::fixture;

/// Serves a page on a local port until the process exits.
fn page() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        while let Ok((mut stream, _)) = listener.accept() {
            let _its_first_bytes = stream.read(&mut [0; 4096]);
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n";
            let _gone = stream.write_all(answer.as_bytes());
        }
    });
    port
}

#[tokio::test]
async fn an_application_reaches_only_allowed_hosts_through_its_own_proxy() {
    require(Component::Sandbox);
    require(Component::XServer);
    let (named, other) = (page(), page());
    let text = format!(
        "[[network]]\nfrom = ['desktop']\nhost = ['127.0.0.1']\nport = [{named}]\n\
         verdict = 'allow'\nreason = 'The page of the test.'"
    );
    let policy = Policy::from_toml(&text, "test").unwrap();
    let decisions: Arc<Mutex<Vec<ConnectionDecision>>> = Arc::default();
    let recorder = Arc::clone(&decisions);
    let egress = Egress::new(policy.gate(NetworkClient::Desktop))
        .on_decision(move |decision| recorder.lock().unwrap().push(decision));
    let folder = fixture::session_dir();
    let mut display = PrivateDisplay::start(DisplayOptions {
        window_manager: false,
        network: Some(egress),
        ..fixture::options(&folder)
    })
    .await
    .unwrap();
    let script = format!("curl -sS --noproxy '' http://127.0.0.1:{named}/");
    assert_eq!(
        output_of(&mut display, &folder, &script).await,
        "hello\nexit 0\n"
    );
    let script = format!("curl -sS --noproxy '' http://127.0.0.1:{other}/");
    let refused = output_of(&mut display, &folder, &script).await;
    assert!(
        refused.contains("telechir refused this connection"),
        "{refused}"
    );
    // Each application has its own network namespace; only the proxy is reachable.
    let script = format!("exec 5<>/dev/tcp/127.0.0.1/{named}");
    let refused = output_of(&mut display, &folder, &script).await;
    assert!(refused.contains("refused"), "{refused}");
    let passed: Vec<bool> = decisions
        .lock()
        .unwrap()
        .iter()
        .map(|seen| seen.passed)
        .collect();
    assert_eq!(passed, [true, false]);
    display.close().await.unwrap();
}
