//! Whether fonts for scripts other than Latin are installed, tested with sample characters.

use std::fs;
use std::path::{Path, PathBuf};

use telechir_process::{Spawn, find_program};

use super::finding::{CheckFailure, CheckResult, Observation};
use super::fix::explain;
use super::program::run;
use super::users;

/// A writing system that needs its own font.
#[derive(Debug)]
pub(super) struct WritingSystem {
    /// Sample characters that only fonts of this script contain, each with its hexadecimal code.
    signs: &'static [(&'static str, &'static str)],
    /// Parts of font file names, for machines without fontconfig's programs.
    files: &'static [&'static str],
    package: &'static str,
}

pub(super) const CJK: WritingSystem = WritingSystem {
    signs: &[("6f22", "漢"), ("304b", "か"), ("d55c", "한")],
    files: &["CJK", "wqy-", "ipag", "uming", "DroidSansFallback"],
    package: "fonts-noto-cjk",
};

/// Not U+1F600: DejaVu contains it in black and white.
pub(super) const EMOJI: WritingSystem = WritingSystem {
    signs: &[("1f680", "🚀")],
    files: &["Emoji", "emoji"],
    package: "fonts-noto-color-emoji",
};

/// Whether installed fonts contain all sample characters of the script.
pub(super) async fn check(script: &WritingSystem) -> CheckResult {
    if find_program(Path::new("fc-list")).is_none() {
        return by_files(script);
    }
    // fontconfig writes a cache to the home folder, so use the session's.
    let folder = users::folder().await?;
    let mut found = Vec::new();
    for (code, sign) in script.signs {
        let spawn = Spawn::new("fc-list")
            .args(["--format", "%{family[0]}\n"])
            .arg(format!(":charset={code}"))
            .env("HOME", folder.path().join("home"))
            .identity(folder.identity())
            .cwd("/");
        let output = run(spawn).await.map_err(|cause| explain(&cause, &[]))?;
        match output.out.lines().next() {
            Some(family) => found.push(family.to_owned()),
            None => {
                let cause = format!("no font with {sign} is installed, according to fontconfig");
                return Err(CheckFailure::missing(cause).package(script.package));
            }
        }
    }
    users::remove(folder)?;
    found.dedup();
    let (signs, families) = (script.signs.iter().map(|(_, sign)| *sign), found.join(", "));
    let signs: String = signs.collect();
    Ok(Observation::new(format!(
        "{signs} in {families}, according to fontconfig"
    )))
}

/// Looks for font files by name.
fn by_files(script: &WritingSystem) -> CheckResult {
    let mut open = vec![
        PathBuf::from("/usr/share/fonts"),
        PathBuf::from("/usr/local/share/fonts"),
    ];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if script.files.iter().any(|part| name.contains(part)) {
                return Ok(Observation::new(format!("font file {name}")));
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    let cause = "no font file below /usr/share/fonts has such a name";
    Err(CheckFailure::missing(cause).package(script.package))
}
