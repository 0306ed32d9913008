//! Tasks of a person, done by tool calls alone as a client sends them, and judged by what reached the
//! web server or the disk.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;
use telechir_testkit::gate::{Component, require};
use tempfile::TempDir;

use super::{Client, MODERN};

const LOGIN: &str = "<title>Sign in</title><form method=post action=/login>\
    <label>User <input name=user></label>\
    <label>Password <input name=password type=password></label><button>Enter</button></form>";
const ACCOUNT: &str = "<title>Account</title><h1>Welcome, Ada</h1>\
    <a href=/report.csv download>Report</a> <a href=/terms target=_blank>Terms</a>";
const TERMS: &str = "<title>Terms</title><p>Twelve months.";
const ORDER: &str = "<meta charset=utf-8><title>Order</title><form method=post action=/order>\
    <label>Name <input name=name></label>\
    <label>Size <select name=size><option>small<option>large</select></label>\
    <label><input type=checkbox name=gift> Gift</label>\
    <label>Remarks <textarea name=remarks></textarea></label><button>Send</button></form>";

const WORKBENCH: &str = "<meta charset=utf-8><title>Desk</title>\
    <label>Name <input id=name></label>\
    <label><input id=gift type=checkbox> Gift</label>\
    <input type=file aria-label=Papers onchange=\"say('got ' + files[0].name)\">\
    <textarea aria-label=Notes rows=3 onscroll=\"say('scrolled')\"></textarea>\
    <button onmousedown=\"card = 1\">Card</button>\
    <button onmouseup=\"card && say('dropped')\">Bin</button>\
    <button ondblclick=\"say('twice')\">Bell</button>\
    <button onclick=\"setTimeout(() => say('brewed ' + name_.value + gift.checked), 300)\">Tea\
    </button><p id=said></p><script>let card = 0; const name_ = document.getElementById('name');\
    const say = (text) => said.append(text + '. ');\
    document.querySelector('textarea').value = 'line\\\\n'.repeat(90);\
    console.warn('no milk'); fetch('/report.csv');</script>";

const SHOP_RULE: &str = "[[url]]\nhost = ['127.0.0.1']\nverdict = 'allow'\nreason = 'The shop.'\n";

/// A shop on a loopback port that keeps what was posted.
struct Shop {
    url: String,
    posted: Arc<Mutex<Vec<String>>>,
}

impl Shop {
    fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let posted = Arc::<Mutex<Vec<String>>>::default();
        let posts = Arc::clone(&posted);
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let posts = Arc::clone(&posts);
                std::thread::spawn(move || answer(&stream, &posts));
            }
        });
        Self { url, posted }
    }

    fn posted(&self) -> Vec<String> {
        self.posted.lock().expect("no panic").clone()
    }
}

fn answer(mut stream: &TcpStream, posted: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        match reader.read_line(&mut line) {
            // Browsers open connections that they may not use.
            Ok(0) | Err(_) => return,
            Ok(_) if line == "\r\n" => break,
            Ok(_) => head.push(line.to_lowercase()),
        }
    }
    let header = |name: &str| head.iter().find_map(|line| line.strip_prefix(name));
    let length =
        header("content-length: ").map_or(0, |text| text.trim().parse().expect("a number"));
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let path = head.first().and_then(|line| line.split(' ').nth(1));
    let path = path.unwrap_or_default();
    let is_signed_in = header("cookie: ").is_some_and(|cookies| cookies.contains("session=ada"));
    let (status, more, page) = if head.first().is_some_and(|line| line.starts_with("post")) {
        let form = String::from_utf8_lossy(&body).into_owned();
        let is_ada = form == "user=ada&password=open+sesame";
        posted
            .lock()
            .expect("no panic")
            .push(format!("{path}?{form}"));
        let cookie = if is_ada {
            "Set-Cookie: session=ada\r\n"
        } else {
            ""
        };
        (
            "303 See Other",
            format!("{cookie}Location: /account\r\n"),
            "",
        )
    } else {
        let type_of = |name: &str| format!("Content-Type: {name}\r\n");
        let page = match path {
            "/account" if is_signed_in => ACCOUNT,
            "/report.csv" => "month,total\n5,12\n",
            "/terms" => TERMS,
            "/order" => ORDER,
            "/desk" => WORKBENCH,
            _ => LOGIN,
        };
        let is_report = path == "/report.csv";
        (
            "200 OK",
            type_of(if is_report { "text/csv" } else { "text/html" }),
            page,
        )
    };
    let length = page.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n{page}"
    );
    let _browser_may_be_gone = stream.write_all(reply.as_bytes());
}

/// A client, and the folder of its policy.
struct Flow {
    client: Client,
    _policy: TempDir,
}

impl Flow {
    fn start(devices: &[&str], rules: &str) -> Self {
        require(Component::Sandbox);
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("policy.toml");
        fs::write(&file, rules).expect("a policy");
        let policy = format!("--policy={}", file.display());
        let mut flags = devices.to_vec();
        flags.push(&policy);
        let client = Client::start(MODERN, &flags);
        Self {
            client,
            _policy: folder,
        }
    }

    /// A flow in a browser that may reach the shop.
    fn in_browser() -> Self {
        require(Component::Chromium);
        Self::start(&["--browser", "--headless", "--downloads"], SHOP_RULE)
    }

    /// The same with a desktop, on which the browser's window is.
    fn in_browser_on_desktop() -> Self {
        require(Component::Chromium);
        require(Component::XServer);
        require(Component::Dbus);
        Self::start(&["--desktop", "--browser"], SHOP_RULE)
    }

    /// A flow on a desktop that may start applications.
    fn on_desktop() -> Self {
        require(Component::XServer);
        require(Component::Dbus);
        let rule =
            "[[computer]]\nactions = ['open_app']\nverdict = 'allow'\nreason = 'The task.'\n";
        Self::start(&["--desktop"], rule)
    }

    /// Calls a tool, which must succeed; the answer's text without JSON's escapes.
    #[track_caller]
    fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let result = self.client.call(tool, arguments);
        assert_ne!(result["isError"], true, "{tool} {arguments}: {result}");
        let text = result["content"][0]["text"].as_str().expect("a text");
        text.replace("\\\"", "\"")
    }

    #[track_caller]
    fn browser(&mut self, arguments: &Value) -> String {
        self.call("execute_browser", arguments)
    }

    /// The ref of the element with this name.
    #[track_caller]
    fn find(&mut self, name: &str) -> String {
        let found = self.browser(&json!({"action": "find", "query": name}));
        let at = found.find(&format!("\"{name}\""));
        let rest = at.and_then(|at| found.get(at..));
        let reference = rest.and_then(|rest| rest.split_once('[')?.1.split_once(']'));
        reference
            .unwrap_or_else(|| panic!("no ref of {name} in {found}"))
            .0
            .to_owned()
    }

    #[track_caller]
    fn fill(&mut self, name: &str, value: &str) {
        let reference = self.find(name);
        self.browser(&json!({"action": "fill", "ref": reference, "value": value}));
    }

    #[track_caller]
    fn click(&mut self, name: &str) {
        let reference = self.find(name);
        self.browser(&json!({"action": "click", "ref": reference}));
    }

    #[track_caller]
    fn gui(&mut self, arguments: &Value) -> String {
        self.call("execute_gui", arguments)
    }
}

#[test]
fn signs_in_downloads_a_file_and_reads_another_tab() {
    let shop = Shop::open();
    let mut flow = Flow::in_browser();
    let account = format!("{}/account", shop.url);
    flow.browser(&json!({"action": "navigate", "url": account}));
    flow.fill("User", "ada");
    flow.fill("Password", "open sesame");
    flow.click("Enter");
    let page = flow.browser(&json!({"action": "extract_text"}));
    assert!(page.contains("Welcome, Ada"), "{page}");
    assert_eq!(shop.posted(), ["/login?user=ada&password=open+sesame"]);

    flow.click("Report");
    // A download goes on after the click that started it.
    let read = json!({"command": "cat downloads/report.csv"});
    assert_eventually_blocking!(flow.call("execute_cli", &read), |file| {
        file.contains(r"month,total\n5,12\n")
    });

    flow.click("Terms");
    let tabs = flow.browser(&json!({"action": "list_tabs"}));
    assert!(tabs.contains("Account") && tabs.contains("Terms"), "{tabs}");
    let page = flow.browser(&json!({"action": "extract_text"}));
    assert!(page.contains("Twelve months."), "{page}");
    let tab = tabs.split("tab_").skip(1).find(|tab| tab.contains("Terms"));
    let number = tab.and_then(|tab| tab.split([' ', ':']).next());
    let tab = format!("tab_{}", number.expect("a tab"));
    flow.browser(&json!({"action": "close_tab", "tab": tab}));
    let page = flow.browser(&json!({"action": "extract_text"}));
    assert!(page.contains("Welcome, Ada"), "{page}");
    flow.client.leave();
}

#[test]
fn fills_in_a_form_in_a_browser_beside_a_desktop() {
    let shop = Shop::open();
    let mut flow = Flow::in_browser_on_desktop();
    let order = format!("{}/order", shop.url);
    flow.call("browser_session", &json!({"action": "open", "url": order}));
    flow.fill("Name", "Grace Hopper");
    let size = flow.find("Size");
    flow.browser(&json!({"action": "select", "ref": size, "value": "large"}));
    flow.click("Gift");
    flow.fill("Remarks", "Ring twice\nät the döör");
    flow.click("Send");
    let sent = "/order?name=Grace+Hopper&size=large&gift=on\
        &remarks=Ring+twice%0D%0A%C3%A4t+the+d%C3%B6%C3%B6r";
    assert_eq!(shop.posted(), [sent]);
    flow.client.leave();
}

/// What the page function of the providers has, by the tool of the protocol.
#[test]
fn uses_all_parts_of_a_page() {
    require(Component::Chromium);
    let shop = Shop::open();
    let upload = "[[computer]]\nactions = ['file_upload']\nverdict = 'allow'\nreason = 'Papers.'\n";
    let rules = format!("{SHOP_RULE}{upload}");
    let mut flow = Flow::start(&["--browser", "--headless"], &rules);
    let url = format!("{}/desk", shop.url);
    flow.browser(&json!({"action": "navigate", "url": url}));
    let (name, gift) = (flow.find("Name"), flow.find("Gift"));
    let fields = json!([{"ref": name, "value": "Ada "}, {"ref": gift, "value": true}]);
    flow.browser(&json!({"action": "fill_form", "fields": fields}));
    flow.click("Tea");
    flow.browser(&json!({"action": "wait", "text": "brewed Ada true", "seconds": 20}));
    let (card, bin) = (flow.find("Card"), flow.find("Bin"));
    flow.browser(&json!({"action": "drag", "ref": card, "to": bin}));
    let gong = flow.find("Bell");
    flow.browser(&json!({"action": "double_click", "ref": gong}));
    let notes = flow.find("Notes");
    flow.browser(&json!({"action": "scroll", "ref": notes, "direction": "down", "amount": 2}));
    flow.call("execute_cli", &json!({"command": "echo x > papers.txt"}));
    let papers = flow.find("Papers");
    flow.browser(&json!({"action": "upload", "ref": papers, "paths": ["papers.txt"]}));
    for text in ["dropped", "twice", "scrolled", "got papers.txt"] {
        flow.browser(&json!({"action": "wait", "text": text, "seconds": 20}));
    }
    let console = flow.browser(&json!({"action": "console"}));
    assert!(console.contains("no milk"), "{console}");
    let network = flow.browser(&json!({"action": "network"}));
    assert!(network.contains("/report.csv"), "{network}");
    let changes = flow.browser(&json!({"action": "snapshot", "filter": "full"}));
    assert!(changes.contains("twice"), "{changes}");
    flow.call(
        "browser_session",
        &json!({"action": "save_pdf", "path": "desk.pdf"}),
    );
    let kind = flow.call(
        "execute_cli",
        &json!({"command": "head -c 5 downloads/desk.pdf"}),
    );
    assert!(kind.contains("%PDF-"), "{kind}");
    flow.client.leave();
}

/// A ref of a page that is gone must not act on the page that took its place.
#[test]
fn refuses_a_stale_ref() {
    let shop = Shop::open();
    let mut flow = Flow::in_browser();
    let (order, login) = (format!("{}/order", shop.url), format!("{}/login", shop.url));
    flow.browser(&json!({"action": "navigate", "url": order}));
    let send = flow.find("Send");
    flow.browser(&json!({"action": "navigate", "url": login}));
    flow.find("Enter");
    for reference in [send.as_str(), "b999", "Send"] {
        let click = json!({"action": "click", "ref": reference});
        let refused = flow.client.call("execute_browser", &click);
        assert_eq!(refused["isError"], true, "{refused}");
        let text = refused["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(reference), "{text}");
    }
    assert!(shop.posted().is_empty(), "{:?}", shop.posted());
    flow.client.leave();
}

#[test]
fn writes_and_saves_a_document_on_the_desktop() {
    let mut flow = Flow::on_desktop();
    flow.gui(&json!({"action": "open_app", "name": "mousepad"}));
    flow.gui(&json!({"action": "type", "text": "Buy milk\nCall Ada"}));
    flow.gui(&json!({"action": "hotkey", "keys": ["ctrl", "s"]}));
    flow.gui(&json!({"action": "type", "text": "list.txt"}));
    flow.call(
        "execute_accessible",
        &json!({"action": "click", "element_name": "Save", "control_type": "button"}),
    );
    // The editor writes the file after its dialog closed.
    let read = json!({"command": "cat list.txt"});
    assert_eventually_blocking!(flow.call("execute_cli", &read), |file| {
        file.contains(r"Buy milk\nCall Ada")
    });
    flow.client.leave();
}

#[test]
fn calculates_on_the_desktop() {
    let mut flow = Flow::on_desktop();
    flow.gui(&json!({"action": "open_app", "name": "gnome-calculator"}));
    flow.gui(&json!({"action": "type", "text": "1234*56\n"}));
    let seen = flow.call("get_ui_context", &json!({}));
    assert!(seen.replace(',', "").contains("69104"), "{seen}");
    flow.client.leave();
}

#[test]
fn arranges_windows_on_the_desktop() {
    let mut flow = Flow::on_desktop();
    flow.gui(&json!({"action": "open_app", "name": "gnome-calculator"}));
    flow.gui(&json!({"action": "open_app", "name": "xterm"}));
    flow.gui(&json!({"action": "focus_window", "window": "Calculator"}));
    flow.call("maximize_active_window", &json!({}));
    let windows = flow.gui(&json!({"action": "list_windows"}));
    let calculator = windows
        .split("\\n")
        .find(|line| line.contains("\"Calculator\""));
    let calculator = calculator.expect("the calculator");
    assert!(calculator.contains("active, maximized"), "{windows}");
    flow.gui(&json!({"action": "close_window", "window": "Calculator"}));
    let windows = flow.gui(&json!({"action": "list_windows"}));
    assert!(!windows.contains("Calculator"), "{windows}");
    assert!(windows.to_lowercase().contains("xterm"), "{windows}");
    flow.client.leave();
}
