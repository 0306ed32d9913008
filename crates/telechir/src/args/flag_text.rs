//! Values of flags as JSON: the text that the command line has for them, with absolute paths.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize as _, Serializer, de::Error};

/// A value that is written as text.
pub(super) trait FlagText: Sized {
    fn to_text(&self) -> String;
    fn of_text(text: &str) -> Result<Self, String>;
}

pub(super) fn serialize<T: FlagText, S: Serializer>(
    value: &Option<T>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => serializer.serialize_str(&value.to_text()),
        None => serializer.serialize_none(),
    }
}

pub(super) fn deserialize<'de, T: FlagText, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let value = text.map(|text| T::of_text(&text));
    value.transpose().map_err(D::Error::custom)
}

macro_rules! of_display {
    ($($kind:ty => $parse:expr;)*) => {$(
        impl FlagText for $kind {
            fn to_text(&self) -> String {
                self.to_string()
            }

            fn of_text(text: &str) -> Result<Self, String> {
                $parse(text)
            }
        }
    )*};
}

fn parsed<T: std::str::FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|e: T::Err| e.to_string())
}

of_display! {
    telechir_egress::Upstream => parsed;
    telechir_browser::ProfileId => parsed;
    telechir_protocol::Chord => super::chord;
    super::Monitors => super::Monitors::parse;
    super::ScreenshotWidth => super::screenshot_width;
}

impl FlagText for telechir_shell::ContainerRuntime {
    fn to_text(&self) -> String {
        self.as_str().to_owned()
    }

    fn of_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FlagText for super::PolicyChoice {
    fn to_text(&self) -> String {
        match self {
            Self::Shipped(policy) => policy.name().to_owned(),
            Self::File(file) => absolute(file).display().to_string(),
        }
    }

    fn of_text(text: &str) -> Result<Self, String> {
        Self::parse(text)
    }
}

impl FlagText for telechir_runtime::Format {
    fn to_text(&self) -> String {
        self.name().to_owned()
    }

    fn of_text(text: &str) -> Result<Self, String> {
        super::screenshot_format(text)
    }
}

/// Writes a path independently of the working directory.
pub(super) fn absolute_path<S: Serializer>(
    path: &Option<PathBuf>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    path.as_deref().map(absolute).serialize(serializer)
}

fn absolute(path: &Path) -> PathBuf {
    let resolved = std::fs::canonicalize(path).or_else(|_| std::path::absolute(path));
    resolved.unwrap_or_else(|_| path.to_owned())
}
