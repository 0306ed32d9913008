//! Encodes a neutral action as a predefined function that represents it completely.

use std::time::Duration;

use serde_json::{Map, Value, json};
use telechir_protocol::{
    Action, Button, Chord, ClickCount, Key, Modifier, NamedKey, ScrollUnit, Size, Space, Target,
};

use super::functions::Generation;

/// The predefined function for an action.
#[derive(Debug, PartialEq)]
pub(super) struct Said {
    pub(super) name: &'static str,
    pub(super) args: Map<String, Value>,
    /// Inexact translations: what, why and how it was preserved.
    pub(super) notes: Vec<(&'static str, &'static str, &'static str)>,
}

/// The vocabulary and the screenshot size that an action is encoded for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Speaker {
    pub(super) generation: Generation,
    /// Size of the newest screenshot; without it, pixels cannot be encoded.
    pub(super) image: Option<Size>,
}

type Args = Map<String, Value>;

fn said(name: &'static str, args: Args) -> Said {
    Said {
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

const GRID_WHAT: &str = "coordinates in pixels";
const GRID_WHY: &str = "coordinates are thousandths of the screenshot";
const GRID_HOW: &str = "as the nearest thousandths";

impl Speaker {
    /// Encodes an action; `None` if no function represents all of it.
    pub(super) fn say(self, action: &Action) -> Option<Said> {
        match self.generation {
            Generation::New => self.newer(action),
            Generation::Old => self.older(action),
        }
    }

    fn newer(self, action: &Action) -> Option<Said> {
        Some(match action {
            Action::Screenshot => said("take_screenshot", Args::new()),
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
                let mut said = self.pointed("move", at, ["x", "y"])?;
                said.notes
                    .push(("hover", "there is only `move`", "as a move of the pointer"));
                said
            }
            Action::Drag { .. } => self.drag(action, ["start_x", "start_y", "end_x", "end_y"])?,
            Action::Scroll { .. } => self.scroll(action)?,
            Action::Type {
                text,
                at: None,
                clear_first: false,
                submit,
            } => said(
                "type",
                members([
                    ("text", text.as_str().into()),
                    ("press_enter", (*submit).into()),
                ]),
            ),
            Action::Key { chord, repeat: 1 } => match chord.keys() {
                [key] => said("press_key", members([("key", key_name(key).into())])),
                keys => {
                    let names: Vec<Value> = keys.iter().map(|key| key_name(key).into()).collect();
                    said("hotkey", members([("keys", names.into())]))
                }
            },
            Action::KeyDown { chord } => {
                said("key_down", members([("key", only_key(chord)?.into())]))
            }
            Action::KeyUp { chord } => said("key_up", members([("key", only_key(chord)?.into())])),
            Action::Wait { duration } => said("wait", maybe_seconds(*duration)),
            Action::Navigate { url, tab: None } => {
                said("navigate", members([("url", url.as_str().into())]))
            }
            Action::Back { tab: None } => said("go_back", Args::new()),
            Action::Forward { tab: None } => said("go_forward", Args::new()),
            Action::OpenApp { name } => {
                said("open_app", members([("app_name", name.as_str().into())]))
            }
            Action::LongPress { at, duration } => {
                let mut said = self.pointed("long_press", at, ["x", "y"])?;
                said.args.extend(maybe_seconds(*duration));
                said
            }
            Action::Other { name, args } if name == "list_apps" && args.is_empty() => {
                said("list_apps", Args::new())
            }
            _ => return None,
        })
    }

    fn older(self, action: &Action) -> Option<Said> {
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
                let mut said = self.pointed("type_text_at", at, ["x", "y"])?;
                said.args.extend(members([
                    ("text", text.as_str().into()),
                    ("press_enter", (*submit).into()),
                    ("clear_before_typing", (*clear_first).into()),
                ]));
                said
            }
            Action::Key { chord, repeat: 1 } => said(
                "key_combination",
                members([("keys", combination(chord).into())]),
            ),
            Action::Wait {
                duration: Some(duration),
            } if *duration == Duration::from_secs(5) => said("wait_5_seconds", Args::new()),
            Action::Navigate { url, tab: None } => {
                said("navigate", members([("url", url.as_str().into())]))
            }
            Action::Back { tab: None } => said("go_back", Args::new()),
            Action::Forward { tab: None } => said("go_forward", Args::new()),
            Action::Search { query: None } => said("search", Args::new()),
            Action::OpenBrowser { url: None } => said("open_web_browser", Args::new()),
            _ => return None,
        })
    }

    /// A function with a point as arguments.
    fn pointed(self, name: &'static str, at: &Target, names: [&str; 2]) -> Option<Said> {
        let mut said = said(name, Args::new());
        self.add_place(&mut said, at, names)?;
        Some(said)
    }

    fn add_place(self, said: &mut Said, at: &Target, names: [&str; 2]) -> Option<()> {
        let point = at.point()?;
        let (x, y) = match point.space {
            Space::Thousandths => (point.x, point.y),
            Space::Screenshot => {
                let size = self
                    .image
                    .filter(|size| size.width > 0 && size.height > 0)?;
                let note = (GRID_WHAT, GRID_WHY, GRID_HOW);
                if !said.notes.contains(&note) {
                    said.notes.push(note);
                }
                (
                    on_grid(point.x, size.width)?,
                    on_grid(point.y, size.height)?,
                )
            }
            Space::Screen => return None,
        };
        for (name, value) in names.into_iter().zip([x, y]) {
            said.args.insert(name.to_owned(), grid_number(value)?);
        }
        Some(())
    }

    fn drag(self, action: &Action, names: [&str; 4]) -> Option<Said> {
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
        let mut said = self.pointed("drag_and_drop", start, [names[0], names[1]])?;
        self.add_place(&mut said, end, [names[2], names[3]])?;
        Some(said)
    }

    fn scroll(self, action: &Action) -> Option<Said> {
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
        let is_old = self.generation == Generation::Old;
        let mut said = match at {
            Some(at) if is_old => self.pointed("scroll_at", at, ["x", "y"])?,
            Some(at) => self.pointed("scroll", at, ["x", "y"])?,
            None if is_old => said("scroll_document", Args::new()),
            None => return None,
        };
        said.args.insert("direction".to_owned(), direction.into());
        let on_grid = if is_old {
            "magnitude"
        } else {
            "magnitude_in_pixels"
        };
        let (name, amount) = match unit {
            ScrollUnit::Clicks if is_old => return None,
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
                said.notes.push(note);
                (on_grid, (amount * 1000.0 / f64::from(side.max(1))).round())
            }
        };
        // Distances above 999 cannot be encoded.
        let value = grid_number(amount).filter(|_| amount <= 999.0)?;
        said.args.insert(name.to_owned(), value);
        Some(said)
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
    let is_whole = value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be an integer within u32"
    )]
    is_whole.then(|| Value::from(value as u32))
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

    use super::{Generation, Speaker};
    use crate::google::action;

    fn speaker(generation: Generation) -> Speaker {
        Speaker {
            generation,
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
            for generation in [Generation::Old, Generation::New] {
                let action = Action::Key {
                    chord: chord.clone(),
                    repeat: 1,
                };
                let said = speaker(generation).say(&action).expect("a key");
                let (read, rest) = action::read(said.name, &said.args).expect("a function");
                assert_eq!(read.as_ref(), Ok(&action), "{said:?}");
                assert!(rest.is_empty(), "{said:?}");
            }
        }
    }

    #[test]
    fn an_encoded_pixel_decodes_to_the_same_pixel() {
        for size in [Size::new(1000, 640), Size::new(800, 600)] {
            for x in 0..size.width {
                let speaker = Speaker {
                    generation: Generation::New,
                    image: Some(size),
                };
                let at = Target::Point(Point::new(x, 0));
                let said = speaker.say(&Action::Move { at }).expect("a move");
                let v = said.args["x"].as_f64().expect("a number");
                assert!(v <= 999.0);
                let back = (v / 1000.0 * f64::from(size.width)).round();
                assert!((back - f64::from(x)).abs() < 0.5, "{x} of {size:?}: {v}");
            }
        }
    }
}
