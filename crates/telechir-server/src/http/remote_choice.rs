//! What a client chooses of a browser that is rented at a service.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a client chooses of the browser that its session rents at a service, where the server's flags
/// permit it. Absent members are as the server was started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RemoteChoice {
    /// Id of the stored page data at the service, its context or profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// Whether changes of the page data are kept; absent means yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persist: Option<bool>,
    /// Seconds that the browser may run, at most as long as the server's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u64>,
    /// Whether pages load through a proxy of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<bool>,
    /// ISO 3166 code of the country where the proxy is, such as `DE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}
