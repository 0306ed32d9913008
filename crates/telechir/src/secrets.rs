//! Values of environment variables that flags name, so that no secret is part of a command line, a
//! session's configuration, a log or a recording.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::args::BrowserArguments;
use crate::env;
use crate::error::CliError;

/// The member of a session's configuration that the session host removes when it starts.
const MEMBER: &str = "secrets";

/// Secrets by the names of their environment variables. Neither `Debug` nor an error shows a value.
#[derive(Clone, Default)]
pub(crate) struct Secrets(BTreeMap<String, String>);

impl Secrets {
    /// The values for the flags of a browser.
    pub(crate) fn of(page: &BrowserArguments) -> Result<Self, CliError> {
        let secrets = Self::from_environment(page.secret_names())?;
        Ok(secrets.with_settings(&page.remote.setting_names()))
    }

    /// These values and further ones.
    pub(crate) fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Reads variables, each with the flag that names it.
    pub(crate) fn from_environment(named: Vec<(&'static str, String)>) -> Result<Self, CliError> {
        let read = |(flag, name): (&'static str, String)| match env::variable(&name) {
            Some(value) => Ok((name, value)),
            None => Err(CliError::usage(format!(
                "{flag}: the environment variable {name} is not set"
            ))),
        };
        let values: Result<_, _> = named.into_iter().map(read).collect();
        values.map(Self)
    }

    /// Reads the variables that are set.
    pub(crate) fn that_are_set(named: Vec<(&'static str, String)>) -> Self {
        let read = |(_, name): (&'static str, String)| Some((env::variable(&name)?, name));
        let values = named.into_iter().filter_map(read);
        Self(values.map(|(value, name)| (name, value)).collect())
    }

    /// Adds settings that are no secrets, where they are set: a session host gets no others of ours.
    pub(crate) fn with_settings(mut self, names: &[&str]) -> Self {
        let set = names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), env::variable(name)?)));
        self.0.extend(set);
        self
    }

    /// The value of a variable, if it was set.
    pub(crate) fn find(&self, name: &str) -> Option<String> {
        self.0.get(name).cloned()
    }

    /// All values.
    pub(crate) fn values(&self) -> Vec<String> {
        self.0.values().cloned().collect()
    }

    /// The value of a variable; every variable that a flag names has one.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    /// Adds the values to the configuration that a session host reads.
    pub(crate) fn add_to(&self, config: &mut Value) {
        if let Some(members) = config.as_object_mut().filter(|_| !self.0.is_empty()) {
            let values = self.0.iter();
            let values = values.map(|(name, value)| (name.clone(), value.as_str().into()));
            members.insert(MEMBER.to_owned(), Value::Object(values.collect()));
        }
    }

    /// Removes the values from a configuration.
    pub(crate) fn take_from(config: &mut Value) -> Self {
        let members = config.as_object_mut();
        let taken = members.and_then(|members| members.shift_remove(MEMBER));
        let values: Map<String, Value> = match taken {
            Some(Value::Object(values)) => values,
            _ => Map::new(),
        };
        let text = |(name, value): (String, Value)| Some((name, value.as_str()?.to_owned()));
        Self(values.into_iter().filter_map(text).collect())
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_configuration_loses_its_secrets_when_they_are_taken() {
        let secrets = Secrets(BTreeMap::from([("KEY".to_owned(), "k3y".to_owned())]));
        let mut config = json!({"browser": ""});
        secrets.add_to(&mut config);
        let taken = Secrets::take_from(&mut config);
        assert_eq!(config, json!({"browser": ""}));
        assert_eq!((taken.get("KEY"), taken.get("OTHER")), ("k3y", ""));
        assert_eq!(format!("{taken:?}"), r#"{"KEY"}"#);
        Secrets::default().add_to(&mut config);
        assert_eq!(config, json!({"browser": ""}));
    }
}
