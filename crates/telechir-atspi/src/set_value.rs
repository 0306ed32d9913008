//! Sets the value of an element and confirms it by reading it back.

use serde_json::Value;
use telechir_device::{ActionReport, DeviceError, ElementState, normalized};

use crate::actions::{self, check, confirm_change, refused};
use crate::element::{ChangeTimeout, ElementFields, ElementHandle};
use crate::object::{ACCESSIBLE, Abilities, EDITABLE_TEXT, ObjectRef, PROPERTIES, VALUE};
use crate::refs::RefTarget;
use crate::role;
use crate::state::Bits;

/// Maximum number of options searched.
const MAX_OPTIONS: usize = 500;

/// Sets the value; `None` if it must be typed into the element.
pub(crate) async fn set(
    element: &ElementHandle,
    value: &Value,
) -> Result<Option<ActionReport>, DeviceError> {
    let before = element.fields().await?;
    if before.has(ElementState::Disabled) {
        return Err(refused(element, "is disabled"));
    }
    if before.has(ElementState::ReadOnly) {
        return Err(refused(element, "cannot be changed"));
    }
    let abilities = element.abilities().await?;
    if before.has(ElementState::Checkable) {
        let wanted = on_or_off(value).ok_or_else(|| refused(element, "can only be on or off"))?;
        return check(element, &before, wanted).await.map(Some);
    }
    if abilities.has(Abilities::VALUE)
        && let Some(number) = number(value)
    {
        return set_number(element, number).await.map(Some);
    }
    let text = text_of(value).ok_or_else(|| refused(element, "accepts only text or a number"))?;
    if holds_options(&before) && !abilities.has(Abilities::EDITABLE_TEXT) {
        let field = match &*before.role {
            "combobox" => field_of(element).await?,
            _ => None,
        };
        let Some(field) = field else {
            return choose(element, &text).await.map(Some);
        };
        // An editable combo box accepts other texts than its options.
        let fields = field.fields().await?;
        return set_text(&field, &fields, &text).await.map(Some);
    }
    if abilities.has(Abilities::EDITABLE_TEXT) {
        return set_text(element, &before, &text).await.map(Some);
    }
    Ok(None)
}

fn holds_options(fields: &ElementFields) -> bool {
    matches!(
        &*fields.role,
        "combobox" | "list" | "listbox" | "menu" | "tree" | "tablist"
    )
}

fn on_or_off(value: &Value) -> Option<bool> {
    if let Some(value) = value.as_bool() {
        return Some(value);
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
        Value::Bool(value) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

async fn set_text(
    element: &ElementHandle,
    before: &ElementFields,
    text: &str,
) -> Result<ActionReport, DeviceError> {
    let taken: bool = element
        .call(EDITABLE_TEXT, "SetTextContents", &text)
        .await?;
    if !taken {
        return Err(refused(element, "rejected the text"));
    }
    if before.role == "password" {
        // A password field does not show its text.
        return Ok(ActionReport::delivered());
    }
    let mut timeout = ChangeTimeout::new();
    loop {
        if element.text().await.is_ok_and(|now| now == text) {
            return Ok(ActionReport::confirmed());
        }
        if !timeout.wait_retry().await {
            return Ok(ActionReport::delivered());
        }
    }
}

/// The text field of an editable combo box.
async fn field_of(element: &ElementHandle) -> Result<Option<ElementHandle>, DeviceError> {
    let bus = element.bus();
    let children: Vec<ObjectRef> = element.call(ACCESSIBLE, "GetChildren", &()).await?;
    let some = || children.iter().take(MAX_OPTIONS);
    let (roles, states, interfaces) = tokio::join!(
        bus.each::<u32, _>(some(), ACCESSIBLE, "GetRole", &()),
        bus.each::<Vec<u32>, _>(some(), ACCESSIBLE, "GetState", &()),
        bus.each::<Vec<String>, _>(some(), ACCESSIBLE, "GetInterfaces", &()),
    );
    let answers = roles.into_iter().zip(states).zip(interfaces);
    for (object, ((role, states), interfaces)) in some().zip(answers) {
        let (Some(role), Some(states), Some(interfaces)) = (role, states, interfaces) else {
            continue;
        };
        let is_editable = Bits::of(&states).meaning(role).has(ElementState::Editable);
        let abilities = Abilities::of(&interfaces);
        if is_editable && abilities.has(Abilities::EDITABLE_TEXT) {
            let target = RefTarget {
                object: object.clone(),
                role,
                parent: Some(element.target().object.clone()),
                cell: None,
                shift: element.target().shift,
                abilities,
                counts_from: element.target().counts_from.clone(),
            };
            return Ok(Some(ElementHandle::new(bus.clone(), target, element.id())));
        }
    }
    Ok(None)
}

async fn set_number(element: &ElementHandle, number: f64) -> Result<ActionReport, DeviceError> {
    let body = (VALUE, "CurrentValue", zbus::Variant::from(number));
    element.call::<(), _>(PROPERTIES, "Set", &body).await?;
    let object = &element.target().object;
    let mut timeout = ChangeTimeout::new();
    loop {
        let now = element.bus().property::<f64>(object, VALUE, "CurrentValue");
        if now.await.is_ok_and(|now| (now - number).abs() < 1e-9) {
            return Ok(ActionReport::confirmed());
        }
        if !timeout.wait_retry().await {
            return Ok(ActionReport::delivered());
        }
    }
}

/// Selects the option with this name below the element.
async fn choose(element: &ElementHandle, text: &str) -> Result<ActionReport, DeviceError> {
    let options = options(element).await?;
    let names: Vec<&str> = options.iter().map(|(_, name)| name.as_str()).collect();
    let exact = names.iter().position(|name| *name == text);
    let index = exact.or_else(|| {
        names
            .iter()
            .position(|name| normalized(name) == normalized(text))
    });
    let Some((object, _)) = index.and_then(|index| options.get(index)) else {
        let names: Vec<String> = names
            .iter()
            .take(20)
            .map(|name| format!("{name:?}"))
            .collect();
        return Err(refused(
            element,
            &format!("has no option {text:?}; available: {}", names.join(", ")),
        ));
    };
    let role: u32 = element
        .bus()
        .get(object, ACCESSIBLE, "GetRole", &())
        .await?;
    let target = RefTarget {
        object: object.clone(),
        role,
        parent: Some(element.target().object.clone()),
        cell: None,
        shift: (0, 0),
        abilities: Abilities::NONE,
        counts_from: None,
    };
    let option = ElementHandle::new(element.bus().clone(), target, element.id());
    let before = option.fields().await?;
    if before.role.starts_with("menuitem") {
        // Options of a drop-down are activated; its name then becomes that of the option.
        return use_option(element, &option, text).await;
    }
    actions::select(&option, &before).await
}

async fn use_option(
    element: &ElementHandle,
    option: &ElementHandle,
    text: &str,
) -> Result<ActionReport, DeviceError> {
    actions::invoke(option, None).await?;
    let object = &element.target().object;
    let mut timeout = ChangeTimeout::new();
    loop {
        let name = element.bus().property::<String>(object, ACCESSIBLE, "Name");
        if name.await.is_ok_and(|name| name == text) {
            return Ok(ActionReport::confirmed());
        }
        if !timeout.wait_retry().await {
            break;
        }
    }
    confirm_change(option, |now| now.has(ElementState::Selected)).await
}

/// The named options up to three levels below the element.
async fn options(element: &ElementHandle) -> Result<Vec<(ObjectRef, String)>, DeviceError> {
    let mut level = vec![element.target().object.clone()];
    let mut options = Vec::new();
    for _ in 0..3 {
        let below: Vec<Option<Vec<ObjectRef>>> = element
            .bus()
            .each(&level, ACCESSIBLE, "GetChildren", &())
            .await;
        level = below
            .into_iter()
            .flatten()
            .flatten()
            .take(MAX_OPTIONS)
            .collect();
        let (names, roles) = tokio::join!(
            element
                .bus()
                .properties::<String>(&level, ACCESSIBLE, "Name"),
            element
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
    fn parses_on_and_off() {
        assert_eq!(on_or_off(&json!(true)), Some(true));
        assert_eq!(on_or_off(&json!("Off")), Some(false));
        assert_eq!(on_or_off(&json!("maybe")), None);
        assert_eq!(on_or_off(&json!(7)), None);
    }

    #[test]
    fn parses_numbers_from_text() {
        assert_eq!(number(&json!(2.5)), Some(2.5));
        assert_eq!(number(&json!(" 12 ")), Some(12.0));
        assert_eq!(number(&json!("twelve")), None);
    }
}
