//! The sandbox's network: allowed hosts through the proxy, and nothing else.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use telechir_egress::{ConnectionDecision, Egress, Resolve, ResolveFuture};
use telechir_policy::{NetworkClient, Policy};
use telechir_protocol::ShellOutcome;
use telechir_shell::{Bash, Isolation, Sandbox};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::{run, settings, workspace};

/// A resolver with several addresses for a name, in turn; the last one stays.
#[derive(Clone, Debug)]
struct Names(Arc<Mutex<HashMap<String, Vec<IpAddr>>>>);

impl Names {
    fn new(names: &[(&str, &[&str])]) -> Self {
        let parse = |list: &[&str]| list.iter().map(|text| text.parse().unwrap()).collect();
        let table = names
            .iter()
            .map(|(name, list)| ((*name).to_owned(), parse(list)));
        Self(Arc::new(Mutex::new(table.collect())))
    }
}

impl Resolve for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        let mut table = self.0.lock().unwrap();
        let found = table.get_mut(host).map(|answers| match answers.len() {
            1 => answers[0],
            _ => answers.remove(0),
        });
        Box::pin(async move { Ok(vec![found.ok_or_else(|| io::Error::other("no such host"))?]) })
    }
}

/// A loopback server that records the first line of each request.
#[derive(Debug)]
struct Server {
    port: u16,
    seen: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Server {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noting = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let noting = Arc::clone(&noting);
                tokio::spawn(async move {
                    let mut bytes = vec![0; 4096];
                    let count = stream.read(&mut bytes).await.unwrap_or(0);
                    let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                    let line = text.lines().next().unwrap_or_default().to_owned();
                    let answer = if line.contains("/redirect") {
                        format!(
                            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{port}/private\r\n\
                             Content-Length: 0\r\nConnection: close\r\n\r\n"
                        )
                    } else {
                        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n"
                            .to_owned()
                    };
                    noting.lock().unwrap().push(line);
                    let _gone = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Self { port, seen, task }
    }

    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// `good.test` stands for a public host: it may resolve to loopback.
const POLICY: &str = "
    [[network]]
    from = ['shell']
    host = ['good.test', 'rebinding.test']
    address = ['loopback']
    verdict = 'allow'
    reason = 'The server of the test.'
    [[network]]
    host = ['public.test']
    verdict = 'allow'
    reason = 'Public addresses.'
";

struct NetworkFixture {
    shell: Bash,
    server: Server,
    decisions: Arc<Mutex<Vec<ConnectionDecision>>>,
    _workspace: TempDir,
}

async fn fixture() -> NetworkFixture {
    let (workspace, server) = (workspace(), Server::start().await);
    let names = Names::new(&[
        ("good.test", &["127.0.0.1"]),
        ("rebinding.test", &["127.0.0.1", "192.0.2.1"]),
        ("public.test", &["127.0.0.1"]),
        ("other.test", &["127.0.0.1"]),
    ]);
    let decisions: Arc<Mutex<Vec<ConnectionDecision>>> = Arc::default();
    let recorder = Arc::clone(&decisions);
    let policy = Policy::from_toml(POLICY, "test").unwrap();
    let egress = Egress::new(policy.gate(NetworkClient::Shell))
        .with_resolver(names)
        .on_decision(move |decision| recorder.lock().unwrap().push(decision));
    let sandbox = Sandbox {
        network: Some(egress),
        ..settings(&workspace)
    };
    NetworkFixture {
        shell: Bash::start(Isolation::Sandbox(sandbox)).await.unwrap(),
        server,
        decisions,
        _workspace: workspace,
    }
}

impl NetworkFixture {
    /// Runs a line in which `PORT` is the server's.
    async fn run(&mut self, line: &str) -> (String, ShellOutcome) {
        let line = line.replace("PORT", &self.server.port.to_string());
        let output = run(&mut self.shell, &line).await;
        (
            format!("{}{}", output.stdout, output.stderr),
            output.outcome,
        )
    }
}

#[tokio::test]
async fn an_allowed_host_is_reached_by_common_programs() {
    let mut fixture = fixture().await;
    for line in [
        "curl -sS http://good.test:PORT/a",
        "curl -sS --proxytunnel http://good.test:PORT/b",
        "python3 -c 'import urllib.request as u; print(u.urlopen(\"http://good.test:PORT/c\").read().decode())'",
        "exec 5<>/dev/tcp/127.0.0.1/3128; printf 'GET http://good.test:PORT/d HTTP/1.0\\r\\n\\r\\n' >&5; cat <&5; exec 5>&-",
    ] {
        let (text, outcome) = fixture.run(line).await;
        assert!(text.contains("hello"), "{line}: {text}");
        assert_eq!(outcome, ShellOutcome::Success, "{line}");
    }
    assert_eq!(fixture.server.seen().len(), 4);
    let decisions = fixture.decisions.lock().unwrap().clone();
    assert!(
        decisions
            .iter()
            .all(|decision| decision.passed && decision.host == "good.test")
    );
}

#[tokio::test]
async fn other_hosts_are_refused_with_the_reason() {
    let mut fixture = fixture().await;
    for host in [
        "other.test",
        "good.test.evil.test",
        "127.0.0.1",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
    ] {
        let line = format!("curl -sS --noproxy '' --max-time 20 'http://{host}:PORT/'");
        let (text, _) = fixture.run(&line).await;
        assert!(
            text.contains("telechir refused this connection"),
            "{host}: {text}"
        );
        assert!(text.contains("Rule: "), "{host}: {text}");
    }
    let (text, outcome) = fixture
        .run("curl -sS --max-time 20 https://other.test/")
        .await;
    assert!(
        text.contains("403") && outcome == ShellOutcome::Error,
        "{text}"
    );
    assert_eq!(fixture.server.seen(), [""; 0]);
    assert!(
        fixture
            .decisions
            .lock()
            .unwrap()
            .iter()
            .all(|decision| !decision.passed)
    );
}

#[tokio::test]
async fn traffic_that_bypasses_the_proxy_fails() {
    let mut fixture = fixture().await;
    for line in [
        "curl -sS --noproxy '*' --max-time 5 http://127.0.0.1:PORT/",
        "curl -sS --noproxy '*' --max-time 5 http://good.test:PORT/",
        "env -i curl -sS --max-time 5 http://192.0.2.1/",
        "unset ${!HTTP*} ${!http*} ${!ALL*} ${!all*}; curl -sS --max-time 5 http://good.test/",
        "exec 5<>/dev/tcp/127.0.0.1/PORT",
        "exec 5<>/dev/udp/192.0.2.1/53 && echo x >&5",
        "getent hosts localhost.invalid good.test",
        "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 53), 5)'",
        "python3 -c 'import socket; print(socket.getaddrinfo(\"good.test\", 80))'",
    ] {
        let (text, outcome) = fixture.run(line).await;
        assert_eq!(outcome, ShellOutcome::Error, "{line}: {text}");
    }
    let (text, _) = fixture
        .run("tail -n +3 /proc/net/dev | cut -d: -f1; cat /proc/net/route | wc -l")
        .await;
    assert_eq!(
        text.split_whitespace().collect::<Vec<_>>(),
        ["lo", "1"],
        "only a loopback"
    );
    assert_eq!(fixture.server.seen(), [""; 0]);
}

#[tokio::test]
async fn a_redirect_to_a_private_address_is_refused() {
    let mut fixture = fixture().await;
    let line = "curl -sS -L --noproxy '' http://good.test:PORT/redirect";
    let (text, _) = fixture.run(line).await;
    assert!(text.contains("telechir refused this connection"), "{text}");
    assert_eq!(
        fixture.server.seen().len(),
        1,
        "{:?}",
        fixture.server.seen()
    );
}

#[tokio::test]
async fn dns_rebinding_has_no_effect() {
    let mut fixture = fixture().await;
    let (text, _) = fixture.run("curl -sS http://rebinding.test:PORT/").await;
    assert_eq!(text, "hello\n");
    let (text, _) = fixture.run("curl -sS http://rebinding.test:PORT/").await;
    assert!(text.contains("telechir refused this connection"), "{text}");
    let (text, _) = fixture.run("curl -sS http://public.test:PORT/").await;
    assert!(text.contains("telechir refused this connection"), "{text}");
    assert_eq!(fixture.server.seen().len(), 1);
}

#[tokio::test]
async fn the_sandbox_has_its_own_loopback() {
    let mut fixture = fixture().await;
    let line = "(python3 -m http.server 8000 --bind 127.0.0.1 >/dev/null 2>&1 &) \
                ; for i in $(seq 200); do curl -sSf http://localhost:8000/ -o /dev/null 2>/dev/null && break; sleep 0.05; done \
                ; curl -sS -o /dev/null -w '%{http_code}' http://localhost:8000/";
    let (text, _) = fixture.run(line).await;
    assert_eq!(text, "200");
    assert!(fixture.decisions.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_restarted_shell_has_its_network_again() {
    let mut fixture = fixture().await;
    fixture.run("kill -9 $$").await;
    let (text, _) = fixture.run("curl -sS http://good.test:PORT/").await;
    assert_eq!(text, "hello\n");
    fixture.shell.close().await.unwrap();
}

#[tokio::test]
async fn the_proxy_does_not_listen_on_the_machine_s_addresses() {
    let fixture = fixture().await;
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let listens = |line: &&str| line.contains(":0C38 00000000:0000 0A");
    assert_eq!(sockets.lines().filter(listens).count(), 0, "{sockets}");
    drop(fixture);
}

#[tokio::test]
async fn without_a_rule_there_is_no_proxy_and_no_variable() {
    let (mut shell, _workspace) = crate::sandboxed().await;
    let output = run(
        &mut shell,
        "env | grep -i proxy; exec 5<>/dev/tcp/127.0.0.1/3128",
    )
    .await;
    assert_eq!(output.stdout, "");
    assert_eq!(output.outcome, ShellOutcome::Error);
}
