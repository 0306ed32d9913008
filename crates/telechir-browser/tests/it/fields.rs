//! Values of form fields in any clear form, and what a field wants.

use serde_json::{Value, json};
use telechir_browser::Browser;
use telechir_device::DeviceError;
use telechir_protocol::Action;

use crate::common::{go, page, perform, read, ref_of, script, scripted};

/// Sets the only field of a page; returns the report and the value that the page has then.
async fn set(
    browser: &mut Browser,
    html: &str,
    value: Value,
) -> (Result<String, DeviceError>, String) {
    go(browser, &page(&format!("<meta charset=utf-8><body>{html}")))
        .await
        .unwrap();
    let at = ref_of(&read(browser, "full").await, "\"F\"");
    let done = perform(
        browser,
        Action::FormInput {
            at,
            value,
            tab: None,
        },
    )
    .await;
    let now = "(e => e.value ?? e.innerText)(document.querySelector('input,textarea,select,[contenteditable]'))";
    (
        done.map(|report| report.text.unwrap_or_default()),
        script(browser, now).await,
    )
}

#[tokio::test]
async fn values_are_read_in_any_clear_form() {
    let mut browser = scripted().await;
    for (kind, value, expected) in [
        ("date", "2031-03-09", "2031-03-09"),
        ("date", "9 March 2031", "2031-03-09"),
        ("date", "March 9th, 2031", "2031-03-09"),
        ("date", "9.3.2031", "2031-03-09"),
        ("date", "03/25/2031", "2031-03-25"),
        ("date", "25/03/2031", "2031-03-25"),
        ("date", "2031/3/9", "2031-03-09"),
        ("date", "20310309", "2031-03-09"),
        ("date", "", ""),
        ("month", "March 2031", "2031-03"),
        ("month", "03/2031", "2031-03"),
        ("week", "2031-W11", "2031-W11"),
        ("week", "2031-03-12", "2031-W11"),
        ("time", "9:05 pm", "21:05"),
        ("time", "9pm", "21:00"),
        ("time", "21:05", "21:05"),
        ("time", "12:30 a.m.", "00:30"),
        (
            "datetime-local",
            "9 March 2031, 9:05 pm",
            "2031-03-09T21:05",
        ),
        ("datetime-local", "2031-03-09 21:05", "2031-03-09T21:05"),
        ("color", "red", "#ff0000"),
        ("color", "rgb(0, 128, 255)", "#0080ff"),
        ("color", "#abc", "#aabbcc"),
        ("number", " 12.5 ", "12.5"),
        ("range", "30", "30"),
    ] {
        let html = format!("<input type={kind} aria-label=F step=any>");
        let (done, now) = set(&mut browser, &html, json!(value)).await;
        assert!(done.is_ok(), "{kind} {value}: {done:?}");
        assert_eq!(now, expected, "{kind} {value}");
    }
}

#[tokio::test]
async fn a_value_that_is_not_taken_is_refused_with_the_present_one() {
    let mut browser = scripted().await;
    for (html, value, problem, left) in [
        (
            "<input type=date aria-label=F value=2030-01-01>",
            "3/4/2031",
            "it takes a date YYYY-MM-DD, not \"3/4/2031\"; it has \"2030-01-01\" now",
            "2030-01-01",
        ),
        (
            "<input type=date aria-label=F>",
            "2031-02-30",
            "it takes a date",
            "",
        ),
        (
            "<input type=number aria-label=F value=7>",
            "seven",
            "it takes a number",
            "7",
        ),
        (
            "<input type=color aria-label=F>",
            "purplish",
            "it takes a color #rrggbb",
            "#000000",
        ),
        (
            "<input maxlength=3 aria-label=F value=abc>",
            "abcd",
            "at most 3 characters, not 4; it has \"abc\" now",
            "abc",
        ),
        (
            "<input aria-label=F oninput='this.value = this.value.toUpperCase()'>",
            "abc",
            "it did not take \"abc\"; it has \"ABC\" now",
            "ABC",
        ),
    ] {
        let (done, now) = set(&mut browser, html, json!(value)).await;
        let refused = done.unwrap_err().to_string();
        assert!(refused.contains(problem), "{html}: {refused}");
        assert_eq!(now, left, "{html}");
    }
    let (done, _) = set(
        &mut browser,
        "<input type=number min=5 aria-label=F>",
        json!("3"),
    )
    .await;
    assert!(
        done.as_ref()
            .is_ok_and(|text| text.contains("but invalid: ")),
        "{done:?}"
    );
}

#[tokio::test]
async fn an_editing_host_gets_lines_as_typed() {
    let mut browser = scripted().await;
    let html = "<div contenteditable role=textbox aria-label=F oninput=\"n = (window.n ?? 0) + 1\">old</div>";
    let (done, now) = set(&mut browser, html, json!("one\ntwo\n\nthree")).await;
    assert_eq!(done.unwrap(), "set");
    let lines: Vec<&str> = now.lines().filter(|line| !line.is_empty()).collect();
    assert_eq!(lines, ["one", "two", "three"]);
    assert_ne!(script(&mut browser, "String(window.n)").await, "undefined");
}

#[tokio::test]
async fn switches_and_radio_groups_are_set_by_value() {
    let mut browser = scripted().await;
    let html = "<div role=switch tabindex=0 aria-checked=false aria-label=Alarm onclick=\"this.setAttribute('aria-checked', this.getAttribute('aria-checked') === 'false')\"></div>\
        <label><input type=radio name=size value=s>Small</label><label><input type=radio name=size value=l>Large</label>";
    go(&mut browser, &page(html)).await.unwrap();
    let text = read(&mut browser, "full").await;
    for (name, value, expected, check) in [
        (
            "Alarm",
            json!(true),
            "checked",
            "document.querySelector('[role=switch]').ariaChecked",
        ),
        (
            "Small",
            json!("Large"),
            "selected \"Large\"",
            "document.querySelector('[value=l]').checked",
        ),
    ] {
        let at = ref_of(&text, &format!("\"{name}\""));
        let done = perform(
            &mut browser,
            Action::FormInput {
                at,
                value,
                tab: None,
            },
        )
        .await;
        assert_eq!(done.unwrap().text.unwrap(), expected);
        assert_eq!(script(&mut browser, check).await, "true");
    }
    let at = ref_of(&text, "\"Small\"");
    let value = json!("Huge");
    let refused = perform(
        &mut browser,
        Action::FormInput {
            at,
            value,
            tab: None,
        },
    )
    .await;
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains("its group has no \"Huge\"; it has \"Small\", \"Large\""),
        "{refused}"
    );
}

#[tokio::test]
async fn a_snapshot_has_what_fields_want() {
    let mut browser = scripted().await;
    let html = "<input type=date aria-label=Day min=2031-01-01 max=2031-12-31><input type=time aria-label=At>\
        <input aria-label=Code placeholder='AB-12' maxlength=5><input type=number aria-label=Count min=1 max=9>\
        <input type=file aria-label=Photo accept='image/*' multiple>\
        <input aria-label=Mail aria-invalid=true aria-describedby=e value=x><span id=e>Has no @</span>";
    go(&mut browser, &page(html)).await.unwrap();
    let text = read(&mut browser, "full").await;
    for wanted in [
        "wants=\"date YYYY-MM-DD from 2031-01-01 to 2031-12-31\"",
        "wants=\"time HH:MM\"",
        "wants=\"AB-12; at most 5 characters\"",
        "wants=\"number from 1 to 9\"",
        "wants=\"image/*; several files\"",
        "invalid wants=\"error: Has no @\"",
    ] {
        assert!(text.contains(wanted), "{wanted}: {text}");
    }
    let text = read(&mut browser, "brief").await;
    assert!(text.contains(" wants \"time HH:MM\""), "{text}");
}

#[tokio::test]
async fn a_value_that_a_control_cannot_have_is_refused_with_what_it_has() {
    let mut browser = scripted().await;
    let group = "<input type=radio name=g aria-label=F value=s checked><input type=radio name=g aria-label=Large value=l>";
    let many: String = (0..60).map(|n| format!("<option>n{n}")).collect();
    for (html, value, parts) in [
        (
            "<input type=checkbox aria-label=F>",
            json!("maybe"),
            &["it takes true or false, not \"maybe\"; it is unchecked now"][..],
        ),
        (
            "<div contenteditable hidden></div><div role=switch tabindex=0 aria-label=F aria-checked=true></div>",
            json!("maybe"),
            &["it takes true or false", "it is checked now"],
        ),
        (
            group,
            json!("XL"),
            &["its group has no \"XL\"; it has \"F\", \"Large\"; \"F\" is selected now"],
        ),
        (
            group,
            json!(false),
            &["selecting another one", "it is checked now"],
        ),
        (
            "<select aria-label=F><option>Red<option selected>Blue</select>",
            json!("Green"),
            &["no option \"Green\"; there are \"Red\", \"Blue\"; it has \"Blue\" now"],
        ),
        (
            &format!("<select aria-label=F>{many}</select>"),
            json!("n99"),
            &["\"n49\" and 10 more; it has \"n0\" now"],
        ),
        (
            "<select aria-label=F><option>Red<optgroup disabled><option>Blue</select>",
            json!("Blue"),
            &["\"Blue\" is disabled; it has \"Red\" now"],
        ),
        (
            "<select aria-label=F onchange='this.selectedIndex = 0'><option>Red<option>Blue</select>",
            json!("Blue"),
            &["did not take \"Blue\"; it has \"Red\" now"],
        ),
        (
            "<input type=range aria-label=F min=0 max=10 value=3>",
            json!(50),
            &["it takes a number from 0 to 10, not 50; it has \"3\" now"],
        ),
        (
            "<input type=week aria-label=F value=2031-W10>",
            json!("2031-W60"),
            &["it takes a week YYYY-Www", "it has \"2031-W10\" now"],
        ),
        (
            "<input type=file aria-label=F>",
            json!("a.txt"),
            &[
                "it takes files of the workspace, by file_upload",
                "it has no file now",
            ],
        ),
        (
            "<input readonly aria-label=F value=x>",
            json!("y"),
            &["it is read-only; it has \"x\" now"],
        ),
        (
            "<input disabled aria-label=F value=x>",
            json!("y"),
            &["it is disabled; it has \"x\" now"],
        ),
        (
            "<input disabled type=checkbox aria-label=F>",
            json!(true),
            &["it is disabled; it is unchecked now"],
        ),
        (
            "<input type=submit aria-label=F value=x>",
            json!("y"),
            &["it is a button"],
        ),
        (
            "<input aria-label=F value=x>",
            json!({"a": 1}),
            &["it takes one text, number or boolean", "it has \"x\" now"],
        ),
        (
            "<input aria-label=F value=x>",
            json!(null),
            &["not null; it has \"x\" now"],
        ),
    ] {
        go(&mut browser, &page(&format!("<body>{html}")))
            .await
            .unwrap();
        let before = script(&mut browser, STATE).await;
        let (done, _) = set(&mut browser, html, value).await;
        let refused = done.unwrap_err().to_string();
        for part in parts {
            assert!(refused.contains(part), "{html}: no {part:?} in {refused}");
        }
        assert_eq!(script(&mut browser, STATE).await, before, "{html}");
    }
}

#[tokio::test]
async fn typographic_characters_in_options_match_those_of_a_keyboard() {
    let mut browser = scripted().await;
    let html = "<select aria-label=F><option>-<option value=a>Don’t know<option value=b>3–5\u{a0}people\
                <option value=c>Other…</select>";
    for (value, expected) in [("Don't know", "a"), ("3-5 people", "b"), ("other...", "c")] {
        let (report, now) = set(&mut browser, html, json!(value)).await;
        assert_eq!(now, expected, "{value}: {report:?}");
    }
}

/// A person sees the label of an option, not its text.
#[tokio::test]
async fn an_option_with_a_label_is_chosen_by_it() {
    let mut browser = scripted().await;
    let html = "<select aria-label=F><option value=r label=Red>r1<option value=b label=Blue>b1\
                <option value=g>Green</select>";
    for (value, text, now) in [
        ("Blue", "selected \"Blue\"", "b"),
        ("blue", "selected \"Blue\"", "b"),
        ("b", "selected \"Blue\"", "b"),
        ("b1", "selected \"Blue\"", "b"),
        ("Green", "selected \"Green\"", "g"),
    ] {
        let (done, has) = set(&mut browser, html, json!(value)).await;
        assert!(
            done.as_ref().is_ok_and(|done| done.contains(text)),
            "{value}: {done:?}"
        );
        assert_eq!(has, now, "{value}");
    }
    let snapshot = read(&mut browser, "full").await;
    let options = "options=[\"Red\", \"Blue\", \"Green\"]";
    assert!(snapshot.contains(options), "{snapshot}");
}

/// What all controls of the page have.
const STATE: &str = "JSON.stringify([...document.querySelectorAll('input,select')].map(one => [one.value, one.checked]))";
