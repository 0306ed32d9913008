//! Whether pictures can show more than Latin letters: fontconfig is asked for one sign of each.

use std::fs;
use std::path::{Path, PathBuf};

use telechir_process::{Spawn, find_program};

use super::finding::{Checked, Seen, Trouble};
use super::fix::explain;
use super::program::run;
use super::users;

/// A script that needs a font of its own.
#[derive(Debug)]
pub(super) struct Script {
    /// Signs that fonts of this script have, and only those; each as hexadecimal digits.
    signs: &'static [(&'static str, &'static str)],
    /// Names of files that bring it, for machines without fontconfig's programs.
    files: &'static [&'static str],
    package: &'static str,
}

pub(super) const CJK: Script = Script {
    signs: &[("6f22", "漢"), ("304b", "か"), ("d55c", "한")],
    files: &["CJK", "wqy-", "ipag", "uming", "DroidSansFallback"],
    package: "fonts-noto-cjk",
};

/// Not the smiling face: DejaVu draws that one, in black and white.
pub(super) const EMOJI: Script = Script {
    signs: &[("1f680", "🚀")],
    files: &["Emoji", "emoji"],
    package: "fonts-noto-color-emoji",
};

/// Whether there is a font for all signs of the script.
pub(super) async fn check(script: &Script) -> Checked {
    if find_program(Path::new("fc-list")).is_none() {
        return by_files(script);
    }
    // fontconfig writes a cache into its user's home; ours is left alone.
    let folder = users::folder().await?;
    let mut found = Vec::new();
    for (code, sign) in script.signs {
        let spawn = Spawn::new("fc-list")
            .args(["--format", "%{family[0]}\n"])
            .arg(format!(":charset={code}"))
            .env("HOME", folder.path().join("home"))
            .identity(folder.identity())
            .cwd("/");
        let said = run(spawn).await.map_err(|cause| explain(&cause, &[]))?;
        match said.out.lines().next() {
            Some(family) => found.push(family.to_owned()),
            None => {
                let cause = format!("fontconfig knows no font with {sign}");
                return Err(Trouble::missing(cause).package(script.package));
            }
        }
    }
    users::remove(folder)?;
    found.dedup();
    let (signs, families) = (script.signs.iter().map(|(_, sign)| *sign), found.join(", "));
    let signs: String = signs.collect();
    Ok(Seen::new(format!(
        "{signs} by fontconfig, such as {families}"
    )))
}

/// By the names of files alone.
fn by_files(script: &Script) -> Checked {
    let mut open = vec![
        PathBuf::from("/usr/share/fonts"),
        PathBuf::from("/usr/local/share/fonts"),
    ];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if script.files.iter().any(|part| name.contains(part)) {
                return Ok(Seen::new(format!("{name}, by its name")));
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
    }
    let cause = "no file below /usr/share/fonts is named like such a font";
    Err(Trouble::missing(cause).package(script.package))
}
