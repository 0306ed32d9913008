//! How a solution sees and acts: everything it does to a page is an action of the session's.

use std::time::Duration;

use serde_json::Value;
use telechir_browser::Browser;
use telechir_device::{Computer as _, DeviceError, Frame};
use telechir_protocol::{Action, Button, ClickCount, Modifier, Point, ScrollUnit, Target};
use tokio::time::{Instant, sleep};

use super::snapshot_elements::{Element, elements};
use crate::common::{SETTLE, key, on_screen};

/// No page of these needs longer to show what it does next.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks of one who waits for a page.
const GLANCE: Duration = Duration::from_millis(15);

/// Why a solution gave up.
#[derive(Debug)]
pub(super) struct Trouble(pub(super) String);

impl From<DeviceError> for Trouble {
    fn from(error: DeviceError) -> Self {
        Self(error.to_string())
    }
}

/// A place on the page.
pub(super) type Place = (f64, f64);

/// What a solution comes to.
pub(super) type Done = Result<(), Trouble>;

/// One who solves a task.
#[derive(Debug)]
pub(super) struct Hand {
    browser: Browser,
    /// What the page asks for.
    pub(super) task: String,
}

impl Hand {
    pub(super) const fn new(browser: Browser) -> Self {
        Self {
            browser,
            task: String::new(),
        }
    }

    /// The words of the task between these.
    pub(super) fn between(&self, before: &str, after: &str) -> Result<String, Trouble> {
        let rest = self.task.split_once(before).map(|(_, rest)| rest);
        let words = rest.and_then(|rest| rest.split_once(after));
        let words = words.map(|(words, _)| words.trim().to_owned());
        words.ok_or_else(|| self.unread())
    }

    /// The words of the task in double quotes.
    pub(super) fn quoted(&self) -> Vec<String> {
        let parts = self.task.split('"');
        parts.skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// The words of the task in double quotes, the nth.
    pub(super) fn quote(&self, nth: usize) -> Result<String, Trouble> {
        self.quoted().get(nth).cloned().ok_or_else(|| self.unread())
    }

    /// A task in words that the solution does not know.
    pub(super) fn unread(&self) -> Trouble {
        Trouble(format!("the task is not understood: {}", self.task))
    }

    pub(super) async fn act(&mut self, action: Action) -> Result<String, Trouble> {
        // On the heap: a hundred solutions hold one each.
        let done = Box::pin(self.browser.perform(&on_screen(action))).await?;
        Ok(done.text.unwrap_or_default())
    }

    pub(super) async fn open(&mut self, url: &str) -> Done {
        let url = url.to_owned();
        self.act(Action::Navigate { url, tab: None }).await?;
        Ok(())
    }

    // Seeing.

    /// All elements of the page.
    pub(super) async fn elements(&mut self) -> Result<Vec<Element>, Trouble> {
        let action = Action::ReadPage {
            filter: Some("json".to_owned()),
            depth: None,
            root: None,
            tab: None,
        };
        let told = self.act(action).await?;
        let page = serde_json::from_str(&told).map_err(|error| Trouble(error.to_string()))?;
        Ok(elements(&page))
    }

    /// All elements of this role.
    pub(super) async fn all(&mut self, role: &str) -> Result<Vec<Element>, Trouble> {
        let mut all = self.elements().await?;
        all.retain(|element| element.role == role);
        Ok(all)
    }

    /// The element of this name, one that can be acted on first.
    pub(super) async fn named(&mut self, name: &str) -> Result<Element, Trouble> {
        let all = self.elements().await?;
        let found = all.iter().filter(|element| element.name == name);
        let found = found.max_by_key(|element| (element.acts, element.role == "button"));
        found
            .cloned()
            .ok_or_else(|| Trouble(format!("nothing is called {name:?}")))
    }

    /// Whether something of this name is drawn.
    pub(super) async fn maybe(&mut self, name: &str) -> Result<Option<Element>, Trouble> {
        let all = self.elements().await?;
        Ok(all.into_iter().find(|one| one.name == name && one.acts))
    }

    /// The nth element of this role.
    pub(super) async fn nth(&mut self, role: &str, nth: usize) -> Result<Element, Trouble> {
        let all = self.all(role).await?;
        let found = all.get(nth).cloned();
        found.ok_or_else(|| Trouble(format!("there is no {role} number {}", nth + 1)))
    }

    /// What an expression says of the page. It only looks: whatever changes a page is an action.
    pub(super) async fn look(&mut self, expression: &str) -> Result<Value, Trouble> {
        let script = format!(
            "(() => {{ \
               const all = css => [...document.querySelectorAll(css)].filter(e => e.getClientRects().length); \
               const mid = e => {{ const r = e.getClientRects()[0]; return [r.x + r.width / 2, r.y + r.height / 2] }}; \
               return JSON.stringify({expression}) ?? 'null' \
             }})()"
        );
        let told = self.act(Action::Javascript { script, tab: None }).await?;
        serde_json::from_str(&told).map_err(|_| Trouble(format!("{expression}: {told}")))
    }

    /// The texts of what a selector finds in sight.
    pub(super) async fn texts(&mut self, css: &str) -> Result<Vec<String>, Trouble> {
        let told = self
            .look(&format!("all(`{css}`).map(e => e.textContent.trim())"))
            .await?;
        serde_json::from_value(told).map_err(|error| Trouble(error.to_string()))
    }

    /// The middles of what a selector finds in sight.
    pub(super) async fn places(&mut self, css: &str) -> Result<Vec<Place>, Trouble> {
        let told = self.look(&format!("all(`{css}`).map(mid)")).await?;
        serde_json::from_value(told).map_err(|error| Trouble(error.to_string()))
    }

    /// The middle of the first that a selector finds in sight.
    pub(super) async fn place(&mut self, css: &str) -> Result<Place, Trouble> {
        let places = self.places(css).await?;
        let first = places.first().copied();
        first.ok_or_else(|| Trouble(format!("nothing is {css}")))
    }

    /// The page's pixels.
    pub(super) async fn screenshot(&mut self) -> Result<Frame, Trouble> {
        Ok(self.browser.capture().await?)
    }

    /// Waits until an expression holds on the page.
    pub(super) async fn until(&mut self, expression: &str) -> Done {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if self.look(&format!("!!({expression})")).await? == true {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(Trouble(format!("it never came to {expression}")));
            }
            sleep(GLANCE).await;
        }
    }

    /// Waits until what moves has come to rest: two looks see the same.
    pub(super) async fn at_rest(&mut self, css: &str) -> Done {
        let deadline = Instant::now() + PATIENCE;
        let mut before = None;
        loop {
            let now = self
                .look(&format!(
                    "all(`{css}`).map(e => {{ const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height] }})"
                ))
                .await?;
            if before.as_ref() == Some(&now) || Instant::now() > deadline {
                return Ok(());
            }
            before = Some(now);
            sleep(GLANCE * 4).await;
        }
    }

    /// Waits as a session does after an action.
    pub(super) async fn settle(&mut self) -> Done {
        self.browser.settle(SETTLE).await?;
        Ok(())
    }

    // Acting.

    /// Clicks an element by its ref.
    pub(super) async fn press(&mut self, element: &Element) -> Done {
        self.act(click(by_ref(element))).await.map(|_| ())
    }

    /// Clicks the element of this name.
    pub(super) async fn press_named(&mut self, name: &str) -> Done {
        let element = self.named(name).await?;
        self.press(&element).await
    }

    /// Clicks a place.
    pub(super) async fn click(&mut self, place: Place) -> Done {
        self.act(click(at(place))).await.map(|_| ())
    }

    /// Clicks a place with a modifier held.
    pub(super) async fn click_with(&mut self, place: Place, modifier: Modifier) -> Done {
        let action = Action::Click {
            at: Some(at(place)),
            button: Button::Left,
            count: ClickCount::Single,
            modifiers: vec![modifier],
        };
        self.act(action).await.map(|_| ())
    }

    /// The middle of the element that an expression finds.
    pub(super) async fn find(&mut self, element: &str) -> Result<Place, Trouble> {
        let told = self
            .look(&format!(
                "(e => e && e.getClientRects().length ? mid(e) : null)({element})"
            ))
            .await?;
        serde_json::from_value(told).map_err(|_| Trouble(format!("no element for {element}")))
    }

    /// Clicks in the middle of the element that an expression finds.
    pub(super) async fn click_found(&mut self, element: &str) -> Done {
        let place = self.find(element).await?;
        self.click(place).await
    }

    /// Turns the wheel until the element that an expression finds is hit in its middle.
    pub(super) async fn wheel_to(&mut self, element: &str) -> Result<Place, Trouble> {
        for _ in 0..60 {
            let (x, y) = self.find(element).await?;
            let is_hit = format!("({element}).contains(document.elementFromPoint({x}, {y}))");
            if self.look(&is_hit).await? == true {
                return Ok((x, y));
            }
            let clicks = if y < 110.0 { -0.4 } else { 0.4 };
            self.wheel((70.0, 130.0), clicks).await?;
            let was = format!("(e => Math.abs(mid(e)[1] - {y}) > 1)({element})");
            self.until(&was).await?;
        }
        Err(Trouble(format!("the wheel does not come to {element}")))
    }

    /// Clicks the element that an expression finds, scrolled to by the wheel.
    pub(super) async fn wheel_and_click(&mut self, element: &str) -> Done {
        let place = self.wheel_to(element).await?;
        self.move_to(place).await?;
        // What looks otherwise under the pointer may have to load how.
        let is_there = format!("(e => e.matches(':hover') && mid(e)[0] > 0)({element})");
        for _ in 0..20 {
            if self.look(&is_there).await? == true {
                break;
            }
            sleep(GLANCE).await;
        }
        let place = self.find(element).await?;
        self.click(place).await
    }

    /// Clicks in the middle of the first that a selector finds.
    pub(super) async fn click_on(&mut self, css: &str) -> Done {
        let place = self.place(css).await?;
        self.click(place).await
    }

    pub(super) async fn move_to(&mut self, place: Place) -> Done {
        self.act(Action::Move { at: at(place) }).await.map(|_| ())
    }

    /// Presses at the first place, goes through the others, releases at the last.
    pub(super) async fn drag(&mut self, path: &[Place]) -> Done {
        let action = Action::Drag {
            path: path.iter().map(|place| at(*place)).collect(),
            button: Button::Left,
            modifiers: vec![],
            duration: None,
        };
        self.act(action).await.map(|_| ())
    }

    /// Drags in so much time, for who looks at the pointer only now and then.
    pub(super) async fn drag_slowly(&mut self, from: Place, to: Place) -> Done {
        let action = Action::Drag {
            path: vec![at(from), at(to)],
            button: Button::Left,
            modifiers: vec![],
            duration: Some(Duration::from_millis(300)),
        };
        self.act(action).await.map(|_| ())
    }

    /// Presses the button at a place and keeps it down.
    pub(super) async fn press_down(&mut self, place: Place) -> Done {
        let (at, button) = (Some(at(place)), Button::Left);
        self.act(Action::MouseDown { at, button }).await.map(|_| ())
    }

    /// Moves to a place and releases the button there.
    pub(super) async fn let_go(&mut self, place: Place) -> Done {
        let (at, button) = (Some(at(place)), Button::Left);
        self.act(Action::MouseUp { at, button }).await.map(|_| ())
    }

    /// Turns the wheel over a place, down by so many clicks of it.
    pub(super) async fn wheel(&mut self, place: Place, clicks: f64) -> Done {
        let action = Action::Scroll {
            at: Some(at(place)),
            dx: 0.0,
            dy: clicks,
            unit: ScrollUnit::Clicks,
            modifiers: vec![],
        };
        self.act(action).await.map(|_| ())
    }

    /// Types where the keyboard is.
    pub(super) async fn write(&mut self, text: &str) -> Done {
        let action = Action::Type {
            text: text.to_owned(),
            at: None,
            clear_first: false,
            submit: false,
        };
        self.act(action).await.map(|_| ())
    }

    /// Types into a field in the place of what it holds.
    pub(super) async fn fill(&mut self, field: &Element, text: &str) -> Done {
        let action = Action::Type {
            text: text.to_owned(),
            at: Some(by_ref(field)),
            clear_first: true,
            submit: false,
        };
        self.act(action).await.map(|_| ())
    }

    /// Fills in the nth field of the page.
    pub(super) async fn fill_nth(&mut self, nth: usize, text: &str) -> Done {
        let mut fields = self.elements().await?;
        fields.retain(|one| matches!(one.role.as_str(), "textbox" | "password"));
        let field = fields.get(nth);
        let field =
            field.ok_or_else(|| Trouble(format!("there is no field number {}", nth + 1)))?;
        self.fill(field, text).await
    }

    /// Fills in the field that a selector finds, and what it held before is gone.
    pub(super) async fn fill_at(&mut self, css: &str, text: &str) -> Done {
        self.click_on(css).await?;
        self.key("ctrl+a", 1).await?;
        self.write(text).await
    }

    /// Presses keys, such as `ctrl+a`.
    pub(super) async fn key(&mut self, chord: &str, times: u32) -> Done {
        let Action::Key { chord, .. } = key(chord) else {
            return Ok(());
        };
        let repeat = times.max(1);
        self.act(Action::Key { chord, repeat }).await.map(|_| ())
    }

    /// Sets a control to a value, as `form_input` does.
    pub(super) async fn set(&mut self, control: &Element, value: impl Into<Value>) -> Done {
        let action = Action::FormInput {
            at: by_ref(control),
            value: value.into(),
            tab: None,
        };
        self.act(action).await.map(|_| ())
    }

    /// Brings an element into view.
    pub(super) async fn reveal(&mut self, element: &Element) -> Done {
        let action = Action::ScrollTo {
            at: by_ref(element),
            tab: None,
        };
        self.act(action).await.map(|_| ())
    }

    pub(super) async fn close(self) -> Done {
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
    reason = "a place of a page in view, rounded to its pixel"
)]
fn at((x, y): Place) -> Target {
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
