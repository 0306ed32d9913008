//! Every element that reacts has a ref: listeners, drags, scrolling, canvases, parts of tables.

use serde_json::{Value, json};
use telechir_browser::{Browser, Options};
use telechir_device::{Computer as _, PageContextSource as _, Viewport};
use telechir_protocol::{Action, Button, ScrollUnit, Size, Target};

use crate::common::{
    SETTLE, SIZE, click_on, go, headless, headless_with, launched, options, page, perform, read,
    ref_of, script, scripted, text_of, title,
};
use crate::server::{Answer, Server};

async fn shown(html: &str, view: &str) -> String {
    let mut browser = headless().await;
    go(&mut browser, &page(html)).await.unwrap();
    read(&mut browser, view).await
}

#[tokio::test]
async fn elements_with_nothing_but_a_listener_have_refs() {
    let mut browser = headless().await;
    let html = "<title>-</title><div><span id=plain>Archive</span> <span>Words</span></div>\
        <ul id=list><li>Inbox</li><li>Sent</li></ul>\
        <div id=card><h3>Lamp</h3><p>12 EUR</p><button>Buy</button></div>\
        <main id=all><p>Long text</p></main>\
        <x-tile id=tile></x-tile><script>const shadow = tile.attachShadow({ mode: 'closed' }); shadow.innerHTML = '<div>Tile</div>';\
        shadow.firstChild.addEventListener('click', () => 0);\
        const on = (id, kind) => document.getElementById(id).addEventListener(kind, event => document.title = event.target.textContent);\
        on('plain', 'pointerup'); on('list', 'click'); on('card', 'click'); on('all', 'click'); document.addEventListener('click', () => 0)</script>";
    go(&mut browser, &page(html)).await.unwrap();
    let text = read(&mut browser, "interactive").await;
    for name in ["Archive", "Inbox", "Sent", "Lamp", "Buy", "Tile"] {
        assert!(text.contains(&format!("\"{name}\"")), "{name}: {text}");
    }
    assert!(!text.contains("Words") && !text.contains("Long"), "{text}");
    for name in ["Archive", "Sent"] {
        let done = perform(
            &mut browser,
            click_on(ref_of(&text, &format!("\"{name}\""))),
        )
        .await;
        done.unwrap();
        assert_eq!(title(&mut browser).await, name);
    }
    // A listener that is added later, without a change of the document.
    let html = "<p id=late>Late</p><script>later = () => late.addEventListener('click', () => 0)</script>\
        <button onclick=later()>Start</button>";
    go(&mut browser, &page(html)).await.unwrap();
    let start = ref_of(&read(&mut browser, "interactive").await, "\"Start\"");
    perform(&mut browser, click_on(start)).await.unwrap();
    telechir_testkit::assert_eventually!(
        read(&mut browser, "interactive").await.contains("\"Late\"")
    );
}

#[tokio::test]
async fn a_container_with_a_hand_cursor_leaves_its_parts_their_refs() {
    let html = "<div style='cursor:pointer'><span id=r><b>Reply</b></span> <em id=f>Forward</em></div>\
        <script>for (const e of [r, f]) e.onclick = () => 0</script>";
    let text = shown(html, "interactive").await;
    assert!(
        text.contains("\"Reply\" [") && text.contains("\"Forward\" ["),
        "{text}"
    );
}

/// Two lists with cards that are dragged by HTML or by pointer events.
const BOARD: &str = "<style>section{width:200px;height:300px;float:left;background:#ddd;margin:5px}\
    .card{height:40px;background:#fff;margin:5px;touch-action:none}</style>\
    <section id=todo><h2>Open</h2><div class=card id=a draggable=true>Paint the door</div></section>\
    <section id=done><h2>Finished</h2></section>\
    <div class=card id=p style='position:absolute;top:320px;left:10px;width:100px'>Slide me</div>\
    <div id=slot style='position:absolute;top:400px;left:300px;width:150px;height:80px;background:#ccf'>Slot</div>\
    <script>a.ondragstart = event => event.dataTransfer.setData('text/plain', 'a');\
    for (const list of [todo, done]) { list.addEventListener('dragover', event => event.preventDefault());\
    list.addEventListener('drop', event => { list.append(a); document.title = list.id }) }\
    let held = false; p.addEventListener('pointerdown', event => { held = true; p.setPointerCapture(event.pointerId) });\
    p.addEventListener('pointermove', event => { if (held) { p.style.left = event.clientX - 50 + 'px'; p.style.top = event.clientY - 20 + 'px' } });\
    p.addEventListener('pointerup', event => { held = false; document.title = document.elementsFromPoint(event.clientX, event.clientY).some(e => e.id === 'slot') ? 'slot' : 'missed' });\
    slot.onclick = () => 0</script>";

fn drag(from: Target, to: Target) -> Action {
    Action::Drag {
        path: vec![from, to],
        button: Button::Left,
        modifiers: vec![],
        duration: None,
    }
}

#[tokio::test]
async fn elements_are_dragged_from_ref_to_ref() {
    let mut browser = headless().await;
    go(&mut browser, &page(BOARD)).await.unwrap();
    let text = read(&mut browser, "full").await;
    assert!(
        text.contains("draggable") && text.contains("droppable"),
        "{text}"
    );
    let dragged = drag(
        ref_of(&text, "\"Paint the door\""),
        ref_of(&text, "\"Finished\" ["),
    );
    perform(&mut browser, dragged).await.unwrap();
    assert_eq!(title(&mut browser).await, "done");
    let dragged = drag(ref_of(&text, "\"Slide me\""), ref_of(&text, "\"Slot\""));
    perform(&mut browser, dragged).await.unwrap();
    assert_eq!(title(&mut browser).await, "slot");
}

#[tokio::test]
async fn a_drag_reaches_a_target_that_does_not_fit_into_the_view_with_its_source() {
    let mut browser = headless().await;
    let html = "<div id=a style='width:100px;height:40px;background:#fcc'>Stone</div><div style='height:2000px'></div>\
        <div id=b style='width:100px;height:40px;background:#cfc'>Pond</div>\
        <script>a.onmousedown = event => event.preventDefault(); b.onmouseup = () => document.title = 'in the pond'</script>";
    go(&mut browser, &page(html)).await.unwrap();
    let text = read(&mut browser, "full").await;
    let dragged = drag(ref_of(&text, "\"Stone\""), ref_of(&text, "\"Pond\""));
    perform(&mut browser, dragged).await.unwrap();
    assert_eq!(title(&mut browser).await, "in the pond");
}

#[tokio::test]
async fn scrolling_in_an_element_reports_how_far_it_is() {
    let mut browser = headless().await;
    let html = "<div id=log tabindex=0 aria-label=Log style='height:100px;overflow:auto'><div style='height:1100px'>x</div></div>";
    go(&mut browser, &page(html)).await.unwrap();
    let log = ref_of(&read(&mut browser, "full").await, "\"Log\"");
    let scroll = |dy| Action::Scroll {
        at: Some(log.clone()),
        dx: 0.0,
        dy,
        unit: ScrollUnit::Clicks,
        modifiers: vec![],
    };
    let text = text_of(&mut browser, scroll(3.0)).await;
    assert_eq!(text, "The element is scrolled 300 of 1000 down.");
    let text = text_of(&mut browser, scroll(30.0)).await;
    assert_eq!(text, "The element is scrolled 1000 of 1000 down.");
    let text = text_of(&mut browser, scroll(1.0)).await;
    assert!(text.starts_with("Nothing scrolled"), "{text}");
}

#[tokio::test]
async fn long_names_stay_different_in_the_short_view() {
    let items = |n: usize| {
        format!(
            "<button>Download the annual report of the northern district number {n:03}</button>"
        )
    };
    let html: String = (0..150).map(items).collect();
    let text = shown(&html, "brief").await;
    for n in [0, 7, 149] {
        assert!(text.contains(&format!("{n:03}\"")), "{n}: {text}");
    }
}

#[tokio::test]
async fn equal_buttons_have_what_they_belong_to() {
    let post = |n: usize| {
        format!(
            "<div><h3>Post {n}</h3><p>{}</p><button>Like</button></div>",
            "words ".repeat(60)
        )
    };
    let html: String = (0..40).map(post).collect();
    let text = shown(&html, "interactive").await;
    assert!(
        text.contains("button \"Like\"") && text.contains(" in \"Post 39\""),
        "{text}"
    );
    let mut browser = headless().await;
    go(&mut browser, &page(&html)).await.unwrap();
    let query = "Like".to_owned();
    let found = text_of(&mut browser, Action::Find { query, tab: None }).await;
    assert!(found.contains(" in \"Post 0\""), "{found}");
}

#[tokio::test]
async fn equal_buttons_without_a_heading_have_their_row_or_card() {
    let table = "<h2>Orders</h2><table><tr><th>State<th>Number<th>Action\
        <tr><td>Open<td>1001<td><button>Edit</button> <button>Delete</button>\
        <tr><td>Open<td>1002<td><button>Edit</button> <button>Delete</button></table>";
    let text = shown(table, "interactive").await;
    for number in [1001, 1002] {
        for name in ["Edit", "Delete"] {
            let is_distinct = text.lines().any(|line| {
                line.contains(name) && line.ends_with(&format!("in \"Open, {number}\""))
            });
            assert!(is_distinct, "{name} {number}: {text}");
        }
    }
    let cards = "<h2>Feed</h2><div><button>Like</button> Boats</div><div><button>Like</button> Trains</div>\
        <p>Imprint";
    let text = shown(cards, "interactive").await;
    let ends: Vec<&str> = text
        .lines()
        .skip(1)
        .filter_map(|line| line.split(" in ").nth(1))
        .collect();
    assert_eq!(ends, ["\"Boats\"", "\"Trains\""], "{text}");
}

#[tokio::test]
async fn a_widget_inside_a_name_is_readable_and_icons_are_named() {
    let html = "<h2>Ferry <i role=alert>delayed</i></h2>\
        <p>Rated <span aria-label='4 of 5'>****</span> <i title=Verified></i></p>\
        <a href='x:'><svg width=9 height=9><path d='M0 0h9v9z'><title>Close</title></path></svg></a>";
    for view in ["full", "brief"] {
        let text = shown(html, view).await;
        for part in ["\"Ferry\"", "\"delayed\"", "\"4 of 5\"", "\"Verified\""] {
            assert_eq!(text.matches(part).count(), 1, "{part}: {text}");
        }
        assert_eq!(text.matches("Close").count(), 1, "{text}");
    }
}

#[tokio::test]
async fn a_text_is_read_once() {
    let html = "<a href='x:'><p>Blue boat</p></a><a href='x:y'><h3>Red car</h3><p>Fast</p></a>\
        <button><h2>Green door</h2></button>";
    for view in ["full", "brief", "interactive"] {
        let text = shown(html, view).await;
        assert_eq!(text.matches("Blue boat").count(), 1, "{text}");
        assert_eq!(text.matches("Fast").count(), 1, "{text}");
    }
    let text = shown(html, "brief").await;
    assert_eq!(text.matches("Red car").count(), 1, "{text}");
    assert_eq!(text.matches("Green door").count(), 1, "{text}");
}

#[tokio::test]
async fn players_and_links_of_scripts_are_interactive() {
    let html = "<audio controls aria-label=Song></audio><video controls aria-label=Film></video>\
        <audio aria-label=Jingle></audio><a id=more>More</a><script>more.onclick = () => 0</script>";
    let text = shown(html, "interactive").await;
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let starts = ["audio \"Song\" [e", "video \"Film\" [e", "link \"More\" [l"];
    assert!(
        lines.len() == 3
            && lines
                .iter()
                .zip(starts)
                .all(|(line, start)| line.starts_with(start)),
        "{text}"
    );
}

#[tokio::test]
async fn canvases_videos_lists_and_large_tables_are_described() {
    let html = "<canvas width=320 height=200 style='width:320px;height:200px'></canvas><video aria-label=Trailer style='width:200px;height:100px'></video>\
        <select multiple aria-label=Colours><option selected>red<option>green<option selected>blue</select>\
        <div role=grid aria-label=Orders aria-rowcount=5000><div role=row aria-rowindex=2501><div role=gridcell>Ada</div></div></div>";
    let text = shown(html, "full").await;
    for part in [
        "canvas [",
        "320x200",
        "video \"Trailer\" [",
        "paused",
        "\"red, blue\"",
        "of 5000 rows",
        "row=2501",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = shown(html, "brief").await;
    for part in [
        "canvas 320x200",
        "video \"Trailer\" 200x100",
        "of \"red|green|blue\"",
        "of 5000 rows",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// The box of the first node with this name in the JSON view.
fn box_of(nodes: &Value, name: &str) -> Option<Vec<i64>> {
    nodes
        .as_array()?
        .iter()
        .find_map(|node| match node["name"] == name {
            true => serde_json::from_value(node["box"].clone()).ok(),
            false => box_of(&node["children"], name),
        })
}

#[tokio::test]
async fn boxes_are_in_the_coordinates_of_clicks() {
    let scaled = Options {
        scale: 2.0,
        ..options()
    };
    for (options, viewport, expected) in [
        (options(), Viewport::unscaled(SIZE), [400, 300, 40, 20]),
        (
            options(),
            Viewport::new(SIZE, Size::new(512, 384)),
            [200, 150, 20, 10],
        ),
        (scaled, Viewport::unscaled(SIZE), [800, 600, 80, 40]),
    ] {
        let mut browser = headless_with(options).await;
        let html = "<body style='margin:0'><button style='position:absolute;left:400px;top:300px;width:40px;height:20px;padding:0'>Here</button>";
        go(&mut browser, &page(html)).await.unwrap();
        browser.set_viewport(viewport);
        let json: Value = serde_json::from_str(&read(&mut browser, "json").await).unwrap();
        assert_eq!(box_of(&json["nodes"], "Here"), Some(expected.to_vec()));
    }
}

#[tokio::test]
async fn generated_text_is_read_only_where_rules_generate_it() {
    let html = "<style>.plain::before{content:'';display:block}.icon::before{content:'\\e001'}.new::after{content:' (new)'}\
        @media all{.old::before{content:'was '}}</style>\
        <button class=plain>A</button><button class=icon>B</button><button class=new>C</button><button class=old>D</button><q>E</q>";
    let text = shown(html, "full").await;
    for name in ["\"A\"", "\"B\"", "\"C (new)\"", "\"was D\""] {
        assert!(text.contains(name), "{name}: {text}");
    }
    // A rule that a script adds later.
    let mut browser = scripted().await;
    go(
        &mut browser,
        &page("<style>b{color:red}</style><button>F</button>"),
    )
    .await
    .unwrap();
    read(&mut browser, "full").await;
    script(
        &mut browser,
        "document.styleSheets[0].insertRule('button::after{content:\"!\"}'), 0",
    )
    .await;
    let text = read(&mut browser, "full").await;
    assert!(text.contains("\"F!\""), "{text}");
}

#[tokio::test]
async fn a_header_cell_with_a_button_is_written_once_with_its_order() {
    let html = "<table><tr><th aria-sort=ascending><button>Name</button><th aria-sort=none><button>Age</button>\
                <th aria-sort=descending>City<tr><td>Ada<td>36<td>Rome<tr><td>Bob<td>40<td>Oslo</table>";
    let text = shown(html, "brief").await;
    assert!(
        text.contains("ascending: b1 \"Name\" b2 \"Age\" \"City\" descending"),
        "{text}"
    );
    let full = shown(html, "full").await;
    assert!(full.contains("columnheader \"Name\" ["), "{full}");
    assert!(full.contains("ascending"), "{full}");
}

const EFFECTS: &str = "<div role=status id=s></div><div id=box></div><form onsubmit='return false'><label>Mail <input type=email required></label><button>Send</button></form>\
        <button onclick=\"s.textContent = 'Saved at noon'\">Save</button>\
        <button onclick=\"box.innerHTML = '<p>One</p><p>Two</p>'\">Fill</button>\
        <button onclick=\"box.innerHTML = '<div role=dialog aria-label=Really?>x</div>'\">Ask</button>\
        <button onclick=\"document.querySelector('input').focus()\">Write</button>\
        <button aria-expanded=false onclick=\"this.setAttribute('aria-expanded', true)\">Menu</button>\
        <button onclick=\"this.textContent = 'Following'\">Follow</button>\
        <button onclick=\"this.firstChild.firstChild.data = 'Liked'\"><b>Like</b></button>\
        <button onclick=\"this.ariaLabel = 'Sound off'\" aria-label='Sound on'>S</button>\
        <div role=option tabindex=0 aria-selected=true onclick=\"this.removeAttribute('aria-selected')\">Red</div>\
        <button onclick=\"document.title = '(1) Mail'\">Title</button>\
        <button popovertarget=pop>Options</button><div popover id=pop>Copy it</div>\
        <button disabled>Off</button>\
        <button>Idle</button><label><input type=checkbox>Agree</label>\
        <a href='#there'>Jump</a><button onclick=\"window.open('about:blank')\">Open</button>";

/// What the result after a click says of its effects.
async fn effects_of(browser: &mut Browser, name: &str) -> String {
    let text = read(browser, "full").await;
    perform(browser, click_on(ref_of(&text, &format!("\"{name}\""))))
        .await
        .unwrap();
    browser.settle(SETTLE).await.unwrap();
    let context = browser.page_context().await.unwrap();
    context.notes.unwrap_or_default()
}

#[tokio::test]
async fn a_click_s_result_reports_its_effects() {
    let mut browser = headless().await;
    let server = Server::start(|_| Some(Answer::page(EFFECTS))).await;
    go(&mut browser, &server.url("/")).await.unwrap();
    for (name, expected) in [
        ("Save", "status \"Saved at noon\""),
        ("Fill", "2 elements changed, first paragraph \"One\" ["),
        ("Ask", "dialog \"Really?\" ["),
        ("Write", "the focus is on textbox \"Mail\" ["),
        ("Menu", "is expanded"),
        ("Follow", "is now \"Following\""),
        ("Like", "is now \"Liked\""),
        ("Sound on", "is now \"Sound off\""),
        ("Red", "is no longer selected"),
        ("Title", "the title is \"(1) Mail\""),
        ("Options", "is expanded; element \"Copy it\" ["),
        ("Options", "is collapsed"),
        ("Idle", "After the click: no change, but the focus is on b"),
        ("Idle", "After the click: no change."),
        ("Agree", "is checked"),
        ("Send", "textbox \"Mail\" ["),
        ("Jump", "/#there>"),
    ] {
        let text = effects_of(&mut browser, name).await;
        assert!(
            text.starts_with("After the click: ") && text.contains(expected),
            "{name}: {text}"
        );
    }
    let text = read(&mut browser, "full").await;
    let off = click_on(ref_of(&text, "\"Off\""));
    perform(&mut browser, off).await.unwrap_err();
    let context = browser.page_context().await.unwrap();
    assert_eq!(context.notes, None, "nothing was clicked");
    let text = effects_of(&mut browser, "Send").await;
    assert!(
        text.contains("is invalid: \"Please fill out this field"),
        "{text}"
    );
    let text = effects_of(&mut browser, "Open").await;
    assert!(text.contains("tab_2 was opened: <about:blank>"), "{text}");
}

const LATER: &str = "<p id=p>Loading</p><button id=b>Later</button><script>const start = () => {\
        setTimeout(() => p.innerHTML = 'All <b>orders</b>', 300); setTimeout(() => b.remove(), 500);\
        setTimeout(() => location.hash = 'ready', 400) }</script>";

#[tokio::test]
async fn waits_until_a_text_an_element_or_a_url_is_there_or_gone() {
    let mut browser = scripted().await;
    let server = Server::start(|_| Some(Answer::page(LATER))).await;
    go(&mut browser, &server.url("/")).await.unwrap();
    let later = ref_of(&read(&mut browser, "full").await, "\"Later\"");
    script(&mut browser, "start()").await;
    let wait = |given: Value| {
        let mut action = json!({"action": "wait_for", "duration": 20_000});
        let members = action.as_object_mut().unwrap();
        members.extend(given.as_object().unwrap().clone());
        serde_json::from_value::<Action>(action).unwrap()
    };
    let Target::Ref { id: later, .. } = later else {
        panic!("a ref")
    };
    for given in [
        json!({"text": "all orders"}),
        json!({"text": "Loading", "gone": true}),
        json!({"url": "#ready"}),
        json!({"ref": later, "gone": true}),
        json!({"idle": true}),
    ] {
        let text = text_of(&mut browser, wait(given.clone())).await;
        assert!(text.starts_with("It holds after"), "{given}: {text}");
    }
    for (given, problem) in [
        (
            json!({"text": "Nowhere", "duration": 200}),
            "After 200 ms the page does not have the text \"Nowhere\".",
        ),
        (
            json!({"text": "orders", "gone": true, "duration": 200}),
            "still has the text",
        ),
        (
            json!({"url": "/x", "duration": 200}),
            "the URL does not contain",
        ),
        (json!({}), "Nothing to wait for"),
    ] {
        let refused = perform(&mut browser, wait(given)).await.unwrap_err();
        assert!(refused.to_string().contains(problem), "{refused}");
    }
}

#[tokio::test]
async fn nothing_is_gone_from_a_page_that_crashed() {
    let mut browser = launched().await;
    go(&mut browser, &page("<p>Loading")).await.unwrap();
    for pid in crate::isolation::renderers(browser.pid().unwrap()) {
        let pid = rustix::process::Pid::from_raw(pid).unwrap();
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    }
    let gone = json!({"action": "wait_for", "text": "Loading", "gone": true, "duration": 20_000});
    let gone = serde_json::from_value::<Action>(gone).unwrap();
    let refused = perform(&mut browser, gone).await.unwrap_err();
    assert!(refused.to_string().contains("crashed"), "{refused}");
}
