//! Cookies and the stored data of pages as Playwright's storage state, saved and loaded.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::{Map, Value, json};
use telechir_device::DeviceError;
use url::Url;

use crate::Browser;
use crate::client::text;
use crate::context::Context;
use crate::error::{CdpError, refused};
use crate::initial_origins::InitialOrigins;
use crate::tab_registry::MAX_ORIGINS;

mod origin_pages;

use origin_pages::{OriginPages, web_origin};

/// Reads and writes the data of one origin in a document of it.
const COLLECT: &str = include_str!("storage_state/collect.js");
const RESTORE: &str = include_str!("storage_state/restore.js");
/// A larger state does not fit into one CDP message.
pub(crate) const MAX_STATE_BYTES: u64 = 64 << 20;
/// Origins that failed and are listed with the reason.
const MAX_LISTED_FAILURES: usize = 5;
/// The members of a cookie in Playwright's form that Chromium takes as they are.
const COOKIE_MEMBERS: [&str; 9] = [
    "name", "value", "url", "domain", "path", "expires", "httpOnly", "secure", "sameSite",
];

/// A storage state, and what it lacks.
#[derive(Debug, Default)]
pub(crate) struct StorageState {
    pub(crate) document: Value,
    /// Records of databases whose values have no form in JSON.
    pub(crate) left_out: u64,
    /// Origins whose present data is missing in it.
    pub(crate) failures: OriginFailures,
    /// Origins with data that was not in a page but in the file that was loaded at the start.
    retained: usize,
    /// Whether more origins were visited than are remembered.
    has_more_origins: bool,
}

impl StorageState {
    /// What the state lacks beside `left_out`, in sentences; `None` if there is nothing.
    pub(crate) fn lacks(&self) -> Option<String> {
        let count = self.retained;
        let retained = (count > 0).then(|| {
            format!("{count} origins keep data of the file that was loaded at the start.")
        });
        let more = self.has_more_origins.then(|| {
            format!("More than {MAX_ORIGINS} origins were visited: data of the others is missing.")
        });
        let sentences: Vec<String> = self
            .failures
            .sentence()
            .into_iter()
            .chain(retained)
            .chain(more)
            .collect();
        (!sentences.is_empty()).then(|| sentences.join(" "))
    }
}

/// What was loaded of a storage state.
#[derive(Debug, Default)]
pub(crate) struct LoadedState {
    cookies: usize,
    origins: usize,
    failures: OriginFailures,
}

impl LoadedState {
    /// What was loaded, and what was not, in sentences.
    pub(crate) fn describe(&self) -> String {
        let Self {
            cookies, origins, ..
        } = self;
        let failures = self.failures.sentence();
        let failures = failures.map_or_else(String::new, |failures| format!(" {failures}"));
        format!("Loaded {cookies} cookies and the stored data of {origins} origins.{failures}")
    }
}

/// The origins whose stored data could not be read or written.
#[derive(Debug, Default)]
pub(crate) struct OriginFailures {
    count: usize,
    origins: BTreeSet<String>,
    /// The first ones, with the reasons.
    listed: Vec<String>,
}

impl OriginFailures {
    fn add(&mut self, origin: &str, reason: &str) {
        self.count += 1;
        self.origins.insert(origin.to_owned());
        if self.listed.len() < MAX_LISTED_FAILURES {
            self.listed.push(format!("{origin} ({reason})"));
        }
    }

    /// The failures as a sentence; `None` if there are none.
    pub(crate) fn sentence(&self) -> Option<String> {
        let more = match self.count - self.listed.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let listed = self.listed.join(", ");
        (self.count > 0)
            .then(|| format!("The stored data of these origins failed: {listed}{more}."))
    }
}

impl Browser {
    /// Loads the file of the options, if there is one.
    pub(crate) async fn load_initial_state(&mut self) -> Result<(), DeviceError> {
        let Some(path) = self.options.storage_state.load.clone() else {
            return Ok(());
        };
        let failed = |reason: &dyn std::fmt::Display| DeviceError::Unavailable {
            what: "the browser with its storage state",
            message: format!("{}: {reason}", path.display()),
        };
        let bytes = fs::read(&path).map_err(|error| failed(&error))?;
        match self.load_state(&bytes).await {
            Ok(loaded) => {
                if let Some(failures) = loaded.failures.sentence() {
                    tracing::warn!("{}: {failures}", path.display());
                }
                if self.options.storage_state.save.is_some() {
                    self.initial_origins = initial_origins(&bytes, &loaded.failures);
                }
                Ok(())
            }
            Err(DeviceError::Refused { message }) => Err(failed(&message.trim_end_matches('.'))),
            Err(error) => Err(error),
        }
    }

    /// Writes the file of the options, if there is one. Origins that failed keep the data that was
    /// loaded.
    pub(crate) async fn save_final_state(&mut self) -> Result<(), DeviceError> {
        let Some(path) = self.options.storage_state.save.clone() else {
            return Ok(());
        };
        let mut state = self.storage_state().await?;
        self.keep_initial_origins(&mut state);
        if state.left_out > 0 {
            let count = state.left_out;
            tracing::warn!(
                count,
                "database records have no form in a storage state and are left out"
            );
        }
        if let Some(lacks) = state.lacks() {
            tracing::warn!("the storage state lacks what some pages stored: {lacks}");
        }
        let bytes = state.document.to_string();
        write_private(&path, bytes.as_bytes()).map_err(|error| DeviceError::Unavailable {
            what: "the file of the storage state",
            message: format!("{}: {error}", path.display()),
        })
    }

    /// Adds the data of the origins that were not given it at the start, or that failed now.
    fn keep_initial_origins(&self, state: &mut StorageState) {
        let InitialOrigins { states, failed } = &self.initial_origins;
        let StorageState {
            document,
            failures,
            retained,
            ..
        } = state;
        let Some(origins) = document["origins"].as_array_mut() else {
            return;
        };
        for (origin, initial) in states {
            if !failed.contains(origin) && !failures.origins.contains(origin) {
                continue;
            }
            let mut found = origins.iter_mut();
            match found.find(|data| data["origin"] == origin.as_str()) {
                Some(data) => add_missing(data, initial),
                None => origins.push(initial.clone()),
            }
            *retained += 1;
        }
    }

    /// The cookies of this browser context, or those that this URL is sent.
    pub(crate) async fn cookies(&mut self, url: Option<&str>) -> Result<Vec<Value>, DeviceError> {
        let limit = self.options.reply_timeout;
        let params = self.in_context(json!({}));
        let mut found = self
            .client
            .call(None, "Storage.getCookies", params, limit)
            .await?;
        let mut cookies: Vec<Value> = match found["cookies"].take() {
            Value::Array(cookies) => cookies,
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => Vec::new(),
        };
        if let Some(url) = url {
            let url = parsed(url)?;
            cookies.retain(|cookie| is_sent_to(cookie, &url));
        }
        Ok(cookies)
    }

    /// The cookies, one per line, without their values.
    pub(crate) async fn list_cookies(&mut self, url: Option<&str>) -> Result<String, DeviceError> {
        let cookies = self.cookies(url).await?;
        let lines: Vec<String> = cookies.iter().map(cookie_line).collect();
        Ok(match lines.as_slice() {
            [] => "No cookies.".to_owned(),
            lines => lines.join("\n"),
        })
    }

    /// Sets cookies in Playwright's form.
    pub(crate) async fn set_cookies(&mut self, cookies: &[Value]) -> Result<String, DeviceError> {
        let given = cookies.iter().map(chromium_cookie);
        let given = given.collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let params = self.in_context(json!({ "cookies": given }));
        let limit = self.options.reply_timeout;
        let set = self.client.call(None, "Storage.setCookies", params, limit);
        match set.await {
            Ok(_) => Ok(format!("Set {} cookies.", cookies.len())),
            Err(CdpError::Protocol { message, .. }) => Err(refused(format!(
                "A cookie was refused ({message}); each needs name and value, and url, or domain and path."
            ))),
            Err(error) => Err(error.into()),
        }
    }

    /// Deletes all cookies, or those that this URL is sent.
    pub(crate) async fn clear_cookies(&mut self, url: Option<&str>) -> Result<String, DeviceError> {
        let cookies = self.cookies(url).await?;
        if url.is_none() {
            let limit = self.options.reply_timeout;
            let params = self.in_context(json!({}));
            self.client
                .call(None, "Storage.clearCookies", params, limit)
                .await?;
        } else {
            let (_, page) = self.front().await?;
            for cookie in &cookies {
                let mut params = json!({
                    "name": cookie["name"], "domain": cookie["domain"], "path": cookie["path"],
                });
                if !cookie["partitionKey"].is_null() {
                    params["partitionKey"] = cookie["partitionKey"].clone();
                }
                page.call("Network.deleteCookies", params).await?;
            }
        }
        Ok(format!("Deleted {} cookies.", cookies.len()))
    }

    /// The cookies, and the stored data of the origins that were visited.
    pub(crate) async fn storage_state(&mut self) -> Result<StorageState, DeviceError> {
        let cookies: Vec<Value> = self.cookies(None).await?.iter().map(state_cookie).collect();
        let visited = self.registry.visited_origins();
        let mut state = StorageState {
            has_more_origins: visited.has_more,
            ..StorageState::default()
        };
        let mut origins = Vec::new();
        let mut pages = OriginPages::new(self);
        for origin in visited.known {
            let argument = json!(origin);
            match pages.run(&origin, COLLECT, &argument).await {
                Ok(mut collected) => {
                    state.left_out += collected["leftOut"].as_u64().unwrap_or_default();
                    let data = collected["state"].take();
                    let is_empty = |name: &str| data[name].as_array().is_none_or(Vec::is_empty);
                    if !is_empty("localStorage") || !is_empty("indexedDB") {
                        origins.push(data);
                    }
                }
                Err(error) => state.failures.add(&origin, &error.reason()?),
            }
        }
        state.document = json!({ "cookies": cookies, "origins": origins });
        Ok(state)
    }

    /// Adds the cookies of a state, and replaces the stored data of its origins. Returns what was
    /// loaded.
    pub(crate) async fn load_state(&mut self, bytes: &[u8]) -> Result<LoadedState, DeviceError> {
        let invalid = |reason: &str| {
            refused(format!(
                "The file is no storage state of Playwright: {reason}."
            ))
        };
        let state: Value = serde_json::from_slice(bytes)
            .map_err(|error| invalid(&format!("no JSON at line {}", error.line())))?;
        let list = |name: &str| match &state[name] {
            Value::Null => Ok(Vec::new()),
            Value::Array(values) => Ok(values.clone()),
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                Err(invalid(&format!("`{name}` is no list")))
            }
        };
        let (cookies, origins) = (list("cookies")?, list("origins")?);
        if !state.is_object() || (state["cookies"].is_null() && state["origins"].is_null()) {
            return Err(invalid("it has neither `cookies` nor `origins`"));
        }
        if !cookies.is_empty() {
            self.set_cookies(&cookies).await?;
        }
        let failures = self.restore_all(&origins).await?;
        let loaded = LoadedState {
            cookies: cookies.len(),
            origins: origins.len() - failures.count,
            failures,
        };
        match loaded.failures.sentence() {
            Some(failures) if loaded.origins == 0 => Err(refused(failures)),
            Some(_) | None => Ok(loaded),
        }
    }

    async fn restore_all(&mut self, origins: &[Value]) -> Result<OriginFailures, DeviceError> {
        let mut failures = OriginFailures::default();
        let mut pages = OriginPages::new(self);
        for state in origins {
            let given = text(&state["origin"]);
            let origin = match web_origin(&given) {
                Ok(origin) => origin,
                Err(reason) => {
                    failures.add(&given, &reason);
                    continue;
                }
            };
            let mut state = state.clone();
            state["origin"] = origin.as_str().into();
            match pages.run(&origin, RESTORE, &state).await {
                Ok(_) => self.registry.add_origin(&origin),
                Err(error) => failures.add(&origin, &error.reason()?),
            }
        }
        Ok(failures)
    }

    fn in_context(&self, mut params: Value) -> Value {
        if let Some(context) = self.context.as_ref().and_then(Context::id_in_commands) {
            params["browserContextId"] = context.into();
        }
        params
    }
}

/// The origins of a file that was loaded, of which some failed.
fn initial_origins(bytes: &[u8], failures: &OriginFailures) -> InitialOrigins {
    let mut state: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let states = match state["origins"].take() {
        Value::Array(states) => states,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            Vec::new()
        }
    };
    let named = states.into_iter().map(|state| {
        let given = text(&state["origin"]);
        (web_origin(&given).unwrap_or(given), state)
    });
    InitialOrigins {
        states: named.collect(),
        failed: failures.origins.clone(),
    }
}

/// Writes a state to a file that only its owner can read, in place of one that exists.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::other("it has no file name"))?;
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{}", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let written = (|| {
        let mut file = fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)?;
        file.set_permissions(Permissions::from_mode(0o600))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        let _it_may_not_exist = fs::remove_file(&temporary);
    }
    written
}

/// Adds what the data of an origin lacks by name: items of its storage, and databases.
fn add_missing(data: &mut Value, initial: &Value) {
    for kind in ["localStorage", "indexedDB"] {
        let Some(given) = initial[kind].as_array() else {
            continue;
        };
        match &mut data[kind] {
            Value::Array(present) => {
                for entry in given {
                    if present.iter().all(|one| one["name"] != entry["name"]) {
                        present.push(entry.clone());
                    }
                }
            }
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Object(_) => data[kind] = initial[kind].clone(),
        }
    }
}

/// A cookie of Chromium in Playwright's form.
fn state_cookie(cookie: &Value) -> Value {
    let mut state = json!({
        "name": cookie["name"], "value": cookie["value"], "domain": cookie["domain"],
        "path": cookie["path"], "expires": cookie["expires"], "httpOnly": cookie["httpOnly"],
        "secure": cookie["secure"], "sameSite": cookie["sameSite"].as_str().unwrap_or("Lax"),
    });
    let partition = &cookie["partitionKey"];
    if !partition.is_null() {
        state["partitionKey"] = partition["topLevelSite"].clone();
        state["_crHasCrossSiteAncestor"] = partition["hasCrossSiteAncestor"].clone();
    }
    state
}

/// A cookie of Playwright in Chromium's form.
fn chromium_cookie(cookie: &Value) -> Result<Value, String> {
    let Value::Object(given) = cookie else {
        return Err(
            "A cookie is an object with name, value, and url, or domain and path.".to_owned(),
        );
    };
    let member = |name: &&str| Some(((*name).to_owned(), given.get(*name)?.clone()));
    let mut made: Map<String, Value> = COOKIE_MEMBERS.iter().filter_map(member).collect();
    made.retain(|_, value| !value.is_null());
    // Playwright writes -1 for a cookie that ends with the session.
    if made
        .get("expires")
        .and_then(Value::as_f64)
        .is_some_and(|at| at < 0.0)
    {
        made.remove("expires");
    }
    if let Some(site) = given.get("partitionKey").filter(|site| site.is_string()) {
        let ancestor = given.get("_crHasCrossSiteAncestor");
        let has_ancestor = ancestor.and_then(Value::as_bool).unwrap_or(true);
        made.insert(
            "partitionKey".to_owned(),
            json!({ "topLevelSite": site, "hasCrossSiteAncestor": has_ancestor }),
        );
    }
    Ok(Value::Object(made))
}

/// A cookie without its value.
fn cookie_line(cookie: &Value) -> String {
    let of = |name: &str| text(&cookie[name]);
    let mut line = format!("{} for {}{}", of("name"), of("domain"), of("path"));
    let flags = [("httpOnly", "httpOnly"), ("secure", "secure")];
    for (_, word) in flags.iter().filter(|(name, _)| cookie[*name] == true) {
        line += &format!(", {word}");
    }
    if let Some(same_site) = cookie["sameSite"].as_str() {
        line += &format!(", sameSite {same_site}");
    }
    match cookie["expires"].as_f64().filter(|at| *at >= 0.0) {
        Some(at) => line += &format!(", expires at {at:.0} (Unix time)"),
        None => line += ", until the browser ends",
    }
    line
}

fn parsed(url: &str) -> Result<Url, DeviceError> {
    let url = Url::parse(url).ok().filter(Url::has_host);
    url.ok_or_else(|| refused("Expected a URL such as https://example.com/."))
}

/// Whether a request for this URL has the cookie.
fn is_sent_to(cookie: &Value, url: &Url) -> bool {
    let (domain, path) = (text(&cookie["domain"]), text(&cookie["path"]));
    let host = url.host_str().unwrap_or_default();
    let is_domain = match domain.strip_prefix('.') {
        Some(parent) => {
            host == parent
                || host
                    .strip_suffix(parent)
                    .is_some_and(|rest| rest.ends_with('.'))
        }
        None => host == domain,
    };
    let is_path = url.path() == path
        || url
            .path()
            .strip_prefix(path.as_str())
            .is_some_and(|rest| path.ends_with('/') || rest.starts_with('/'));
    let is_loopback = host == "localhost" || host.starts_with("127.");
    let is_secure = cookie["secure"] != true || url.scheme() == "https" || is_loopback;
    is_domain && is_path && is_secure
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_survives_both_forms() {
        let chromium = json!({
            "name": "a", "value": "b", "domain": ".h", "path": "/", "expires": 5.5,
            "httpOnly": true, "secure": true, "sameSite": "None",
            "partitionKey": {"topLevelSite": "https://t", "hasCrossSiteAncestor": false},
        });
        assert_eq!(chromium_cookie(&state_cookie(&chromium)), Ok(chromium));
        let session = json!({"name": "a", "value": "b", "url": "https://h/", "expires": -1});
        assert_eq!(
            chromium_cookie(&session),
            Ok(json!({"name": "a", "value": "b", "url": "https://h/"}))
        );
        assert!(chromium_cookie(&json!("a=b")).is_err());
    }

    #[test]
    fn what_is_missing_is_added_by_name() {
        let initial = json!({
            "localStorage": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}],
            "indexedDB": [{"name": "shop", "version": 1}],
        });
        let mut data = json!({"localStorage": [{"name": "b", "value": "3"}]});
        add_missing(&mut data, &initial);
        assert_eq!(
            data,
            json!({
                "localStorage": [{"name": "b", "value": "3"}, {"name": "a", "value": "1"}],
                "indexedDB": [{"name": "shop", "version": 1}],
            })
        );
    }

    #[test]
    fn a_url_is_sent_the_cookies_of_its_host_and_path() {
        let sent = |domain: &str, path: &str, secure: bool, url: &str| {
            let cookie = json!({"domain": domain, "path": path, "secure": secure});
            is_sent_to(&cookie, &Url::parse(url).unwrap())
        };
        assert!(sent(".a.example", "/", false, "http://a.example/x"));
        assert!(sent(".a.example", "/", false, "http://b.a.example/x"));
        assert!(!sent(".a.example", "/", false, "http://xa.example/"));
        assert!(!sent("a.example", "/", false, "http://b.a.example/"));
        assert!(sent("a.example", "/x", false, "http://a.example/x/y"));
        assert!(!sent("a.example", "/x", false, "http://a.example/xy"));
        assert!(!sent("a.example", "/", true, "http://a.example/"));
        assert!(sent("a.example", "/", true, "https://a.example/"));
    }

    #[test]
    fn a_list_of_cookies_has_no_values() {
        let line = cookie_line(&json!({
            "name": "sid", "value": "s3cret", "domain": "h", "path": "/", "expires": -1,
            "httpOnly": true, "secure": false, "sameSite": "Lax",
        }));
        assert_eq!(
            line,
            "sid for h/, httpOnly, sameSite Lax, until the browser ends"
        );
    }

    #[test]
    fn a_state_is_readable_by_its_owner_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        write_private(&path, b"{}").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"{}");
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
