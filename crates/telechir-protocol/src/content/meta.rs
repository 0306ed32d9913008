//! The members that all contents have in common.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::raw::Raw;

/// Members common to all contents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Meta {
    /// Citations and similar annotations, verbatim.
    #[serde(
        default,
        deserialize_with = "common_member::annotations",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub annotations: Vec<Value>,
    /// Provider settings without a neutral name, by provider: `{"anthropic": {"caller": …}}`.
    #[serde(
        default,
        deserialize_with = "common_member::additional_properties",
        skip_serializing_if = "Map::is_empty"
    )]
    pub additional_properties: Map<String, Value>,
    /// The provider's own JSON.
    #[serde(
        default,
        deserialize_with = "common_member::raw_representation",
        skip_serializing_if = "Option::is_none"
    )]
    pub raw_representation: Option<Raw>,
    /// Members unknown to this version, written back verbatim.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Reads the common members: null is the default, and an error names the member.
mod common_member {
    use serde::de::{Deserialize, Deserializer, Error as _};

    macro_rules! named {
        ($($name:ident)*) => {$(
            pub(super) fn $name<'de, D, T>(deserializer: D) -> Result<T, D::Error>
            where
                D: Deserializer<'de>,
                T: Deserialize<'de> + Default,
            {
                let value = Option::deserialize(deserializer);
                value.map(Option::unwrap_or_default).map_err(|problem| {
                    D::Error::custom(format_args!(concat!("`", stringify!($name), "`: {}"), problem))
                })
            }
        )*};
    }

    named! { annotations additional_properties raw_representation }
}

/// The member of a call without such a field; absent means true.
const LOCAL: &str = "requires_local_execution";

impl Meta {
    /// Whether this program executes the call that these members belong to.
    pub(crate) fn requires_local_execution(&self) -> bool {
        self.extra.get(LOCAL) != Some(&Value::Bool(false))
    }

    /// Sets whether this program executes the call that these members belong to.
    pub(crate) fn set_requires_local_execution(&mut self, value: bool) {
        self.extra.shift_remove(LOCAL);
        if !value {
            self.extra.insert(LOCAL.to_owned(), false.into());
        }
    }

    /// Returns a provider setting, such as `("anthropic", "caller")`.
    pub fn property(&self, provider: &str, name: &str) -> Option<&Value> {
        self.additional_properties.get(provider)?.get(name)
    }

    /// Sets a provider setting.
    pub fn set_property(&mut self, provider: &str, name: &str, value: Value) {
        let entry = self
            .additional_properties
            .entry(provider)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(members) = entry {
            members.insert(name.to_owned(), value);
        }
    }
}
