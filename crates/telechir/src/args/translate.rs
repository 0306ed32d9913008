//! Flags of `translate`.

use std::path::PathBuf;

use clap::{ArgGroup, Args, ValueEnum};
use telechir_providers::{Dialect, ThinkingTranslation};

use super::values::{dialects, model_name};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("with settings").args(["envelope", "stream"]).multiple(true))]
pub(crate) struct TranslateArguments {
    /// The dialect of the input.
    #[arg(long, value_parser = dialects())]
    pub(crate) from: Dialect,
    /// The dialect of the output.
    #[arg(long, value_parser = dialects())]
    pub(crate) to: Dialect,
    /// Fail with exit code 3 on a loss, without output.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Translate a whole request or response: tools, settings, instructions, end and usage too.
    #[arg(long)]
    pub(crate) envelope: bool,
    /// Read a streamed response and write the other provider's stream as it arrives.
    #[arg(long, conflicts_with = "strict")]
    pub(crate) stream: bool,
    /// What becomes of a model's name, such as `gpt-5.6-sol=claude-opus-5-5`; may be repeated.
    #[arg(long, value_name = "FROM=TO", value_parser = model_pair, requires = "with settings")]
    pub(crate) model_map: Vec<(String, String)>,
    /// A JSON file with an object of model names and what they become.
    #[arg(long, value_name = "FILE", requires = "with settings")]
    pub(crate) model_map_file: Option<PathBuf>,
    /// The target's model, for every name that is not mapped and for a document without one.
    #[arg(long, value_name = "NAME", value_parser = model_name, requires = "with settings")]
    pub(crate) model: Option<String>,
    /// What becomes of readable thinking that the target cannot represent.
    #[arg(long, value_enum, default_value = "drop")]
    pub(crate) thinking: Thinking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Thinking {
    /// Drop and report it.
    Drop,
    /// Keep it as text between `<thinking>` tags.
    Text,
}

impl From<Thinking> for ThinkingTranslation {
    fn from(thinking: Thinking) -> Self {
        match thinking {
            Thinking::Drop => Self::Drop,
            Thinking::Text => Self::Text,
        }
    }
}

fn model_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((from, to)) if !from.is_empty() && !to.trim().is_empty() => {
            Ok((from.to_owned(), to.to_owned()))
        }
        _ => Err("expected two names of models, as FROM=TO".to_owned()),
    }
}
