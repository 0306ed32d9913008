//! Performs an element's own actions by name and confirms their effect.

use telechir_device::{ActionReport, DeviceError, ElementState, role_name};

use crate::element::{ElementFields, ElementHandle};
use crate::error::BusError;
use crate::object::{ACCESSIBLE, ACTION, Abilities, COMPONENT, ObjectRef, PROPERTIES, SELECTION};

/// `ATSPI_SCROLL_ANYWHERE`.
const ANYWHERE: u32 = 6;

/// An action on an element.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ElementAction {
    /// The named action, or the first one if the name is absent or generic.
    Default(Option<String>),
    /// Sets the element to on (true) or off.
    Check(bool),
    /// Switches between on and off.
    Toggle,
    /// Expands (true) or collapses the element.
    Expand(bool),
    /// Selects the element in its container.
    Select,
    /// Gives the element the keyboard focus.
    Focus,
}

impl ElementAction {
    fn of(name: Option<&str>) -> Self {
        let Some(name) = name else {
            return Self::Default(None);
        };
        match &*role_name(name) {
            "" | "press" | "click" | "activate" | "default" => Self::Default(None),
            "check" => Self::Check(true),
            "uncheck" => Self::Check(false),
            "toggle" => Self::Toggle,
            "expand" => Self::Expand(true),
            "collapse" => Self::Expand(false),
            "select" => Self::Select,
            "focus" => Self::Focus,
            _ => Self::Default(Some(name.to_owned())),
        }
    }
}

/// Performs an action by name.
pub(crate) async fn invoke(
    element: &ElementHandle,
    name: Option<&str>,
) -> Result<ActionReport, DeviceError> {
    let before = element.fields().await?;
    if before.has(ElementState::Disabled) {
        return Err(refused(element, "is disabled"));
    }
    match ElementAction::of(name) {
        ElementAction::Default(name) => {
            let index = index_of(element, name.as_deref()).await?;
            do_action(element, index).await?;
            match change_of(&before) {
                Some(follows) => confirm_change(element, move |now| follows(&before, now)).await,
                None => Ok(ActionReport::delivered()),
            }
        }
        ElementAction::Check(is_on) => check(element, &before, is_on).await,
        ElementAction::Toggle => {
            let is_on = is_on(&before).ok_or_else(|| refused(element, "cannot be on or off"))?;
            check(element, &before, !is_on).await
        }
        ElementAction::Expand(unfolded) => expand(element, &before, unfolded).await,
        ElementAction::Select => select(element, &before).await,
        ElementAction::Focus => focus(element).await,
    }
}

/// Sets a checkable element to on or off; does nothing if it already is.
pub(crate) async fn check(
    element: &ElementHandle,
    before: &ElementFields,
    wanted: bool,
) -> Result<ActionReport, DeviceError> {
    match is_on(before) {
        Some(is_on) if is_on == wanted => return Ok(ActionReport::confirmed()),
        Some(_) => {}
        None => return Err(refused(element, "cannot be on or off")),
    }
    if before.role == "radio" && !wanted {
        return Err(refused(
            element,
            "is one of several; select another one instead",
        ));
    }
    do_action(element, 0).await?;
    confirm_change(element, move |now| is_on(now) == Some(wanted)).await
}

/// Whether the element is on; `None` if it is not checkable.
pub(crate) fn is_on(fields: &ElementFields) -> Option<bool> {
    fields
        .has(ElementState::Checkable)
        .then_some(fields.has(ElementState::Checked))
}

async fn expand(
    element: &ElementHandle,
    before: &ElementFields,
    wanted: bool,
) -> Result<ActionReport, DeviceError> {
    let is_expanded = |fields: &ElementFields| fields.has(ElementState::Expanded) == wanted;
    if before.has(ElementState::Expandable) && is_expanded(before) {
        return Ok(ActionReport::confirmed());
    }
    let names = actions(element).await?;
    let matches_name = |name: &String| {
        let name = name.to_lowercase();
        name.contains("expand") || name.contains(if wanted { "open" } else { "collapse" })
    };
    let index = names.iter().position(matches_name).unwrap_or(0);
    do_action(element, index).await?;
    confirm_change(element, move |now| {
        now.has(ElementState::Expanded) == wanted
    })
    .await
}

/// Selects the element through its container or, without a selection interface, by its own action.
pub(crate) async fn select(
    element: &ElementHandle,
    before: &ElementFields,
) -> Result<ActionReport, DeviceError> {
    if is_chosen(before) {
        return Ok(ActionReport::confirmed());
    }
    let parent: Result<zbus::OwnedVariant, BusError> = element
        .call(PROPERTIES, "Get", &(ACCESSIBLE, "Parent"))
        .await;
    let parent = parent.ok().and_then(|parent| ObjectRef::of(&parent));
    let index: i32 = element.call(ACCESSIBLE, "GetIndexInParent", &()).await?;
    let chosen = match &parent {
        Some(parent) => element
            .bus()
            .get::<bool, _>(parent, SELECTION, "SelectChild", &index)
            .await
            .unwrap_or(false),
        None => false,
    };
    if !chosen {
        do_action(element, 0).await?;
    }
    confirm_change(element, is_chosen).await
}

/// Whether the element is selected or, for a radio button, on.
fn is_chosen(fields: &ElementFields) -> bool {
    fields.has(ElementState::Selected)
        || (fields.role == "radio" && fields.has(ElementState::Checked))
}

async fn focus(element: &ElementHandle) -> Result<ActionReport, DeviceError> {
    let accepted: bool = element.call(COMPONENT, "GrabFocus", &()).await?;
    if !accepted {
        return Err(refused(element, "does not accept the keyboard focus"));
    }
    confirm_change(element, |now| now.has(ElementState::Focused)).await
}

/// Scrolls the element into view if the application supports it.
pub(crate) async fn reveal(element: &ElementHandle) -> Result<(), DeviceError> {
    let scrolled: Result<bool, BusError> = element.call(COMPONENT, "ScrollTo", &ANYWHERE).await;
    if !matches!(scrolled, Ok(true)) {
        // Toolkits scroll the focused element into view.
        let _best_effort: Result<bool, BusError> = element.call(COMPONENT, "GrabFocus", &()).await;
    }
    element
        .wait_until(ElementFields::is_showing)
        .await
        .map(|_| ())
}

/// The names of its actions; some are empty.
async fn actions(element: &ElementHandle) -> Result<Vec<String>, DeviceError> {
    let actions: Result<Vec<(String, String, String)>, BusError> =
        element.call(ACTION, "GetActions", &()).await;
    match actions {
        Ok(actions) => Ok(actions.into_iter().map(|(name, ..)| name).collect()),
        Err(BusError::Refused(_) | BusError::Malformed(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

async fn index_of(element: &ElementHandle, name: Option<&str>) -> Result<usize, DeviceError> {
    let Some(name) = name else { return Ok(0) };
    let names = actions(element).await?;
    let index = names
        .iter()
        .position(|known| known.eq_ignore_ascii_case(name));
    index.ok_or_else(|| {
        let names: Vec<String> = names
            .iter()
            .filter(|n| !n.is_empty())
            .map(|n| format!("{n:?}"))
            .collect();
        let own = if names.is_empty() {
            "its actions have no names; omit the name to use the first one".to_owned()
        } else {
            format!("available: {}", names.join(", "))
        };
        refused(element, &format!("has no action {name:?}; {own}"))
    })
}

/// Performs an action. An application that opens a modal dialog may reply only after it closes, so
/// a missing reply is not a failure.
async fn do_action(element: &ElementHandle, index: usize) -> Result<(), DeviceError> {
    let index = i32::try_from(index).unwrap_or(0);
    match element.call::<bool, _>(ACTION, "DoAction", &index).await {
        Ok(true) | Err(BusError::TimedOut { .. }) => Ok(()),
        Ok(false) => Err(refused(element, "rejected the action")),
        Err(BusError::Refused(_)) => {
            let can_act = element.abilities().await?.has(Abilities::ACTION);
            Err(refused(
                element,
                if can_act {
                    "rejected the action"
                } else {
                    "has no action of its own; click on it instead"
                },
            ))
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether the effect of an action is visible in the states; `None` if it is not.
fn change_of(before: &ElementFields) -> Option<fn(&ElementFields, &ElementFields) -> bool> {
    if before.role == "radio" {
        return Some(|_, now| now.has(ElementState::Checked));
    }
    if before.has(ElementState::Checkable) {
        return Some(|before, now| {
            now.has(ElementState::Checked) != before.has(ElementState::Checked)
        });
    }
    if before.has(ElementState::Expandable) {
        return Some(|before, now| {
            now.has(ElementState::Expanded) != before.has(ElementState::Expanded)
        });
    }
    None
}

/// Waits for the expected state: confirmed if it was observed, else delivered.
pub(crate) async fn confirm_change(
    element: &ElementHandle,
    wanted: impl Fn(&ElementFields) -> bool,
) -> Result<ActionReport, DeviceError> {
    match element.wait_until(wanted).await {
        Ok(true) => Ok(ActionReport::confirmed()),
        // An action may close the window of its element, which is not a failure.
        Ok(false) | Err(DeviceError::Stale { .. } | DeviceError::Timeout { .. }) => {
            Ok(ActionReport::delivered())
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn refused(element: &ElementHandle, what: &str) -> DeviceError {
    DeviceError::Refused {
        message: format!("The element {} {what}.", element.id()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_action_names() {
        assert_eq!(ElementAction::of(None), ElementAction::Default(None));
        assert_eq!(
            ElementAction::of(Some("Press")),
            ElementAction::Default(None)
        );
        assert_eq!(
            ElementAction::of(Some("expand")),
            ElementAction::Expand(true)
        );
        assert_eq!(
            ElementAction::of(Some("collapse")),
            ElementAction::Expand(false)
        );
        assert_eq!(
            ElementAction::of(Some("show menu")),
            ElementAction::Default(Some("show menu".to_owned()))
        );
    }
}
