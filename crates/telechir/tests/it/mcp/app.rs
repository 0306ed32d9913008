//! The app for clients that show one beside answers, in a real browser as its frame.

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};

use super::{Client, MODERN};
use crate::exec::member;
use crate::sessions::SessionFixture;

const ADDRESS: &str = "ui://telechir/view.html";
/// What clients enforce for an app that names no domain.
const POLICY: &str = "default-src 'none'; script-src 'self' 'unsafe-inline'; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'none'";
/// A client as the app sees it: hands over `result`, and answers calls of tools with `history`.
const HOST: &str = "const frame = document.createElement('iframe'); window.called = []; \
    addEventListener('message', ({ source, data }) => { \
        if (source !== frame.contentWindow) return; \
        const send = (message) => source.postMessage({ jsonrpc: '2.0', ...message }, '*'); \
        called.push(data.method + ' ' + (data.params?.name ?? '')); \
        if (data.method === 'ui/initialize') send({ id: data.id, result: { \
            protocolVersion: '2026-01-26', hostInfo: {}, hostCapabilities: { serverTools: {} }, \
            hostContext: { theme: 'dark', toolInfo: { tool: { name: 'execute_browser' } } } } }); \
        if (data.method === 'ui/notifications/initialized') \
            send({ method: 'ui/notifications/tool-result', params: given.result }); \
        if (data.method === 'tools/call') send({ id: data.id, result: given.history }); \
    }); \
    frame.srcdoc = given.page; document.body.append(frame); 'started'";

impl Client {
    /// A request of a client that shows apps.
    fn request_with_apps(&mut self, method: &str, mut params: Value) -> Value {
        let apps = json!({"mimeTypes": ["text/html;profile=mcp-app"]});
        let capabilities = json!({"extensions": {"io.modelcontextprotocol/ui": apps}});
        self.requests += 1;
        for (name, value) in [
            ("protocolVersion", json!(MODERN)),
            ("clientCapabilities", capabilities),
            ("clientInfo", json!({"name": "test", "version": "1"})),
        ] {
            params["_meta"][format!("io.modelcontextprotocol/{name}")] = value;
        }
        let id = self.requests;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.receive()["result"].clone()
    }
}

/// The names of the tools whose answers the app shows.
fn with_app(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().expect("tools").iter();
    let tools = tools.filter(|tool| tool["_meta"]["ui"]["resourceUri"] == ADDRESS);
    tools.filter_map(|tool| tool["name"].as_str()).collect()
}

#[test]
fn an_app_shows_the_screenshot_and_the_calls_and_approves_nothing() {
    require(Component::Sandbox);
    require(Component::Chromium);
    let mut client = Client::start(MODERN, &["--browser", "--headless"]);
    // Other clients hear nothing of it.
    let plain = client.request("tools/list", json!({}))["result"].clone();
    assert_eq!(with_app(&plain), Vec::<&str>::new());
    let resources = client.request("resources/list", json!({}));
    assert_eq!(resources["result"]["resources"], json!([]));
    let listed = client.request_with_apps("tools/list", json!({}));
    let tools = with_app(&listed);
    assert!(
        tools.contains(&"execute_cli") && tools.contains(&"observe_screen"),
        "{tools:?}"
    );
    let size = listed["tools"].to_string().len();
    assert!(size <= 12_500, "the list of tools has {size} bytes");
    let resources = client.request_with_apps("resources/list", json!({}));
    assert_eq!(resources["resources"][0]["uri"], ADDRESS, "{resources}");
    let read = client.request_with_apps("resources/read", json!({"uri": ADDRESS}));
    let app = &read["contents"][0];
    assert_eq!(app["mimeType"], "text/html;profile=mcp-app");
    let page = app["text"].as_str().expect("a page");

    client.call(
        "execute_cli",
        &json!({"command": "echo '<b>\u{202e}bold</b>'"}),
    );
    let result = client.call("execute_browser", &json!({"action": "screenshot"}));
    let history = client.call("get_action_history", &json!({}));
    let head = format!("<head><meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">");
    let given =
        json!({"page": page.replacen("<head>", &head, 1), "result": result, "history": history});

    let sessions = SessionFixture::new();
    let policy = sessions.file("browsing.toml");
    let rule = "[[computer]]\nactions = ['javascript']\nverdict = 'allow'\nreason = 'A test.'\n";
    std::fs::write(&policy, rule).expect("a policy");
    let policy = format!("--policy={}", policy.display());
    let script = |text: &str| {
        let call = member(
            "toolu_1",
            "browser",
            "javascript_exec",
            json!({ "text": text }),
        );
        let message = json!({"type": "message", "role": "assistant", "model": "m",
            "stop_reason": "tool_use", "content": [call]});
        let flags = ["--browser", "--headless", &policy];
        let reply = sessions.exec("frame", &flags, &message.to_string()).json();
        reply[0]["content"][0]["text"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    script(&format!("window.given = {given}; {HOST}"));
    let shown = |expression: &str| {
        script(&format!(
            "(() => {{ const app = document.querySelector('iframe').contentDocument; \
            return String({expression}) }})()"
        ))
    };
    let calls = "app.querySelector('#calls')?.innerText";
    let text = assert_eventually_blocking!(shown(calls), |text| text.contains("execute_cli"));
    assert!(
        text.contains("execute_browser") && !text.contains('\u{202e}'),
        "{text}"
    );
    let facts = "[app.querySelector('#screen').naturalWidth, app.querySelector('b'), \
        app.documentElement.className, app.querySelectorAll('button').length].join()";
    assert_eventually_blocking!(shown(facts), |facts| facts.contains("1280,,dark,0"));
    let called = script("[...new Set(called)].join()");
    assert!(called.contains("tools/call get_action_history"), "{called}");
    assert_eq!(called.matches("tools/call").count(), 1, "{called}");
    client.leave();
}
