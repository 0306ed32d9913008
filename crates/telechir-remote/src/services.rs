//! The table of services.

use crate::service::{
    Answer, Auth, Call, Clock, DialTable, DialValue, Extend, Find, Keys, Service, Source, TimeUnit,
};

/// All services, in the order of help texts.
pub const SERVICES: [Service; 6] = [
    STEEL,
    BROWSERBASE,
    BROWSER_ENGINE,
    AGENTCORE,
    KERNEL,
    HYPERBROWSER,
];

const STEEL: Service = Service {
    name: "steel",
    title: "Steel",
    keys: Keys::One("STEEL_API_KEY"),
    base_variable: "STEEL_BASE_URL",
    base: "https://api.steel.dev",
    auth: Auth::Header("steel-api-key"),
    create: post("/v1/sessions"),
    members: &[
        (Source::Mark, "sessionId"),
        (Source::Width, "dimensions.width"),
        (Source::Height, "dimensions.height"),
        (Source::Timeout(TimeUnit::Milliseconds), "timeout"),
        (Source::Region, "region"),
        (Source::ProxyAnywhere, "useProxy"),
        (Source::Country, "useProxy.geolocation.country"),
        (Source::Context, "profileId"),
        (Source::Persist, "persistProfile"),
    ],
    describe: get("/v1/sessions/{id}"),
    release: Call {
        method: "POST",
        path: "/v1/sessions/{id}/release",
        body: Some(&[]),
    },
    extend: None,
    save: None,
    find: Find::ByMark,
    answer: Answer {
        envelope: None,
        id: "id",
        state: Some("status"),
        alive: &["live", "idle"],
        starting: &[],
        reason: Some("releaseReason"),
    },
    dial: DialTable {
        address: "websocketUrl",
        query: &[("apiKey", DialValue::Key), ("sessionId", DialValue::Id)],
        is_signed: false,
    },
    clock: Clock::Total,
    timeout_range: (1, 86_400),
};

const BROWSERBASE: Service = Service {
    name: "browserbase",
    title: "Browserbase",
    keys: Keys::One("BROWSERBASE_API_KEY"),
    base_variable: "BROWSERBASE_BASE_URL",
    base: "https://api.browserbase.com",
    auth: Auth::Header("x-bb-api-key"),
    create: post("/v1/sessions"),
    members: &[
        (Source::Mark, "userMetadata.telechir"),
        (Source::Labels, "userMetadata"),
        (Source::Width, "browserSettings.viewport.width"),
        (Source::Height, "browserSettings.viewport.height"),
        (Source::Context, "browserSettings.context.id"),
        (Source::Persist, "browserSettings.context.persist"),
        // Its own default is true.
        (Source::Flag(false), "browserSettings.solveCaptchas"),
        // Without it a session ends with its first connection.
        (Source::Flag(true), "keepAlive"),
        (Source::Timeout(TimeUnit::Seconds), "timeout"),
        (Source::Region, "region"),
        (Source::ProxyAnywhere, "proxies"),
        (Source::IfCountry("browserbase"), "proxies.0.type"),
        (Source::Country, "proxies.0.geolocation.country"),
    ],
    describe: get("/v1/sessions/{id}"),
    release: Call {
        method: "POST",
        path: "/v1/sessions/{id}",
        body: Some(&[("status", "REQUEST_RELEASE")]),
    },
    extend: None,
    save: None,
    find: Find::List {
        path: "/v1/sessions?status=RUNNING&q=user_metadata['telechir']:'{mark}'",
        items: "",
        mark: "userMetadata.telechir",
    },
    answer: Answer {
        envelope: None,
        id: "id",
        state: Some("status"),
        alive: &["RUNNING"],
        starting: &["PENDING"],
        reason: None,
    },
    dial: DialTable {
        address: "connectUrl",
        query: &[],
        is_signed: false,
    },
    clock: Clock::Total,
    timeout_range: (60, 21_600),
};

const BROWSER_ENGINE: Service = Service {
    name: "browser-engine",
    title: "Browser Engine",
    keys: Keys::One("BROWSER_ENGINE_API_KEY"),
    base_variable: "BROWSER_API_URL",
    base: "https://api.browserengine.co",
    auth: Auth::Header("x-api-key"),
    create: post("/sessions"),
    members: &[
        (Source::Mark, "metadata.telechir"),
        (Source::Labels, "metadata"),
        (Source::Width, "viewport.width"),
        (Source::Height, "viewport.height"),
        (Source::Text("about:blank"), "initial_url"),
        (Source::Timeout(TimeUnit::Seconds), "timeout"),
        (Source::ProxyOn, "proxy.enabled"),
        (Source::Country, "proxy.country"),
        (Source::Context, "context.id"),
        (Source::Persist, "context.persist"),
    ],
    describe: get("/sessions/{id}"),
    // An update of the state would leave the context locked.
    release: Call {
        method: "DELETE",
        path: "/sessions/{id}",
        body: None,
    },
    extend: Some(Extend {
        method: "POST",
        path: "/sessions/{id}",
        member: "timeout",
        unit: TimeUnit::Seconds,
    }),
    save: None,
    find: Find::List {
        path: "/sessions",
        items: "data",
        mark: "metadata.telechir",
    },
    answer: Answer {
        envelope: Some("data"),
        id: "id",
        state: Some("status"),
        alive: &["RUNNING", "running"],
        starting: &["PENDING", "STARTING", "CREATING"],
        reason: None,
    },
    dial: DialTable {
        // Its `connect_url` is no socket of CDP.
        address: "cdp_json_url",
        query: &[("token", DialValue::Member("connect_token"))],
        is_signed: false,
    },
    clock: Clock::Total,
    timeout_range: (1, 86_400),
};

const AGENTCORE: Service = Service {
    name: "agentcore",
    title: "Amazon Bedrock AgentCore Browser",
    keys: Keys::Aws,
    base_variable: "BEDROCK_AGENTCORE_DP_ENDPOINT",
    base: "https://bedrock-agentcore.{region}.amazonaws.com",
    auth: Auth::SigV4("bedrock-agentcore"),
    create: Call {
        method: "PUT",
        path: "/browsers/aws.browser.v1/sessions/start",
        body: Some(&[]),
    },
    members: &[
        (Source::Mark, "clientToken"),
        (Source::Text("telechir"), "name"),
        (Source::Timeout(TimeUnit::Seconds), "sessionTimeoutSeconds"),
        (Source::Width, "viewPort.width"),
        (Source::Height, "viewPort.height"),
        (Source::Context, "profileConfiguration.profileIdentifier"),
    ],
    describe: get("/browsers/aws.browser.v1/sessions/get?sessionId={id}"),
    release: Call {
        method: "PUT",
        path: "/browsers/aws.browser.v1/sessions/stop?sessionId={id}",
        body: Some(&[("clientToken", "stop-{mark}")]),
    },
    extend: None,
    save: Some(Call {
        method: "PUT",
        path: "/browser-profiles/{context}/save",
        body: Some(&[
            ("browserIdentifier", "aws.browser.v1"),
            ("sessionId", "{id}"),
            ("clientToken", "save-{mark}"),
        ]),
    }),
    find: Find::CreateAgain,
    answer: Answer {
        envelope: None,
        id: "sessionId",
        // The answer to a start has none; a description has.
        state: Some("status"),
        alive: &["READY"],
        starting: &[],
        reason: None,
    },
    dial: DialTable {
        address: "streams.automationStream.streamEndpoint",
        query: &[],
        is_signed: true,
    },
    clock: Clock::Total,
    timeout_range: (1, 28_800),
};

const KERNEL: Service = Service {
    name: "kernel",
    title: "Kernel",
    keys: Keys::One("KERNEL_API_KEY"),
    base_variable: "KERNEL_BASE_URL",
    base: "https://api.onkernel.com",
    auth: Auth::Bearer,
    create: post("/browsers"),
    members: &[
        (Source::Mark, "name"),
        (Source::Labels, "tags"),
        (Source::Width, "viewport.width"),
        (Source::Height, "viewport.height"),
        (Source::Timeout(TimeUnit::Seconds), "timeout_seconds"),
        (Source::Region, "region"),
        (Source::Context, "profile.id"),
        (Source::Persist, "profile.save_changes"),
    ],
    describe: get("/browsers/{id}"),
    release: Call {
        method: "DELETE",
        path: "/browsers/{id}",
        body: None,
    },
    extend: None,
    save: None,
    find: Find::ByMark,
    answer: Answer {
        envelope: None,
        id: "session_id",
        state: None,
        alive: &[],
        starting: &[],
        reason: None,
    },
    dial: DialTable {
        address: "cdp_ws_url",
        query: &[],
        is_signed: false,
    },
    clock: Clock::Idle,
    timeout_range: (10, 259_200),
};

const HYPERBROWSER: Service = Service {
    name: "hyperbrowser",
    title: "Hyperbrowser",
    keys: Keys::One("HYPERBROWSER_API_KEY"),
    base_variable: "HYPERBROWSER_BASE_URL",
    base: "https://api.hyperbrowser.ai",
    auth: Auth::Header("x-api-key"),
    create: post("/api/session"),
    members: &[
        (Source::Width, "screen.width"),
        (Source::Height, "screen.height"),
        (Source::Timeout(TimeUnit::Minutes), "timeoutMinutes"),
        (Source::Region, "region"),
        (Source::ProxyOn, "useProxy"),
        (Source::Country, "proxyCountry"),
        (Source::Context, "profile.id"),
        (Source::Persist, "profile.persistChanges"),
    ],
    describe: get("/api/session/{id}"),
    release: Call {
        method: "PUT",
        path: "/api/session/{id}/stop",
        body: None,
    },
    extend: Some(Extend {
        method: "PUT",
        path: "/api/session/{id}/extend-session",
        member: "durationMinutes",
        unit: TimeUnit::Minutes,
    }),
    save: None,
    // Nothing of ours is in its list.
    find: Find::Impossible,
    answer: Answer {
        envelope: None,
        id: "id",
        state: Some("status"),
        alive: &["active"],
        starting: &[],
        reason: None,
    },
    dial: DialTable {
        address: "wsEndpoint",
        query: &[],
        is_signed: false,
    },
    clock: Clock::Total,
    timeout_range: (60, 86_400),
};

const fn get(path: &'static str) -> Call {
    Call {
        method: "GET",
        path,
        body: None,
    }
}

const fn post(path: &'static str) -> Call {
    Call {
        method: "POST",
        path,
        body: Some(&[]),
    }
}
