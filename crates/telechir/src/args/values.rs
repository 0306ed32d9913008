//! Values that several flags have.

use std::fmt::{self, Display};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use telechir_policy::unknown_key;
use telechir_protocol::{Chord, Size};
use telechir_providers::Dialect;

/// Maximum width of a screen: X servers count its pixels in 15 bits.
const MAX_SCREEN_WIDTH: u32 = 32_767;

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

/// The monitors of a private desktop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Monitors(Vec<Size>);

impl Monitors {
    /// Parses the sizes from left to right, as in `1280x800+1920x1080`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let sizes = text.split('+').map(size);
        let sizes: Vec<Size> = sizes.collect::<Result<_, _>>()?;
        let width: u32 = sizes.iter().map(|size| size.width).sum();
        match width > MAX_SCREEN_WIDTH {
            true => Err(format!(
                "the monitors are {width} pixels wide together; expected at most {MAX_SCREEN_WIDTH}"
            )),
            false => Ok(Self(sizes)),
        }
    }

    /// A single monitor.
    pub(crate) fn one(size: Size) -> Self {
        Self(vec![size])
    }

    pub(crate) fn sizes(&self) -> &[Size] {
        &self.0
    }

    /// The size of the screen that holds them.
    pub(crate) fn screen(&self) -> Size {
        let widths = self.0.iter().map(|size| size.width);
        let heights = self.0.iter().map(|size| size.height);
        Size::new(widths.sum(), heights.max().unwrap_or_default())
    }
}

impl Display for Monitors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes = self
            .0
            .iter()
            .map(|size| format!("{}x{}", size.width, size.height));
        f.write_str(&sizes.collect::<Vec<_>>().join("+"))
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
