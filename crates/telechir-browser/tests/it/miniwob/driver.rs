//! The driver of a solution: everything it does to a page is an action of the browser.

use std::time::Duration;

use serde_json::Value;
use telechir_browser::Browser;
use telechir_device::{Computer as _, DeviceError, Frame};
use telechir_protocol::{Action, Button, ClickCount, Modifier, Point, ScrollUnit, Target};
use tokio::time::{Instant, sleep};

use super::snapshot_elements::{Element, elements};
use crate::common::{SETTLE, key, on_screen};

/// Longer than any page needs to show the effect of an action.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The interval between two evaluations while waiting.
const POLL_INTERVAL: Duration = Duration::from_millis(15);

/// Why a solution failed.
#[derive(Debug)]
pub(super) struct TaskError(pub(super) String);

impl From<DeviceError> for TaskError {
    fn from(error: DeviceError) -> Self {
        Self(error.to_string())
    }
}

/// A point of the page in CSS pixels.
pub(super) type PagePoint = (f64, f64);

/// The result of a solution.
pub(super) type TaskResult = Result<(), TaskError>;

/// Reads and operates the page of a task.
#[derive(Debug)]
pub(super) struct Driver {
    browser: Browser,
    /// The text of the task.
    pub(super) task: String,
}

impl Driver {
    pub(super) const fn new(browser: Browser) -> Self {
        Self {
            browser,
            task: String::new(),
        }
    }

    /// The text of the task between two fragments.
    pub(super) fn between(&self, before: &str, after: &str) -> Result<String, TaskError> {
        let rest = self.task.split_once(before).map(|(_, rest)| rest);
        let text = rest.and_then(|rest| rest.split_once(after));
        let text = text.map(|(text, _)| text.trim().to_owned());
        text.ok_or_else(|| self.unknown_task())
    }

    /// The quoted parts of the task.
    pub(super) fn quoted(&self) -> Vec<String> {
        let parts = self.task.split('"');
        parts.skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// The nth quoted part of the task.
    pub(super) fn quote(&self, nth: usize) -> Result<String, TaskError> {
        self.quoted()
            .get(nth)
            .cloned()
            .ok_or_else(|| self.unknown_task())
    }

    /// The error for a task that the solution cannot parse.
    pub(super) fn unknown_task(&self) -> TaskError {
        TaskError(format!("cannot parse the task: {}", self.task))
    }

    pub(super) async fn act(&mut self, action: Action) -> Result<String, TaskError> {
        // Boxed: each of a hundred solutions contains such a future.
        let done = Box::pin(self.browser.perform(&on_screen(action))).await?;
        Ok(done.text.unwrap_or_default())
    }

    pub(super) async fn open(&mut self, url: &str) -> TaskResult {
        let url = url.to_owned();
        self.act(Action::Navigate { url, tab: None }).await?;
        Ok(())
    }

    /// All elements of the page.
    pub(super) async fn elements(&mut self) -> Result<Vec<Element>, TaskError> {
        let action = Action::ReadPage {
            filter: Some("json".to_owned()),
            depth: None,
            root: None,
            tab: None,
        };
        let value = self.act(action).await?;
        let page = serde_json::from_str(&value).map_err(|error| TaskError(error.to_string()))?;
        Ok(elements(&page))
    }

    /// All elements with this role.
    pub(super) async fn all(&mut self, role: &str) -> Result<Vec<Element>, TaskError> {
        let mut all = self.elements().await?;
        all.retain(|element| element.role == role);
        Ok(all)
    }

    /// The element with this name, preferably an interactive one.
    pub(super) async fn by_name(&mut self, name: &str) -> Result<Element, TaskError> {
        let all = self.elements().await?;
        let found = all.iter().filter(|element| element.name == name);
        let found = found.max_by_key(|element| (element.acts, element.role == "button"));
        found
            .cloned()
            .ok_or_else(|| TaskError(format!("no element named {name:?}")))
    }

    /// The interactive element with this name, if it is rendered.
    pub(super) async fn maybe(&mut self, name: &str) -> Result<Option<Element>, TaskError> {
        let all = self.elements().await?;
        Ok(all.into_iter().find(|one| one.name == name && one.acts))
    }

    /// The nth element with this role.
    pub(super) async fn nth(&mut self, role: &str, nth: usize) -> Result<Element, TaskError> {
        let all = self.all(role).await?;
        let found = all.get(nth).cloned();
        found.ok_or_else(|| TaskError(format!("no {role} number {}", nth + 1)))
    }

    /// Evaluates a read-only expression in the page; only actions change it.
    pub(super) async fn evaluate(&mut self, expression: &str) -> Result<Value, TaskError> {
        let script = format!(
            "(() => {{ \
               const all = css => [...document.querySelectorAll(css)].filter(e => e.getClientRects().length); \
               const mid = e => {{ const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2] }}; \
               return JSON.stringify({expression}) ?? 'null' \
             }})()"
        );
        let value = self.act(Action::Javascript { script, tab: None }).await?;
        serde_json::from_str(&value).map_err(|_| TaskError(format!("{expression}: {value}")))
    }

    /// The texts of the rendered elements that a selector matches.
    pub(super) async fn texts(&mut self, css: &str) -> Result<Vec<String>, TaskError> {
        let value = self
            .evaluate(&format!("all(`{css}`).map(e => e.textContent.trim())"))
            .await?;
        serde_json::from_value(value).map_err(|error| TaskError(error.to_string()))
    }

    /// The centres of the rendered elements that a selector matches.
    pub(super) async fn points(&mut self, css: &str) -> Result<Vec<PagePoint>, TaskError> {
        let value = self.evaluate(&format!("all(`{css}`).map(mid)")).await?;
        serde_json::from_value(value).map_err(|error| TaskError(error.to_string()))
    }

    /// The centre of the first rendered element that a selector matches.
    pub(super) async fn point(&mut self, css: &str) -> Result<PagePoint, TaskError> {
        self.find(&format!("all(`{css}`)[0]")).await
    }

    /// A screenshot of the page.
    pub(super) async fn screenshot(&mut self) -> Result<Frame, TaskError> {
        Ok(self.browser.capture().await?)
    }

    /// Waits until an expression is true on the page.
    pub(super) async fn until(&mut self, expression: &str) -> TaskResult {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            if self.evaluate(&format!("!!({expression})")).await? == true {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(TaskError(format!("timed out waiting for {expression}")));
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Waits until two consecutive positions of the elements are equal.
    pub(super) async fn until_still(&mut self, css: &str) -> TaskResult {
        let deadline = Instant::now() + TIMEOUT;
        let mut before = None;
        loop {
            let now = self
                .evaluate(&format!(
                    "all(`{css}`).map(e => {{ const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height] }})"
                ))
                .await?;
            if before.as_ref() == Some(&now) || Instant::now() > deadline {
                return Ok(());
            }
            before = Some(now);
            sleep(POLL_INTERVAL * 4).await;
        }
    }

    /// Settles as after an action.
    pub(super) async fn settle(&mut self) -> TaskResult {
        self.browser.settle(SETTLE).await?;
        Ok(())
    }

    /// Clicks an element by its ref.
    pub(super) async fn press(&mut self, element: &Element) -> TaskResult {
        self.act(click(by_ref(element))).await.map(|_| ())
    }

    /// Clicks the element with this name.
    pub(super) async fn press_named(&mut self, name: &str) -> TaskResult {
        let element = self.by_name(name).await?;
        self.press(&element).await
    }

    /// Clicks a point.
    pub(super) async fn click(&mut self, point: PagePoint) -> TaskResult {
        self.act(click(at(point))).await.map(|_| ())
    }

    /// Clicks a point with a modifier pressed.
    pub(super) async fn click_with(&mut self, point: PagePoint, modifier: Modifier) -> TaskResult {
        let action = Action::Click {
            at: Some(at(point)),
            button: Button::Left,
            count: ClickCount::Single,
            modifiers: vec![modifier],
        };
        self.act(action).await.map(|_| ())
    }

    /// The centre of the element that an expression returns. An element whose picture is still
    /// being loaded has no area and moves when the picture arrives, so this waits until it has one.
    pub(super) async fn find(&mut self, element: &str) -> Result<PagePoint, TaskError> {
        let is_loading = format!(
            "(e => e && getComputedStyle(e).content.startsWith('url(') && e.getClientRects().length \
               && !(e.offsetWidth && e.offsetHeight))({element})"
        );
        self.until(&format!("!{is_loading}")).await?;
        let value = self
            .evaluate(&format!(
                "(e => e && e.getClientRects().length ? mid(e) : null)({element})"
            ))
            .await?;
        serde_json::from_value(value).map_err(|_| TaskError(format!("no element for {element}")))
    }

    /// Clicks the centre of the element that an expression returns.
    pub(super) async fn click_found(&mut self, element: &str) -> TaskResult {
        let point = self.find(element).await?;
        self.click(point).await
    }

    /// Scrolls until the element that an expression returns is hit at its centre.
    pub(super) async fn wheel_to(&mut self, element: &str) -> Result<PagePoint, TaskError> {
        for _ in 0..60 {
            let (x, y) = self.find(element).await?;
            let is_hit = format!("({element}).contains(document.elementFromPoint({x}, {y}))");
            if self.evaluate(&is_hit).await? == true {
                return Ok((x, y));
            }
            let clicks = if y < 110.0 { -0.4 } else { 0.4 };
            self.wheel((70.0, 130.0), clicks).await?;
            let was = format!("(e => Math.abs(mid(e)[1] - {y}) > 1)({element})");
            self.until(&was).await?;
        }
        Err(TaskError(format!("cannot scroll to {element}")))
    }

    /// Scrolls to the element that an expression returns, and clicks it.
    pub(super) async fn wheel_and_click(&mut self, element: &str) -> TaskResult {
        let point = self.wheel_to(element).await?;
        self.move_to(point).await?;
        // The hover style may still have to load.
        let is_there = format!("(e => e.matches(':hover') && mid(e)[0] > 0)({element})");
        for _ in 0..20 {
            if self.evaluate(&is_there).await? == true {
                break;
            }
            sleep(POLL_INTERVAL).await;
        }
        let point = self.find(element).await?;
        self.click(point).await
    }

    /// Clicks the centre of the first element that a selector matches.
    pub(super) async fn click_on(&mut self, css: &str) -> TaskResult {
        let point = self.point(css).await?;
        self.click(point).await
    }

    pub(super) async fn move_to(&mut self, point: PagePoint) -> TaskResult {
        self.act(Action::Move { at: at(point) }).await.map(|_| ())
    }

    /// Presses at the first point, moves through the others and releases at the last.
    pub(super) async fn drag(&mut self, path: &[PagePoint]) -> TaskResult {
        let action = Action::Drag {
            path: path.iter().map(|point| at(*point)).collect(),
            button: Button::Left,
            modifiers: vec![],
            duration: None,
        };
        self.act(action).await.map(|_| ())
    }

    /// Drags slowly, for pages that sample the pointer.
    pub(super) async fn drag_slowly(&mut self, from: PagePoint, to: PagePoint) -> TaskResult {
        let action = Action::Drag {
            path: vec![at(from), at(to)],
            button: Button::Left,
            modifiers: vec![],
            duration: Some(Duration::from_millis(300)),
        };
        self.act(action).await.map(|_| ())
    }

    /// Presses the button at a point and keeps it pressed.
    pub(super) async fn press_down(&mut self, point: PagePoint) -> TaskResult {
        let (at, button) = (Some(at(point)), Button::Left);
        self.act(Action::MouseDown { at, button }).await.map(|_| ())
    }

    /// Moves to a point and releases the button there.
    pub(super) async fn release_at(&mut self, point: PagePoint) -> TaskResult {
        let (at, button) = (Some(at(point)), Button::Left);
        self.act(Action::MouseUp { at, button }).await.map(|_| ())
    }

    /// Scrolls down at a point by this number of wheel clicks.
    pub(super) async fn wheel(&mut self, point: PagePoint, clicks: f64) -> TaskResult {
        let action = Action::Scroll {
            at: Some(at(point)),
            dx: 0.0,
            dy: clicks,
            unit: ScrollUnit::Clicks,
            modifiers: vec![],
        };
        self.act(action).await.map(|_| ())
    }

    /// Types into the focused element.
    pub(super) async fn write(&mut self, text: &str) -> TaskResult {
        let action = Action::Type {
            text: text.to_owned(),
            at: None,
            clear_first: false,
            submit: false,
        };
        self.act(action).await.map(|_| ())
    }

    /// Replaces the content of a field.
    pub(super) async fn fill(&mut self, field: &Element, text: &str) -> TaskResult {
        let action = Action::Type {
            text: text.to_owned(),
            at: Some(by_ref(field)),
            clear_first: true,
            submit: false,
        };
        self.act(action).await.map(|_| ())
    }

    /// Fills in the nth field of the page.
    pub(super) async fn fill_nth(&mut self, nth: usize, text: &str) -> TaskResult {
        let mut fields = self.elements().await?;
        fields.retain(|one| matches!(one.role.as_str(), "textbox" | "password"));
        let field = fields.get(nth);
        let field = field.ok_or_else(|| TaskError(format!("no field number {}", nth + 1)))?;
        self.fill(field, text).await
    }

    /// Replaces the content of the field that a selector matches.
    pub(super) async fn fill_at(&mut self, css: &str, text: &str) -> TaskResult {
        self.click_on(css).await?;
        self.key("ctrl+a", 1).await?;
        self.write(text).await
    }

    /// Presses keys, such as `ctrl+a`.
    pub(super) async fn key(&mut self, chord: &str, times: u32) -> TaskResult {
        let Action::Key { chord, .. } = key(chord) else {
            return Ok(());
        };
        let repeat = times.max(1);
        self.act(Action::Key { chord, repeat }).await.map(|_| ())
    }

    /// Sets a control, as `form_input` does.
    pub(super) async fn set(&mut self, control: &Element, value: impl Into<Value>) -> TaskResult {
        let action = Action::FormInput {
            at: by_ref(control),
            value: value.into(),
            tab: None,
        };
        self.act(action).await.map(|_| ())
    }

    /// Scrolls an element into view.
    pub(super) async fn reveal(&mut self, element: &Element) -> TaskResult {
        let action = Action::ScrollTo {
            at: by_ref(element),
            tab: None,
        };
        self.act(action).await.map(|_| ())
    }

    pub(super) async fn close(self) -> TaskResult {
        Ok(self.browser.close().await?)
    }
}

fn by_ref(element: &Element) -> Target {
    Target::Ref {
        id: element.id.clone(),
        frame: None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a point in view, rounded to its pixel"
)]
fn at((x, y): PagePoint) -> Target {
    Target::Point(Point::new(x.round() as u32, y.round() as u32))
}

fn click(at: Target) -> Action {
    Action::Click {
        at: Some(at),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: vec![],
    }
}
