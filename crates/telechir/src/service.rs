//! The provider services of `run`: dialects, API keys and endpoints.

use telechir_providers::Dialect;

/// A provider's API.
#[derive(Debug)]
pub(crate) struct Service {
    /// Value of `--provider`.
    pub(crate) name: &'static str,
    /// Names of the supported dialects; the first is the default.
    dialects: &'static [&'static str],
    /// Variables of the API key; the first with a value is used.
    pub(crate) keys: &'static [&'static str],
    /// Default endpoint, absent if there is none. `{region}` stands for a region.
    pub(crate) host: Option<&'static str>,
    /// Variables of the endpoint.
    pub(crate) addresses: &'static [&'static str],
    /// Whether a later variable is another service's key, used only without one of its own.
    pub(crate) has_fallback_key: bool,
    /// Completes the error about a missing key.
    pub(crate) hint: &'static str,
}

/// All services, in the order of help texts.
pub(crate) const SERVICES: [Service; 6] = [
    Service {
        name: "anthropic",
        host: Some("https://api.anthropic.com"),
        dialects: &["anthropic-messages"],
        keys: &["ANTHROPIC_API_KEY"],
        addresses: &["ANTHROPIC_BASE_URL"],
        has_fallback_key: false,
        hint: "",
    },
    Service {
        name: "openai",
        host: Some("https://api.openai.com"),
        dialects: &["openai-responses", "functions"],
        keys: &["OPENAI_API_KEY"],
        addresses: &["OPENAI_BASE_URL"],
        has_fallback_key: false,
        hint: "",
    },
    Service {
        name: "google",
        host: Some("https://generativelanguage.googleapis.com"),
        dialects: &["google-generate-content", "google-interactions"],
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        addresses: &["GOOGLE_GEMINI_BASE_URL"],
        has_fallback_key: false,
        hint: "",
    },
    Service {
        name: "bedrock",
        host: Some("https://bedrock-runtime.{region}.amazonaws.com"),
        dialects: &["bedrock-converse", "bedrock-messages", "bedrock-invoke"],
        keys: &["AWS_BEARER_TOKEN_BEDROCK"],
        addresses: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"],
        has_fallback_key: false,
        hint: " to a Bedrock API key; access keys for signed requests are not supported",
    },
    Service {
        name: "mistral",
        host: Some("https://api.mistral.ai"),
        dialects: &["mistral-conversations", "mistral-chat", "functions"],
        keys: &["MISTRAL_API_KEY"],
        addresses: &["MISTRAL_BASE_URL"],
        has_fallback_key: false,
        hint: "",
    },
    Service {
        name: "functions",
        host: None,
        dialects: &["functions", "functions-inline", "mistral-chat"],
        keys: &["FUNCTIONS_API_KEY", "OPENAI_API_KEY"],
        addresses: &["FUNCTIONS_BASE_URL", "OPENAI_BASE_URL"],
        has_fallback_key: true,
        hint: " (any text if the server requires none)",
    },
];

/// Placeholder of the region in an endpoint.
pub(crate) const REGION: &str = "{region}";

/// The service with this name.
pub(crate) fn named(name: &str) -> Option<&'static Service> {
    SERVICES.iter().find(|service| service.name == name)
}

impl Service {
    /// The dialects in which a conversation is possible.
    fn supported(&self) -> impl Iterator<Item = Dialect> {
        let known = self.dialects.iter().filter_map(|name| name.parse().ok());
        known.filter(|dialect: &Dialect| dialect.service().is_some())
    }

    /// The requested dialect, or the service's default.
    ///
    /// # Errors
    /// If the service does not support the dialect.
    pub(crate) fn dialect(&self, requested: Option<Dialect>) -> Result<Dialect, String> {
        let supported: Vec<Dialect> = self.supported().collect();
        let found = match requested {
            None => supported.first(),
            Some(requested) => supported.iter().find(|dialect| **dialect == requested),
        };
        found.copied().ok_or_else(|| {
            let name = self.name;
            let known: Vec<&str> = supported.iter().map(|dialect| dialect.name()).collect();
            match requested {
                Some(requested) => format!(
                    "{name} does not support {requested}; expected one of {}",
                    known.join(", ")
                ),
                None => format!("{name} supports no dialect for conversations"),
            }
        })
    }
}
