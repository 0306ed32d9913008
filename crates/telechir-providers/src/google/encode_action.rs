//! Encodes a neutral action as a predefined function that represents it completely.

use std::time::Duration;

use serde_json::{Map, Value, json};
use telechir_protocol::{
    Action, Button, Chord, ClickCount, Key, Modifier, NamedKey, ScrollUnit, Size, Space, Target,
};

use super::functions::FunctionVocabulary;

/// The predefined function for an action.
#[derive(Debug, PartialEq)]
pub(super) struct PredefinedCall {
    pub(super) name: &'static str,
    pub(super) args: Map<String, Value>,
    /// Inexact translations: what, why and how it was preserved.
    pub(super) notes: Vec<(&'static str, &'static str, &'static str)>,
}

/// The vocabulary and the screenshot size that an action is encoded for.
#[derive(Clone, Copy, Debug)]
pub(super) struct GoogleActionEncoder {
    pub(super) vocabulary: FunctionVocabulary,
    /// Size of the newest screenshot; without it, pixels cannot be encoded.
    pub(super) image: Option<Size>,
}

type Args = Map<String, Value>;

fn encoded(name: &'static str, args: Args) -> PredefinedCall {
    PredefinedCall {
        name,
        args,
        notes: Vec::new(),
    }
}

fn members<const N: usize>(list: [(&str, Value); N]) -> Args {
    list.into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

const GRID_LOSS: &str = "coordinates in pixels";
const GRID_WHY: &str = "coordinates are thousandths of the screenshot";
const GRID_HOW: &str = "as the nearest thousandths";

impl GoogleActionEncoder {
    /// Encodes an action; `None` if no function represents all of it.
    pub(super) fn encode(self, action: &Action) -> Option<PredefinedCall> {
        match self.vocabulary {
            FunctionVocabulary::Current => self.encode_current(action),
            FunctionVocabulary::Legacy => self.encode_legacy(action),
        }
    }

    fn encode_current(self, action: &Action) -> Option<PredefinedCall> {
        Some(match action {
            Action::Screenshot => encoded("take_screenshot", Args::new()),
            Action::Click {
                at: Some(at),
                button,
                count,
                modifiers,
            } if modifiers.is_empty() => {
                self.pointed(click_name(*button, *count)?, at, ["x", "y"])?
            }
            Action::MouseDown {
                at: Some(at),
                button: Button::Left,
            } => self.pointed("mouse_down", at, ["x", "y"])?,
            Action::MouseUp {
                at: Some(at),
                button: Button::Left,
            } => self.pointed("mouse_up", at, ["x", "y"])?,
            Action::Move { at } => self.pointed("move", at, ["x", "y"])?,
            Action::Hover { at } => {
                let mut encoded = self.pointed("move", at, ["x", "y"])?;
                encoded
                    .notes
                    .push(("hover", "there is only `move`", "as a move of the pointer"));
                encoded
            }
            Action::Drag { .. } => self.drag(action, ["start_x", "start_y", "end_x", "end_y"])?,
            Action::Scroll { .. } => self.scroll(action)?,
            Action::Type {
                text,
                at: None,
                clear_first: false,
                submit,
            } => encoded(
                "type",
                members([
                    ("text", text.as_str().into()),
                    ("press_enter", (*submit).into()),
                ]),
            ),
            Action::Key { chord, repeat: 1 } => match chord.keys() {
                [key] => encoded("press_key", members([("key", key_name(key).into())])),
                keys => {
                    let names: Vec<Value> = keys.iter().map(|key| key_name(key).into()).collect();
                    encoded("hotkey", members([("keys", names.into())]))
                }
            },
            Action::KeyDown { chord } => {
                encoded("key_down", members([("key", only_key(chord)?.into())]))
            }
            Action::KeyUp { chord } => {
                encoded("key_up", members([("key", only_key(chord)?.into())]))
            }
            Action::Wait { duration } => encoded("wait", maybe_seconds(*duration)),
            Action::Navigate { url, tab: None } => {
                encoded("navigate", members([("url", url.as_str().into())]))
            }
            Action::Back { tab: None } => encoded("go_back", Args::new()),
            Action::Forward { tab: None } => encoded("go_forward", Args::new()),
            Action::OpenApp { name } => {
                encoded("open_app", members([("app_name", name.as_str().into())]))
            }
            Action::LongPress { at, duration } => {
                let mut encoded = self.pointed("long_press", at, ["x", "y"])?;
                encoded.args.extend(maybe_seconds(*duration));
                encoded
            }
            Action::Other { name, args } if name == "list_apps" && args.is_empty() => {
                encoded("list_apps", Args::new())
            }
            _ => return None,
        })
    }

    fn encode_legacy(self, action: &Action) -> Option<PredefinedCall> {
        Some(match action {
            Action::Click {
                at: Some(at),
                button: Button::Left,
                count: ClickCount::Single,
                modifiers,
            } if modifiers.is_empty() => self.pointed("click_at", at, ["x", "y"])?,
            Action::Hover { at } => self.pointed("hover_at", at, ["x", "y"])?,
            Action::Move { at } => self.pointed("move_to", at, ["x", "y"])?,
            Action::Drag { .. } => {
                self.drag(action, ["x", "y", "destination_x", "destination_y"])?
            }
            Action::Scroll { .. } => self.scroll(action)?,
            Action::Type {
                text,
                at: Some(at),
                clear_first,
                submit,
            } => {
                let mut encoded = self.pointed("type_text_at", at, ["x", "y"])?;
                encoded.args.extend(members([
                    ("text", text.as_str().into()),
                    ("press_enter", (*submit).into()),
                    ("clear_before_typing", (*clear_first).into()),
                ]));
                encoded
            }
            Action::Key { chord, repeat: 1 } => encoded(
                "key_combination",
                members([("keys", combination(chord).into())]),
            ),
            Action::Wait {
                duration: Some(duration),
            } if *duration == Duration::from_secs(5) => encoded("wait_5_seconds", Args::new()),
            Action::Navigate { url, tab: None } => {
                encoded("navigate", members([("url", url.as_str().into())]))
            }
            Action::Back { tab: None } => encoded("go_back", Args::new()),
            Action::Forward { tab: None } => encoded("go_forward", Args::new()),
            Action::Search { query: None } => encoded("search", Args::new()),
            Action::OpenBrowser { url: None } => encoded("open_web_browser", Args::new()),
            _ => return None,
        })
    }

    /// A function with a point as arguments.
    fn pointed(self, name: &'static str, at: &Target, names: [&str; 2]) -> Option<PredefinedCall> {
        let mut encoded = encoded(name, Args::new());
        self.add_point(&mut encoded, at, names)?;
        Some(encoded)
    }

    fn add_point(self, encoded: &mut PredefinedCall, at: &Target, names: [&str; 2]) -> Option<()> {
        let point = at.point()?;
        let (x, y) = match point.space {
            Space::Thousandths => (point.x, point.y),
            Space::Screenshot => {
                let size = self
                    .image
                    .filter(|size| size.width > 0 && size.height > 0)?;
                let note = (GRID_LOSS, GRID_WHY, GRID_HOW);
                if !encoded.notes.contains(&note) {
                    encoded.notes.push(note);
                }
                (
                    on_grid(point.x, size.width)?,
                    on_grid(point.y, size.height)?,
                )
            }
            Space::Screen => return None,
        };
        for (name, value) in names.into_iter().zip([x, y]) {
            encoded.args.insert(name.to_owned(), grid_number(value)?);
        }
        Some(())
    }

    fn drag(self, action: &Action, names: [&str; 4]) -> Option<PredefinedCall> {
        let Action::Drag {
            path,
            button: Button::Left,
            modifiers,
            duration: None,
        } = action
        else {
            return None;
        };
        let ([start, end], true) = (path.as_slice(), modifiers.is_empty()) else {
            return None;
        };
        let mut encoded = self.pointed("drag_and_drop", start, [names[0], names[1]])?;
        self.add_point(&mut encoded, end, [names[2], names[3]])?;
        Some(encoded)
    }

    fn scroll(self, action: &Action) -> Option<PredefinedCall> {
        let Action::Scroll {
            at,
            dx,
            dy,
            unit,
            modifiers,
        } = action
        else {
            return None;
        };
        if !modifiers.is_empty() {
            return None;
        }
        let (direction, amount, is_across) = match (*dx, *dy) {
            (0.0, dy) if dy < 0.0 => ("up", -dy, false),
            (0.0, dy) => ("down", dy, false),
            (dx, 0.0) if dx < 0.0 => ("left", -dx, true),
            (dx, 0.0) => ("right", dx, true),
            _ => return None,
        };
        let is_legacy = self.vocabulary == FunctionVocabulary::Legacy;
        let mut encoded = match at {
            Some(at) if is_legacy => self.pointed("scroll_at", at, ["x", "y"])?,
            Some(at) => self.pointed("scroll", at, ["x", "y"])?,
            None if is_legacy => encoded("scroll_document", Args::new()),
            None => return None,
        };
        encoded
            .args
            .insert("direction".to_owned(), direction.into());
        let on_grid = if is_legacy {
            "magnitude"
        } else {
            "magnitude_in_pixels"
        };
        let (name, amount) = match unit {
            ScrollUnit::Clicks if is_legacy => return None,
            ScrollUnit::Clicks => ("magnitude_in_wheel_clicks", amount),
            ScrollUnit::Thousandths => (on_grid, amount),
            ScrollUnit::Pixels => {
                let size = self.image?;
                let side = if is_across { size.width } else { size.height };
                let note = (
                    "a distance in pixels",
                    "distances are thousandths of the screenshot",
                    "as the nearest thousandths",
                );
                encoded.notes.push(note);
                (on_grid, (amount * 1000.0 / f64::from(side.max(1))).round())
            }
        };
        // Distances above 999 cannot be encoded.
        let value = grid_number(amount).filter(|_| amount <= 999.0)?;
        encoded.args.insert(name.to_owned(), value);
        Some(encoded)
    }
}

/// Converts a pixel to thousandths; `None` if it is off the screenshot.
fn on_grid(value: f64, side: u32) -> Option<f64> {
    let side = f64::from(side);
    let is_on = (0.0..side).contains(&value);
    is_on.then(|| (value * 1000.0 / side).round().min(999.0))
}

/// A non-negative integer; thousandths have no fractions.
fn grid_number(value: f64) -> Option<Value> {
    let is_integer = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be an integer within u32"
    )]
    is_integer.then(|| Value::from(value as u32))
}

fn click_name(button: Button, count: ClickCount) -> Option<&'static str> {
    Some(match (button, count) {
        (Button::Left, ClickCount::Single) => "click",
        (Button::Left, ClickCount::Double) => "double_click",
        (Button::Left, ClickCount::Triple) => "triple_click",
        (Button::Middle, ClickCount::Single) => "middle_click",
        (Button::Right, ClickCount::Single) => "right_click",
        _ => return None,
    })
}

fn maybe_seconds(duration: Option<Duration>) -> Args {
    let seconds = duration.map(|duration| duration.as_secs_f64());
    let seconds = seconds.map(|seconds| grid_number(seconds).unwrap_or_else(|| json!(seconds)));
    seconds.map_or_else(Args::new, |seconds| members([("seconds", seconds)]))
}

fn only_key(chord: &Chord) -> Option<String> {
    match chord.keys() {
        [only] => Some(key_name(only)),
        _ => None,
    }
}

/// Current models write keys in lower case: `enter`, `ctrl`, `pageup`.
fn key_name(key: &Key) -> String {
    match key {
        Key::Modifier(Modifier::Super) => "meta".to_owned(),
        Key::Modifier(modifier) => modifier.name().to_owned(),
        Key::Named(named) => small_name(*named),
        Key::Char(c) => c.to_string(),
        Key::Other(name) => name.clone(),
    }
}

fn small_name(named: NamedKey) -> String {
    let name = named.name();
    name.strip_prefix("Arrow").unwrap_or(name).to_lowercase()
}

/// Legacy models write combinations: `Control+A`.
fn combination(chord: &Chord) -> String {
    let name = |key: &Key| match key {
        Key::Modifier(Modifier::Ctrl) => "Control".to_owned(),
        Key::Modifier(Modifier::Alt) => "Alt".to_owned(),
        Key::Modifier(Modifier::Shift) => "Shift".to_owned(),
        Key::Modifier(Modifier::Super) => "Meta".to_owned(),
        Key::Named(named) => named.name().to_owned(),
        Key::Char('+') => "plus".to_owned(),
        Key::Char(c) if chord.keys().len() > 1 => c.to_ascii_uppercase().to_string(),
        Key::Char(c) => c.to_string(),
        Key::Other(name) => name.clone(),
    };
    chord.keys().iter().map(name).collect::<Vec<_>>().join("+")
}

#[cfg(test)]
mod tests {
    use telechir_protocol::{Action, Chord, Key, NamedKey, Point, Size, Target};

    use super::{FunctionVocabulary, GoogleActionEncoder};
    use crate::google::action;

    fn action_encoder(vocabulary: FunctionVocabulary) -> GoogleActionEncoder {
        GoogleActionEncoder {
            vocabulary,
            image: Some(Size::new(1440, 900)),
        }
    }

    #[test]
    fn encoded_keys_decode_to_the_same_action() {
        let single = NamedKey::ALL
            .into_iter()
            .map(Chord::from)
            .chain((' '..='~').filter_map(|c| Chord::new(vec![Key::Char(c)])));
        let several = [
            "ctrl+a",
            "ctrl++",
            "super+ArrowLeft",
            "ctrl+alt+Delete",
            "shift+-",
        ];
        let several = several.iter().filter_map(|text| Chord::parse(text));
        for chord in single.chain(several) {
            for vocabulary in [FunctionVocabulary::Legacy, FunctionVocabulary::Current] {
                let action = Action::Key {
                    chord: chord.clone(),
                    repeat: 1,
                };
                let encoded = action_encoder(vocabulary).encode(&action).expect("a key");
                let (read, rest) = action::read(encoded.name, &encoded.args).expect("a function");
                assert_eq!(read.as_ref(), Ok(&action), "{encoded:?}");
                assert!(rest.is_empty(), "{encoded:?}");
            }
        }
    }

    #[test]
    fn an_encoded_pixel_decodes_to_the_same_pixel() {
        for size in [Size::new(1000, 640), Size::new(800, 600)] {
            for x in 0..size.width {
                let action_encoder = GoogleActionEncoder {
                    vocabulary: FunctionVocabulary::Current,
                    image: Some(size),
                };
                let at = Target::Point(Point::new(x, 0));
                let encoded = action_encoder.encode(&Action::Move { at }).expect("a move");
                let v = encoded.args["x"].as_f64().expect("a number");
                assert!(v <= 999.0);
                let back = (v / 1000.0 * f64::from(size.width)).round();
                assert!((back - f64::from(x)).abs() < 0.5, "{x} of {size:?}: {v}");
            }
        }
    }
}
