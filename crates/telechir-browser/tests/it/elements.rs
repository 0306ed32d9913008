//! Reading pages as text with refs, and acting by ref.

use serde_json::json;
use telechir_browser::Options;
use telechir_device::{Computer as _, DeviceError, Effect};
use telechir_protocol::{Action, ActionKind, Target};

use crate::common::{
    click_on, go, headless, headless_with, options, page, perform, read, ref_of, script, scripted,
    text_of, title,
};

const FORM: &str = "<title>form</title><h1>Order</h1><p>Tea or <b>coffee</b>?</p>\
<label>Name <input id=name></label>\
<label><input type=checkbox id=milk> Milk</label>\
<select id=size aria-label=Size><option>small<option>large</select>\
<input type=password value=secret aria-label=PIN>\
<button onclick=\"document.title = 'sent ' + [name_.value, milk.checked, size.value].join()\">Send it</button>\
<div style='height:3000px'></div><button onclick=\"document.title = 'far'\">Far away</button>\
<script>const name_ = document.getElementById('name')</script>";

#[tokio::test]
async fn a_form_is_read_filled_and_submitted_by_refs() {
    let mut browser = headless().await;
    go(&mut browser, &page(FORM)).await.unwrap();
    let text = read(&mut browser, "full").await;
    assert!(text.contains("heading \"Order\""), "{text}");
    assert!(!text.contains("secret"), "{text}");
    for (fragment, value) in [
        ("textbox \"Name\"", json!("Zoë")),
        ("checkbox", json!(true)),
        ("combobox", json!("large")),
    ] {
        let at = ref_of(&text, fragment);
        text_of(
            &mut browser,
            Action::FormInput {
                at,
                value,
                tab: None,
            },
        )
        .await;
    }
    perform(&mut browser, click_on(ref_of(&text, "button \"Send it\"")))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "sent Zoë,true,large");
    let filled = read(&mut browser, "full").await;
    assert!(
        filled.contains("value=\"Zoë\"")
            && filled.contains("checkbox \"Milk\"")
            && filled.contains(" checked"),
        "{filled}"
    );
}

#[tokio::test]
async fn an_element_out_of_view_is_scrolled_to_and_clicked() {
    let mut browser = headless().await;
    go(&mut browser, &page(FORM)).await.unwrap();
    let found = text_of(
        &mut browser,
        Action::Find {
            query: "far away".to_owned(),
            tab: None,
        },
    )
    .await;
    perform(&mut browser, click_on(ref_of(&found, "Far away")))
        .await
        .unwrap();
    assert_eq!(title(&mut browser).await, "far");
}

#[tokio::test]
async fn a_ref_of_a_replaced_document_or_a_removed_element_is_stale() {
    let mut browser = headless_with(Options {
        allows_scripts: true,
        ..options()
    })
    .await;
    go(&mut browser, &page(FORM)).await.unwrap();
    let button = ref_of(&read(&mut browser, "full").await, "button \"Send it\"");
    let script = "document.querySelector('button').remove()".to_owned();
    perform(&mut browser, Action::Javascript { script, tab: None })
        .await
        .unwrap();
    let gone = perform(&mut browser, click_on(button)).await;
    assert!(matches!(gone, Err(DeviceError::Stale { .. })), "{gone:?}");

    let button = ref_of(&read(&mut browser, "full").await, "button \"Far away\"");
    let same = FORM.replace("Far away", "Another one");
    go(&mut browser, &page(&same)).await.unwrap();
    read(&mut browser, "full").await;
    let gone = perform(&mut browser, click_on(button)).await;
    assert!(matches!(gone, Err(DeviceError::Stale { .. })), "{gone:?}");
}

#[tokio::test]
async fn several_options_of_a_list_are_selected_by_text() {
    let mut browser = scripted().await;
    let html = "<select multiple onchange='window.changes = (window.changes ?? 0) + 1'>\
        <option selected>One<option>Two<option value=3>Three<option disabled>Four</select>\
        <select aria-label=single><option>One<option>Two</select>";
    go(&mut browser, &page(html)).await.unwrap();
    let snapshot = read(&mut browser, "full").await;
    let set = |fragment: &str, value| Action::FormInput {
        at: ref_of(&snapshot, fragment),
        value,
        tab: None,
    };
    let chosen = "[...document.querySelector('select').selectedOptions].map(o => o.text) + ` ${window.changes}`";
    let text = text_of(&mut browser, set("listbox", json!(["three", "Two"]))).await;
    assert_eq!(text, "selected \"Two\", \"Three\"");
    assert_eq!(script(&mut browser, chosen).await, "Two,Three 1");
    let text = text_of(&mut browser, set("listbox", json!("One"))).await;
    assert_eq!(text, "selected \"One\"");
    assert_eq!(script(&mut browser, chosen).await, "One 2");
    for (fragment, value, problem) in [
        ("listbox", json!(["Two", "Five"]), "no option \"Five\""),
        ("listbox", json!(["Two", "Four"]), "disabled"),
        ("single", json!(["One", "Two"]), "takes one"),
    ] {
        let refused = perform(&mut browser, set(fragment, value))
            .await
            .unwrap_err();
        assert!(refused.to_string().contains(problem), "{refused}");
    }
    assert_eq!(script(&mut browser, chosen).await, "One 2");
    let text = text_of(&mut browser, set("listbox", json!([]))).await;
    assert_eq!(text, "selected nothing");
    assert_eq!(script(&mut browser, chosen).await, " 3");
    let written = json!("[\"One\", \"Three\"]");
    let text = text_of(&mut browser, set("listbox", written)).await;
    assert_eq!(text, "selected \"One\", \"Three\"");
}

#[tokio::test]
async fn a_covered_element_is_not_clicked() {
    let mut browser = headless().await;
    let html = "<button>under</button><div style='position:fixed;inset:0' role=dialog aria-label=Cookies></div>";
    go(&mut browser, &page(html)).await.unwrap();
    let button = ref_of(&read(&mut browser, "full").await, "button \"under\"");
    let error = perform(&mut browser, click_on(button)).await.unwrap_err();
    assert!(error.to_string().contains("Cookies"), "{error}");
}

#[tokio::test]
async fn the_page_s_text_is_the_visible_text() {
    let mut browser = headless().await;
    go(
        &mut browser,
        &page("<p>One <i>two</i></p><p hidden>no</p><script>var x</script><p>three</p>"),
    )
    .await
    .unwrap();
    assert_eq!(
        text_of(&mut browser, Action::PageText { tab: None }).await,
        "One two\nthree"
    );
}

#[tokio::test]
async fn text_has_the_lines_of_the_page_s_style() {
    let mut browser = headless().await;
    let html = "<p>The word is <strong style='display: block'>tulip</strong></p>";
    go(&mut browser, &page(html)).await.unwrap();
    assert_eq!(
        text_of(&mut browser, Action::PageText { tab: None }).await,
        "The word is\ntulip"
    );
}

#[tokio::test]
async fn the_page_does_not_see_the_walker() {
    let mut browser = headless_with(Options {
        allows_scripts: true,
        ..options()
    })
    .await;
    go(&mut browser, &page(FORM)).await.unwrap();
    read(&mut browser, "full").await;
    let script = "typeof telechirWalker".to_owned();
    assert_eq!(
        text_of(&mut browser, Action::Javascript { script, tab: None }).await,
        "undefined"
    );
}

#[tokio::test]
async fn scripts_run_only_if_allowed() {
    let script = || Action::Javascript {
        script: "await Promise.resolve(6 * 7)".to_owned(),
        tab: None,
    };
    let mut browser = headless().await;
    assert!(!browser.supports(&ActionKind::Javascript));
    let refused = perform(&mut browser, script()).await;
    assert!(
        matches!(refused, Err(DeviceError::Unsupported { .. })),
        "{refused:?}"
    );
    let mut browser = headless_with(Options {
        allows_scripts: true,
        ..options()
    })
    .await;
    assert_eq!(text_of(&mut browser, script()).await, "42");
    let throws = Action::Javascript {
        script: "throw new Error('no')".to_owned(),
        tab: None,
    };
    assert!(
        perform(&mut browser, throws)
            .await
            .unwrap_err()
            .to_string()
            .contains("no")
    );
}

async fn clicks_by_ref(html: &str, names: &[&str]) {
    let mut browser = headless().await;
    go(&mut browser, &page(html)).await.unwrap();
    for name in names {
        let all = read(&mut browser, "full").await;
        let target = ref_of(&all, &format!("\"{name}\""));
        let done = perform(&mut browser, click_on(target)).await.unwrap();
        assert_eq!(done.effect, Effect::Confirmed, "{name}: {done:?}");
        assert_eq!(title(&mut browser).await, *name);
    }
}

#[tokio::test]
async fn a_container_with_a_hand_cursor_leaves_its_children_their_refs() {
    let listens = "<script>document.body.addEventListener('click', event => document.title = event.target.textContent)</script>";
    let html = format!(
        "<div style='cursor: pointer'><div><span><b>Answer</b></span> <span><b>Pass on</b></span></div></div>\
         <div style='cursor: pointer'><p>Today</p><p>Tomorrow</p></div>{listens}"
    );
    clicks_by_ref(&html, &["Pass on", "Answer", "Tomorrow", "Today"]).await;
}

#[tokio::test]
async fn any_element_with_a_hand_cursor_has_a_ref() {
    let tags = [
        "a",
        "abbr",
        "aside",
        "blockquote",
        "cite",
        "code",
        "del",
        "h3",
        "header",
        "label",
        "mark",
        "nav",
        "pre",
        "small",
        "time",
        "u",
        "x-word",
    ];
    let html: String = tags
        .map(|tag| format!("<{tag} class=hand>{tag} here</{tag}> "))
        .concat();
    let html = format!(
        "<style>.hand {{ cursor: pointer }}</style>{html}\
         <script>document.body.addEventListener('click', event => document.title = event.target.textContent)</script>"
    );
    let names = tags.map(|tag| format!("{tag} here"));
    let mut browser = headless().await;
    go(&mut browser, &page(&html)).await.unwrap();
    let all = read(&mut browser, "interactive").await;
    for name in &names {
        let target = ref_of(&all, &format!("\"{name}\""));
        perform(&mut browser, click_on(target)).await.unwrap();
        assert_eq!(title(&mut browser).await, *name);
    }
    let brief = read(&mut browser, "").await;
    let (_, brief) = brief.split_once('\n').unwrap();
    for name in &names {
        assert_eq!(brief.matches(name.as_str()).count(), 1, "{brief}");
    }
}

#[tokio::test]
async fn a_row_with_a_hand_cursor_is_one_target() {
    let html = "<table><tr style='cursor: pointer' onclick='document.title = this.rowIndex'><td>Oslo<td>rain</table>\
         <div style='cursor: pointer'><label style='cursor: pointer'><input type=file hidden>Add a photo</label></div>";
    let mut browser = headless().await;
    go(&mut browser, &page(html)).await.unwrap();
    let all = read(&mut browser, "interactive").await;
    let mut targets = all
        .lines()
        .skip(1)
        .map(|line| line.split(' ').next().unwrap());
    assert_eq!(
        (targets.next(), targets.next(), targets.next()),
        (Some("row"), Some("file"), None),
        "{all}"
    );
}

#[tokio::test]
async fn a_card_with_a_hand_cursor_is_one_target() {
    let html = "<div style='cursor: pointer'><h3>Tent</h3><p>for two</p></div>";
    let mut browser = headless().await;
    go(&mut browser, &page(html)).await.unwrap();
    let all = read(&mut browser, "interactive").await;
    assert!(all.contains("generic \"Tent for two\""), "{all}");
}

#[tokio::test]
async fn elements_without_a_box_of_their_own_are_clicked() {
    let html = "<button style='display: contents' onclick='document.title = \"Plain\"'>Plain</button><hr>\
         <img usemap=#map width=200 height=100 src='data:image/svg+xml,<svg xmlns=\"http://www.w3.org/2000/svg\"/>'>\
         <map name=map><area shape=rect coords=100,0,200,100 href='javascript:void 0' onclick='document.title = \"East\"' alt=East></map>";
    clicks_by_ref(html, &["Plain", "East"]).await;
}

#[tokio::test]
async fn a_hidden_checkbox_is_operated_through_its_label() {
    let html = "<input type=checkbox id=dark style='display: none'><label for=dark>Dark mode</label>\
         <label><input type=radio name=stars hidden> Five stars</label>\
         <label><input type=checkbox hidden disabled> Never</label>";
    let mut browser = headless().await;
    go(&mut browser, &page(html)).await.unwrap();
    let all = read(&mut browser, "full").await;
    let line_of = |all: &str, name: &str| {
        let mut lines = all.lines().filter(|line| line.contains(name));
        (
            lines.next().unwrap().trim().to_owned(),
            lines.next().is_none(),
        )
    };
    let (dark, is_only) = line_of(&all, "Dark mode");
    assert!(
        dark.starts_with("checkbox") && dark.ends_with(" unchecked") && is_only,
        "{all}"
    );
    for name in ["Dark mode", "Five stars"] {
        perform(&mut browser, click_on(ref_of(&all, name)))
            .await
            .unwrap();
        let after = read(&mut browser, "full").await;
        assert!(line_of(&after, name).0.ends_with(" checked"), "{after}");
    }
    let at = ref_of(&all, "Dark mode");
    let value = json!(false);
    text_of(
        &mut browser,
        Action::FormInput {
            at,
            value,
            tab: None,
        },
    )
    .await;
    let after = read(&mut browser, "full").await;
    assert!(
        line_of(&after, "Dark mode").0.ends_with(" unchecked"),
        "{after}"
    );
    let refused = perform(&mut browser, click_on(ref_of(&all, "Never"))).await;
    assert!(refused.unwrap_err().to_string().contains("disabled"));
}

#[tokio::test]
async fn find_looks_at_text_cells_rows_and_items() {
    let html = "<table><tr><th>City<th>Rain<tr><td>Bergen<td>2 250 mm<tr><td>Cairo<td>25 mm</table>\
         <ul><li>Bring <b>boots</b></li></ul><div>Call <i>after</i> noon</div><button>Order boots</button>";
    let mut browser = headless().await;
    go(&mut browser, &page(html)).await.unwrap();
    for (query, first) in [
        ("2 250", "cell \"2 250 mm\" ["),
        ("cairo 25", "row \"Cairo 25 mm\" ["),
        ("bring boots", "listitem \"Bring boots\" ["),
        ("call after noon", "text \"Call after noon\" ["),
        ("the boots", "button \"Order boots\" ["),
    ] {
        let query = query.to_owned();
        let found = text_of(&mut browser, Action::Find { query, tab: None }).await;
        assert!(found.starts_with(first), "{found}");
    }
    let query = "cairo".to_owned();
    let found = text_of(&mut browser, Action::Find { query, tab: None }).await;
    perform(&mut browser, click_on(ref_of(&found, "cell \"Cairo\"")))
        .await
        .unwrap();
}

#[tokio::test]
async fn find_reports_which_words_do_not_occur() {
    let html = "<button>Delete draft</button>".repeat(30);
    let mut browser = headless().await;
    go(&mut browser, &page(&html)).await.unwrap();
    for (query, answer) in [
        ("account", "No element matches \"account\"."),
        (
            "close this account button now",
            "No element matches \"close\", \"this\", \"account\", \"button\", \"now\".\n\
             Found \"button\", but not \"close\", \"this\", \"account\", \"now\".",
        ),
    ] {
        let query = query.to_owned();
        let found = text_of(&mut browser, Action::Find { query, tab: None }).await;
        assert_eq!(found, answer);
    }
    let query = "delete account".to_owned();
    let found = text_of(&mut browser, Action::Find { query, tab: None }).await;
    let (head, rest) = found.split_once("but not \"account\".\n").unwrap();
    assert!(head.starts_with("No element matches"), "{found}");
    assert_eq!(rest.lines().count(), 5, "{found}");
}

#[tokio::test]
async fn a_ref_that_does_not_exist_is_answered_with_those_that_do() {
    let mut browser = headless().await;
    let html = "<button onclick=\"document.title = 'saved'\">Save</button><a href='#x'>Home</a>";
    go(&mut browser, &page(html)).await.unwrap();
    let text = read(&mut browser, "full").await;
    let Target::Ref { id: save, .. } = ref_of(&text, "\"Save\"") else {
        panic!("a ref in {text}")
    };
    let number = save.trim_start_matches('b').to_owned();
    let clicked = |id: String| click_on(Target::Ref { id, frame: None });
    for (id, problem) in [
        (format!("l{number}"), format!("{number} is {save}")),
        ("b999".to_owned(), format!("There are {save} \"Save\", ")),
    ] {
        let refused = perform(&mut browser, clicked(id)).await.unwrap_err();
        let refused = refused.to_string();
        assert!(refused.contains(&problem), "no {problem:?} in {refused}");
        assert!(refused.contains("\"Home\""), "{refused}");
    }
    for id in [
        number.clone(),
        format!("e{number}"),
        format!("ref_{number}"),
    ] {
        perform(&mut browser, clicked(id)).await.unwrap();
    }
}
