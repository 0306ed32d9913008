//! Values that several flags have.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use telechir_policy::unknown_key;
use telechir_protocol::{Chord, Size};
use telechir_providers::Dialect;

/// Parses a dialect's name; help lists all of them.
pub(super) fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name))
        .try_map(|name| name.parse::<Dialect>())
}

/// Accepts any name of a model but an empty one.
pub(super) fn model_name(text: &str) -> Result<String, String> {
    match text.trim().is_empty() {
        true => Err("expected the name of a model".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// A key combination whose keys exist.
pub(crate) fn chord(text: &str) -> Result<Chord, String> {
    let chord = Chord::parse(text)
        .ok_or_else(|| "expected a key combination such as ctrl+alt+Escape".to_owned())?;
    match unknown_key(&chord) {
        Some(key) => Err(format!(
            "unknown key {key:?}; expected a character, ctrl, alt, shift, super, or a name such as \
             Enter, Escape, Tab, Delete, PageUp, ArrowLeft or F5"
        )),
        None => Ok(chord),
    }
}

/// Parses `1280x800`. The limits are those that Chromium and X servers accept.
pub(crate) fn size(text: &str) -> Result<Size, String> {
    let problem = || "expected WIDTHxHEIGHT from 64x64 to 7680x4320, e.g. 1280x800".to_string();
    let (width, height) = text.split_once('x').ok_or_else(problem)?;
    let number = |text: &str| text.parse::<u32>().map_err(|_| problem());
    let (width, height) = (number(width)?, number(height)?);
    let fits = (64..=7680).contains(&width) && (64..=4320).contains(&height);
    if fits {
        Ok(Size::new(width, height))
    } else {
        Err(problem())
    }
}
