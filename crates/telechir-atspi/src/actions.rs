//! An element's own actions by name, confirmed when the element is seen to follow.

use telechir_device::{ActionReport, DeviceError, State, role_name};

use crate::element::{Look, Watched};
use crate::error::BusError;
use crate::object::{ACCESSIBLE, ACTION, Abilities, COMPONENT, Object, PROPERTIES, SELECTION};

/// "Anywhere in view is good."
const ANYWHERE: u32 = 6;

/// What is asked of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Wish {
    /// Its first action, or what its name says when it is no wish below.
    Use(Option<String>),
    /// On (true) or off.
    Check(bool),
    /// To the other of on and off.
    Toggle,
    /// Unfolded (true) or folded.
    Expand(bool),
    /// Chosen among others.
    Select,
    /// It gets the keys.
    Focus,
}

impl Wish {
    fn of(name: Option<&str>) -> Self {
        let Some(name) = name else {
            return Self::Use(None);
        };
        match &*role_name(name) {
            "" | "press" | "click" | "activate" | "default" => Self::Use(None),
            "check" => Self::Check(true),
            "uncheck" => Self::Check(false),
            "toggle" => Self::Toggle,
            "expand" => Self::Expand(true),
            "collapse" => Self::Expand(false),
            "select" => Self::Select,
            "focus" => Self::Focus,
            _ => Self::Use(Some(name.to_owned())),
        }
    }
}

/// Carries out a wish.
pub(crate) async fn invoke(
    watched: &Watched,
    name: Option<&str>,
) -> Result<ActionReport, DeviceError> {
    let before = watched.look().await?;
    if before.has(State::Disabled) {
        return Err(refused(watched, "is disabled"));
    }
    match Wish::of(name) {
        Wish::Use(name) => {
            let index = index_of(watched, name.as_deref()).await?;
            use_action(watched, index).await?;
            match change_of(&before) {
                Some(follows) => seen(watched, move |now| follows(&before, now)).await,
                None => Ok(ActionReport::delivered()),
            }
        }
        Wish::Check(on) => check(watched, &before, on).await,
        Wish::Toggle => {
            let is_on = on(&before).ok_or_else(|| refused(watched, "cannot be on or off"))?;
            check(watched, &before, !is_on).await
        }
        Wish::Expand(unfolded) => expand(watched, &before, unfolded).await,
        Wish::Select => select(watched, &before).await,
        Wish::Focus => focus(watched).await,
    }
}

/// Switches it on or off; nothing is done when it is so already.
pub(crate) async fn check(
    watched: &Watched,
    before: &Look,
    wanted: bool,
) -> Result<ActionReport, DeviceError> {
    match on(before) {
        Some(is_on) if is_on == wanted => return Ok(ActionReport::confirmed()),
        Some(_) => {}
        None => return Err(refused(watched, "cannot be on or off")),
    }
    if before.role == "radio" && !wanted {
        return Err(refused(
            watched,
            "is one of several: switch another one on instead",
        ));
    }
    use_action(watched, 0).await?;
    seen(watched, move |now| on(now) == Some(wanted)).await
}

/// Whether it is on; none when it cannot be.
pub(crate) fn on(look: &Look) -> Option<bool> {
    look.has(State::Checkable)
        .then_some(look.has(State::Checked))
}

async fn expand(
    watched: &Watched,
    before: &Look,
    wanted: bool,
) -> Result<ActionReport, DeviceError> {
    let is_so = |look: &Look| look.has(State::Expanded) == wanted;
    if before.has(State::Expandable) && is_so(before) {
        return Ok(ActionReport::confirmed());
    }
    let names = actions(watched).await?;
    let says = |name: &String| {
        let name = name.to_lowercase();
        name.contains("expand") || name.contains(if wanted { "open" } else { "collapse" })
    };
    let index = names.iter().position(says).unwrap_or(0);
    use_action(watched, index).await?;
    seen(watched, move |now| now.has(State::Expanded) == wanted).await
}

/// Chooses it in what holds it; where that knows no choosing, by its own action.
pub(crate) async fn select(watched: &Watched, before: &Look) -> Result<ActionReport, DeviceError> {
    if is_chosen(before) {
        return Ok(ActionReport::confirmed());
    }
    let parent: Result<zbus::OwnedVariant, BusError> = watched
        .ask(PROPERTIES, "Get", &(ACCESSIBLE, "Parent"))
        .await;
    let parent = parent.ok().and_then(|parent| Object::of(&parent));
    let index: i32 = watched.ask(ACCESSIBLE, "GetIndexInParent", &()).await?;
    let chosen = match &parent {
        Some(parent) => watched
            .bus()
            .get::<bool, _>(parent, SELECTION, "SelectChild", &index)
            .await
            .unwrap_or(false),
        None => false,
    };
    if !chosen {
        use_action(watched, 0).await?;
    }
    seen(watched, is_chosen).await
}

/// Whether it is chosen among others; one of several that exclude each other is on.
fn is_chosen(look: &Look) -> bool {
    look.has(State::Selected) || (look.role == "radio" && look.has(State::Checked))
}

async fn focus(watched: &Watched) -> Result<ActionReport, DeviceError> {
    let taken: bool = watched.ask(COMPONENT, "GrabFocus", &()).await?;
    if !taken {
        return Err(refused(watched, "does not take the keys"));
    }
    seen(watched, |now| now.has(State::Focused)).await
}

/// Brings it into view, where the application can.
pub(crate) async fn reveal(watched: &Watched) -> Result<(), DeviceError> {
    let scrolled: Result<bool, BusError> = watched.ask(COMPONENT, "ScrollTo", &ANYWHERE).await;
    if !matches!(scrolled, Ok(true)) {
        // Toolkits bring into view what gets the keys.
        let _best_effort: Result<bool, BusError> = watched.ask(COMPONENT, "GrabFocus", &()).await;
    }
    watched.becomes(Look::is_showing).await.map(|_| ())
}

/// The names of its actions; some have none.
async fn actions(watched: &Watched) -> Result<Vec<String>, DeviceError> {
    let actions: Result<Vec<(String, String, String)>, BusError> =
        watched.ask(ACTION, "GetActions", &()).await;
    match actions {
        Ok(actions) => Ok(actions.into_iter().map(|(name, ..)| name).collect()),
        Err(BusError::Refused(_) | BusError::Garbled(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

async fn index_of(watched: &Watched, name: Option<&str>) -> Result<usize, DeviceError> {
    let Some(name) = name else { return Ok(0) };
    let names = actions(watched).await?;
    let place = names
        .iter()
        .position(|known| known.eq_ignore_ascii_case(name));
    place.ok_or_else(|| {
        let names: Vec<String> = names
            .iter()
            .filter(|n| !n.is_empty())
            .map(|n| format!("{n:?}"))
            .collect();
        let own = if names.is_empty() {
            "its actions have no names: leave the name out for the first".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        };
        refused(watched, &format!("has no action {name:?}; {own}"))
    })
}

/// Uses an action. An application that shows a dialog may answer only when that is closed, so
/// no answer is no failure.
async fn use_action(watched: &Watched, index: usize) -> Result<(), DeviceError> {
    let index = i32::try_from(index).unwrap_or(0);
    match watched.ask::<bool, _>(ACTION, "DoAction", &index).await {
        Ok(true) | Err(BusError::Late { .. }) => Ok(()),
        Ok(false) => Err(refused(watched, "did not take the action")),
        Err(BusError::Refused(_)) => {
            let can_act = watched.abilities().await?.has(Abilities::ACTION);
            Err(refused(
                watched,
                if can_act {
                    "did not take the action"
                } else {
                    "has no action of its own; click on it instead"
                },
            ))
        }
        Err(error) => Err(error.into()),
    }
}

/// What changes when such an element is used; none when that cannot be told.
fn change_of(before: &Look) -> Option<fn(&Look, &Look) -> bool> {
    if before.role == "radio" {
        return Some(|_, now| now.has(State::Checked));
    }
    if before.has(State::Checkable) {
        return Some(|before, now| now.has(State::Checked) != before.has(State::Checked));
    }
    if before.has(State::Expandable) {
        return Some(|before, now| now.has(State::Expanded) != before.has(State::Expanded));
    }
    None
}

/// Waits for what was asked for: confirmed when it was seen, else only handed over.
pub(crate) async fn seen(
    watched: &Watched,
    wanted: impl Fn(&Look) -> bool,
) -> Result<ActionReport, DeviceError> {
    match watched.becomes(wanted).await {
        Ok(true) => Ok(ActionReport::confirmed()),
        // What closes its own window is gone, and that is no failure.
        Ok(false) | Err(DeviceError::Stale { .. } | DeviceError::Timeout { .. }) => {
            Ok(ActionReport::delivered())
        }
        Err(error) => Err(error),
    }
}

pub(crate) fn refused(watched: &Watched, what: &str) -> DeviceError {
    DeviceError::Refused {
        message: format!("The element {} {what}.", watched.id()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wishes_are_read_in_any_spelling() {
        assert_eq!(Wish::of(None), Wish::Use(None));
        assert_eq!(Wish::of(Some("Press")), Wish::Use(None));
        assert_eq!(Wish::of(Some("expand")), Wish::Expand(true));
        assert_eq!(Wish::of(Some("collapse")), Wish::Expand(false));
        assert_eq!(
            Wish::of(Some("show menu")),
            Wish::Use(Some("show menu".to_owned()))
        );
    }
}
