//! Presses elements as a person does: the pixel if it is in view, the element's own action if not.

use std::time::Duration;

use telechir_protocol::{Action, Button, ClickCount};

use super::{WithAccessibility, front_at, owner, refused};
use crate::elements::{Element, ElementState, ElementTree};
use crate::{
    Accessibility, ActionReport, Computer, Detail, DeviceError, Effect, LocatedElement,
    ScreenAction, ScreenPoint, ScreenTarget, Settle, WindowSystem, role_name,
};

/// How often an effect is looked for, and the delay between two looks.
const LOOKS: usize = 8;
const BETWEEN_LOOKS: Settle = Settle {
    quiet: Duration::from_millis(30),
    ceiling: Duration::from_millis(100),
};
/// Maximum number of menus opened for one entry.
const MAX_MENUS: usize = 6;

/// Where an element can be pressed.
enum PressPoint {
    At(ScreenPoint),
    /// Only by its own action, for this reason.
    OwnAction(String),
}

/// Whether the named action presses an element, as a click does.
pub(super) fn is_press(name: Option<&str>) -> bool {
    name.is_none_or(|name| {
        matches!(
            &*role_name(name),
            "" | "press" | "click" | "activate" | "default"
        )
    })
}

/// Whether a press performs the named action: it turns on or off, opens or closes what is not so
/// yet. A row of a tree is expanded by a part of it.
pub(super) fn switches(element: &Element, name: &str) -> bool {
    let has = |state| element.states.has(state);
    let is_on = has(ElementState::Checked);
    let is_lasting = is_on && &*element.role == "radio";
    let is_checkable = has(ElementState::Checkable) && !is_lasting;
    let is_opened = has(ElementState::Expandable)
        && matches!(&*element.role, "combobox" | "button" | "menu" | "menuitem");
    match &*role_name(name) {
        "toggle" => is_checkable,
        "check" => is_checkable && !is_on,
        "uncheck" => is_checkable && is_on,
        "expand" => is_opened && !has(ElementState::Expanded),
        "collapse" => is_opened && has(ElementState::Expanded),
        _ => false,
    }
}

/// The report of an action that an element performed itself, with the reason why it was not
/// pressed.
pub(super) fn by_own_action(done: ActionReport, why: &str) -> ActionReport {
    let how = format!("Used its own action, because {why}.");
    let text = done.text.into_iter().chain([how]);
    ActionReport {
        text: Some(text.collect::<Vec<_>>().join(" ")),
        ..done
    }
}

impl<C: Computer + WindowSystem, A: Accessibility> WithAccessibility<C, A> {
    /// Presses an element. Programs handle a button and a key as they expect them; an element's own
    /// action can open a menu or a dialog inside the call, which some programs do not survive.
    pub(super) async fn press(
        &mut self,
        id: &str,
        name: Option<&str>,
    ) -> Result<ActionReport, DeviceError> {
        let located = self.in_open_menu(id).await?;
        let before = located.element.clone();
        if before.states.has(ElementState::Disabled) {
            return Err(refused(format!("The {} is disabled.", before.line())));
        }
        match self.point_to_press(&located).await? {
            PressPoint::At(point) => {
                let clicked = self.click(point).await?;
                self.confirm_press(&before, clicked).await
            }
            PressPoint::OwnAction(why) => {
                let done = self.applications.invoke(id, name).await?;
                Ok(by_own_action(done, &why))
            }
        }
    }

    pub(super) async fn click(&mut self, at: ScreenPoint) -> Result<ActionReport, DeviceError> {
        let click: ScreenAction = Action::Click {
            at: Some(ScreenTarget::Point(at)),
            button: Button::Left,
            count: ClickCount::Single,
            modifiers: Vec::new(),
        };
        self.computer.perform(&click).await
    }

    async fn point_to_press(
        &mut self,
        located: &LocatedElement,
    ) -> Result<PressPoint, DeviceError> {
        let size = self.computer.size();
        let bounds = located.element.bounds;
        let Some(point) = bounds.and_then(|bounds| bounds.centre_on(size)) else {
            return Ok(PressPoint::OwnAction("it is not on the screen".to_owned()));
        };
        match self.uncover(located, point).await {
            Ok(()) => Ok(PressPoint::At(point)),
            Err(DeviceError::Refused { .. }) => Ok(PressPoint::OwnAction(
                "it is covered at its center".to_owned(),
            )),
            Err(error) => Err(error),
        }
    }

    /// Reports the effect: confirmed only if a state that a press changes did change.
    async fn confirm_press(
        &mut self,
        before: &Element,
        clicked: ActionReport,
    ) -> Result<ActionReport, DeviceError> {
        let has = |element: &Element, state| element.states.has(state);
        let is_radio = &*before.role == "radio";
        let shows_effect = is_radio
            || has(before, ElementState::Checkable)
            || has(before, ElementState::Expandable);
        if !shows_effect {
            return Ok(clicked);
        }
        for _ in 0..LOOKS {
            let now = match self.element(&before.id).await {
                Ok(located) => located.element,
                // A press may close the window of its element.
                Err(DeviceError::Stale { .. } | DeviceError::Timeout { .. }) => break,
                Err(error) => return Err(error),
            };
            let differs = |state| has(&now, state) != has(before, state);
            let is_on = is_radio && has(&now, ElementState::Checked);
            if is_on || differs(ElementState::Checked) || differs(ElementState::Expanded) {
                return Ok(ActionReport {
                    effect: Effect::Confirmed,
                    ..clicked
                });
            }
            self.computer.settle(BETWEEN_LOOKS).await?;
        }
        Ok(clicked)
    }

    /// The element, after the menus that hide it were opened if it is an entry of a closed menu.
    pub(super) async fn in_open_menu(&mut self, id: &str) -> Result<LocatedElement, DeviceError> {
        let mut located = self.element(id).await?;
        for _ in 0..MAX_MENUS {
            let element = &located.element;
            if element.is_shown() || !element.is_menu_entry() || !self.open_menu_of(id).await? {
                break;
            }
            located = self.element(id).await?;
        }
        Ok(located)
    }

    /// Opens the innermost menu in view that holds a menu entry; false if there is none or it did
    /// not open.
    async fn open_menu_of(&mut self, id: &str) -> Result<bool, DeviceError> {
        let tree = self.tree(Detail::Basic).await?;
        let Some(menu) = shown_menu_above(&tree, id).map(|menu| menu.id.clone()) else {
            return Ok(false);
        };
        let located = self.element(&menu).await?;
        let PressPoint::At(point) = self.point_to_press(&located).await? else {
            return Ok(false);
        };
        self.click(point).await?;
        self.computer.note_action();
        self.shows_entries_of(&menu).await
    }

    /// Waits until a menu that was clicked is open.
    async fn shows_entries_of(&mut self, menu: &str) -> Result<bool, DeviceError> {
        for _ in 0..LOOKS {
            self.computer.settle(BETWEEN_LOOKS).await?;
            let tree = self.tree(Detail::Basic).await?;
            let entries = tree.below(menu).unwrap_or_default();
            if entries.iter().skip(1).any(Element::is_shown) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What an open menu or another popup shows over an element at this point; `None` if nothing
    /// does. Popups are no windows for the window manager.
    pub(super) async fn popup_over(
        &mut self,
        located: &LocatedElement,
        at: ScreenPoint,
    ) -> Result<Option<String>, DeviceError> {
        let windows = self.computer.windows().await?;
        let has_window = owner(&windows, &located.window)
            .zip(front_at(&windows, at))
            .is_some_and(|(own, front)| own.id == front.id);
        if !has_window || located.element.is_menu_entry() {
            return Ok(None);
        }
        let point = Action::Move {
            at: ScreenTarget::Point(at),
        };
        let under = self.computer.input_windows(&[Some(point)]).await?.under;
        let is_popup = under.into_iter().flatten().any(|under| under.passes_on);
        if !is_popup {
            return Ok(None);
        }
        let tree = self.tree(Detail::Basic).await?;
        Ok(entry_at(&tree, &located.element.id, at).map(Element::line))
    }
}

/// The innermost menu above an element that is in view.
fn shown_menu_above<'t>(tree: &'t ElementTree, id: &str) -> Option<&'t Element> {
    let at = tree.elements.iter().position(|element| element.id == id)?;
    let mut depth = tree.elements.get(at)?.depth;
    tree.elements[..at].iter().rev().find(|element| {
        if element.depth >= depth {
            return false;
        }
        depth = element.depth;
        element.is_menu_entry() && element.is_shown()
    })
}

/// The menu entry at a point that is neither in nor around this element.
fn entry_at<'t>(tree: &'t ElementTree, id: &str, at: ScreenPoint) -> Option<&'t Element> {
    let own = tree.below(id).unwrap_or_default();
    tree.elements.iter().rev().find(|element| {
        element.is_menu_entry()
            && element.bounds.is_some_and(|bounds| bounds.contains(at))
            && !own.iter().any(|inner| inner.id == element.id)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elements::ElementStates;
    use crate::elements::tests::{element, tree};

    #[test]
    fn the_innermost_open_menu_is_next() {
        let tree = tree(vec![
            element(0, "e1", "window", "Editor"),
            element(1, "e2", "menubar", ""),
            element(2, "e3", "menu", "File"),
            element(3, "e4", "menuitem", "-New"),
            element(2, "e5", "menu", "Document"),
            element(3, "e6", "menu", "-Filetype"),
            element(4, "e7", "menuitem", "-Rust"),
            element(1, "e8", "button", "-Far"),
        ]);
        let menu = |id| shown_menu_above(&tree, id).map(|menu| menu.id.as_str());
        assert_eq!(menu("e7"), Some("e5"));
        assert_eq!(menu("e4"), Some("e3"));
        assert_eq!(menu("e8"), None);
        assert_eq!(menu("e9"), None);
    }

    #[test]
    fn a_press_switches_only_what_is_not_so_yet() {
        let with = |role: &'static str, states: &[ElementState]| {
            let mut one = element(0, "e1", role, "One");
            one.states = ElementStates::of(states);
            one
        };
        let off = with("checkbox", &[ElementState::Checkable]);
        assert!(switches(&off, "toggle") && switches(&off, "Check"));
        assert!(!switches(&off, "uncheck") && !switches(&off, "expand"));
        let on = [ElementState::Checkable, ElementState::Checked];
        assert!(switches(&with("checkbox", &on), "uncheck"));
        assert!(!switches(&with("radio", &on), "toggle"));
        let closed = [ElementState::Expandable];
        assert!(switches(&with("combobox", &closed), "expand"));
        assert!(!switches(&with("combobox", &closed), "collapse"));
        assert!(!switches(&with("treeitem", &closed), "expand"));
    }

    #[test]
    fn only_generic_names_press() {
        assert!(is_press(None) && is_press(Some("Press")) && is_press(Some("click")));
        assert!(!is_press(Some("expand")) && !is_press(Some("show menu")));
    }
}
