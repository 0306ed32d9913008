//! Arguments of `conform`.

use std::path::PathBuf;

use clap::Args;
use telechir_providers::Dialect;

use super::values::dialects;

pub(super) const EXAMPLES: &str = "\
Examples:
  telechir conform crates/telechir-providers/tests/vectors/openai
  telechir conform my-vectors --dialect functions --json
  telechir conform --wild recordings --findings 200

Without --wild, the folder contains a manifest.json that lists its documents, or files named
KIND__NAME.json; see docs/conform.md for the format. Exit code 0: every document passed; 1: one failed; 2: usage.
With --wild, exit code 1 also means that a translation loses a value without reporting it.";

#[derive(Debug, Args)]
pub(crate) struct ConformArguments {
    /// Folder of the documents.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Recognize documents of unknown origin in all files below DIR, and follow every value into
    /// every other dialect.
    #[arg(long, conflicts_with = "dialect")]
    pub(crate) wild: bool,
    /// Also change requests and responses in every place and translate them as `translate --envelope`
    /// does: unknown members and unusual values must arrive or be reported.
    #[arg(long, requires = "wild")]
    pub(crate) envelope: bool,
    /// Number of findings to list.
    #[arg(long, value_name = "N", default_value_t = 50, requires = "wild")]
    pub(crate) findings: usize,
    /// Folder in which scripts/sdk.sh installed the providers' SDKs, whose types validate each
    /// translated document.
    #[arg(
        long,
        value_name = "DIR",
        default_value = "target/sdk",
        requires = "wild"
    )]
    pub(crate) sdk: PathBuf,
    /// Dialect of documents whose dialect neither the manifest nor their kind sets.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Option<Dialect>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}
