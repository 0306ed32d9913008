//! Judges chords by the keys that are pressed together, independent of their spelling.

use std::collections::BTreeSet;

use telechir_protocol::{Action, Chord, Key, Modifier, NamedKey};

use crate::Verdict;
use crate::rule::{MatchCertainty, Matcher, Polarity, RuleReason};

/// The maximal set of keys pressed during an action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PressedKeys(Vec<Key>);

/// The conditions of a `[[keys]]` rule: a chord matches if at least these keys are pressed.
#[derive(Clone, Debug)]
pub(crate) struct KeysMatch {
    pub(crate) chords: Vec<Chord>,
}

impl PressedKeys {
    /// The keys of a chord and those pressed before it.
    pub(crate) fn new(pressed: &[Key], chord: &Chord) -> Self {
        let keys = pressed.iter().chain(chord.keys()).cloned().collect();
        let canonical = Chord::new(keys).map(|all| all.canonical());
        Self(
            canonical
                .unwrap_or_else(|| chord.canonical())
                .keys()
                .to_vec(),
        )
    }

    fn has(&self, key: &Key) -> bool {
        self.0.contains(key)
    }

    fn has_modifier(&self, modifier: Modifier) -> bool {
        self.has(&Key::Modifier(modifier))
    }

    fn covers(&self, chord: &Chord) -> bool {
        chord.canonical().keys().iter().all(|key| self.has(key))
    }
}

impl Matcher for KeysMatch {
    type Subject<'a> = PressedKeys;

    fn fit(&self, pressed: &PressedKeys, sense: Polarity) -> MatchCertainty {
        // A permissive rule matches its exact chord: `ctrl+s` must not allow `ctrl+alt+s`.
        let fits = self.chords.iter().any(|chord| match sense {
            Polarity::Permits => {
                pressed.covers(chord) && chord.canonical().keys().len() == pressed.0.len()
            }
            Polarity::Restricts => pressed.covers(chord),
        });
        if fits {
            MatchCertainty::Yes
        } else {
            MatchCertainty::No
        }
    }
}

/// The keys that an action presses.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum KeyPresses {
    /// None.
    None,
    /// A chord.
    Chord(PressedKeys),
    /// The keys of a text, each by itself.
    Text(Vec<PressedKeys>),
}

/// The keys that an action presses, each with those that are held meanwhile.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new action is classified in `screen_rule`, whose match has no wildcard"
)]
pub(crate) fn key_presses(pressed: &[Key], action: &Action) -> KeyPresses {
    match action {
        Action::Key { chord, .. } | Action::HoldKey { chord, .. } | Action::KeyDown { chord } => {
            KeyPresses::Chord(PressedKeys::new(pressed, chord))
        }
        Action::Type {
            text,
            clear_first,
            submit,
            ..
        } => KeyPresses::Text(text_presses(pressed, text, *clear_first, *submit)),
        _ => KeyPresses::None,
    }
}

/// The keys of a text: every different character, also with Shift if it may need that.
fn text_presses(pressed: &[Key], text: &str, clear_first: bool, submit: bool) -> Vec<PressedKeys> {
    let shift = Key::Modifier(Modifier::Shift);
    let mut chords: Vec<Vec<Key>> = Vec::new();
    for c in text.chars().collect::<BTreeSet<char>>() {
        let key = match c {
            '\n' | '\r' => Key::Named(NamedKey::Enter),
            '\t' => Key::Named(NamedKey::Tab),
            '\u{8}' => Key::Named(NamedKey::Backspace),
            '\u{1b}' => Key::Named(NamedKey::Escape),
            '\u{7f}' => Key::Named(NamedKey::Delete),
            c => Key::Char(c),
        };
        if !c.is_lowercase() && !c.is_control() {
            chords.push(vec![shift.clone(), key.clone()]);
        }
        chords.push(vec![key]);
    }
    if clear_first {
        let ctrl = Key::Modifier(Modifier::Ctrl);
        chords.push(vec![ctrl, Key::Char('a')]);
        chords.push(vec![Key::Named(NamedKey::Backspace)]);
        chords.push(vec![Key::Named(NamedKey::Delete)]);
    }
    if submit {
        chords.push(vec![Key::Named(NamedKey::Enter)]);
    }
    let chords = chords.into_iter().filter_map(Chord::new);
    chords
        .map(|chord| PressedKeys::new(pressed, &chord))
        .collect()
}

/// Updates the pressed keys by what an action leaves pressed or releases.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new action is classified in `screen_rule`, whose match has no wildcard"
)]
pub fn update_pressed_keys(pressed: &mut Vec<Key>, action: &Action) {
    match action {
        Action::KeyDown { chord } => pressed.extend(chord.canonical().keys().iter().cloned()),
        Action::KeyUp { chord } => {
            let released = chord.canonical();
            pressed.retain(|key| !released.keys().contains(key));
        }
        _ => {}
    }
}

/// Names of keys that only X servers know, in lower case and without separators, by their beginnings.
const RARE_KEYS: [&str; 8] = ["xf86", "dead", "iso", "kp", "hyper", "sun", "multi", "mode"];
/// Number of the last function key of X11.
const LAST_FUNCTION_KEY: u32 = 35;

/// The first key of a chord that no keyboard has, such as the misspelled `Entr`. Names of rare X11
/// keys, such as `XF86AudioMute`, are not known one by one; they are accepted by their beginnings.
pub fn unknown_key(chord: &Chord) -> Option<&str> {
    chord.keys().iter().find_map(|key| match key {
        Key::Other(name) => (!is_rare(name)).then_some(name.as_str()),
        Key::Modifier(_) | Key::Named(_) | Key::Char(_) => None,
    })
}

fn is_rare(name: &str) -> bool {
    let plain: String = name.to_lowercase().replace(['_', '-', ' '], "");
    let number = plain.strip_prefix('f').and_then(|n| n.parse::<u32>().ok());
    number.is_some_and(|number| (1..=LAST_FUNCTION_KEY).contains(&number))
        || RARE_KEYS.iter().any(|start| plain.starts_with(start))
}

/// The verdict if no rule matches.
pub(crate) fn default(pressed: &PressedKeys) -> RuleReason {
    let built_in = |verdict, reason: String| RuleReason::built_in(verdict, "keys", reason);
    match danger(pressed) {
        Some((verdict, what)) => built_in(
            verdict,
            format!("These keys together {what}; a [[keys]] rule can allow them."),
        ),
        None => match pressed.0.iter().find(|key| matches!(key, Key::Other(_))) {
            Some(key) => built_in(
                Verdict::Ask,
                format!("The effect of the key {:?} is unknown.", key.to_string()),
            ),
            None => built_in(Verdict::Allow, "Ordinary keys.".to_owned()),
        },
    }
}

fn danger(pressed: &PressedKeys) -> Option<(Verdict, &'static str)> {
    use Modifier::{Alt, Ctrl, Super};
    let named = |key| pressed.has(&Key::Named(key));
    let ctrl_alt = pressed.has_modifier(Ctrl) && pressed.has_modifier(Alt);
    let switches_by_name = pressed.0.iter().any(
        |key| matches!(key, Key::Other(name) if name.to_lowercase().replace('_', "").starts_with("xf86switchvt")),
    );
    if switches_by_name || (ctrl_alt && pressed.0.iter().any(is_function_key)) {
        return Some((Verdict::Deny, "switch to another console"));
    }
    if ctrl_alt && (named(NamedKey::Delete) || named(NamedKey::Backspace)) {
        return Some((Verdict::Deny, "end or restart the session"));
    }
    if pressed.has_modifier(Alt) && named(NamedKey::F4) {
        return Some((Verdict::Deny, "close the window or end the session"));
    }
    if pressed.has_modifier(Super) && pressed.has(&Key::Char('r')) {
        return Some((Verdict::Deny, "open a prompt for commands"));
    }
    if (ctrl_alt && pressed.has(&Key::Char('t')))
        || (pressed.has_modifier(Alt) && named(NamedKey::F2))
    {
        return Some((Verdict::Ask, "open a terminal or a prompt for commands"));
    }
    None
}

fn is_function_key(key: &Key) -> bool {
    use NamedKey::{F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, F11, F12};
    const FUNCTION_KEYS: [NamedKey; 12] = [F1, F2, F3, F4, F5, F6, F7, F8, F9, F10, F11, F12];
    matches!(key, Key::Named(named) if FUNCTION_KEYS.contains(named))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn verdict(pressed: &[Key], chord: &str) -> Verdict {
        default(&PressedKeys::new(pressed, &Chord::parse(chord).unwrap())).verdict
    }

    #[test]
    fn a_dangerous_chord_is_refused_in_every_spelling() {
        for chord in [
            "ctrl+alt+F1",
            "Alt+Control+f1",
            "Control_R+Alt_L+F1",
            "ctrl+ctrl+alt+F1",
            "CTRL+ALT+F1",
            "ctrl+option+F12",
            "F1+alt+ctrl",
            "ctrl+alt+shift+F2",
            "XF86Switch_VT_1",
            "ctrl+alt+0xffbe",
            "ctrl+alt+KP_F1",
        ] {
            assert_eq!(verdict(&[], chord), Verdict::Deny, "{chord}");
        }
        for chord in [
            "alt+F4",
            "Alt_R+f4",
            "alt+shift+F4",
            "win+r",
            "Meta+R",
            "cmd+r",
            "Super_L+r",
            "ctrl+alt+del",
            "Ctrl+Alt+Delete",
            "ctrl+alt+BackSpace",
        ] {
            assert_eq!(verdict(&[], chord), Verdict::Deny, "{chord}");
        }
    }

    #[test]
    fn keys_pressed_by_earlier_calls_count() {
        let mut pressed = Vec::new();
        for chord in ["ctrl", "alt"] {
            update_pressed_keys(
                &mut pressed,
                &Action::KeyDown {
                    chord: Chord::parse(chord).unwrap(),
                },
            );
        }
        assert_eq!(verdict(&pressed, "F1"), Verdict::Deny);
        update_pressed_keys(
            &mut pressed,
            &Action::KeyUp {
                chord: Chord::parse("alt").unwrap(),
            },
        );
        assert_eq!(verdict(&pressed, "F1"), Verdict::Allow);
    }

    #[test]
    fn ordinary_chords_are_allowed_and_unknown_keys_need_approval() {
        for chord in ["ctrl+s", "Return", "alt+Tab", "ctrl+shift+t", "F4", "super"] {
            assert_eq!(verdict(&[], chord), Verdict::Allow, "{chord}");
        }
        for chord in ["Hyper_X", "XF86PowerOff", "ctrl+alt+t", "alt+F2"] {
            assert_eq!(verdict(&[], chord), Verdict::Ask, "{chord}");
        }
    }

    #[test]
    fn a_permissive_rule_matches_its_exact_chord_only() {
        let rule = KeysMatch {
            chords: vec![Chord::parse("alt+F4").unwrap()],
        };
        let fit = |chord: &str, sense| {
            rule.fit(&PressedKeys::new(&[], &Chord::parse(chord).unwrap()), sense)
        };
        assert_eq!(fit("F4+Alt_L", Polarity::Permits), MatchCertainty::Yes);
        assert_eq!(fit("ctrl+alt+F4", Polarity::Permits), MatchCertainty::No);
        assert_eq!(fit("ctrl+alt+F4", Polarity::Restricts), MatchCertainty::Yes);
    }

    #[test]
    fn keys_stay_pressed_until_each_is_released() {
        let chord = |text: &str| Chord::parse(text).unwrap();
        let mut pressed = Vec::new();
        let mut shown = |action: Action| {
            update_pressed_keys(&mut pressed, &action);
            let keys = pressed.iter().map(ToString::to_string);
            keys.collect::<Vec<_>>().join(" ")
        };
        let down = |text| Action::KeyDown { chord: chord(text) };
        let up = |text| Action::KeyUp { chord: chord(text) };
        assert_eq!(shown(down("ctrl+shift")), "ctrl shift");
        assert_eq!(shown(down("a")), "ctrl shift a");
        let (chord, repeat) = (chord("b"), 1);
        assert_eq!(shown(Action::Key { chord, repeat }), "ctrl shift a");
        assert_eq!(shown(up("shift")), "ctrl a");
        assert_eq!(shown(up("b")), "ctrl a");
        assert_eq!(shown(up("ctrl+a")), "");
    }
}
