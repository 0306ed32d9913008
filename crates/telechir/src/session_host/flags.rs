//! What a session was started with, and whether a later call says the same.

use std::fs;
use std::path::{Path, PathBuf, absolute};

use serde::{Deserialize, Serialize};
use telechir_protocol::Size;

use crate::args::{BrowserArguments, DeviceArguments, SafetyArguments};
use crate::error::Failure;

/// Flags with their values, in the form they are given to a holder.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flags(Vec<(String, String)>);

impl Flags {
    /// The flags that were given; those left out are not among them.
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
        flags.add("--memory-dir", devices.memory_dir.as_deref().map(whole));
        flags.add("--display", devices.display.map(said));
        flags.add("--monitor", devices.monitor.clone());
        let width = devices.screenshot_width.map(|pixels| pixels.to_string());
        flags.add("--screenshot-width", width);
        let format = devices
            .screenshot_format
            .map(|format| format.name().to_owned());
        flags.add("--screenshot-format", format);
        flags.add("--workspace", devices.workspace.as_deref().map(whole));
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
        flags.add("--marks", devices.marks.map(|most| most.to_string()));
        flags.add("--no-sandbox", devices.no_sandbox.then(String::new));
        flags.add_browser(&devices.page);
        flags.add("--record", safety.record.as_deref().map(whole));
        flags.add("--run", safety.run.clone());
        flags.add("--idle-timeout", idle.map(|seconds| seconds.to_string()));
        flags
    }

    /// All that a session has, what was left out by its default.
    pub(super) fn of_session(
        devices: &DeviceArguments,
        safety: &SafetyArguments,
        idle: u64,
    ) -> Self {
        let mut flags = Self::given(devices, safety, Some(idle));
        if devices.display.is_none() {
            flags.add("--display", Some(said(devices.screen_size())));
        }
        flags
    }

    /// As arguments of a command line.
    pub(super) fn to_arguments(&self) -> Vec<String> {
        let argument = |(flag, value): &(String, String)| match value.as_str() {
            "" => flag.clone(),
            value => format!("{flag}={value}"),
        };
        self.0.iter().map(argument).collect()
    }

    /// The devices among them.
    pub(super) fn devices(&self) -> Vec<String> {
        let devices = ["--desktop", "--browser", "--shell", "--editor"].into_iter();
        devices
            .filter(|flag| self.values(flag).next().is_some())
            .map(|flag| flag.trim_start_matches('-').to_owned())
            .collect()
    }

    /// Fails when a flag of a later call is not what the session has.
    pub(super) fn agree(&self, session: &Self, name: &str) -> Result<(), Failure> {
        for (flag, _) in &self.0 {
            let (wanted, has) = (self.list(flag), session.list(flag));
            if wanted != has {
                let has = has.map_or_else(
                    || "was started without it".to_owned(),
                    |has| format!("was started with {has}"),
                );
                let wanted = wanted.unwrap_or_default();
                return Err(Failure::usage(format!(
                    "{flag}: session {name} {has}, and this call says {wanted}; leave the flag \
                     out, or end the session first with: telechir sessions close {name}"
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

    /// The values of a flag as one text for people.
    fn list(&self, flag: &str) -> Option<String> {
        let arguments = self.0.iter().filter(|(name, _)| name == flag);
        let texts: Vec<String> = arguments
            .map(|pair| Self(vec![pair.clone()]).to_arguments().concat())
            .collect();
        (!texts.is_empty()).then(|| texts.join(" "))
    }
}

fn said(size: Size) -> String {
    format!("{}x{}", size.width, size.height)
}

/// A path that means the same in every folder.
pub(super) fn whole(path: &Path) -> String {
    let whole = fs::canonicalize(path).or_else(|_| absolute(path));
    let whole: PathBuf = whole.unwrap_or_else(|_| path.to_owned());
    whole.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(pairs: &[(&str, &str)]) -> Flags {
        let owned = |(flag, value): &(&str, &str)| ((*flag).to_owned(), (*value).to_owned());
        Flags(pairs.iter().map(owned).collect())
    }

    #[test]
    fn a_flag_left_out_agrees_and_another_value_does_not() {
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
    fn the_devices_are_named() {
        let session = flags(&[("--shell", "sandbox"), ("--desktop", "")]);
        assert_eq!(session.devices(), ["desktop", "shell"]);
        assert_eq!(session.to_arguments(), ["--shell=sandbox", "--desktop"]);
    }
}
