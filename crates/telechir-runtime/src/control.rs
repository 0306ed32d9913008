//! Who acts on a session's devices: its calls, or a person who took control.
//!
//! A person's input reaches the devices between turns, through the code that performs actions, so that
//! person and model never act at the same time. It is neither judged nor recorded: the recording says
//! that a person acted, and how long.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use telechir_protocol::ScrollUnit;
use telechir_protocol::{
    Action, Button, Chord, Failure, FailureKind, Key, Modifier, Point, Target,
};

/// Maximum characters of one input.
const MAX_TEXT_CHARS: usize = 100_000;
/// Maximum pixels of one turn of the wheel.
const MAX_SCROLL: f64 = 10_000.0;

/// Whether a person has control of a session. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct ControlLease(Arc<Mutex<LeaseState>>);

#[derive(Debug, Default)]
struct LeaseState {
    is_taken: bool,
    /// How often a person took control.
    epoch: u64,
}

impl ControlLease {
    /// Refuses every step and every screenshot of calls from now on. The running step goes on.
    pub fn take(&self) {
        let mut state = self.lock();
        if !state.is_taken {
            state.is_taken = true;
            state.epoch += 1;
        }
    }

    /// Lets calls act again. Points of screenshots from before are stale.
    pub fn give_back(&self) {
        self.lock().is_taken = false;
    }

    /// Whether a person has control, or waits for it.
    pub fn is_taken(&self) -> bool {
        self.lock().is_taken
    }

    /// How often a person took control: what was seen in an earlier epoch may have changed.
    pub(crate) fn epoch(&self) -> u64 {
        self.lock().epoch
    }

    /// Why no call may act or observe now; none if calls may.
    pub(crate) fn refusal(&self) -> Option<Failure> {
        let message = "A person has control of the computer, so this was not done. Wait until they give \
                       it back, then take a screenshot before you continue.";
        let is_taken = self.lock().is_taken;
        is_taken.then(|| Failure::new(FailureKind::Cancelled, message))
    }

    /// Why there is no screenshot after actions that were done; none if one may be taken.
    pub(crate) fn no_screenshot(&self) -> Option<Failure> {
        let message = "The actions were done, but there is no screenshot, because a person has control \
                       of the computer. Wait until they give it back, then take a screenshot before \
                       you continue; do not repeat the actions.";
        self.is_taken()
            .then(|| Failure::new(FailureKind::Cancelled, message))
    }

    /// Why an action that aims at a point is refused on a screen that was last seen in this epoch.
    pub(crate) fn stale_point(&self, seen: u64, action: &Action) -> Option<Failure> {
        if seen == self.epoch() || !aims_at_a_point(action) {
            return None;
        }
        let message = "A person used the computer since your last screenshot, so what is at this point \
                       may have changed. Take a screenshot before you continue.";
        Some(Failure::new(FailureKind::Stale, message))
    }

    fn lock(&self) -> MutexGuard<'_, LeaseState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn aims_at_a_point(action: &Action) -> bool {
    let is_point = |target: &Target| matches!(target, Target::Point(_));
    if let Action::Drag { path, .. } = action {
        return path.iter().any(is_point);
    }
    action.target().is_some_and(is_point)
}

/// Input of a person. Points are pixels of the screen as its viewers see it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PersonInput {
    /// Moves the pointer to a pixel.
    Move {
        /// Pixels from the left edge.
        x: u32,
        /// Pixels from the top edge.
        y: u32,
    },
    /// Presses a button, with modifiers that stay pressed until it is released.
    Press {
        /// Pixels from the left edge.
        x: u32,
        /// Pixels from the top edge.
        y: u32,
        /// The button as in actions.
        button: Button,
        /// Names of the modifiers.
        #[serde(default)]
        modifiers: Vec<String>,
    },
    /// Releases a button, and the modifiers with which it was pressed.
    Release {
        /// Pixels from the left edge.
        x: u32,
        /// Pixels from the top edge.
        y: u32,
        /// The button as in actions.
        button: Button,
        /// Names of the modifiers.
        #[serde(default)]
        modifiers: Vec<String>,
    },
    /// Turns the wheel: positive values mean right and down, in pixels.
    Scroll {
        /// Pixels from the left edge.
        x: u32,
        /// Pixels from the top edge.
        y: u32,
        /// Pixels to the right; negative to the left.
        dx: f64,
        /// Pixels downwards; negative upwards.
        dy: f64,
    },
    /// Presses and releases keys together, such as `ctrl+Enter`.
    Key {
        /// The keys, joined by `+`.
        chord: String,
    },
    /// Enters text exactly, in whatever way it was typed.
    Text {
        /// The text, in which a line break is Enter and a tab is Tab.
        text: String,
    },
}

impl PersonInput {
    /// The actions that have the effect of this input.
    pub(crate) fn actions(self) -> Result<Vec<Action>, String> {
        let at = |x: u32, y: u32| Target::Point(Point::new(x, y));
        Ok(match self {
            Self::Move { x, y } => vec![Action::Move { at: at(x, y) }],
            Self::Press {
                x,
                y,
                button,
                modifiers,
            } => {
                let down = Action::MouseDown {
                    at: Some(at(x, y)),
                    button,
                };
                let keys = pressed(&modifiers)?.map(|chord| Action::KeyDown { chord });
                keys.into_iter().chain([down]).collect()
            }
            Self::Release {
                x,
                y,
                button,
                modifiers,
            } => {
                let up = Action::MouseUp {
                    at: Some(at(x, y)),
                    button,
                };
                let keys = pressed(&modifiers)?.map(|chord| Action::KeyUp { chord });
                [up].into_iter().chain(keys).collect()
            }
            Self::Scroll { x, y, dx, dy } => {
                let limited = |distance: f64| match distance.is_finite() {
                    true => distance.clamp(-MAX_SCROLL, MAX_SCROLL),
                    false => 0.0,
                };
                vec![Action::Scroll {
                    at: Some(at(x, y)),
                    dx: limited(dx),
                    dy: limited(dy),
                    unit: ScrollUnit::Pixels,
                    modifiers: Vec::new(),
                }]
            }
            Self::Key { chord } => {
                let parsed = Chord::parse(&chord);
                let chord = parsed.ok_or_else(|| format!("press `{chord}`: it names no keys"))?;
                vec![Action::Key { chord, repeat: 1 }]
            }
            Self::Text { text } => {
                if text.chars().count() > MAX_TEXT_CHARS {
                    return Err(format!(
                        "enter a text of more than {MAX_TEXT_CHARS} characters"
                    ));
                }
                vec![Action::Type {
                    text,
                    at: None,
                    clear_first: false,
                    submit: false,
                }]
            }
        })
    }
}

/// The modifiers with these names as a chord; none without names.
fn pressed(names: &[String]) -> Result<Option<Chord>, String> {
    let parse = |name: &String| {
        let modifier = Modifier::parse(name);
        modifier
            .map(Key::Modifier)
            .ok_or_else(|| format!("press `{name}`: it is no modifier"))
    };
    let keys = names
        .iter()
        .map(parse)
        .collect::<Result<Vec<Key>, String>>()?;
    Ok(Chord::new(keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_refused_while_a_person_has_control() {
        let lease = ControlLease::default();
        let (before, other) = (lease.epoch(), lease.clone());
        assert_eq!(lease.refusal(), None);
        other.take();
        other.take();
        assert!(
            lease
                .refusal()
                .is_some_and(|failure| failure.message.contains("A person"))
        );
        other.give_back();
        assert_eq!(lease.refusal(), None);
        assert_eq!(lease.epoch(), before + 1);
    }

    #[test]
    fn only_points_are_stale_after_a_person_had_control() {
        let lease = ControlLease::default();
        let point = Action::Move {
            at: Target::Point(Point::new(1, 2)),
        };
        let chord = Chord::parse("Enter").unwrap();
        let key = Action::Key { chord, repeat: 1 };
        let seen = lease.epoch();
        assert_eq!(lease.stale_point(seen, &point), None);
        lease.take();
        lease.give_back();
        let stale = lease.stale_point(seen, &point).unwrap();
        assert_eq!(stale.kind, FailureKind::Stale);
        assert_eq!(lease.stale_point(seen, &key), None);
        assert_eq!(lease.stale_point(lease.epoch(), &point), None);
    }

    #[test]
    fn modifiers_stay_pressed_as_long_as_the_button() {
        let input = |text: &str| serde_json::from_str::<PersonInput>(text).unwrap().actions();
        let names = |text: &str| {
            let actions = input(text).unwrap();
            actions
                .iter()
                .map(|action| action.name().to_owned())
                .collect::<Vec<_>>()
        };
        let press = r#"{"press":{"x":1,"y":2,"button":"left","modifiers":["ctrl"]}}"#;
        let release = press.replace("press\"", "release\"");
        let (down, up) = (names(press), names(&release));
        assert_eq!(down.len(), 2);
        assert_eq!((down[0].as_str(), up[1].as_str()), ("key_down", "key_up"));
        assert!(input(&press.replace("ctrl", "nonsense")).is_err());
        assert!(input(r#"{"key":{"chord":"ctrl+"}}"#).is_err());
    }
}
