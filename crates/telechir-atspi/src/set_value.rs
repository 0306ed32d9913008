//! Giving an element a value, confirmed by reading it back.

use serde_json::Value;
use telechir_device::{ActionReport, DeviceError, State};

use crate::actions::{self, check, refused, seen};
use crate::element::{Look, Patience, Watched};
use crate::object::{ACCESSIBLE, Abilities, EDITABLE_TEXT, Object, PROPERTIES, VALUE};
use crate::refs::Known;
use crate::role;

/// Options that are looked at for the one that is meant.
const OPTIONS: usize = 500;

/// Sets what can be set; none when it must be typed into.
pub(crate) async fn set(
    watched: &Watched,
    value: &Value,
) -> Result<Option<ActionReport>, DeviceError> {
    let before = watched.look().await?;
    if before.has(State::Disabled) {
        return Err(refused(watched, "is disabled"));
    }
    if before.has(State::ReadOnly) {
        return Err(refused(watched, "cannot be changed"));
    }
    let abilities = watched.abilities().await?;
    if before.has(State::Checkable) {
        let wanted = on_or_off(value).ok_or_else(|| refused(watched, "is either on or off"))?;
        return check(watched, &before, wanted).await.map(Some);
    }
    if abilities.has(Abilities::VALUE)
        && let Some(number) = number(value)
    {
        return set_number(watched, number).await.map(Some);
    }
    let text = text_of(value).ok_or_else(|| refused(watched, "takes a text or a number"))?;
    if holds_options(&before) && !abilities.has(Abilities::EDITABLE_TEXT) {
        return choose(watched, &text).await.map(Some);
    }
    if abilities.has(Abilities::EDITABLE_TEXT) {
        return set_text(watched, &before, &text).await.map(Some);
    }
    Ok(None)
}

fn holds_options(look: &Look) -> bool {
    matches!(
        &*look.role,
        "combobox" | "list" | "listbox" | "menu" | "tree" | "tablist"
    )
}

fn on_or_off(value: &Value) -> Option<bool> {
    if let Some(said) = value.as_bool() {
        return Some(said);
    }
    match value.as_str()?.trim().to_lowercase().as_str() {
        "true" | "on" | "yes" | "checked" | "1" => Some(true),
        "false" | "off" | "no" | "unchecked" | "0" => Some(false),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .or_else(|| value.as_str()?.trim().parse().ok())
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(said) => Some(said.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

async fn set_text(
    watched: &Watched,
    before: &Look,
    text: &str,
) -> Result<ActionReport, DeviceError> {
    let taken: bool = watched.ask(EDITABLE_TEXT, "SetTextContents", &text).await?;
    if !taken {
        return Err(refused(watched, "did not take the text"));
    }
    if before.role == "password" {
        // What it shows of the text is not the text.
        return Ok(ActionReport::delivered());
    }
    let mut patience = Patience::new();
    loop {
        if watched.text().await.is_ok_and(|now| now == text) {
            return Ok(ActionReport::confirmed());
        }
        if !patience.is_left().await {
            return Ok(ActionReport::delivered());
        }
    }
}

async fn set_number(watched: &Watched, number: f64) -> Result<ActionReport, DeviceError> {
    let body = (VALUE, "CurrentValue", zbus::Variant::from(number));
    watched.ask::<(), _>(PROPERTIES, "Set", &body).await?;
    let object = &watched.known().object;
    let mut patience = Patience::new();
    loop {
        let now = watched.bus().property::<f64>(object, VALUE, "CurrentValue");
        if now.await.is_ok_and(|now| (now - number).abs() < 1e-9) {
            return Ok(ActionReport::confirmed());
        }
        if !patience.is_left().await {
            return Ok(ActionReport::delivered());
        }
    }
}

/// Chooses the option with this name among all below the element.
async fn choose(watched: &Watched, text: &str) -> Result<ActionReport, DeviceError> {
    let options = options(watched).await?;
    let names: Vec<&str> = options.iter().map(|(_, name)| name.as_str()).collect();
    let exact = names.iter().position(|name| *name == text);
    let place = exact.or_else(|| {
        names
            .iter()
            .position(|name| name.trim().to_lowercase() == text.trim().to_lowercase())
    });
    let Some((object, _)) = place.and_then(|place| options.get(place)) else {
        let names: Vec<String> = names
            .iter()
            .take(20)
            .map(|name| format!("{name:?}"))
            .collect();
        return Err(refused(
            watched,
            &format!("has no option {text:?}; it has {}", names.join(", ")),
        ));
    };
    let role: u32 = watched
        .bus()
        .get(object, ACCESSIBLE, "GetRole", &())
        .await?;
    let known = Known {
        object: object.clone(),
        role,
        abilities: Abilities::NONE,
        counts_from: None,
    };
    let option = Watched::new(watched.bus().clone(), known, watched.id());
    let before = option.look().await?;
    if before.role.starts_with("menuitem") {
        // A drop-down's options are used, not marked: the drop-down then has the option's name.
        return use_option(watched, &option, text).await;
    }
    actions::select(&option, &before).await
}

async fn use_option(
    watched: &Watched,
    option: &Watched,
    text: &str,
) -> Result<ActionReport, DeviceError> {
    actions::invoke(option, None).await?;
    let object = &watched.known().object;
    let mut patience = Patience::new();
    loop {
        let name = watched.bus().property::<String>(object, ACCESSIBLE, "Name");
        if name.await.is_ok_and(|name| name == text) {
            return Ok(ActionReport::confirmed());
        }
        if !patience.is_left().await {
            break;
        }
    }
    seen(option, |now| now.has(State::Selected)).await
}

/// What can be chosen below the element, with names: at most three levels down.
async fn options(watched: &Watched) -> Result<Vec<(Object, String)>, DeviceError> {
    let mut level = vec![watched.known().object.clone()];
    let mut options = Vec::new();
    for _ in 0..3 {
        let below: Vec<Option<Vec<Object>>> = watched
            .bus()
            .each(&level, ACCESSIBLE, "GetChildren", &())
            .await;
        level = below
            .into_iter()
            .flatten()
            .flatten()
            .take(OPTIONS)
            .collect();
        let (names, roles) = tokio::join!(
            watched
                .bus()
                .properties::<String>(&level, ACCESSIBLE, "Name"),
            watched
                .bus()
                .each::<u32, _>(&level, ACCESSIBLE, "GetRole", &()),
        );
        for ((object, name), role) in level.iter().zip(names).zip(roles) {
            let role = role.map(role::name).unwrap_or_default();
            let is_option = matches!(
                &*role,
                "option" | "listitem" | "menuitem" | "menuitemradio" | "treeitem" | "cell" | "tab"
            );
            if let (true, Some(name)) = (is_option, name) {
                options.push((object.clone(), name));
            }
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn on_and_off_have_many_words() {
        assert_eq!(on_or_off(&json!(true)), Some(true));
        assert_eq!(on_or_off(&json!("Off")), Some(false));
        assert_eq!(on_or_off(&json!("maybe")), None);
        assert_eq!(on_or_off(&json!(7)), None);
    }

    #[test]
    fn a_number_may_be_written() {
        assert_eq!(number(&json!(2.5)), Some(2.5));
        assert_eq!(number(&json!(" 12 ")), Some(12.0));
        assert_eq!(number(&json!("twelve")), None);
    }
}
