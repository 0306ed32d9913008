//! Ten tasks on pages, done by `execute_browser` alone and only by what its answers say.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};
use telechir_testkit::assert_eventually_blocking;

use super::BrowsingFixture;
use super::functions::{respond, text_of};

const LOGIN: &str = "<title>Sign in</title><form method=post action=/session><label>User <input name=user></label>\
    <label>Password <input name=password type=password></label><button>Enter</button></form>";
const FEED: &str = "<title>Feed</title><ul id=list></ul><div style='height:40px'>More follows</div><p id=picked role=status></p><script>\
    let count = 0; const more = () => { for (let i = 0; i < 20; i++) { count++; const item = document.createElement('li');\
    item.innerHTML = `<h3>Boat ${count}</h3><button>Pick</button>`; item.style.height = '120px';\
    const name = `Boat ${count}`; item.querySelector('button').onclick = () => picked.textContent = `Picked ${name}`; list.append(item) } };\
    more(); addEventListener('scroll', () => { if (count < 200 && innerHeight + scrollY > document.body.scrollHeight - 300) setTimeout(more, 50) })</script>";
const UPLOAD: &str = "<title>Upload</title><input type=file id=file style='display:none'><button onclick='file.click()'>Attach a file</button>\
    <p role=status id=s></p><script>file.onchange = async () => s.textContent = `Got ${file.files[0].name}: ${await file.files[0].text()}`</script>";
const SHOP: &str = "<title>Reports</title><a href=/report.csv download>Yearly report</a>";
const OAUTH: &str = "<title>Welcome</title><button onclick=\"window.open('/consent')\">Sign in with Harbour</button><p role=status id=s></p>\
    <script>addEventListener('message', event => s.textContent = `Hello ${event.data}`)</script>";
const CONSENT: &str = "<title>Consent</title><button onclick=\"opener.postMessage('Ada', '*'); window.close()\">Allow access</button>";
const CHECKOUT: &str = "<title>Checkout</title><h1>Pay 12 EUR</h1><iframe title=Card src={elsewhere}/card style='width:400px;height:200px'></iframe>\
    <p role=status id=s></p><script>addEventListener('message', event => s.textContent = event.data)</script>";
const CARD: &str = "<label>Number <input id=n></label><label>Expiry <input id=e placeholder='MM/YY'></label>\
    <button onclick=\"parent.postMessage(`Paid with ${n.value} until ${e.value}`, '*')\">Pay now</button>";
const DATES: &str = "<title>Dates</title><style>.day{display:inline-block;width:30px}</style>\
    <input id=field readonly placeholder='Choose a day'><div id=pop hidden><span id=title></span> <span id=next>next month</span><div id=days></div></div>\
    <script>let month = 5; const draw = () => { title.textContent = ['May', 'June', 'July'][month - 5] + ' 2031'; days.innerHTML = '';\
    for (let day = 1; day <= 30; day++) { const cell = document.createElement('div'); cell.className = 'day'; cell.textContent = day; days.append(cell) } };\
    field.addEventListener('click', () => { pop.hidden = false; draw() }); next.addEventListener('click', () => { month++; draw() });\
    days.addEventListener('click', event => { field.value = `${event.target.textContent}.${month}.2031`; pop.hidden = true })</script>";
const BOARD: &str = "<title>Board</title><style>.list{float:left;width:250px;min-height:300px;margin:8px;background:#eee}</style>\
    <div class=list id=open><h2>Open</h2><div draggable=true id=card>Paint the hull</div></div><div class=list id=done><h2>Finished</h2></div><p role=status id=s></p>\
    <script>card.ondragstart = event => event.dataTransfer.setData('text/plain', 'card');\
    for (const list of [open_ = document.getElementById('open'), done]) { list.ondragover = event => event.preventDefault();\
    list.ondrop = event => { event.preventDefault(); list.append(card); s.textContent = `${card.textContent} is in ${list.firstChild.textContent}` } }</script>";
const TABLE: &str = "<title>Orders</title><div role=grid aria-label=Orders aria-rowcount=10000 tabindex=0 id=grid style='height:400px;width:500px;overflow:auto'>\
    <div id=all style='height:200000px;position:relative'></div></div><p role=status id=s></p><script>\
    const draw = () => { const first = Math.floor(grid.scrollTop / 20); all.innerHTML = '';\
    for (let i = first; i < Math.min(first + 22, 10000); i++) { const row = document.createElement('div'); row.setAttribute('role', 'row');\
    row.setAttribute('aria-rowindex', i + 1); row.style = `position:absolute;top:${i * 20}px;height:20px`;\
    row.innerHTML = `<span role=gridcell>Order ${i + 1}</span> <span role=gridcell><button>Open</button></span>`;\
    row.querySelector('button').onclick = () => s.textContent = `Opened ${i + 1}`; all.append(row) } };\
    grid.addEventListener('scroll', draw); draw()</script>";
const CANVAS: &str = "<title>Map</title><canvas id=map aria-label=Map width=300 height=200></canvas><p role=status id=s></p>\
    <script>map.onclick = event => s.textContent = event.offsetX > 200 && event.offsetY < 60 ? 'The harbour' : 'Open sea'</script>";

/// Serves the pages on a loopback port, under two sites.
fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    // Ends with the test's process.
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || answer(&stream, port));
        }
    });
    format!("http://127.0.0.1:{port}")
}

fn answer(mut stream: &TcpStream, port: u16) {
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
    let length = header("content-length: ").map_or(0, |text| text.trim().parse().unwrap_or(0));
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_err() {
        return;
    }
    let form = String::from_utf8_lossy(&body);
    let is_signed_in = header("cookie: ").is_some_and(|cookies| cookies.contains("user=ada"));
    let path = head.first().and_then(|line| line.split(' ').nth(1));
    let to = |path: &str| ("302 Found", format!("Location: {path}\r\n"), "");
    let html = |page: &'static str| ("200 OK", "Content-Type: text/html\r\n".to_owned(), page);
    let (status, more, page) = match path.unwrap_or_default() {
        "/account" if is_signed_in => html("<title>Account</title><h1>Welcome, Ada</h1>"),
        "/account" => to("/login"),
        "/login" => html(LOGIN),
        "/session" if form == "user=ada&password=open+sesame" => {
            let (status, more, page) = to("/entrance");
            (status, format!("Set-Cookie: user=ada\r\n{more}"), page)
        }
        "/session" => to("/login"),
        "/entrance" => to("/account"),
        "/report.csv" => (
            "200 OK",
            "Content-Type: text/csv\r\n".to_owned(),
            "month,total\n",
        ),
        "/feed" => html(FEED),
        "/upload" => html(UPLOAD),
        "/shop" => html(SHOP),
        "/oauth" => html(OAUTH),
        "/consent" => html(CONSENT),
        "/checkout" => html(CHECKOUT),
        "/card" => html(CARD),
        "/dates" => html(DATES),
        "/board" => html(BOARD),
        "/table" => html(TABLE),
        "/canvas" => html(CANVAS),
        _ => ("404 Not Found", String::new(), ""),
    };
    let page = page.replace("{elsewhere}", &format!("http://localhost:{port}"));
    let length = page.len();
    let reply = format!(
        "HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\nConnection: close\r\n\r\n{page}"
    );
    let _browser_may_be_gone = stream.write_all(reply.as_bytes());
}

/// A session that shows one page of the site.
struct Flow {
    fixture: BrowsingFixture,
}

impl Flow {
    fn on(page: &str) -> Self {
        let flow = Self {
            fixture: BrowsingFixture::new(),
        };
        let flags = flow.fixture.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        let call = json!({"action": "navigate", "url": format!("{}{page}", serve())});
        let reply = flow.fixture.exec("functions", &flags, &respond(&[call]));
        let text = text_of(&reply).remove(0);
        assert!(!text.starts_with("error"), "{text}");
        flow
    }

    /// The answer to an action, without the list of tabs above it.
    fn act(&self, call: Value) -> String {
        let text = text_of(&self.fixture.exec("functions", &[], &respond(&[call]))).remove(0);
        let body = text.split_once("\n\n").map(|(_, body)| body.to_owned());
        body.unwrap_or(text)
    }

    /// The ref of the element with these words that `find` lists first.
    #[track_caller]
    fn find(&self, query: &str) -> String {
        let found = self.act(json!({"action": "find", "params": {"query": query}}));
        reference(&found).unwrap_or_else(|| panic!("no {query} in {found}"))
    }

    #[track_caller]
    fn click(&self, query: &str) -> String {
        self.act(json!({"action": "click", "params": {"ref": self.find(query)}}))
    }
}

/// The first ref in an answer of `find`.
fn reference(found: &str) -> Option<String> {
    let line = found.lines().find(|line| line.contains(" ["))?;
    let (_, rest) = line.split_once(" [")?;
    Some(rest.split_once(']')?.0.to_owned())
}

#[test]
fn signs_in_through_redirects() {
    let flow = Flow::on("/account");
    let fields = json!([
        {"ref": flow.find("User"), "value": "ada"},
        {"ref": flow.find("Password"), "value": "open sesame"},
    ]);
    let text = flow.act(json!({"action": "fill_form", "params": {"fields": fields}}));
    assert!(!text.starts_with("error"), "{text}");
    flow.click("Enter");
    let redirected = json!({"action": "wait", "params": {"url": "/account", "seconds": 20}});
    let text = flow.act(redirected);
    assert!(text.starts_with("It holds"), "{text}");
    let text = flow.act(json!({"action": "extract_text"}));
    assert!(text.contains("Welcome, Ada"), "{text}");
}

#[test]
fn scrolls_an_endless_list() {
    let flow = Flow::on("/feed");
    let found = (0..20).find_map(|_| {
        let found = flow.act(json!({"action": "find", "params": {"query": "Boat 95"}}));
        if !found.starts_with("No element") {
            return Some(found);
        }
        flow.act(json!({"action": "scroll", "params": {"direction": "down", "amount": 30}}));
        flow.act(json!({"action": "wait", "params": {"idle": true, "seconds": 2}}));
        None
    });
    assert!(found.is_some());
    let part = flow.act(json!({"action": "find", "params": {"query": "Pick"}}));
    assert!(part.contains(" in \"Boat "), "{part}");
    let page = flow.act(json!({"action": "snapshot", "params": {"filter": "interactive"}}));
    let line = page.lines().find(|line| line.ends_with("in \"Boat 95\""));
    let pick = line
        .and_then(reference)
        .unwrap_or_else(|| panic!("no button in {page}"));
    let text = flow.act(json!({"action": "click", "params": {"ref": pick}}));
    assert!(text.contains("status \"Picked Boat 95\""), "{text}");
}

#[test]
fn uploads_through_a_hidden_control() {
    let flow = Flow::on("/upload");
    let attach = flow.find("Attach a file");
    let text = flow.act(json!({"action": "click", "params": {"ref": attach}}));
    assert!(text.contains("requested a file"), "{text}");
    let upload = json!({"action": "upload", "params": {"ref": attach, "paths": ["note.txt"]}});
    let text = flow.act(upload);
    assert!(text.contains("has note.txt"), "{text}");
    let wait = json!({"action": "wait", "params": {"text": "Got note.txt: a note"}});
    let text = flow.act(wait);
    assert!(text.starts_with("It holds"), "{text}");
}

#[test]
fn downloads_a_file() {
    let flow = Flow::on("/shop");
    let mut text = flow.click("Yearly report");
    for _ in 0..20 {
        if text.contains("is complete") {
            break;
        }
        text += &flow.act(json!({"action": "wait", "params": {"idle": true, "seconds": 1}}));
    }
    assert!(
        text.contains("download_1 is complete: \"downloads/report.csv\", 12 bytes"),
        "{text}"
    );
    let file = flow.fixture.path("work/downloads/report.csv");
    assert_eq!(fs::read_to_string(file).expect("a file"), "month,total\n");
    let text = flow.act(json!({"action": "network"}));
    let line = text.lines().find(|line| line.ends_with("/report.csv"));
    assert!(
        line.is_some_and(|line| line.contains(" download ") && !line.contains("failed")),
        "{text}"
    );
}

#[test]
fn signs_in_through_a_popup() {
    let flow = Flow::on("/oauth");
    flow.click("Harbour");
    let wait = json!({"action": "wait", "params": {"url": "/consent", "seconds": 5}});
    assert_eventually_blocking!(
        flow.act(wait.clone()),
        |text| text.starts_with("It holds"),
        "the popup is the active tab"
    );
    flow.click("Allow access");
    assert_eventually_blocking!(
        flow.act(json!({"action": "list_tabs"})),
        |tabs| tabs.contains("tab_1") && !tabs.contains("tab_2"),
        "the popup is closed"
    );
    let text = flow.act(json!({"action": "wait", "params": {"text": "Hello Ada"}}));
    assert!(text.starts_with("It holds"), "{text}");
}

#[test]
fn pays_in_a_frame_of_another_site() {
    let flow = Flow::on("/checkout");
    let fields = json!([
        {"ref": flow.find("Number"), "value": "4242"},
        {"ref": flow.find("Expiry"), "value": "07/31"},
    ]);
    flow.act(json!({"action": "fill_form", "params": {"fields": fields}}));
    flow.click("Pay now");
    let wait = json!({"action": "wait", "params": {"text": "Paid with 4242 until 07/31"}});
    let text = flow.act(wait);
    assert!(text.starts_with("It holds"), "{text}");
}

#[test]
fn picks_a_date_without_aria() {
    let flow = Flow::on("/dates");
    let text = flow.click("Choose a day");
    assert!(text.contains("changed"), "{text}");
    flow.click("next month");
    let page = flow.act(json!({"action": "snapshot", "params": {"filter": "interactive"}}));
    let line = page.lines().find(|line| line.contains("\"17\""));
    let day = line
        .and_then(reference)
        .unwrap_or_else(|| panic!("no day in {page}"));
    flow.act(json!({"action": "click", "params": {"ref": day}}));
    let page = flow.act(json!({"action": "snapshot"}));
    assert!(page.contains("=\"17.6.2031\""), "{page}");
}

#[test]
fn moves_a_card_of_a_board() {
    let flow = Flow::on("/board");
    let (card, list) = (flow.find("Paint the hull"), flow.find("Finished droppable"));
    let text = flow.act(json!({"action": "drag", "params": {"ref": card, "to": list}}));
    assert!(
        text.contains("status \"Paint the hull is in Finished\""),
        "{text}"
    );
}

#[test]
fn opens_a_row_in_the_middle_of_a_virtual_table() {
    let flow = Flow::on("/table");
    let page = flow.act(json!({"action": "snapshot", "params": {"filter": "full"}}));
    assert!(page.contains("of 10000 rows"), "{page}");
    let grid = page.lines().find(|line| line.contains("grid \"Orders\""));
    let grid = grid.and_then(reference).expect("the grid");
    let scroll = |amount: i64| json!({"action": "scroll", "params": {"ref": grid, "direction": "down", "amount": amount}});
    let text = flow.act(scroll(1));
    // "scrolled 100 of 199600 down": a row in the middle is half as far.
    let extent = text
        .split(" of ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next());
    let extent: i64 = extent
        .and_then(|extent| extent.parse().ok())
        .unwrap_or_else(|| panic!("{text}"));
    flow.act(scroll(extent / 200 - 1));
    let page = flow.act(json!({"action": "snapshot", "params": {"filter": "interactive"}}));
    let line = page
        .lines()
        .find(|line| line.ends_with("in \"Order 5000\""));
    let open = line
        .and_then(reference)
        .unwrap_or_else(|| panic!("no row in {page}"));
    let text = flow.act(json!({"action": "click", "params": {"ref": open}}));
    assert!(text.contains("status \"Opened 5000\""), "{text}");
}

#[test]
fn clicks_a_position_on_a_canvas() {
    let flow = Flow::on("/canvas");
    let text = flow.click("Map canvas");
    assert!(text.contains("status \"Open sea\""), "{text}");
    let page = flow.act(json!({"action": "snapshot", "params": {"filter": "json"}}));
    let page: Value = serde_json::from_str(page.trim()).expect("JSON");
    let nodes = page["nodes"].as_array().expect("nodes");
    let canvas = nodes.iter().find(|node| node["role"] == "canvas");
    let edges = &canvas.expect("a canvas")["box"];
    let at = |edge: usize, inside: i64| edges[edge].as_i64().expect("an edge") + inside;
    let text = flow.act(json!({"action": "click", "coordinate": [at(0, 250), at(1, 30)]}));
    assert!(!text.starts_with("error"), "{text}");
    let text = flow.act(json!({"action": "extract_text"}));
    assert!(text.contains("The harbour"), "{text}");
}
