//! The flags a session was started with, and whether those of a later call match them.

use std::fs;
use std::path::{Path, PathBuf, absolute};

use serde::{Deserialize, Serialize};
use telechir_protocol::Size;

use crate::args::{BrowserArguments, DeviceArguments, SafetyArguments};
use crate::error::CliError;

/// Flags with their values, as arguments of a session host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flags(Vec<(String, String)>);

impl Flags {
    /// The flags that were given, without defaults.
    pub(crate) fn given(
        devices: &DeviceArguments,
        safety: &SafetyArguments,
        idle: Option<u64>,
    ) -> Self {
        let mut flags = Self::default();
        flags.add("--desktop", devices.desktop.clone());
        flags.add("--browser", devices.browser.clone());
        flags.add("--headless", devices.headless.then(String::new));
        flags.add("--downloads", devices.downloads.then(String::new));
        flags.add("--search", devices.search.clone());
        flags.add("--shell", devices.shell.clone());
        for name in &devices.shell_env {
            flags.add("--shell-env", Some(name.clone()));
        }
        let runtime = devices.runtime.as_ref();
        flags.add(
            "--runtime",
            runtime.map(|runtime| runtime.as_str().to_owned()),
        );
        let seconds = devices.command_timeout;
        flags.add(
            "--command-timeout",
            seconds.map(|number| number.to_string()),
        );
        let bytes = devices.max_output_bytes;
        flags.add("--max-output-bytes", bytes.map(|number| number.to_string()));
        let proxy = devices.proxy.as_ref();
        flags.add("--proxy", proxy.map(ToString::to_string));
        flags.add("--editor", devices.editor.then(String::new));
        flags.add(
            "--memory-dir",
            devices.memory_dir.as_deref().map(absolute_path),
        );
        flags.add("--display", devices.display.map(size_text));
        flags.add("--monitor", devices.monitor.clone());
        let width = devices.screenshot_width.map(|pixels| pixels.to_string());
        flags.add("--screenshot-width", width);
        let format = devices
            .screenshot_format
            .map(|format| format.name().to_owned());
        flags.add("--screenshot-format", format);
        flags.add(
            "--workspace",
            devices.workspace.as_deref().map(absolute_path),
        );
        flags.add(
            "--share-workspace",
            devices.share_workspace.then(String::new),
        );
        flags.add(
            "--yes-this-folder",
            devices.yes_this_folder.then(String::new),
        );
        for program in &devices.start_app {
            flags.add("--start-app", Some(program.clone()));
        }
        flags.add("--type-by-paste", devices.type_by_paste.then(String::new));
        flags.add(
            "--restart-desktop",
            devices.restart_desktop.then(String::new),
        );
        flags.add("--stop-corner", devices.stop_corner.clone());
        let stop_key = devices.stop_key.as_ref();
        flags.add("--stop-key", stop_key.map(ToString::to_string));
        flags.add("--marks", devices.marks.map(|max| max.to_string()));
        flags.add("--no-sandbox", devices.no_sandbox.then(String::new));
        flags.add_browser(&devices.page);
        flags.add(
            "--tools-from",
            safety.tools_from.as_deref().map(absolute_path),
        );
        flags.add("--record", safety.record.as_deref().map(absolute_path));
        flags.add("--run", safety.run.clone());
        flags.add("--idle-timeout", idle.map(|seconds| seconds.to_string()));
        flags
    }

    /// The flags of a session, with defaults.
    pub(super) fn of_session(
        devices: &DeviceArguments,
        safety: &SafetyArguments,
        idle: u64,
    ) -> Self {
        let mut flags = Self::given(devices, safety, Some(idle));
        if devices.display.is_none() {
            flags.add("--display", Some(size_text(devices.screen_size())));
        }
        flags
    }

    /// The flags as command-line arguments.
    pub(super) fn to_arguments(&self) -> Vec<String> {
        let argument = |(flag, value): &(String, String)| match value.as_str() {
            "" => flag.clone(),
            value => format!("{flag}={value}"),
        };
        self.0.iter().map(argument).collect()
    }

    /// The devices that the flags request.
    pub(super) fn devices(&self) -> Vec<String> {
        let devices = ["--desktop", "--browser", "--shell", "--editor"].into_iter();
        devices
            .filter(|flag| self.values(flag).next().is_some())
            .map(|flag| flag.trim_start_matches('-').to_owned())
            .collect()
    }

    /// Fails if a flag of a later call differs from the session's.
    pub(super) fn agree(&self, session: &Self, name: &str) -> Result<(), CliError> {
        for (flag, _) in &self.0 {
            let (wanted, has) = (self.list(flag), session.list(flag));
            if wanted != has {
                let has = has.map_or_else(
                    || "was started without it".to_owned(),
                    |has| format!("was started with {has}"),
                );
                let wanted = wanted.unwrap_or_default();
                return Err(CliError::usage(format!(
                    "{flag}: session {name} {has}, but this call has {wanted}; omit the flag, or \
                     close the session first: telechir sessions close {name}"
                )));
            }
        }
        Ok(())
    }

    fn add_browser(&mut self, page: &BrowserArguments) {
        self.add("--profile", page.profile.as_ref().map(ToString::to_string));
        self.add("--no-persist", page.no_persist.then(String::new));
        self.add("--cdp", page.cdp.clone());
        let memory = page.browser_memory_limit.map(|number| number.to_string());
        self.add("--browser-memory-limit", memory);
        self.add("--scale", page.scale.map(|scale| scale.to_string()));
        self.add("--locale", page.locale.clone());
        self.add("--timezone", page.timezone.clone());
        self.add("--user-agent", page.user_agent.clone());
        self.add("--color-scheme", page.color_scheme.clone());
    }

    fn add(&mut self, flag: &str, value: Option<String>) {
        self.0.extend(value.map(|value| (flag.to_owned(), value)));
    }

    fn values<'a>(&'a self, flag: &str) -> impl Iterator<Item = &'a str> {
        let pairs = self.0.iter().filter(move |(name, _)| name == flag);
        pairs.map(|(_, value)| value.as_str())
    }

    /// All values of a flag for an error message, absent if it was not given.
    fn list(&self, flag: &str) -> Option<String> {
        let arguments = self.0.iter().filter(|(name, _)| name == flag);
        let texts: Vec<String> = arguments
            .map(|pair| Self(vec![pair.clone()]).to_arguments().concat())
            .collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }
}

fn size_text(size: Size) -> String {
    format!("{}x{}", size.width, size.height)
}

/// An absolute path, independent of the working directory.
pub(super) fn absolute_path(path: &Path) -> String {
    let resolved = fs::canonicalize(path).or_else(|_| absolute(path));
    let resolved: PathBuf = resolved.unwrap_or_else(|_| path.to_owned());
    resolved.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(pairs: &[(&str, &str)]) -> Flags {
        let owned = |(flag, value): &(&str, &str)| ((*flag).to_owned(), (*value).to_owned());
        Flags(pairs.iter().map(owned).collect())
    }

    #[test]
    fn an_omitted_flag_matches_and_another_value_does_not() {
        let session = flags(&[("--desktop", ""), ("--display", "1280x800")]);
        for same in [
            flags(&[]),
            flags(&[("--display", "1280x800")]),
            session.clone(),
        ] {
            assert!(same.agree(&session, "a").is_ok(), "{same:?}");
        }
        for other in [
            flags(&[("--display", "800x600")]),
            flags(&[("--shell", "sandbox")]),
            flags(&[("--desktop", ":0")]),
            flags(&[("--start-app", "xterm")]),
        ] {
            assert!(other.agree(&session, "a").is_err(), "{other:?}");
        }
    }

    #[test]
    fn the_devices_are_listed() {
        let session = flags(&[("--shell", "sandbox"), ("--desktop", "")]);
        assert_eq!(session.devices(), ["desktop", "shell"]);
        assert_eq!(session.to_arguments(), ["--shell=sandbox", "--desktop"]);
    }
}
