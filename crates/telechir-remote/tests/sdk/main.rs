//! The services' own SDKs drive the doubles, and send what our client sends for the same plan.
//!
//! No part of the other tests: `scripts/remote-sdk.sh` installs the SDKs and runs this.
#![expect(clippy::expect_used, reason = "a failed setup step fails the test")]
#![expect(
    clippy::disallowed_methods,
    reason = "a test starts Python as a user would"
)]

#[path = "../../src/sigv4.rs"]
mod sigv4;

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use telechir_protocol::Size;
use telechir_remote::{
    AccountLimits, ContextUse, INTERPRETER, Proxy, RemoteService, RemoteSession, RentalMark,
    RentalPlan, ServiceAccount, StoredContext,
};
use telechir_testkit::remote::{Face, KEY, RemoteDouble};

use sigv4::{AwsKeys, SigningScope, Unsigned, encoded, headers};

/// The plan that the script has for this service, as far as the service can do it.
fn full(face: Face) -> RentalPlan {
    let agentcore = face == Face::AgentCore;
    let has_proxy = !matches!(face, Face::AgentCore | Face::Kernel);
    let has_labels = matches!(face, Face::Browserbase | Face::Kernel);
    let known = if face == Face::Hyperbrowser {
        "us-west"
    } else {
        "us-west-2"
    };
    let region = (!agentcore).then_some(known);
    let label = ("run".to_owned(), "r1".to_owned());
    RentalPlan {
        region: region.map(str::to_owned),
        proxy: has_proxy.then(|| Proxy::Country("DE".to_owned())),
        context: Some(StoredContext {
            id: if agentcore {
                "profile-abcdefghij"
            } else {
                "ctx"
            }
            .to_owned(),
            use_: ContextUse::Persist,
        }),
        hosts: Some(["*.example.com", "shop.test"].map(str::to_owned).into()),
        labels: has_labels.then_some(label).into_iter().collect(),
        size: Size::new(1280, 800),
        timeout: Duration::from_secs(900),
    }
}

fn account_of(service: &'static RemoteService, double: &RemoteDouble) -> ServiceAccount {
    let account = ServiceAccount::new(service, None, AccountLimits::default(), |name| {
        let variables = double.environment().into_iter();
        let mut found = variables.filter(|(known, _)| *known == name);
        found.next().map(|(_, value)| value)
    });
    account.expect("an account")
}

fn python(arguments: &[&str]) -> Command {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = here.join("../../target/remote-sdk/bin/python");
    assert!(
        python.exists(),
        "the SDKs are not installed: run scripts/remote-sdk.sh"
    );
    let mut command = Command::new(python);
    command.arg("-B").arg(here.join("tests/sdk/drive.py"));
    command.args(arguments);
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn the_services_own_sdks_drive_the_doubles_and_send_the_same() {
    for face in Face::ALL {
        // It has no SDK.
        if face == Face::BrowserEngine {
            continue;
        }
        let double = RemoteDouble::start(face, None).await.expect("a double");
        let mark = RentalMark::unique();
        let arguments = [face.name(), &double.base(), KEY, mark.as_str()].map(str::to_owned);
        let output = tokio::task::spawn_blocking(move || {
            python(&arguments.each_ref().map(String::as_str)).output()
        });
        let output = output.await.expect("a task").expect("Python runs");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{face:?}: {stderr}");
        assert_eq!(double.running(), 0, "{face:?}: the SDK released it");
        let sent = double.sessions().remove(0).creation;
        let service = RemoteService::named(face.name()).expect("a service");
        let account = account_of(service, &double);
        let ours = RemoteSession::creation(&account, &full(face), &mark);
        if face == Face::Hyperbrowser {
            // It sends every default as well.
            for (name, value) in ours.as_object().expect("members") {
                assert_eq!(&sent[name], value, "{name}");
            }
        } else {
            assert_eq!(ours, sent, "{face:?}");
        }
        assert_ne!(ours, Value::Null);
        if face == Face::AgentCore {
            let sent = double.sessions().remove(1).creation;
            let mark: RentalMark =
                serde_json::from_value(format!("shell-{mark}").into()).expect("a mark");
            let account = account_of(&INTERPRETER, &double);
            let ours = RemoteSession::creation(&account, &full(face), &mark);
            assert_eq!(ours, sent, "the interpreter");
        }
    }
}

#[test]
fn signatures_equal_those_of_botocore() {
    const HOST: &str = "bedrock-agentcore.us-west-2.amazonaws.com";
    let paths = [
        "/a",
        "/browsers/aws.browser.v1/sessions/get",
        "/a b/ü~:@/%41/c",
        "/",
    ];
    let queries: [&[(&str, &str)]; 4] = [
        &[],
        &[("sessionId", "01K")],
        &[("b", "2"), ("a", "x y/z=&+"), ("a", ""), ("A", "ü")],
        &[("q", "user['x']:'y'")],
    ];
    let (mut cases, mut ours) = (Vec::new(), Vec::new());
    for (index, path) in paths.iter().enumerate() {
        for query in queries {
            for (method, body) in [("GET", ""), ("PUT", "{\"a\":\"ü\"}")] {
                let at = 1_795_352_673 + 86_399 * (cases.len() as u64) + index as u64;
                let scope = SigningScope {
                    region: "us-west-2",
                    service: "bedrock-agentcore",
                    at,
                };
                let keys = AwsKeys {
                    token: cases.len().is_multiple_of(3).then(|| "TO/KEN+=".to_owned()),
                    id: "AKIDEXAMPLE".to_owned(),
                    secret: "SECRET".to_owned(),
                };
                let pairs = query
                    .iter()
                    .map(|(name, value)| (encoded(name, b""), encoded(value, b"")));
                let pairs: Vec<String> = pairs
                    .map(|(name, value)| format!("{name}={value}"))
                    .collect();
                let path = encoded(path, b"/");
                let separator = if pairs.is_empty() { "" } else { "?" };
                cases.push(json!({
                    "method": method, "body": body, "at": at, "id": keys.id,
                    "url": format!("https://{HOST}{path}{separator}{}", pairs.join("&")),
                    "secret": keys.secret, "token": keys.token,
                    "service": scope.service, "region": scope.region,
                }));
                let request = Unsigned {
                    method,
                    path: &path,
                    query: query
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                        .collect(),
                    headers: Vec::new(),
                    body: body.as_bytes(),
                };
                let signed = headers(&keys, scope, HOST, request);
                ours.push(signed.last().expect("a step").1.clone());
            }
        }
    }
    let mut child = python(&["sign"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run scripts/remote-sdk.sh");
    let mut stdin = child.stdin.take().expect("a step");
    stdin
        .write_all(Value::from(cases).to_string().as_bytes())
        .expect("a step");
    drop(stdin);
    let output = child.wait_with_output().expect("a step");
    let theirs: Vec<String> = serde_json::from_slice(&output.stdout).expect("a step");
    assert_eq!(ours, theirs);
}
