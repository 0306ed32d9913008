//! The table of services.

use crate::service::{
    AnswerTable, Auth, CallTemplate, Clock, DialTable, DialValue, Extend, Find, HostList, Keys,
    LiveViewTable, MemberSource, RemoteService, TimeUnit,
};

/// All services, in the order of help texts.
pub const SERVICES: [RemoteService; 6] = [
    STEEL,
    BROWSERBASE,
    BROWSER_ENGINE,
    AGENTCORE,
    KERNEL,
    HYPERBROWSER,
];

const STEEL: RemoteService = RemoteService {
    name: "steel",
    title: "Steel",
    keys: Keys::One("STEEL_API_KEY"),
    base_variable: "STEEL_BASE_URL",
    base: "https://api.steel.dev",
    auth: Auth::Header("steel-api-key"),
    create: post("/v1/sessions"),
    members: &[
        (MemberSource::Mark, "sessionId"),
        (MemberSource::Width, "dimensions.width"),
        (MemberSource::Height, "dimensions.height"),
        (MemberSource::Timeout(TimeUnit::Milliseconds), "timeout"),
        (MemberSource::Region, "region"),
        (MemberSource::ProxyAnywhere, "useProxy"),
        (MemberSource::Country, "useProxy.geolocation.country"),
        (MemberSource::Context, "profileId"),
        (MemberSource::Persist, "persistProfile"),
    ],
    describe: get("/v1/sessions/{id}"),
    release: CallTemplate {
        method: "POST",
        path: "/v1/sessions/{id}/release",
        body: Some(&[]),
    },
    extend: None,
    save: None,
    live_view: Some(LiveViewTable {
        call: get("/v1/sessions/{id}"),
        member: "debugUrl",
    }),
    find: Find::ByMark,
    answer: AnswerTable {
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
    host_list: HostList::Nothing,
    billing: "by the minute",
    timeout_range: (1, 86_400),
};

const BROWSERBASE: RemoteService = RemoteService {
    name: "browserbase",
    title: "Browserbase",
    keys: Keys::One("BROWSERBASE_API_KEY"),
    base_variable: "BROWSERBASE_BASE_URL",
    base: "https://api.browserbase.com",
    auth: Auth::Header("x-bb-api-key"),
    create: post("/v1/sessions"),
    members: &[
        (MemberSource::Mark, "userMetadata.telechir"),
        (MemberSource::Labels, "userMetadata"),
        (MemberSource::Width, "browserSettings.viewport.width"),
        (MemberSource::Height, "browserSettings.viewport.height"),
        (MemberSource::Domains, "browserSettings.allowedDomains"),
        (MemberSource::Context, "browserSettings.context.id"),
        (MemberSource::Persist, "browserSettings.context.persist"),
        // Its own default is true.
        (MemberSource::Flag(false), "browserSettings.solveCaptchas"),
        // Without it a session ends with its first connection.
        (MemberSource::Flag(true), "keepAlive"),
        (MemberSource::Timeout(TimeUnit::Seconds), "timeout"),
        (MemberSource::Region, "region"),
        (MemberSource::ProxyAnywhere, "proxies"),
        (MemberSource::IfCountry("browserbase"), "proxies.0.type"),
        (MemberSource::Country, "proxies.0.geolocation.country"),
    ],
    describe: get("/v1/sessions/{id}"),
    release: CallTemplate {
        method: "POST",
        path: "/v1/sessions/{id}",
        body: Some(&[("status", "REQUEST_RELEASE")]),
    },
    extend: None,
    save: None,
    live_view: Some(LiveViewTable {
        call: get("/v1/sessions/{id}/debug"),
        member: "debuggerFullscreenUrl",
    }),
    find: Find::List {
        path: "/v1/sessions?status=RUNNING&q=user_metadata['telechir']:'{mark}'",
        items: "",
        mark: "userMetadata.telechir",
    },
    answer: AnswerTable {
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
    host_list: HostList::Pages,
    billing: "by the minute, at least one",
    timeout_range: (60, 21_600),
};

const BROWSER_ENGINE: RemoteService = RemoteService {
    name: "browser-engine",
    title: "Browser Engine",
    keys: Keys::One("BROWSER_ENGINE_API_KEY"),
    base_variable: "BROWSER_API_URL",
    base: "https://api.browserengine.co",
    auth: Auth::Header("x-api-key"),
    create: post("/sessions"),
    members: &[
        (MemberSource::Mark, "metadata.telechir"),
        (MemberSource::Labels, "metadata"),
        (MemberSource::Width, "viewport.width"),
        (MemberSource::Height, "viewport.height"),
        (MemberSource::Text("about:blank"), "initial_url"),
        (MemberSource::Timeout(TimeUnit::Seconds), "timeout"),
        (MemberSource::ProxyOn, "proxy.enabled"),
        (MemberSource::Country, "proxy.country"),
        (MemberSource::Context, "context.id"),
        (MemberSource::Persist, "context.persist"),
    ],
    describe: get("/sessions/{id}"),
    // An update of the state would leave the context locked.
    release: CallTemplate {
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
    live_view: Some(LiveViewTable {
        call: get("/sessions/{id}"),
        member: "debug_url",
    }),
    find: Find::List {
        path: "/sessions",
        items: "data",
        mark: "metadata.telechir",
    },
    answer: AnswerTable {
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
    host_list: HostList::Nothing,
    billing: "as its contract says",
    timeout_range: (1, 86_400),
};

const AGENTCORE: RemoteService = RemoteService {
    name: "agentcore",
    title: "Amazon Bedrock AgentCore Browser",
    keys: Keys::Aws,
    base_variable: "BEDROCK_AGENTCORE_DP_ENDPOINT",
    base: "https://bedrock-agentcore.{region}.amazonaws.com",
    auth: Auth::SigV4("bedrock-agentcore"),
    create: CallTemplate {
        method: "PUT",
        path: "/browsers/aws.browser.v1/sessions/start",
        body: Some(&[]),
    },
    members: &[
        (MemberSource::Mark, "clientToken"),
        (MemberSource::Text("telechir"), "name"),
        (
            MemberSource::Timeout(TimeUnit::Seconds),
            "sessionTimeoutSeconds",
        ),
        (MemberSource::Width, "viewPort.width"),
        (MemberSource::Height, "viewPort.height"),
        (
            MemberSource::Context,
            "profileConfiguration.profileIdentifier",
        ),
    ],
    describe: get("/browsers/aws.browser.v1/sessions/get?sessionId={id}"),
    release: CallTemplate {
        method: "PUT",
        path: "/browsers/aws.browser.v1/sessions/stop?sessionId={id}",
        body: Some(&[("clientToken", "stop-{mark}")]),
    },
    extend: None,
    save: Some(CallTemplate {
        method: "PUT",
        path: "/browser-profiles/{context}/save",
        body: Some(&[
            ("browserIdentifier", "aws.browser.v1"),
            ("sessionId", "{id}"),
            ("clientToken", "save-{mark}"),
        ]),
    }),
    live_view: None,
    find: Find::CreateAgain,
    answer: AnswerTable {
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
    host_list: HostList::Nothing,
    billing: "by the second, for processor and memory",
    timeout_range: (1, 28_800),
};

/// The shell of AgentCore: a session in which commands are run, without a browser.
pub static INTERPRETER: RemoteService = RemoteService {
    name: "agentcore-code-interpreter",
    title: "Amazon Bedrock AgentCore Code Interpreter",
    keys: Keys::Aws,
    base_variable: "BEDROCK_AGENTCORE_DP_ENDPOINT",
    base: "https://bedrock-agentcore.{region}.amazonaws.com",
    auth: Auth::SigV4("bedrock-agentcore"),
    create: CallTemplate {
        method: "PUT",
        path: "/code-interpreters/aws.codeinterpreter.v1/sessions/start",
        body: Some(&[]),
    },
    members: &[
        (MemberSource::Mark, "clientToken"),
        (MemberSource::Text("telechir"), "name"),
        (
            MemberSource::Timeout(TimeUnit::Seconds),
            "sessionTimeoutSeconds",
        ),
    ],
    describe: get("/code-interpreters/aws.codeinterpreter.v1/sessions/get?sessionId={id}"),
    release: CallTemplate {
        method: "PUT",
        path: "/code-interpreters/aws.codeinterpreter.v1/sessions/stop?sessionId={id}",
        body: Some(&[("clientToken", "stop-{mark}")]),
    },
    extend: None,
    save: None,
    live_view: None,
    find: Find::CreateAgain,
    answer: AnswerTable {
        envelope: None,
        id: "sessionId",
        state: Some("status"),
        alive: &["READY"],
        starting: &[],
        reason: None,
    },
    dial: DialTable {
        address: "",
        query: &[],
        is_signed: false,
    },
    clock: Clock::Total,
    host_list: HostList::Nothing,
    billing: "by the second, for processor and memory",
    timeout_range: (1, 28_800),
};

const KERNEL: RemoteService = RemoteService {
    name: "kernel",
    title: "Kernel",
    keys: Keys::One("KERNEL_API_KEY"),
    base_variable: "KERNEL_BASE_URL",
    base: "https://api.onkernel.com",
    auth: Auth::Bearer,
    create: post("/browsers"),
    members: &[
        (MemberSource::Mark, "name"),
        (MemberSource::Labels, "tags"),
        (MemberSource::Width, "viewport.width"),
        (MemberSource::Height, "viewport.height"),
        (MemberSource::Timeout(TimeUnit::Seconds), "timeout_seconds"),
        (MemberSource::Region, "region"),
        (MemberSource::Hosts, "network.allowed_hosts"),
        (MemberSource::Context, "profile.id"),
        (MemberSource::Persist, "profile.save_changes"),
    ],
    describe: get("/browsers/{id}"),
    release: CallTemplate {
        method: "DELETE",
        path: "/browsers/{id}",
        body: None,
    },
    extend: None,
    save: None,
    live_view: Some(LiveViewTable {
        call: get("/browsers/{id}"),
        member: "browser_live_view_url",
    }),
    find: Find::ByMark,
    answer: AnswerTable {
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
    host_list: HostList::Requests,
    billing: "by the second, for memory",
    timeout_range: (10, 259_200),
};

const HYPERBROWSER: RemoteService = RemoteService {
    name: "hyperbrowser",
    title: "Hyperbrowser",
    keys: Keys::One("HYPERBROWSER_API_KEY"),
    base_variable: "HYPERBROWSER_BASE_URL",
    base: "https://api.hyperbrowser.ai",
    auth: Auth::Header("x-api-key"),
    create: post("/api/session"),
    members: &[
        (MemberSource::Width, "screen.width"),
        (MemberSource::Height, "screen.height"),
        (MemberSource::Timeout(TimeUnit::Minutes), "timeoutMinutes"),
        (MemberSource::Region, "region"),
        // Without it, hosts that are not listed are permitted.
        (MemberSource::IfHosts(false), "allowInternetAccess"),
        (MemberSource::Hosts, "allowOut"),
        (MemberSource::ProxyOn, "useProxy"),
        (MemberSource::Country, "proxyCountry"),
        (MemberSource::Context, "profile.id"),
        (MemberSource::Persist, "profile.persistChanges"),
    ],
    describe: get("/api/session/{id}"),
    release: CallTemplate {
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
    live_view: Some(LiveViewTable {
        call: get("/api/session/{id}"),
        member: "liveUrl",
    }),
    // Nothing of ours is in its list.
    find: Find::Impossible,
    answer: AnswerTable {
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
    host_list: HostList::Requests,
    billing: "by the hour, in credits",
    timeout_range: (60, 86_400),
};

const fn get(path: &'static str) -> CallTemplate {
    CallTemplate {
        method: "GET",
        path,
        body: None,
    }
}

const fn post(path: &'static str) -> CallTemplate {
    CallTemplate {
        method: "POST",
        path,
        body: Some(&[]),
    }
}
