//! The services that `run` can converse with: what each speaks, and where key and address are.

use telechir_providers::Dialect;

/// A service.
#[derive(Debug)]
pub(crate) struct Service {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// What it speaks, by the dialects' names; the first unless another is asked for.
    dialects: &'static [&'static str],
    /// Variables that may hold the key; the first that is set counts.
    pub(crate) keys: &'static [&'static str],
    /// Where it is; absent when everyone has another. `{region}` stands for a region.
    pub(crate) host: Option<&'static str>,
    /// Variables that may hold the address.
    pub(crate) addresses: &'static [&'static str],
    /// What to know when there is no key.
    pub(crate) hint: &'static str,
}

/// All of them.
pub(crate) const SERVICES: [Service; 6] = [
    Service {
        name: "anthropic",
        host: Some("https://api.anthropic.com"),
        dialects: &["anthropic-messages"],
        keys: &["ANTHROPIC_API_KEY"],
        addresses: &["ANTHROPIC_BASE_URL"],
        hint: "",
    },
    Service {
        name: "openai",
        host: Some("https://api.openai.com"),
        dialects: &["openai-responses", "functions"],
        keys: &["OPENAI_API_KEY"],
        addresses: &["OPENAI_BASE_URL"],
        hint: "",
    },
    Service {
        name: "google",
        host: Some("https://generativelanguage.googleapis.com"),
        dialects: &["google-generate-content", "google-interactions"],
        keys: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
        addresses: &["GOOGLE_GEMINI_BASE_URL"],
        hint: "",
    },
    Service {
        name: "bedrock",
        host: Some("https://bedrock-runtime.{region}.amazonaws.com"),
        dialects: &["bedrock-converse", "bedrock-messages", "bedrock-invoke"],
        keys: &["AWS_BEARER_TOKEN_BEDROCK"],
        addresses: &["AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"],
        hint: " to an API key of Bedrock; access keys that sign requests are not used",
    },
    Service {
        name: "mistral",
        host: Some("https://api.mistral.ai"),
        dialects: &["mistral-conversations", "mistral-chat", "functions"],
        keys: &["MISTRAL_API_KEY"],
        addresses: &["MISTRAL_BASE_URL"],
        hint: "",
    },
    Service {
        name: "functions",
        host: None,
        dialects: &["functions", "functions-inline", "mistral-chat"],
        keys: &["FUNCTIONS_API_KEY", "OPENAI_API_KEY"],
        addresses: &["FUNCTIONS_BASE_URL", "OPENAI_BASE_URL"],
        hint: " (any text when the server wants none)",
    },
];

/// The variables that hold a key, of every service.
pub(crate) fn key_names() -> impl Iterator<Item = &'static str> {
    SERVICES
        .iter()
        .flat_map(|service| service.keys.iter().copied())
}

/// The part of an address that a region takes.
pub(crate) const REGION: &str = "{region}";

/// The service of this name.
pub(crate) fn named(name: &str) -> Option<&'static Service> {
    SERVICES.iter().find(|service| service.name == name)
}

impl Service {
    /// The dialects that can be conversed in.
    fn spoken(&self) -> impl Iterator<Item = Dialect> {
        let known = self.dialects.iter().filter_map(|name| name.parse().ok());
        known.filter(|dialect: &Dialect| dialect.service().is_some())
    }

    /// What to speak with it: what was asked for, or its first.
    ///
    /// # Errors
    /// A sentence when it does not speak that.
    pub(crate) fn dialect(&self, asked: Option<Dialect>) -> Result<Dialect, String> {
        let spoken: Vec<Dialect> = self.spoken().collect();
        let found = match asked {
            None => spoken.first(),
            Some(asked) => spoken.iter().find(|dialect| **dialect == asked),
        };
        found.copied().ok_or_else(|| {
            let name = self.name;
            let known: Vec<&str> = spoken.iter().map(|dialect| dialect.name()).collect();
            match asked {
                Some(asked) => format!("{name} speaks {}, not {asked}", known.join(", ")),
                None => format!("nothing here can converse with {name}"),
            }
        })
    }
}
