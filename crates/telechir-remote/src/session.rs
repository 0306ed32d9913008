//! A rented session: created exactly once, reached anew for every connection, extended, released.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use telechir_http::{Bytes, is_loopback};
use url::Url;

use crate::account::{CallError, MAX_PAUSE, PAUSES, RequestExtras, RequestIds, ServiceAccount};
use crate::error::{ServiceError, ServiceErrorKind};
use crate::json_path;
use crate::mark::RentalMark;
use crate::plan::{ContextUse, RentalPlan};
use crate::service::{CallTemplate, Clock, DialValue, Find};

/// Runs a tool in the session of an interpreter.
const INVOKE: CallTemplate = CallTemplate {
    method: "POST",
    path: "/code-interpreters/aws.codeinterpreter.v1/tools/invoke",
    body: None,
};
/// The header that has the session's id.
const INTERPRETER_SESSION: &str = "x-amzn-code-interpreter-session-id";
/// Requests to create one session: the second is made only when the first had no effect.
const MAX_CREATIONS: u32 = 2;
/// How often a starting session is asked for its state.
const START_POLL: Duration = Duration::from_millis(500);
/// The part of its time after which a session is extended.
const EXTEND_AFTER: f64 = 0.8;
/// The part of its time after which the last warning is due.
const LAST_WARNING_AFTER: f64 = 0.95;

/// How a browser is reached once. Both members are secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Dial {
    /// Where CDP is spoken: `ws`, `wss`, or `http` for discovery.
    pub url: String,
    /// Headers of the handshake.
    pub headers: Vec<(String, String)>,
}

impl fmt::Debug for Dial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dial(…)")
    }
}

/// The address at which people watch a session and act in it. `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct LiveView(String);

impl LiveView {
    /// The address, for whoever may act in the session.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LiveView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveView(…)")
    }
}

/// A session at a service. `Debug` shows neither its key nor its addresses.
pub struct RemoteSession {
    account: Arc<ServiceAccount>,
    id: String,
    mark: Option<RentalMark>,
    /// The stored data that is saved before the release.
    saves: Option<String>,
    timeout: Duration,
    state: Mutex<RentalTime>,
}

struct RentalTime {
    /// The answer that created it, until its first connection.
    fresh: Option<Value>,
    /// Since when its time runs, and how long it is.
    started: Instant,
    total: Option<Duration>,
    warned: Warned,
    is_extendable: bool,
    /// Whether the service has certainly not extended it when it was asked last.
    is_extension_refused: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Warned {
    Never,
    Once,
    Last,
}

impl fmt::Debug for RemoteSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteSession")
            .field("service", &self.account.service().name)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl RemoteSession {
    /// Creates a session, once: an answer that is lost is looked up by the mark.
    ///
    /// # Errors
    /// If the service refuses, or its answer cannot be had. Then a session of this mark may run;
    /// [`Self::release_marked`] ends it.
    pub async fn open(
        account: Arc<ServiceAccount>,
        plan: &RentalPlan,
        mark: &RentalMark,
    ) -> Result<Self, ServiceError> {
        let service = account.service();
        let body = service.creation(plan, mark);
        let answer = create(&account, &body, mark).await?;
        let Some(id) = id_of(&account, &answer) else {
            return Err(unreadable(&account));
        };
        let total = match service.clock {
            Clock::Total => Some(plan.timeout),
            Clock::Idle => None,
        };
        let saves = plan
            .context
            .as_ref()
            .filter(|context| service.save.is_some() && context.use_ == ContextUse::Persist)
            .map(|context| context.id.clone());
        let session = Self {
            account,
            id,
            mark: Some(mark.clone()),
            saves,
            timeout: plan.timeout,
            state: Mutex::new(RentalTime {
                fresh: None,
                started: Instant::now(),
                total,
                warned: Warned::Never,
                is_extendable: service.extend.is_some(),
                is_extension_refused: false,
            }),
        };
        match session.started(answer).await {
            Ok(answer) => session.lock().fresh = Some(answer),
            Err(error) => {
                // What was created must not run on.
                return match session.release().await {
                    Ok(()) => Err(error),
                    Err(also) => Err(ServiceError::new(
                        ServiceErrorKind::Unreachable,
                        format!("{error}; and it could not be released: {also}"),
                    )),
                };
            }
        }
        Ok(session)
    }

    /// Uses a session that exists. It is somebody's: it is not released at the end.
    ///
    /// # Errors
    /// If the service does not have it, or it has ended.
    pub async fn attach(account: Arc<ServiceAccount>, id: &str) -> Result<Self, ServiceError> {
        let session = Self {
            account,
            id: id.to_owned(),
            mark: None,
            saves: None,
            timeout: Duration::ZERO,
            state: Mutex::new(RentalTime {
                fresh: None,
                started: Instant::now(),
                total: None,
                warned: Warned::Never,
                is_extendable: false,
                is_extension_refused: false,
            }),
        };
        let answer = session.describe().await?;
        let answer = session.started(answer).await?;
        session.lock().fresh = Some(answer);
        Ok(session)
    }

    /// The service's id of the session.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The account that has it.
    pub fn account(&self) -> &ServiceAccount {
        &self.account
    }

    /// Whether it was created here, and is released at the end.
    pub fn is_ours(&self) -> bool {
        self.mark.is_some()
    }

    /// The time until it ends; none if that is not known.
    pub fn time_left(&self) -> Option<Duration> {
        let state = self.lock();
        Some(state.total?.saturating_sub(state.started.elapsed()))
    }

    /// How the browser is reached now. To be asked for before every connection: addresses and
    /// signatures age.
    ///
    /// # Errors
    /// If the session has ended ([`ServiceErrorKind::Gone`]), or the service cannot be asked.
    pub async fn dial(&self) -> Result<Dial, ServiceError> {
        let fresh = self.lock().fresh.take();
        let answer = match fresh {
            Some(answer) => answer,
            None => self.alive(self.describe().await?)?,
        };
        self.address(&answer)
    }

    /// Extends the session if most of its time is over and it can be; otherwise says when it ends,
    /// as a sentence for the model. To be called with each action: a session without any ends.
    /// `may_extend` is asked before the service is.
    pub async fn keep_time(&self, may_extend: impl FnOnce() -> bool) -> Option<String> {
        let (total, elapsed, is_extendable) = {
            let state = self.lock();
            (state.total?, state.started.elapsed(), state.is_extendable)
        };
        let part = elapsed.as_secs_f64() / total.as_secs_f64().max(f64::MIN_POSITIVE);
        if part < EXTEND_AFTER {
            return None;
        }
        if is_extendable && !may_extend() {
            self.lock().is_extendable = false;
        } else if is_extendable {
            match self.extend().await {
                Ok(()) => return None,
                Err(failed) => {
                    tracing::warn!(error = %failed.error, "failed to extend the rented browser's time");
                    let mut state = self.lock();
                    state.is_extendable = false;
                    state.is_extension_refused = !failed.is_effect_unknown;
                }
            }
        }
        let due = match part >= LAST_WARNING_AFTER {
            true => Warned::Last,
            false => Warned::Once,
        };
        {
            let mut state = self.lock();
            if state.warned >= due {
                return None;
            }
            state.warned = due;
        }
        let left = self.time_left().unwrap_or_default().as_secs();
        Some(format!(
            "This session at {} ends in {left} s and cannot be extended; finish what must be done in it.",
            self.account.service().title
        ))
    }

    /// Whether the service has certainly not extended the session when it was asked last. Without an
    /// answer it may have.
    pub fn is_extension_refused(&self) -> bool {
        self.lock().is_extension_refused
    }

    /// Extends the session by its timeout.
    ///
    /// # Errors
    /// If the service cannot do so, or refuses.
    pub async fn extend(&self) -> Result<(), CallError> {
        let service = self.account.service();
        let Some(extend) = service.extend else {
            let text = format!("{} cannot extend a session", service.title);
            return Err(CallError {
                error: ServiceError::new(ServiceErrorKind::Invalid, text),
                is_effect_unknown: false,
                is_too_early: false,
            });
        };
        let call = CallTemplate {
            method: extend.method,
            path: extend.path,
            body: None,
        };
        let body = json!({ extend.member: extend.unit.of(self.timeout) });
        self.account.send(&call, self.ids(), Some(&body)).await?;
        let mut state = self.lock();
        state.started = Instant::now();
        state.total = Some(self.timeout);
        state.warned = Warned::Never;
        Ok(())
    }

    /// Runs a tool of an interpreter's session; `body` names it. The answer is an event stream.
    /// What the service has certainly not begun, because of a limit, is asked for again.
    ///
    /// # Errors
    /// If the service refuses, or there is no complete answer within the limit.
    pub async fn invoke(&self, body: &Value, limit: Duration) -> Result<Bytes, CallError> {
        let extras = RequestExtras {
            headers: vec![(INTERPRETER_SESSION, self.id.clone())],
            limit: Some(limit),
        };
        let mut pauses = PAUSES.into_iter();
        loop {
            let sent = self
                .account
                .exchange(&INVOKE, self.ids(), Some(body), &extras);
            let failed = match sent.await {
                Ok(response) => return Ok(response.body),
                Err(failed) => failed,
            };
            match pauses.next() {
                Some(pause) if failed.is_too_early => {
                    let wanted = failed.error.retry_after.unwrap_or_default();
                    if wanted > MAX_PAUSE {
                        return Err(failed);
                    }
                    tokio::time::sleep(pause.max(wanted)).await;
                }
                _ => return Err(failed),
            }
        }
    }

    /// Ends the session at the service. One that has ended already is released, too.
    ///
    /// # Errors
    /// If the service cannot be asked or refuses; the session may run on.
    pub async fn release(&self) -> Result<(), ServiceError> {
        let service = self.account.service();
        let mut saved = Ok(());
        if let (Some(save), Some(_)) = (&service.save, &self.saves) {
            saved = self
                .account
                .send_again(save, self.ids(), None)
                .await
                .map(drop);
        }
        release(&self.account, self.ids()).await?;
        saved.map_err(|error| error.with("the context was not saved; the session was released"))
    }

    /// Releases every session that has this mark, and the one with this id; for what an earlier
    /// process opened. Says whether there was one.
    ///
    /// `creation` is the request that created it, for services that know it only by that.
    ///
    /// # Errors
    /// If the service cannot be asked, cannot find sessions, or refuses.
    pub async fn release_marked(
        account: &ServiceAccount,
        mark: &RentalMark,
        id: Option<&str>,
        creation: Option<&Value>,
    ) -> Result<bool, ServiceError> {
        let ids = match id {
            Some(id) => vec![id.to_owned()],
            None => find(account, mark, creation).await?,
        };
        for id in &ids {
            let ids = RequestIds {
                id,
                mark: mark.as_str(),
                context: "",
            };
            release(account, ids).await?;
        }
        Ok(!ids.is_empty())
    }

    /// The address at which people watch the session with this id, and act in it. It is a secret.
    ///
    /// # Errors
    /// If the service has none, cannot be asked, or refuses.
    pub async fn live_view(account: &ServiceAccount, id: &str) -> Result<LiveView, ServiceError> {
        let service = account.service();
        let Some(table) = &service.live_view else {
            let text = format!("{} has no live view that is a page", service.title);
            return Err(ServiceError::new(ServiceErrorKind::Invalid, text));
        };
        let ids = RequestIds {
            id,
            ..RequestIds::default()
        };
        let answer = account.send_again(&table.call, ids, None).await?;
        let address = json_path::text(&opened(account, answer), table.member);
        let is_page = |address: &String| {
            Url::parse(address).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        };
        address.filter(is_page).map(LiveView).ok_or_else(|| {
            let text = format!("the answer of {} has no live view", service.title);
            ServiceError::new(ServiceErrorKind::Unreadable, text)
        })
    }

    /// The request that creates a session, to be kept until it is released.
    pub fn creation(account: &ServiceAccount, plan: &RentalPlan, mark: &RentalMark) -> Value {
        account.service().creation(plan, mark)
    }

    async fn describe(&self) -> Result<Value, ServiceError> {
        let describe = &self.account.service().describe;
        let answer = self.account.send_again(describe, self.ids(), None).await?;
        let answer = opened(&self.account, answer);
        match id_of(&self.account, &answer) {
            Some(found) if found != self.id => Err(unreadable(&self.account)),
            _ => Ok(answer),
        }
    }

    /// Waits until a created session runs.
    async fn started(&self, mut answer: Value) -> Result<Value, ServiceError> {
        let table = self.account.service().answer;
        let limit = self.account.limits().start;
        let started_at = Instant::now();
        loop {
            let state = table
                .state
                .and_then(|state| json_path::text(&answer, state));
            let is_starting = state
                .as_deref()
                .is_some_and(|state| table.starting.contains(&state));
            if !is_starting {
                return self.alive(answer);
            }
            if started_at.elapsed() > limit {
                let text = format!(
                    "{} did not start the session within {} s",
                    self.account.service().title,
                    limit.as_secs_f64()
                );
                return Err(ServiceError::new(ServiceErrorKind::Unreachable, text));
            }
            tokio::time::sleep(START_POLL).await;
            answer = self.describe().await?;
        }
    }

    /// The answer, unless it says that the session has ended.
    fn alive(&self, answer: Value) -> Result<Value, ServiceError> {
        let service = self.account.service();
        let table = service.answer;
        let state = table
            .state
            .and_then(|state| json_path::text(&answer, state));
        match state {
            Some(state) if !table.alive.contains(&state.as_str()) => {
                let reason = table
                    .reason
                    .and_then(|reason| json_path::text(&answer, reason));
                let reason = reason.map_or_else(String::new, |reason| format!(", {reason}"));
                let text = format!(
                    "the session at {} has ended ({state}{reason})",
                    service.title
                );
                Err(ServiceError::new(ServiceErrorKind::Gone, text))
            }
            _ => Ok(answer),
        }
    }

    fn address(&self, answer: &Value) -> Result<Dial, ServiceError> {
        let service = self.account.service();
        let table = service.dial;
        let wrong = |text: String| ServiceError::new(ServiceErrorKind::Unreadable, text);
        let title = service.title;
        let address = json_path::text(answer, table.address);
        let address = address.filter(|address| !address.is_empty());
        let address =
            address.ok_or_else(|| wrong(format!("the answer of {title} names no address")))?;
        let mut url = Url::parse(&address)
            .map_err(|_| wrong(format!("the answer of {title} names an invalid address")))?;
        let is_secure = matches!(url.scheme(), "wss" | "https");
        if !is_secure && !is_loopback(url.host_str().unwrap_or_default()) {
            return Err(wrong(format!(
                "{title} names an address without encryption, {}://{}; it is not used",
                url.scheme(),
                url.host_str().unwrap_or_default()
            )));
        }
        // Whoever asks for the discovery document adds this itself.
        if let Some(path) = url.path().strip_suffix("/json/version").map(str::to_owned) {
            url.set_path(&path);
        }
        for (name, value) in table.query {
            if url.query_pairs().any(|(known, _)| known == *name) {
                continue;
            }
            let value = match value {
                DialValue::Key => self.account.key_in_address().to_owned(),
                DialValue::Id => self.id.clone(),
                DialValue::Member(path) => json_path::text(answer, path).unwrap_or_default(),
            };
            url.query_pairs_mut().append_pair(name, &value);
        }
        let headers = match table.is_signed {
            true => self.account.signed_handshake(&url),
            false => Vec::new(),
        };
        Ok(Dial {
            url: url.into(),
            headers,
        })
    }

    fn ids(&self) -> RequestIds<'_> {
        RequestIds {
            id: &self.id,
            mark: self.mark.as_ref().map_or("", RentalMark::as_str),
            context: self.saves.as_deref().unwrap_or_default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, RentalTime> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Creates a session and returns its description.
async fn create(
    account: &ServiceAccount,
    body: &Value,
    mark: &RentalMark,
) -> Result<Value, ServiceError> {
    let call = &account.service().create;
    let ids = RequestIds {
        mark: mark.as_str(),
        ..RequestIds::default()
    };
    let mut creations = 0;
    loop {
        creations += 1;
        let failed = match account.send(call, ids, Some(body)).await {
            Ok(answer) => {
                let answer = opened(account, answer);
                if id_of(account, &answer).is_some() {
                    return Ok(answer);
                }
                CallError {
                    error: unreadable(account),
                    is_effect_unknown: true,
                    is_too_early: false,
                }
            }
            Err(failed) => failed,
        };
        // The id is in use by the request before this one, of which no answer came.
        let is_known_already = creations > 1 && failed.error.kind == ServiceErrorKind::Busy;
        if !failed.is_effect_unknown && !is_known_already {
            return Err(failed.error);
        }
        match look_up(account, mark).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) if creations < MAX_CREATIONS => {}
            Ok(None) => return Err(failed.error),
            Err(also) if also.kind == ServiceErrorKind::Configuration => {
                return Err(failed.error.with(&also.to_string()));
            }
            Err(_) => return Err(failed.error),
        }
    }
}

/// The description of the session with this mark, if there is one.
async fn look_up(
    account: &ServiceAccount,
    mark: &RentalMark,
) -> Result<Option<Value>, ServiceError> {
    let service = account.service();
    let id = match service.find {
        // The request is simply made again.
        Find::CreateAgain => return Ok(None),
        Find::ByMark | Find::List { .. } | Find::Impossible => {
            let found = find(account, mark, None).await?;
            match found.into_iter().next() {
                Some(id) => id,
                None => return Ok(None),
            }
        }
    };
    let ids = RequestIds {
        id: &id,
        mark: mark.as_str(),
        context: "",
    };
    let answer = account.send_again(&service.describe, ids, None).await?;
    Ok(Some(opened(account, answer)))
}

/// The ids of the sessions with this mark that have not ended.
async fn find(
    account: &ServiceAccount,
    mark: &RentalMark,
    creation: Option<&Value>,
) -> Result<Vec<String>, ServiceError> {
    let service = account.service();
    let ids = RequestIds {
        id: mark.as_str(),
        mark: mark.as_str(),
        context: "",
    };
    match service.find {
        Find::ByMark => match account.send_again(&service.describe, ids, None).await {
            Ok(answer) => {
                let answer = opened(account, answer);
                let is_over = has_ended(account, &answer);
                let id = id_of(account, &answer).filter(|_| !is_over);
                Ok(id.into_iter().collect())
            }
            Err(error) if error.kind == ServiceErrorKind::Gone => Ok(Vec::new()),
            Err(error) => Err(error),
        },
        Find::CreateAgain => {
            let Some(creation) = creation else {
                return Ok(Vec::new());
            };
            let answer = account
                .send_again(&service.create, ids, Some(creation))
                .await?;
            let answer = opened(account, answer);
            Ok(id_of(account, &answer).into_iter().collect())
        }
        Find::List {
            path,
            items,
            mark: member,
        } => {
            let call = CallTemplate {
                method: "GET",
                path,
                body: None,
            };
            let answer = account.send_again(&call, ids, None).await?;
            let inner = match items {
                "" => &answer,
                items => json_path::get(&answer, items),
            };
            let listed = if inner.is_null() { &answer } else { inner };
            let listed = listed.as_array().into_iter().flatten();
            let ours = listed.filter(|item| {
                json_path::text(item, member).as_deref() == Some(mark.as_str())
                    && !has_ended(account, item)
            });
            let ids = ours.filter_map(|item| json_path::text(item, service.answer.id));
            Ok(ids.collect())
        }
        Find::Impossible => Err(ServiceError::new(
            ServiceErrorKind::Configuration,
            format!(
                "{} cannot be asked which sessions are ours: one may run until its time is over; \
                 look in its console",
                service.title
            ),
        )),
    }
}

async fn release(account: &ServiceAccount, ids: RequestIds<'_>) -> Result<(), ServiceError> {
    let release = &account.service().release;
    match account.send_again(release, ids, None).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind == ServiceErrorKind::Gone => Ok(()),
        Err(error) => Err(error),
    }
}

fn has_ended(account: &ServiceAccount, answer: &Value) -> bool {
    let table = account.service().answer;
    let state = table.state.and_then(|state| json_path::text(answer, state));
    state.is_some_and(|state| {
        !table.alive.contains(&state.as_str()) && !table.starting.contains(&state.as_str())
    })
}

/// The session in an answer.
fn opened(account: &ServiceAccount, mut answer: Value) -> Value {
    match account.service().answer.envelope {
        Some(envelope) if answer[envelope].is_object() => answer[envelope].take(),
        _ => answer,
    }
}

fn id_of(account: &ServiceAccount, answer: &Value) -> Option<String> {
    let id = json_path::text(answer, account.service().answer.id);
    id.filter(|id| !id.is_empty())
}

fn unreadable(account: &ServiceAccount) -> ServiceError {
    let service = account.service();
    ServiceError::new(
        ServiceErrorKind::Unreadable,
        format!(
            "the answer of {} describes no session; check {}",
            service.title, service.base_variable
        ),
    )
}
