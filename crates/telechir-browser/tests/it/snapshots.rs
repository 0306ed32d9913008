//! Snapshots of a page: compact by default, complete on request, and changes.

use serde_json::Value;
use telechir_browser::Browser;
use telechir_device::{
    DeviceError, Effect, ElementMarks as _, MarkKind, ScreenRegion, ScreenTarget, Viewport,
};
use telechir_protocol::{Action, Button, ClickCount, Target};
use telechir_testkit::assert_eventually;
use telechir_testkit::page::ORDERS;
use telechir_testkit::site::Site;

use crate::common::{
    SIZE, click_on, go, headless, page, perform, read, ref_of, script, scripted, text_of, title,
};

async fn orders(browser: &mut Browser) -> Site {
    let site = Site::serve([("orders", ORDERS)]).await.unwrap();
    go(browser, &site.url("orders")).await.unwrap();
    site
}

/// The number of refs in a text.
fn refs(text: &str) -> usize {
    let is_ref = |word: &&str| {
        let word = word.trim_start_matches('[').trim_end_matches(']');
        let (letter, number) = word.split_at_checked(1).unwrap_or_default();
        "blcrtse".contains(letter) && !letter.is_empty() && number.parse::<u32>().is_ok()
    };
    text.split_whitespace().filter(is_ref).count()
}

#[tokio::test]
async fn all_interactive_elements_fit_into_twelve_thousand_characters() {
    let mut browser = scripted().await;
    let _site = orders(&mut browser).await;
    let count = script(
        &mut browser,
        "document.querySelectorAll('a[href], button, input, select').length",
    )
    .await;
    let brief = read(&mut browser, "").await;
    assert!(brief.chars().count() <= 12_000, "{}", brief.chars().count());
    assert_eq!(refs(&brief).to_string(), count, "{brief}");
    let outline = read(&mut browser, "interactive").await;
    assert_eq!(refs(&outline).to_string(), count);
    assert!(brief.contains("# \"Orders\""), "{brief}");
    assert!(brief.contains("navigation \"Main\":"), "{brief}");
}

#[tokio::test]
async fn an_outline_can_be_limited_to_a_part_and_levels() {
    let mut browser = headless().await;
    let html = "<nav aria-label=Main><ul><li><a href=/a>A</a></ul></nav><main><h1>Title</h1><p>Words</p></main>";
    go(&mut browser, &page(html)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let part = |depth, root| Action::ReadPage {
        filter: Some("full".to_owned()),
        depth,
        root,
        tab: None,
    };
    let nav = part(None, Some(ref_of(&all, "navigation")));
    let text = text_of(&mut browser, nav).await;
    assert!(
        text.contains("link \"A\"") && !text.contains("Title"),
        "{text}"
    );
    let shallow = part(Some(1), None);
    let text = text_of(&mut browser, shallow).await;
    let text = text.split_once('\n').unwrap().1;
    assert!(text.contains("main") && !text.contains("Title"), "{text}");
    assert!(text.contains("omitted"), "{text}");
}

#[tokio::test]
async fn roles_names_and_states_are_those_of_the_accessibility_rules() {
    let mut browser = headless().await;
    let html = "<span id=a>Billing</span> <span id=b>Name</span>\
<input aria-labelledby='a b'><label for=c>Mail</label><input id=c type=email required>\
<label>Amount <input type=number value=3> pieces</label>\
<button aria-expanded=false>Menu</button><button aria-pressed=true><img alt=Bold src=data:,></button>\
<div role=tab aria-selected=true tabindex=0>First</div><div role=switch aria-checked=true tabindex=0>Wifi</div>\
<input type=checkbox aria-label=Some id=some><button disabled>No</button>\
<fieldset disabled><input aria-label=Inner></fieldset>\
<a href=/x title=Tip></a><input placeholder=Search type=search>\
<details><summary>More</summary>hidden words</details><h3>Third</h3>\
<div contenteditable aria-label=Editor>draft</div><input type=password value=secret aria-label=PIN>\
<select aria-label=Size><option>small<option selected>large</select>\
<button><svg><title>Close</title></svg></button><button class=icon></button>\
<style>.icon::before { content: 'Gear' }</style>\
<script>some.indeterminate = true</script>";
    go(&mut browser, &page(html)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let lines: Vec<String> = all
        .lines()
        .map(|line| {
            let line = line.trim_start();
            match (line.find(" ["), line.find(']')) {
                (Some(from), Some(to)) => format!("{}{}", &line[..from], &line[to + 1..]),
                _ => line.to_owned(),
            }
        })
        .collect();
    for expected in [
        "textbox \"Billing Name\"",
        "textbox \"Mail\" required wants=\"email\"",
        "spinbutton \"Amount pieces\" value=\"3\"",
        "button \"Menu\" collapsed",
        "button \"Bold\" pressed",
        "tab \"First\" selected",
        "switch \"Wifi\" checked",
        "checkbox \"Some\" mixed",
        "button \"No\" disabled",
        "textbox \"Inner\" disabled",
        "searchbox \"Search\"",
        "button \"More\" collapsed",
        "heading \"Third\" level=3",
        "textbox \"Editor\" value=\"draft\"",
        "password \"PIN\" value=\"(hidden)\"",
        "combobox \"Size\" value=\"large\" options=[\"small\", \"large\"]",
        "button \"Close\"",
        "button \"Gear\"",
    ] {
        assert!(
            lines.iter().any(|line| line == expected),
            "no {expected:?} in\n{all}"
        );
    }
    assert!(all.contains("link \"Tip\""), "{all}");
    for hidden in ["hidden words", "secret"] {
        assert!(!all.contains(hidden), "{all}");
    }
}

#[tokio::test]
async fn invisible_and_inert_elements_are_not_offered() {
    let mut browser = headless().await;
    let html = "<button>seen</button><button hidden>h1</button><button style='display:none'>h2</button>\
<button style='visibility:hidden'>h3</button><div aria-hidden=true><button>h4</button></div>\
<div style='visibility:hidden'><button style='visibility:visible'>back</button></div>\
<div style='display:contents'><button>held</button></div>\
<canvas><button>h5</button></canvas><progress value=1>h6</progress><svg><title>h7</title><defs><text>h8</text></defs></svg>\
<details><summary>open me</summary><button>h9</button>h10</details><div style='content-visibility:hidden'><button>h11</button></div>\
<table><tr><td style='content-visibility:hidden'><button>h12</button></table>\
<span style='content-visibility:hidden'><button>flows</button></span>\
<table style='content-visibility:hidden'><tr><td><button>cell</button></table>\
<div inert><button>dead</button></div><div style='height:3000px'></div><button>below</button>";
    go(&mut browser, &page(html)).await.unwrap();
    let brief = read(&mut browser, "").await;
    for seen in ["seen", "back", "held", "flows", "cell", "below"] {
        assert!(brief.contains(&format!("\"{seen}\"")), "{seen}: {brief}");
    }
    let all = read(&mut browser, "full").await;
    for hidden in [
        "h1", "h2", "h3", "h4", "h5", "h6", "h8", "h9", "h10", "h11", "h12",
    ] {
        assert!(!all.contains(&format!("\"{hidden}\"")), "{hidden}: {all}");
    }
    assert!(!brief.contains("dead"), "{brief}");
    assert!(all.contains("\"dead\"") && all.contains("inert"), "{all}");
}

#[tokio::test]
async fn a_modal_dialog_makes_the_rest_unusable() {
    let mut browser = scripted().await;
    let html = "<button>behind</button><dialog aria-label=Sure><button>yes</button></dialog>";
    go(&mut browser, &page(html)).await.unwrap();
    script(&mut browser, "document.querySelector('dialog').showModal()").await;
    let brief = read(&mut browser, "").await;
    assert!(brief.contains("dialog \"Sure\":"), "{brief}");
    assert!(
        brief.contains("\"yes\"") && !brief.contains("\"behind\""),
        "{brief}"
    );
}

#[tokio::test]
async fn changes_are_relative_to_the_last_snapshot() {
    let mut browser = scripted().await;
    let html = "<h1>List</h1><input aria-label=Name><ul id=u><li>one</li></ul><button>Go</button><p id=p>ready</p>";
    go(&mut browser, &page(html)).await.unwrap();
    let first = read(&mut browser, "").await;
    let none = read(&mut browser, "changes").await;
    assert!(none.contains("no changes"), "{none}");
    script(
        &mut browser,
        "document.querySelector('input').value = 'Ada'; u.append(Object.assign(document.createElement('button'), { textContent: 'two' })); document.querySelector('button').remove(); p.textContent = 'done'; document.querySelector('body > button')?.remove()",
    )
    .await;
    let changes = read(&mut browser, "changes").await;
    assert!(changes.contains("~ textbox \"Name\""), "{changes}");
    assert!(changes.contains("value=\"Ada\""), "{changes}");
    assert!(changes.contains("- button \"Go\""), "{changes}");
    assert!(
        changes.contains("- \"ready\"") && changes.contains("+ \"done\""),
        "{changes}"
    );
    assert!(!changes.contains("\"List\""), "{changes}");
    let epoch = |text: &str| {
        let after = text.split_once("epoch ").unwrap().1;
        let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().unwrap()
    };
    assert_eq!(epoch(&none), epoch(&first));
    assert!(epoch(&changes) > epoch(&first), "{first}\n{changes}");
}

#[tokio::test]
async fn the_changes_view_of_a_new_page_is_complete() {
    let mut browser = headless().await;
    go(&mut browser, &page("<button>one</button>"))
        .await
        .unwrap();
    read(&mut browser, "").await;
    go(&mut browser, &page("<button>two</button>"))
        .await
        .unwrap();
    let changes = read(&mut browser, "changes").await;
    assert!(changes.contains("Refs: b button."), "{changes}");
    assert!(changes.contains("\"two\""), "{changes}");
}

#[tokio::test]
async fn the_json_view_has_all_nodes_with_positions() {
    let mut browser = headless().await;
    let html = "<body style='margin:0'><main><button style='position:absolute;left:10px;top:20px;width:80px;height:30px'>Go</button>words</main>";
    go(&mut browser, &page(html)).await.unwrap();
    let json: Value = serde_json::from_str(&read(&mut browser, "json").await).unwrap();
    assert_eq!(json["view"]["width"], 1024);
    assert_eq!(json["view"]["device_pixel_ratio"], 1.0);
    let main = &json["nodes"][0];
    assert_eq!(main["role"], "main");
    let button = &main["children"][0];
    assert_eq!(
        (&button["name"], &button["box"], &button["actionable"]),
        (
            &"Go".into(),
            &serde_json::json!([10, 20, 80, 30]),
            &true.into()
        )
    );
    assert_eq!(main["children"][1]["text"], "words");
}

#[tokio::test]
async fn an_unknown_view_is_an_error_that_lists_the_views() {
    let mut browser = headless().await;
    go(&mut browser, &page("x")).await.unwrap();
    let action = Action::ReadPage {
        filter: Some("some".to_owned()),
        depth: None,
        root: None,
        tab: None,
    };
    let error = perform(&mut browser, action).await.unwrap_err().to_string();
    assert!(
        error.contains("brief, full, interactive, changes, json"),
        "{error}"
    );
}

#[tokio::test]
async fn a_stale_ref_is_refused_with_the_name_of_the_newest_snapshot() {
    let mut browser = scripted().await;
    go(&mut browser, &page("<button>old</button>"))
        .await
        .unwrap();
    let old = ref_of(&read(&mut browser, "full").await, "old");
    go(&mut browser, &page("<button>new</button>"))
        .await
        .unwrap();
    let before = perform(&mut browser, click_on(old.clone()))
        .await
        .unwrap_err();
    assert!(matches!(before, DeviceError::Stale { .. }), "{before}");
    read(&mut browser, "full").await;
    let after = perform(&mut browser, click_on(old)).await.unwrap_err();
    assert!(
        after
            .to_string()
            .contains("the newest snapshot of tab_1 is snapshot_2"),
        "{after}"
    );
    let never = Target::Ref {
        id: "b99".to_owned(),
        frame: None,
    };
    let never = perform(&mut browser, click_on(never)).await.unwrap_err();
    assert!(
        never.to_string().contains("There is no ref \"b99\""),
        "{never}"
    );
}

#[tokio::test]
async fn a_ref_stays_with_its_element_while_the_page_changes_around_it() {
    let mut browser = scripted().await;
    let html = "<button onclick=\"document.title='first'\">first</button><button onclick=\"document.title='second'\">second</button>";
    go(&mut browser, &page(html)).await.unwrap();
    let second = ref_of(&read(&mut browser, "full").await, "second");
    script(
        &mut browser,
        "for (const name of ['x', 'y']) document.body.prepend(Object.assign(document.createElement('button'), { textContent: name })); document.body.append(document.querySelector('button:nth-of-type(4)'))",
    )
    .await;
    let again = read(&mut browser, "full").await;
    assert_eq!(ref_of(&again, "second"), second);
    let clicked = perform(&mut browser, click_on(second)).await.unwrap();
    assert_eq!(clicked.effect, Effect::Confirmed);
    assert_eq!(title(&mut browser).await, "second");
}

#[tokio::test]
async fn a_click_by_ref_reports_the_receiver() {
    let mut browser = headless().await;
    let html = "<button id=b onmousedown=\"this.style.transform='translate(0, 300px)'\">runs away</button>\
<button disabled>off</button><a href='data:text/html,gone'>leave</a>";
    go(&mut browser, &page(html)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let away = perform(&mut browser, click_on(ref_of(&all, "runs away")))
        .await
        .unwrap();
    assert_eq!(away.effect, Effect::Delivered, "{away:?}");
    assert!(away.text.unwrap().contains("received no click event"));
    let off = perform(&mut browser, click_on(ref_of(&all, "off")))
        .await
        .unwrap_err();
    assert!(off.to_string().contains("is disabled"), "{off}");
}

#[tokio::test]
async fn every_button_and_count_is_confirmed_by_its_own_event() {
    let mut browser = headless().await;
    go(
        &mut browser,
        &page("<button oncontextmenu='return false'>all</button>"),
    )
    .await
    .unwrap();
    let all = ref_of(&read(&mut browser, "full").await, "all");
    for (button, count) in [
        (Button::Left, ClickCount::Single),
        (Button::Left, ClickCount::Double),
        (Button::Left, ClickCount::Triple),
        (Button::Right, ClickCount::Single),
        (Button::Middle, ClickCount::Single),
    ] {
        let click = Action::Click {
            at: Some(all.clone()),
            button,
            count,
            modifiers: vec![],
        };
        let done = perform(&mut browser, click).await.unwrap();
        assert_eq!(
            done.effect,
            Effect::Confirmed,
            "{button:?} {count:?} {done:?}"
        );
    }
}

#[tokio::test]
async fn an_element_of_another_tab_is_not_acted_on() {
    let mut browser = headless().await;
    go(&mut browser, &page("<button>here</button>"))
        .await
        .unwrap();
    let here = ref_of(&read(&mut browser, "full").await, "here");
    perform(&mut browser, Action::NewTab { url: None })
        .await
        .unwrap();
    let error = perform(&mut browser, click_on(here.clone()))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("is in tab_1"), "{error}");
    let tab = "tab_1".to_owned();
    perform(&mut browser, Action::SwitchTab { tab })
        .await
        .unwrap();
    perform(&mut browser, click_on(here)).await.unwrap();
}

#[tokio::test]
async fn a_page_s_text_is_its_main_part() {
    let mut browser = headless().await;
    let html = "<nav><a href=/>Home</a></nav><main><h1>News</h1><p>It <b>rains</b> in <a href=/u>Ulm</a>.</p>\
<ul><li>one<li>two</ul><table><tr><th>City<th>Rain<tr><td>Ulm<td>3 mm</table></main><footer>Imprint</footer>";
    go(&mut browser, &page(html)).await.unwrap();
    let text = text_of(&mut browser, Action::PageText { tab: None }).await;
    assert_eq!(
        text,
        "# News\nIt rains in Ulm.\n- one\n- two\nCity | Rain\nUlm | 3 mm"
    );
}

#[tokio::test]
async fn snapshots_of_twenty_thousand_elements_are_bounded() {
    let mut browser = scripted().await;
    go(&mut browser, &page("<main></main>")).await.unwrap();
    script(
        &mut browser,
        "document.querySelector('main').innerHTML = Array.from({ length: 10000 }, (_, i) => `<p>Line ${i} <button>Button number ${i}</button></p>`).join('')",
    )
    .await;
    let brief = read(&mut browser, "").await;
    assert!(brief.chars().count() <= 12_000, "{}", brief.chars().count());
    assert!(brief.contains("more interactive elements"), "{brief}");
    assert!(brief.contains("\"Button…ber 99\""), "{brief}");
    assert!(read(&mut browser, "full").await.chars().count() <= 50_200);
    assert!(read(&mut browser, "interactive").await.chars().count() <= 50_200);
    let found = Action::Find {
        query: "button number 9999".to_owned(),
        tab: None,
    };
    // A page is read for two seconds, which a busy machine may exceed.
    let found = assert_eventually!(text_of(&mut browser, found.clone()).await, |found| found
        .contains("\"Button number 9999\""));
    let far = perform(&mut browser, click_on(ref_of(&found, "Button number 9999")))
        .await
        .unwrap();
    assert_eq!(far.effect, Effect::Confirmed);
}

#[tokio::test]
async fn screenshot_marks_and_epoch_are_of_the_same_moment() {
    let mut browser = scripted().await;
    let html = "<body style='margin:0;background:#fff'><button style='position:absolute;left:100px;top:60px;width:80px;height:30px'>Go</button>\
<input aria-label=Name style='position:absolute;left:300px;top:60px;width:120px;height:30px;box-sizing:border-box'>\
<button style='position:absolute;top:4000px'>Far</button>";
    go(&mut browser, &page(html)).await.unwrap();
    let screenshot_with_elements = browser.screenshot_with_elements(99).await.unwrap();
    assert!(screenshot_with_elements.is_consistent);
    assert_eq!(
        screenshot_with_elements.pixel_ratio.to_bits(),
        1f64.to_bits()
    );
    let [go_, name] = screenshot_with_elements.marks.as_slice() else {
        panic!("{:?}", screenshot_with_elements.marks)
    };
    assert_eq!((go_.kind, name.kind), (MarkKind::Press, MarkKind::Field));
    assert_eq!(
        go_.region.origin(),
        ScreenRegion::clip(SIZE, [100, 60, 180, 90])
            .unwrap()
            .origin()
    );
    assert!(go_.line.starts_with("button \"Go\" ["), "{}", go_.line);
    // The runtime requests the same elements for marks.
    assert_eq!(
        browser.marks(99).await.unwrap(),
        screenshot_with_elements.marks
    );
    let mut frame = screenshot_with_elements.frame.clone();
    telechir_device::draw(
        &mut frame,
        &screenshot_with_elements.marks,
        &Viewport::unscaled(SIZE),
    );
    assert_eq!(frame.pixel(100, 75), Some(MarkKind::Press.colour()));
    let ScreenTarget::Element { id, .. } = go_.target.clone() else {
        panic!("{:?}", go_.target)
    };
    perform(&mut browser, click_on(Target::Ref { id, frame: None }))
        .await
        .unwrap();
    script(
        &mut browser,
        "document.querySelector('button').textContent = 'Gone'",
    )
    .await;
    assert_eq!(browser.marks(1).await.unwrap().len(), 1);
    let later = browser.screenshot_with_elements(1).await.unwrap();
    assert!(later.epoch > screenshot_with_elements.epoch);
    assert_eq!(later.marks.len(), 1);
}

#[tokio::test]
async fn the_text_of_a_label_is_not_repeated() {
    let mut browser = headless().await;
    let html = "<label>Mail <input></label><label for=c>Agree</label><input type=checkbox id=c>\
        <label for=s>Size</label><select id=s><option>L</select>\
        <label for=h>Hidden field</label><input id=h style='display:none'>\
        <label for=o>Other</label><input id=o aria-label=Named><label>Alone</label>";
    go(&mut browser, &page(html)).await.unwrap();
    for view in ["full", ""] {
        let text = read(&mut browser, view).await;
        for (name, times) in [
            ("\"Mail\"", 1),
            ("\"Agree\"", 1),
            ("\"Size\"", 1),
            ("Hidden field", 1),
            ("Other", 1),
            ("\"Named\"", 1),
            ("Alone", 1),
        ] {
            assert_eq!(text.matches(name).count(), times, "{name} in\n{text}");
        }
    }
}
