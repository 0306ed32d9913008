//! Combines a screen with its applications' accessibility: actions reach elements by ref and name.

mod by_name;
mod input;
mod interactive;
mod ocr;
mod press;
mod window_order;

use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use telechir_protocol::{Action, ActionKind, Button, ClickCount, Key, Size};

use crate::elements::{Element, ElementState, ElementTree, Filter, Outline, search};
use crate::{
    Accessibility, ActionReport, Computer, Detail, DeviceError, DevtoolsSource, Effect,
    ElementMarks, Frame, InputWindows, LocatedElement, Mark, PageContextSource, PageOutlineSource,
    PartLocation, ScreenAction, ScreenPart, ScreenPoint, ScreenRegion, ScreenTarget, ScreenViewer,
    Settle, Settled, StopSignal, TextRecognizer, Viewport, Window, WindowSystem,
};

/// Maximum number of search results.
const MAX_SEARCH_RESULTS: usize = 20;
/// How often typed text is checked for, and the delay between two checks.
const TYPED_TEXT_CHECKS: usize = 10;
const BETWEEN_LOOKS: Settle = Settle {
    quiet: Duration::from_millis(30),
    ceiling: Duration::from_millis(100),
};
/// Actions performed here; all others go to the screen.
const OWN_ACTIONS: [ActionKind; 5] = [
    ActionKind::ReadPage,
    ActionKind::Find,
    ActionKind::FormInput,
    ActionKind::ScrollTo,
    ActionKind::Invoke,
];

/// A computer with accessibility information.
///
/// Reads elements, uses their own actions, and turns a ref or a name in any other action into the
/// pixel where the element is now. That pixel must belong to the element: if another window covers
/// it, the element's window is raised first, and the click is refused if that does not help.
#[derive(Debug)]
pub struct WithAccessibility<C, A> {
    computer: C,
    applications: A,
    reader: Option<Box<dyn TextRecognizer>>,
    /// Maps the model's coordinates to the screen.
    viewport: Option<Viewport>,
}

impl<C: Computer + WindowSystem, A: Accessibility> WithAccessibility<C, A> {
    /// Combines a screen and its applications.
    pub const fn new(computer: C, applications: A) -> Self {
        Self {
            computer,
            applications,
            reader: None,
            viewport: None,
        }
    }

    /// Adds OCR for windows without accessibility information.
    #[must_use]
    pub fn with_text_recognizer(mut self, reader: Box<dyn TextRecognizer>) -> Self {
        self.reader = Some(reader);
        self
    }

    /// The screen without accessibility.
    pub const fn computer(&mut self) -> &mut C {
        &mut self.computer
    }

    /// The source of the applications' elements.
    pub const fn applications(&mut self) -> &mut A {
        &mut self.applications
    }

    /// Closes the screen; see [`Computer::close`].
    ///
    /// # Errors
    /// When something could not be ended; the rest was.
    pub async fn close(self) -> Result<(), DeviceError> {
        Box::new(self.computer).close().await
    }

    async fn tree(&mut self, detail: Detail) -> Result<ElementTree, DeviceError> {
        let windows = self.computer.windows().await?;
        let tree = self.applications.tree(detail, &windows).await?;
        Ok(window_order::active_first(tree, &windows))
    }

    async fn element(&mut self, id: &str) -> Result<LocatedElement, DeviceError> {
        let windows = self.computer.windows().await?;
        self.applications.element(id, &windows).await
    }

    async fn read(
        &mut self,
        filter: Option<&str>,
        depth: Option<u32>,
        root: Option<&ScreenTarget>,
    ) -> Result<ActionReport, DeviceError> {
        let Some(filter) = Filter::parse(filter.unwrap_or_default()) else {
            return Err(refused(format!(
                "Unknown filter {:?}; use `all`, `interactive` or `hidden`.",
                filter.unwrap_or_default()
            )));
        };
        let root = match root {
            Some(root) => Some(self.ref_of(root).await?),
            None => None,
        };
        let outline = Outline {
            filter,
            depth: depth.map_or(usize::MAX, |depth| {
                usize::try_from(depth).unwrap_or(usize::MAX)
            }),
            ..Outline::default()
        };
        // Details of hidden elements are only read on request.
        let detail = match filter {
            Filter::Hidden => Detail::Full,
            Filter::Shown | Filter::Interactive => Detail::Basic,
        };
        let tree = self.tree(detail).await?;
        let text = tree.outline(root.as_deref(), &outline);
        let text = text.ok_or_else(|| stale(root.as_deref().unwrap_or_default()))?;
        Ok(answer(if text.is_empty() {
            "No application exposes accessibility information; use a screenshot instead.".to_owned()
        } else {
            text
        }))
    }

    async fn find(&mut self, query: &str) -> Result<ActionReport, DeviceError> {
        let tree = self.tree(Detail::Basic).await?;
        let lines: Vec<String> = search(&tree, query, MAX_SEARCH_RESULTS)
            .into_iter()
            .map(Element::line)
            .collect();
        Ok(answer(if lines.is_empty() {
            "No element matches.".to_owned()
        } else {
            lines.join("\n")
        }))
    }

    /// The ref of a target.
    async fn ref_of(&mut self, target: &ScreenTarget) -> Result<String, DeviceError> {
        match target {
            ScreenTarget::Element { id, .. } => Ok(id.clone()),
            ScreenTarget::Named(named) => self.find_named(named).await,
            ScreenTarget::Point(_) => Err(refused(
                "This needs an element by ref or name, not a point; read the elements to get refs."
                    .to_owned(),
            )),
        }
    }

    /// A pixel of the element that is in view and not covered.
    async fn pixel_of(
        &mut self,
        target: &ScreenTarget,
        menus: ClosedMenus,
    ) -> Result<ScreenPoint, DeviceError> {
        match self.found(target).await? {
            FoundTarget::Point(point) => Ok(point),
            FoundTarget::Element(id) => self.pixel_of_ref(&id, menus).await,
        }
    }

    async fn pixel_of_ref(
        &mut self,
        id: &str,
        menus: ClosedMenus,
    ) -> Result<ScreenPoint, DeviceError> {
        match self.point_of(id, menus).await? {
            ElementPoint::At(point) => Ok(point),
            ElementPoint::OutOfReach(message) => Err(refused(message)),
        }
    }

    /// The point or the element that a target refers to.
    async fn found(&mut self, target: &ScreenTarget) -> Result<FoundTarget, DeviceError> {
        match target {
            ScreenTarget::Point(point) => Ok(FoundTarget::Point(*point)),
            ScreenTarget::Element { id, .. } => Ok(FoundTarget::Element(id.clone())),
            ScreenTarget::Named(named) => self.find_named_or_text(named).await,
        }
    }

    /// Where an element can be pointed at, after it was scrolled into view and its window raised.
    async fn point_of(
        &mut self,
        id: &str,
        menus: ClosedMenus,
    ) -> Result<ElementPoint, DeviceError> {
        let mut located = match menus {
            ClosedMenus::Open => self.in_open_menu(id).await?,
            ClosedMenus::Leave => self.element(id).await?,
        };
        if !located.element.is_shown() {
            let is_in_closed_menu = located.element.is_menu_entry();
            if is_in_closed_menu && menus == ClosedMenus::Leave {
                return Ok(ElementPoint::OutOfReach(format!(
                    "The {} is in a closed menu; click the menu first.",
                    located.element.line()
                )));
            }
            self.applications.reveal(id).await?;
            located = self.element(id).await?;
        }
        let element = &located.element;
        let size = self.computer.size();
        let Some(point) = element.bounds.and_then(|bounds| bounds.centre_on(size)) else {
            return Ok(ElementPoint::OutOfReach(format!(
                "The {} is not on the screen; open its container first, or invoke its own \
                 action.",
                element.line()
            )));
        };
        self.uncover(&located, point).await?;
        Ok(ElementPoint::At(point))
    }

    /// Ensures that the frontmost window at this point is the element's.
    async fn uncover(
        &mut self,
        located: &LocatedElement,
        at: ScreenPoint,
    ) -> Result<(), DeviceError> {
        let windows = self.computer.windows().await?;
        let (covers, own) = (front_at(&windows, at), owner(&windows, &located.window));
        let (Some(covers), Some(own)) = (covers, own) else {
            return Ok(());
        };
        if covers.id == own.id {
            return match self.popup_over(located, at).await? {
                Some(popup) => Err(refused(format!(
                    "The {} is covered by the {popup}; close that first, for example with Escape.",
                    located.element.line(),
                ))),
                None => Ok(()),
            };
        }
        // A popup may extend beyond its window, over others.
        let is_popup = !own.bounds.contains(at);
        if is_popup {
            return Ok(());
        }
        let focus = Action::FocusWindow {
            window: own.id.clone(),
        };
        self.computer.perform(&focus).await?;
        let windows = self.computer.windows().await?;
        match front_at(&windows, at) {
            Some(covers) if covers.id != own.id => Err(refused(format!(
                "The {} is covered by the window {:?}.",
                located.element.line(),
                covers.title
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses an element that another window covers at this point.
    async fn check_in_front(&mut self, id: &str, at: ScreenPoint) -> Result<(), DeviceError> {
        let located = self.element(id).await?;
        let windows = self.computer.windows().await?;
        let own = owner(&windows, &located.window).filter(|own| own.bounds.contains(at));
        match (front_at(&windows, at), own) {
            (Some(front), Some(own)) if front.id != own.id => Err(refused(format!(
                "The {} is covered by the window {:?} of the other element; place the windows \
                 beside each other first.",
                located.element.line(),
                front.title
            ))),
            _ => Ok(()),
        }
    }

    /// The same action with points instead of elements.
    async fn in_pixels(&mut self, action: &ScreenAction) -> Result<ScreenAction, DeviceError> {
        let targets = action.targets();
        let menus = ClosedMenus::before(action);
        let mut action = action.clone();
        let mut pixels = Vec::with_capacity(targets.len());
        let mut of_elements = Vec::new();
        for target in targets {
            let point = match self.found(&target).await? {
                FoundTarget::Point(point) => point,
                FoundTarget::Element(id) => {
                    let point = self.pixel_of_ref(&id, menus).await?;
                    // What is typed into a cell of a sheet replaces its content; to clear it first
                    // would select and clear the complete sheet or list.
                    if let Action::Type { clear_first, .. } = &mut action
                        && *clear_first
                        && self.is_managed_cell(&id).await?
                    {
                        *clear_first = false;
                    }
                    of_elements.push((id, point));
                    point
                }
            };
            pixels.push(ScreenTarget::Point(point));
        }
        // The window of a later element may have come to the front, over an earlier one.
        of_elements.pop();
        for (id, point) in of_elements {
            self.check_in_front(&id, point).await?;
        }
        let mut pixels = pixels.into_iter();
        action.try_map(&mut |target| Ok(pixels.next().unwrap_or(target)), &mut Ok)
    }

    async fn set(
        &mut self,
        target: &ScreenTarget,
        value: &Value,
    ) -> Result<ActionReport, DeviceError> {
        let id = self.ref_of(target).await?;
        if let Value::Bool(is_on) = value {
            let name = if *is_on { "check" } else { "uncheck" };
            return self.invoke_ref(&id, Some(name)).await;
        }
        let done = match self.applications.set(&id, value).await? {
            Some(done) => done,
            None => self.type_into(&id, value).await?,
        };
        self.with_line(&id, done).await
    }

    /// Types a value into an element that only accepts keys: clicks, clears, types.
    async fn type_into(&mut self, id: &str, value: &Value) -> Result<ActionReport, DeviceError> {
        let text = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let target = ScreenTarget::Element {
            id: id.to_owned(),
            frame: None,
        };
        let pixel = self.pixel_of(&target, ClosedMenus::Open).await?;
        let at = ScreenTarget::Point(pixel);
        let is_managed = self.is_managed_cell(id).await?;
        let typed = Action::Type {
            text: text.clone(),
            at: Some(at),
            clear_first: !is_managed,
            submit: is_managed,
        };
        let typed = self.computer.perform(&typed).await?;
        self.wait_for_value(id, &text, typed).await
    }

    async fn is_managed_cell(&mut self, id: &str) -> Result<bool, DeviceError> {
        let located = self.element(id).await?;
        Ok(located.element.states.has(ElementState::Managed))
    }

    /// Waits until the typed value appears, a little later than its keys.
    async fn wait_for_value(
        &mut self,
        id: &str,
        text: &str,
        typed: ActionReport,
    ) -> Result<ActionReport, DeviceError> {
        for _ in 0..TYPED_TEXT_CHECKS {
            match self.element(id).await {
                Ok(now) if now.element.value.as_deref() == Some(text) => {
                    return Ok(ActionReport {
                        effect: Effect::Confirmed,
                        ..typed
                    });
                }
                Ok(_) => {}
                Err(DeviceError::Stale { .. } | DeviceError::Timeout { .. }) => break,
                Err(error) => return Err(error),
            }
            self.computer.settle(BETWEEN_LOOKS).await?;
        }
        Ok(typed)
    }

    async fn invoke(
        &mut self,
        target: &ScreenTarget,
        name: Option<&str>,
    ) -> Result<ActionReport, DeviceError> {
        let id = self.ref_of(target).await?;
        self.invoke_ref(&id, name).await
    }

    async fn invoke_ref(
        &mut self,
        id: &str,
        name: Option<&str>,
    ) -> Result<ActionReport, DeviceError> {
        let is_press = match name.filter(|_| !press::is_press(name)) {
            None => true,
            Some(name) => press::switches(&self.element(id).await?.element, name),
        };
        let done = if is_press {
            self.press(id, name).await?
        } else {
            self.applications.invoke(id, name).await?
        };
        self.with_line(id, done).await
    }

    /// Adds the element's present state, if it still exists.
    async fn with_line(
        &mut self,
        id: &str,
        done: ActionReport,
    ) -> Result<ActionReport, DeviceError> {
        let text = match self.element(id).await {
            Ok(located) => located.element.line(),
            Err(DeviceError::Stale { .. }) => format!("{id} is gone."),
            Err(DeviceError::Timeout { .. }) => return Ok(done),
            Err(error) => return Err(error),
        };
        let text = done.text.into_iter().chain([text]);
        Ok(ActionReport {
            text: Some(text.collect::<Vec<_>>().join("\n")),
            ..done
        })
    }

    /// Clicks a point, or an element at its pixel; by its own action where no pixel is in reach.
    async fn click_on(&mut self, target: &ScreenTarget) -> Result<ActionReport, DeviceError> {
        let id = match self.found(target).await? {
            FoundTarget::Point(point) => return self.click(point).await,
            FoundTarget::Element(id) => id,
        };
        let why = match self.point_of(&id, ClosedMenus::Open).await? {
            ElementPoint::At(point) => return self.click(point).await,
            ElementPoint::OutOfReach(why) => why,
        };
        match self.applications.invoke(&id, None).await {
            Ok(done) => Ok(press::by_own_action(done, "it is not on the screen")),
            // It has none: what would help is to bring it on the screen.
            Err(DeviceError::Refused { .. }) => Err(refused(why)),
            Err(error) => Err(error),
        }
    }

    async fn scroll_to(&mut self, target: &ScreenTarget) -> Result<ActionReport, DeviceError> {
        let id = self.ref_of(target).await?;
        self.applications.reveal(&id).await?;
        let LocatedElement { element, .. } = self.element(&id).await?;
        let is_in_view = element
            .bounds
            .is_some_and(|bounds| bounds.on(self.computer.size()).is_some());
        Ok(ActionReport {
            effect: if is_in_view {
                Effect::Confirmed
            } else {
                Effect::Delivered
            },
            text: Some(element.line()),
        })
    }
}

/// What a target refers to: OCR finds words at points.
enum FoundTarget {
    Point(ScreenPoint),
    Element(String),
}

/// Where an element can be pointed at.
enum ElementPoint {
    At(ScreenPoint),
    /// Nowhere; the sentence says why and what helps.
    OutOfReach(String),
}

/// What happens to the closed menus around an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClosedMenus {
    /// They are opened by clicks.
    Open,
    Leave,
}

impl ClosedMenus {
    /// Only an action that presses something may press something else before.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no other action does")]
    const fn before<P, R>(action: &Action<P, R>) -> Self {
        match action {
            Action::Click { .. } | Action::MouseDown { .. } | Action::Type { .. } => Self::Open,
            _ => Self::Leave,
        }
    }
}

/// The frontmost window at this point.
fn front_at(windows: &[Window], at: ScreenPoint) -> Option<&Window> {
    windows
        .iter()
        .rev()
        .find(|window| window.is_shown && window.bounds.contains(at))
}

/// The window with this title, frontmost first.
fn owner<'w>(windows: &'w [Window], title: &str) -> Option<&'w Window> {
    windows.iter().rev().find(|window| window.title == title)
}

fn answer(text: String) -> ActionReport {
    ActionReport {
        effect: Effect::Confirmed,
        text: Some(text),
    }
}

fn refused(message: String) -> DeviceError {
    DeviceError::Refused { message }
}

fn stale(id: &str) -> DeviceError {
    DeviceError::Stale {
        target: id.to_owned(),
    }
}

#[async_trait]
impl<C: Computer + WindowSystem, A: Accessibility> Computer for WithAccessibility<C, A> {
    fn size(&self) -> Size {
        self.computer.size()
    }

    fn supports(&self, kind: &ActionKind) -> bool {
        (OWN_ACTIONS.contains(kind) && self.applications.is_available())
            || self.computer.supports(kind)
    }

    fn has_key(&self, key: &Key) -> bool {
        self.computer.has_key(key)
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        self.computer.capture().await
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the screen performs all other actions"
    )]
    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        let switch = self.computer.kill_switch();
        if let Some(why) = switch.and_then(StopSignal::stopped) {
            return Err(DeviceError::Stopped { why });
        }
        let tab = match action {
            Action::ReadPage { tab, .. }
            | Action::Find { tab, .. }
            | Action::FormInput { tab, .. }
            | Action::ScrollTo { tab, .. } => tab.as_deref(),
            _ => None,
        };
        if let Some(tab) = tab {
            return Err(refused(format!(
                "A desktop has no tab {tab:?}; omit the tab."
            )));
        }
        let done = match action {
            Action::ReadPage {
                filter,
                depth,
                root,
                ..
            } => self.read(filter.as_deref(), *depth, root.as_ref()).await,
            Action::Find { query, .. } => self.find(query).await,
            Action::FormInput { at, value, .. } => self.set(at, value).await,
            Action::ScrollTo { at, .. } => self.scroll_to(at).await,
            Action::Invoke { at, name } => self.invoke(at, name.as_deref()).await,
            Action::Click {
                at: Some(at),
                button: Button::Left,
                count: ClickCount::Single,
                modifiers,
            } if modifiers.is_empty() => self.click_on(at).await,
            other => {
                let in_pixels = self.in_pixels(other).await?;
                return self.computer.perform(&in_pixels).await;
            }
        };
        if !matches!(action, Action::ReadPage { .. } | Action::Find { .. }) {
            self.computer.note_action();
        }
        done
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        self.computer.settle(settle).await
    }

    async fn settle_and_capture(
        &mut self,
        settle: Settle,
    ) -> Result<(Frame, Settled), DeviceError> {
        self.computer.settle_and_capture(settle).await
    }

    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        self.computer.release_inputs().await
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        Self::close(*self).await
    }

    fn kill_switch(&self) -> Option<&dyn StopSignal> {
        self.computer.kill_switch()
    }

    fn viewer(&self) -> Option<Box<dyn ScreenViewer>> {
        self.computer.viewer()
    }

    fn page_outline(&self) -> Option<Box<dyn PageOutlineSource>> {
        self.computer.page_outline()
    }

    fn devtools(&self) -> Option<Box<dyn DevtoolsSource>> {
        self.computer.devtools()
    }

    fn page(&mut self) -> Option<&mut dyn PageContextSource> {
        self.computer.page()
    }

    fn element_marks(&mut self) -> Option<&mut dyn ElementMarks> {
        Some(self)
    }

    fn window_system(&mut self) -> Option<&mut dyn WindowSystem> {
        Some(self)
    }
}

#[async_trait]
impl<C: Computer + WindowSystem, A: Accessibility> ElementMarks for WithAccessibility<C, A> {
    async fn marks(&mut self, max_marks: usize) -> Result<Vec<Mark>, DeviceError> {
        let windows = self.computer.windows().await?;
        let tree = self.applications.tree(Detail::Basic, &windows).await?;
        Ok(interactive::interactive_marks(
            &tree,
            &windows,
            self.computer.size(),
            max_marks,
        ))
    }

    async fn ocr_words(&mut self, max_marks: usize) -> Result<Vec<Mark>, DeviceError> {
        let tree = match self.tree(Detail::Basic).await {
            // Without accessibility, all windows are recognized by OCR.
            Err(DeviceError::Unavailable { .. }) => ElementTree::default(),
            tree => tree?,
        };
        let lines = self.recognize(&tree, None).await?;
        Ok(ocr::marks(&lines, self.computer.size(), max_marks))
    }
}

#[async_trait]
impl<C: Computer + WindowSystem, A: Accessibility> WindowSystem for WithAccessibility<C, A> {
    async fn windows(&mut self) -> Result<Vec<Window>, DeviceError> {
        self.computer.windows().await
    }

    async fn input_windows(
        &mut self,
        actions: &[Option<ScreenAction>],
    ) -> Result<InputWindows, DeviceError> {
        let mut listed = self.computer.input_windows(actions).await?;
        for (action, under) in actions.iter().zip(&mut listed.under) {
            if let (Some(action), None) = (action, &under) {
                *under = self.windows_of_elements(action).await?;
            }
        }
        Ok(listed)
    }

    fn limit_input(&mut self, windows: Option<Vec<Vec<String>>>) {
        self.computer.limit_input(windows);
    }

    fn visible_region(&self) -> ScreenRegion {
        self.computer.visible_region()
    }

    async fn locate_part(&mut self, part: &ScreenPart) -> Result<PartLocation, DeviceError> {
        self.computer.locate_part(part).await
    }

    fn set_viewport(&mut self, viewport: Viewport) {
        self.viewport = Some(viewport);
        self.computer.set_viewport(viewport);
    }

    fn note_action(&mut self) {
        self.computer.note_action();
    }
}
