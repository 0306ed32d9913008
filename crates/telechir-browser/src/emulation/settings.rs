//! The settings of an `emulate` action.

use serde_json::{Map, Value};
use telechir_device::DeviceError;
use telechir_protocol::Size;

use super::{ColorScheme, Emulation, Geolocation, Permission};
use crate::error::refused;

/// The names of all settings.
const NAMES: [&str; 10] = [
    "viewport",
    "locale",
    "timezone",
    "user_agent",
    "color_scheme",
    "reduced_motion",
    "geolocation",
    "permissions",
    "mobile",
    "offline",
];
/// The edges of a viewport in pixels.
const VIEWPORT_EDGES: std::ops::RangeInclusive<u32> = 100..=4_096;

/// What pages see after an `emulate` action.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PageSettings {
    pub(crate) emulation: Emulation,
    /// The size in pixels, if it changes.
    pub(crate) viewport: Option<Size>,
}

/// What pages see before the first `emulate` action.
#[derive(Clone, Debug)]
pub(crate) struct InitialSettings {
    pub(crate) emulation: Emulation,
    pub(crate) size: Size,
}

impl PageSettings {
    /// Applies settings to those of now. A setting that is null is that of `initial`.
    pub(crate) fn read(
        now: &Emulation,
        initial: &InitialSettings,
        settings: &Map<String, Value>,
    ) -> Result<Self, DeviceError> {
        let mut next = Self {
            emulation: now.clone(),
            viewport: None,
        };
        if settings.is_empty() {
            return Err(refused(format!(
                "No setting was named; there are {}.",
                NAMES.join(", ")
            )));
        }
        for (name, value) in settings {
            next.set(name, value, initial).map_err(|expected| {
                refused(format!(
                    "Invalid setting {name}: {expected}, found {value}."
                ))
            })?;
        }
        Ok(next)
    }

    fn set(&mut self, name: &str, value: &Value, start: &InitialSettings) -> Result<(), String> {
        let emulation = &mut self.emulation;
        let initial = &start.emulation;
        match name {
            "viewport" => self.viewport = Some(viewport(value, start.size)?),
            "locale" => emulation.locale = text(value, &initial.locale)?,
            "timezone" => emulation.timezone = text(value, &initial.timezone)?,
            "user_agent" => emulation.user_agent = text(value, &initial.user_agent)?,
            "color_scheme" => emulation.color_scheme = scheme(value, initial.color_scheme)?,
            "reduced_motion" => {
                emulation.reduced_motion = match value {
                    Value::Null => initial.reduced_motion,
                    value @ Value::Bool(_)
                    | value @ Value::Number(_)
                    | value @ Value::String(_)
                    | value @ Value::Array(_)
                    | value @ Value::Object(_) => Some(flag(value)?),
                }
            }
            "geolocation" => emulation.geolocation = geolocation(value, initial.geolocation)?,
            "permissions" => {
                emulation.permissions = match value {
                    Value::Null => initial.permissions.clone(),
                    value @ Value::Bool(_)
                    | value @ Value::Number(_)
                    | value @ Value::String(_)
                    | value @ Value::Array(_)
                    | value @ Value::Object(_) => permissions(value)?,
                }
            }
            "mobile" => emulation.is_mobile = flag_or(value, initial.is_mobile)?,
            "offline" => emulation.is_offline = flag_or(value, initial.is_offline)?,
            _ => return Err(format!("expected one of {}", NAMES.join(", "))),
        }
        Ok(())
    }
}

/// A size as text or as an object, or the initial one.
fn viewport(value: &Value, initial: Size) -> Result<Size, String> {
    let edge = |value: &Value| value.as_u64().and_then(|edge| u32::try_from(edge).ok());
    let edges = match value {
        Value::String(text) => text.split_once('x').map(|(width, height)| {
            let edge = |text: &str| text.trim().parse().ok();
            (edge(width), edge(height))
        }),
        Value::Null => return Ok(initial),
        value @ Value::Bool(_)
        | value @ Value::Number(_)
        | value @ Value::Array(_)
        | value @ Value::Object(_) => Some((edge(&value["width"]), edge(&value["height"]))),
    };
    match edges {
        Some((Some(width), Some(height)))
            if VIEWPORT_EDGES.contains(&width) && VIEWPORT_EDGES.contains(&height) =>
        {
            Ok(Size::new(width, height))
        }
        _ => Err("expected a size such as 1024x768, with edges from 100 to 4096".to_owned()),
    }
}

fn text(value: &Value, initial: &Option<String>) -> Result<Option<String>, String> {
    match value {
        Value::Null => Ok(initial.clone()),
        Value::String(text)
            if !text.is_empty() && text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) =>
        {
            Ok(Some(text.clone()))
        }
        Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => Err("expected printable ASCII text".to_owned()),
    }
}

fn scheme(value: &Value, initial: Option<ColorScheme>) -> Result<Option<ColorScheme>, String> {
    match value {
        Value::Null => Ok(initial),
        Value::String(name) if name == "light" => Ok(Some(ColorScheme::Light)),
        Value::String(name) if name == "dark" => Ok(Some(ColorScheme::Dark)),
        Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => Err("expected \"light\" or \"dark\"".to_owned()),
    }
}

fn flag(value: &Value) -> Result<bool, String> {
    let flag = value.as_bool();
    flag.ok_or_else(|| "expected true or false".to_owned())
}

fn flag_or(value: &Value, initial: bool) -> Result<bool, String> {
    match value {
        Value::Null => Ok(initial),
        value @ Value::Bool(_)
        | value @ Value::Number(_)
        | value @ Value::String(_)
        | value @ Value::Array(_)
        | value @ Value::Object(_) => flag(value),
    }
}

/// `[latitude, longitude]`, or an object with these and perhaps `accuracy`.
fn geolocation(value: &Value, initial: Option<Geolocation>) -> Result<Option<Geolocation>, String> {
    if value.is_null() {
        return Ok(initial);
    }
    let (latitude, longitude) = match value {
        Value::Array(_) => (&value[0], &value[1]),
        value @ Value::Null
        | value @ Value::Bool(_)
        | value @ Value::Number(_)
        | value @ Value::String(_)
        | value @ Value::Object(_) => (&value["latitude"], &value["longitude"]),
    };
    let accuracy = value.get("accuracy").map_or(Some(0.0), Value::as_f64);
    let at = latitude.as_f64().zip(longitude.as_f64()).zip(accuracy);
    let at = at.and_then(|((latitude, longitude), accuracy)| {
        Geolocation::new(latitude, longitude, accuracy)
    });
    at.map(Some).ok_or_else(|| {
        "expected latitude (-90 to 90) and longitude (-180 to 180), such as [48.2, 16.4]".to_owned()
    })
}

fn permissions(value: &Value) -> Result<Vec<Permission>, String> {
    let names = value.as_array();
    let names = names.ok_or_else(|| "expected a list of permissions".to_owned())?;
    let parse = |name: &Value| Permission::parse(name.as_str().unwrap_or_default());
    names.iter().map(parse).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(now: &Emulation, settings: Value) -> Result<PageSettings, String> {
        let settings = settings.as_object().unwrap();
        let initial = InitialSettings {
            emulation: Emulation::default(),
            size: Size::new(1280, 800),
        };
        PageSettings::read(now, &initial, settings).map_err(|error| error.to_string())
    }

    #[test]
    fn only_named_settings_change_and_null_resets_one() {
        let now = Emulation {
            locale: Some("de".to_owned()),
            is_offline: true,
            ..Emulation::default()
        };
        let next = read(&now, json!({"locale": null, "geolocation": [48.2, 16.4]})).unwrap();
        assert_eq!(
            next.emulation,
            Emulation {
                locale: None,
                geolocation: Geolocation::new(48.2, 16.4, 0.0),
                ..now.clone()
            }
        );
        assert_eq!(next.viewport, None);
        let reset = read(&now, json!({"viewport": null})).unwrap();
        assert_eq!(reset.viewport, Some(Size::new(1280, 800)));
        let next = read(
            &now,
            json!({"viewport": "640x480", "permissions": ["camera"]}),
        );
        let next = next.unwrap();
        assert_eq!(next.viewport, Some(Size::new(640, 480)));
        assert_eq!(next.emulation.permissions, [Permission::Camera]);
        assert_eq!(
            next,
            read(
                &now,
                json!({"viewport": {"width": 640, "height": 480}, "permissions": ["camera"]})
            )
            .unwrap()
        );
    }

    #[test]
    fn an_invalid_setting_is_named_with_what_was_expected() {
        for (settings, fragment) in [
            (json!({}), "there are viewport"),
            (json!({"colour": 1}), "expected one of viewport"),
            (json!({"viewport": "9x9"}), "from 100 to 4096"),
            (json!({"viewport": 5}), "1024x768"),
            (json!({"locale": "a\nb"}), "printable"),
            (json!({"color_scheme": "blue"}), "light"),
            (json!({"offline": "yes"}), "true or false"),
            (json!({"geolocation": [91, 0]}), "-90 to 90"),
            (json!({"permissions": ["all"]}), "clipboard-read"),
        ] {
            let error = read(&Emulation::default(), settings).unwrap_err();
            assert!(error.contains(fragment), "{error}");
        }
    }
}
