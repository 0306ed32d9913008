//! What a session is started with, as one JSON document, and whether a later call agrees with it.

use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::args::{DeviceArguments, SafetyArguments};
use crate::error::CliError;

/// The flags that each give a session a device.
const DEVICES: [&str; 4] = ["desktop", "browser", "shell", "editor"];

/// The devices and the safety of a session, as its host reads them.
#[derive(Debug, Deserialize)]
pub(crate) struct SessionConfig {
    #[serde(flatten)]
    pub(crate) devices: DeviceArguments,
    #[serde(flatten)]
    pub(crate) safety: SafetyArguments,
    /// The time without a call after which the session is closed, in seconds.
    pub(crate) idle_timeout: u64,
    /// The tokens of the HTTP API [default: the user's own].
    #[serde(default)]
    pub(crate) token_file: Option<PathBuf>,
    /// A policy of its own, which tightens that of the flags.
    #[serde(default)]
    pub(crate) session_policy: Option<String>,
}

/// What a caller gives: flags with their values, by their names without `--`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GivenFlags(Map<String, Value>);

impl GivenFlags {
    /// The flags that were given, without defaults; paths are absolute.
    pub(crate) fn new(
        devices: &DeviceArguments,
        safety: &SafetyArguments,
        idle_timeout: Option<u64>,
    ) -> Result<Self, CliError> {
        #[derive(Serialize)]
        struct Given<'a> {
            #[serde(flatten)]
            devices: &'a DeviceArguments,
            #[serde(flatten)]
            safety: &'a SafetyArguments,
            idle_timeout: Option<u64>,
        }
        let given = Given {
            devices,
            safety,
            idle_timeout,
        };
        let value = serde_json::to_value(given)
            .map_err(|e| CliError::message(format!("failed to pass the flags on: {e}")))?;
        let Value::Object(mut flags) = value else {
            return Ok(Self(Map::new()));
        };
        flags.retain(|_, value| is_given(value));
        Ok(Self(flags))
    }

    /// The flags of a run for its recording, from which a later call resumes it; none if one of them
    /// may have a secret in it.
    pub(crate) fn for_recording(
        devices: &DeviceArguments,
        safety: &SafetyArguments,
    ) -> Result<Option<Value>, CliError> {
        let attach = &devices.page.attach;
        if attach.shown_address() != attach.cdp {
            return Ok(None);
        }
        let mut flags = Self::new(devices, safety, None)?.0;
        // Both are named again.
        flags.retain(|member, _| member != "record" && member != "run");
        Ok(Some(Value::Object(flags)))
    }

    /// These flags and, for those not given, the ones that a recording has of its run. The state
    /// that the run saved is loaded in place of the one that it began with.
    pub(crate) fn with_recorded(mut self, recorded: &Value) -> Self {
        let is_state_given = self.0.contains_key("storage_state");
        for (member, value) in recorded.as_object().into_iter().flatten() {
            let entry = self.0.entry(member.clone());
            entry.or_insert_with(|| value.clone());
        }
        let saved = self.0.get("save_storage_state").cloned();
        let is_file = |path: &Value| path.as_str().is_some_and(|path| Path::new(path).is_file());
        if let Some(saved) = saved.filter(is_file)
            && !is_state_given
        {
            self.set("storage_state", saved);
        }
        self
    }

    /// The flags as their commands read them.
    pub(crate) fn read(&self) -> Result<(DeviceArguments, SafetyArguments), CliError> {
        #[derive(Deserialize)]
        struct Read {
            #[serde(flatten)]
            devices: DeviceArguments,
            #[serde(flatten)]
            safety: SafetyArguments,
        }
        let read = Read::deserialize(&Value::Object(self.0.clone()));
        let read = read.map_err(|e| {
            CliError::message(format!("failed to read the flags of the recording: {e}"))
        })?;
        Ok((read.devices, read.safety))
    }

    /// Sets a member of the configuration.
    pub(crate) fn set(&mut self, member: &str, value: Value) {
        self.0.insert(member.to_owned(), value);
    }

    /// Removes all devices but these.
    pub(crate) fn retain_devices(&mut self, devices: &[String]) {
        for name in DEVICES {
            if !devices.iter().any(|device| device == name) {
                self.0.remove(name);
            }
        }
    }

    /// Whether a device was requested.
    pub(crate) fn has_devices(&self) -> bool {
        DEVICES.iter().any(|name| self.0.contains_key(*name))
    }

    /// The configuration of a session that is started with these flags.
    pub(crate) fn into_config(mut self, default_idle: u64) -> Value {
        self.0
            .entry("idle_timeout")
            .or_insert_with(|| default_idle.into());
        Value::Object(self.0)
    }

    /// Fails if a flag differs from the session's. The policy is not compared: a file may have
    /// changed.
    pub(crate) fn agree(&self, config: &Value, name: &str) -> Result<(), CliError> {
        for (member, wanted) in self.0.iter().filter(|(member, _)| *member != "policy") {
            let actual = config.get(member).filter(|value| is_given(value));
            if actual == Some(wanted) {
                continue;
            }
            let actual = actual.map_or_else(
                || "was started without it".to_owned(),
                |actual| format!("was started with {}", as_flag(member, actual)),
            );
            let wanted = as_flag(member, wanted);
            let flag = flag_name(member);
            return Err(CliError::usage(format!(
                "{flag}: session {name} {actual}, but this call has {wanted}; omit the flag, or \
                 close the session first: telechir sessions close {name}"
            )));
        }
        Ok(())
    }
}

impl SessionConfig {
    /// Reads the configuration that a caller passes to a session host.
    pub(crate) fn read(config: &Value) -> Result<Self, CliError> {
        Self::deserialize(config).map_err(|e| {
            CliError::message(format!("failed to read the session's configuration: {e}"))
        })
    }

    /// The configuration with the defaults that a later call may name.
    pub(crate) fn with_defaults(&self, mut config: Value) -> Value {
        if let Some(members) = config.as_object_mut() {
            let monitors = self.devices.monitors().to_string();
            members.entry("display").or_insert_with(|| monitors.into());
        }
        config
    }
}

impl DeviceArguments {
    /// The devices of the session by their names.
    pub(crate) fn names(&self) -> Vec<String> {
        let names = [
            (self.desktop.is_some(), "desktop"),
            (self.browser.is_some(), "browser"),
            (self.shell.is_some(), "shell"),
            (self.editor, "editor"),
        ];
        let present = names.into_iter().filter(|(is_present, _)| *is_present);
        present.map(|(_, name)| name.to_owned()).collect()
    }

    /// What a call of the session can reach, as flags: an answer for all sessions counts for those with
    /// the same.
    pub(crate) fn as_flags(&self) -> String {
        let flag = |name: &str, value: &str| match value {
            "" => format!("--{name}"),
            value => format!("--{name}={value}"),
        };
        let shell = self.shell.as_deref().map(|value| flag("shell", value));
        let desktop = self.desktop.as_deref().map(|name| flag("desktop", name));
        let browser = self.browser.is_some().then(|| "--browser".to_owned());
        let editor = self.editor.then(|| "--editor".to_owned());
        let attach = &self.page.attach;
        let cdp = attach.shown_address();
        let cdp = cdp.map(|address| flag("cdp", &address));
        let tab = attach.cdp_tab.as_deref().map(|tab| flag("cdp-tab", tab));
        let dedicated = attach.cdp_dedicated.then(|| "--cdp-dedicated".to_owned());
        let remote = self.page.remote.remote.as_deref();
        let remote = remote.map(|service| flag("remote", service));
        let folder = self.workspace.as_deref();
        let workspace = folder.map(|folder| flag("workspace", &folder.display().to_string()));
        let flags = [
            desktop, browser, cdp, tab, dedicated, remote, shell, editor, workspace,
        ];
        flags.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// The flags as they are written on a command line.
impl Display for GivenFlags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = self.0.iter().map(|(member, value)| as_flag(member, value));
        f.write_str(&flags.collect::<Vec<_>>().join(" "))
    }
}

fn is_given(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Array(values) => !values.is_empty(),
        Value::Bool(true) | Value::Number(_) | Value::String(_) | Value::Object(_) => true,
    }
}

fn flag_name(member: &str) -> String {
    format!("--{}", member.replace('_', "-"))
}

/// A flag with its value, as it is written on the command line.
fn as_flag(member: &str, value: &Value) -> String {
    let flag = flag_name(member);
    match value {
        Value::Bool(_) | Value::Null => flag,
        Value::String(text) if text.is_empty() => flag,
        Value::String(text) => format!("{flag}={text}"),
        Value::Array(values) => {
            let flags: Vec<String> = values.iter().map(|value| as_flag(member, value)).collect();
            flags.join(" ")
        }
        Value::Number(_) | Value::Object(_) => format!("{flag}={value}"),
    }
}

#[cfg(test)]
mod tests {
    use clap::{Args, Command, FromArgMatches};
    use serde_json::json;

    use super::*;

    fn parsed(flags: &[&str]) -> (DeviceArguments, SafetyArguments) {
        let command =
            SafetyArguments::augment_args(DeviceArguments::augment_args(Command::new("t")));
        let matches = command.get_matches_from(std::iter::once(&"t").chain(flags));
        (
            DeviceArguments::from_arg_matches(&matches).unwrap(),
            SafetyArguments::from_arg_matches(&matches).unwrap(),
        )
    }

    fn given(flags: &[&str]) -> GivenFlags {
        let (devices, safety) = parsed(flags);
        GivenFlags::new(&devices, &safety, None).unwrap()
    }

    const EVERY_FLAG: &[&str] = &[
        "--desktop",
        "--browser=https://example.com/",
        "--headless",
        "--downloads",
        "--search=https://s.example/?q={query}",
        "--shell=docker:debian:12",
        "--shell-env=A",
        "--shell-env=B",
        "--runtime=runsc",
        "--command-timeout=40",
        "--max-output-bytes=2048",
        "--proxy=http://10.0.0.1:3128",
        "--editor",
        "--memory-dir=/m",
        "--display=1024x768",
        "--monitor=HDMI-1",
        "--screenshot-width=native",
        "--screenshot-format=jpeg",
        "--text-only",
        "--workspace=/w",
        "--share-workspace",
        "--yes-this-folder",
        "--start-app=xterm -e a",
        "--type-by-paste",
        "--restart-desktop",
        "--stop-corner=top-left",
        "--stop-key=ctrl+alt+Escape",
        "--marks=7",
        "--no-sandbox",
        "--profile=p",
        "--no-persist",
        "--browser-memory-limit=512",
        "--scale=1.5",
        "--locale=de-AT",
        "--timezone=Europe/Vienna",
        "--user-agent=x y",
        "--color-scheme=dark",
        "--reduced-motion=no-preference",
        "--geolocation=48.2,16.4",
        "--permission=camera",
        "--mobile",
        "--offline",
        "--storage-state=/s.json",
        "--save-storage-state=/t.json",
        "--http-credentials=https://h.example=LOGIN",
        "--policy=/p.toml",
        "--tools-from=/t.json",
        "--record=/r",
        "--run=n",
        "--approval-timeout=60",
    ];

    #[test]
    fn every_flag_reaches_the_session_host_unchanged() {
        let flags = given(EVERY_FLAG);
        let config = flags.clone().into_config(900);
        let read = SessionConfig::read(&config).unwrap();
        let again = GivenFlags::new(&read.devices, &read.safety, None).unwrap();
        assert_eq!(again, flags);
        assert_eq!(read.idle_timeout, 900);
        // Each flag of the command line is in the table above, or conflicts with one of it.
        let command =
            SafetyArguments::augment_args(DeviceArguments::augment_args(Command::new("t")));
        for argument in command.get_arguments() {
            let member = argument.get_id().as_str();
            let is_elsewhere = ["cdp", "remote", "max_rented"];
            let is_elsewhere = is_elsewhere.iter().any(|flags| member.starts_with(flags));
            let is_known = flags.0.contains_key(member) || is_elsewhere;
            assert!(is_known, "{member}");
        }
        assert_eq!(given(&["--browser", "--cdp=ws://h/"]).0["cdp"], "ws://h/");
        let remote = [
            "--browser",
            "--remote=steel",
            "--remote-timeout=60",
            "--remote-region=eu-west",
            "--remote-proxy=DE",
            "--remote-context=c,read-only",
            "--remote-label=a=b",
            "--remote-choices",
            "--max-rented=3",
            "--max-rented-minutes=90",
        ];
        let flags = given(&remote);
        assert_eq!(flags.0.len(), remote.len(), "{flags}");
        let read = SessionConfig::read(&flags.clone().into_config(900)).unwrap();
        let again = GivenFlags::new(&read.devices, &read.safety, None).unwrap();
        assert_eq!(again, flags);
    }

    #[test]
    fn a_recording_has_every_flag_but_its_own_and_addresses_with_secrets() {
        let (devices, safety) = parsed(EVERY_FLAG);
        let recorded = GivenFlags::for_recording(&devices, &safety).unwrap();
        let mut expected = given(EVERY_FLAG).0;
        expected.retain(|member, _| member != "record" && member != "run");
        assert_eq!(recorded, Some(Value::Object(expected)));
        for (address, is_recorded) in [
            ("http://127.0.0.1:9222", true),
            ("wss://h.example/?token=${TOKEN}", true),
            ("wss://h.example/?token=0123456789", false),
        ] {
            let (devices, safety) = parsed(&["--browser", &format!("--cdp={address}")]);
            let recorded = GivenFlags::for_recording(&devices, &safety).unwrap();
            assert_eq!(recorded.is_some(), is_recorded, "{address}");
        }
    }

    #[test]
    fn given_flags_replace_recorded_ones() {
        let (devices, safety) = parsed(&["--shell", "--workspace=/w", "--policy=/p.toml"]);
        let recorded = GivenFlags::for_recording(&devices, &safety).unwrap();
        let flags = given(&["--policy=look", "--record=/r"]).with_recorded(&recorded.unwrap());
        let expected = given(&["--shell", "--workspace=/w", "--policy=look", "--record=/r"]);
        assert_eq!(flags, expected);
        let (devices, safety) = flags.read().unwrap();
        let again = GivenFlags::new(&devices, &safety, None).unwrap();
        assert_eq!(again, expected);
        for flag in ["--shell=sandbox", "--workspace=/w", "--policy=look"] {
            assert!(flags.to_string().contains(flag), "{flags}");
        }
    }

    #[test]
    fn a_resumed_run_loads_the_state_that_it_saved() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let recorded = json!({
            "browser": "", "storage_state": path("a.json"), "save_storage_state": path("b.json"),
        });
        let loaded = |given: GivenFlags| given.with_recorded(&recorded).0["storage_state"].clone();
        assert_eq!(loaded(given(&[])), path("a.json"));
        std::fs::write(path("b.json"), "{}").unwrap();
        assert_eq!(loaded(given(&[])), path("b.json"));
        let flag = format!("--storage-state={}", path("c.json"));
        assert_eq!(loaded(given(&["--browser", &flag])), path("c.json"));
    }

    #[test]
    fn an_omitted_flag_agrees_and_another_value_does_not() {
        let session = given(&["--desktop", "--display=1280x800"]).into_config(900);
        for same in [&[][..], &["--display=1280x800"], &["--desktop"]] {
            assert!(given(same).agree(&session, "a").is_ok(), "{same:?}");
        }
        for (other, fragment) in [
            (&["--display=800x600"][..], "--display=1280x800"),
            (&["--shell"], "was started without it"),
            (&["--desktop=:0"], "was started with --desktop,"),
            (
                &["--desktop", "--start-app=a", "--start-app=b"],
                "--start-app=a --start-app=b",
            ),
        ] {
            let refused = given(other).agree(&session, "a").unwrap_err();
            assert!(refused.text().contains(fragment), "{}", refused.text());
        }
    }

    #[test]
    fn the_devices_and_the_defaults_are_described() {
        let config = given(&["--shell", "--desktop"]).into_config(5);
        let read = SessionConfig::read(&config).unwrap();
        assert_eq!(read.devices.names(), ["desktop", "shell"]);
        let described = read.with_defaults(config);
        assert_eq!(described["display"], json!("1280x800"));
        assert_eq!(described["idle_timeout"], json!(5));
    }
}
