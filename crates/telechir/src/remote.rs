//! Rents the browser that the flags name, keeps it, and releases what earlier processes left rented.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use telechir_browser::{BrowserService, CdpEndpoint, EndpointError};
use telechir_policy::{PageHosts, RentedCeiling};
use telechir_protocol::Size;
use telechir_remote::{
    AccountLimits, INTERPRETER, Ledger, LiveView, RemoteService, RemoteSession, RentalLimits,
    RentalMark, RentalPlan, RentedEntry, RentedRecord, ServiceAccount, ServiceError,
    ServiceErrorKind,
};
use telechir_remote_devices::{InterpreterSession, InvokeFailure};
use telechir_runtime::{Journal, RemoteStep, RunId, SessionEvent};
use tokio::task::JoinHandle;

use crate::args::{DeviceArguments, RemoteArguments, key_names, settings_of};
use crate::env;
use crate::error::CliError;
use crate::secrets::Secrets;

/// How long a start may take to release what was left.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long an action may wait for the extension of the browser's time.
const KEEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a browser was released that its service would have let run on.
const USED_UP: &str = "no more time may be rented (--max-rented-minutes, or [rented] of the policy), so \
                       the browser was released";

/// Where the life of a rented browser is recorded.
#[derive(Clone, Debug)]
pub(crate) struct RemoteRecording {
    pub(crate) journal: Journal,
    pub(crate) run: RunId,
}

/// A browser or a shell at a service, as a session uses it.
#[derive(Debug)]
pub(crate) struct RentedSession {
    session: RemoteSession,
    /// What the next start needs to release it; none if it is somebody's, or was released.
    entry: Mutex<Option<RentedEntry>>,
    limits: RentalLimits,
    time: Mutex<WatchedTime>,
    events: RemoteEvents,
}

/// The time of a browser that its service ends only when it is idle: it is counted here.
#[derive(Debug, Default)]
struct WatchedTime {
    watch: Option<JoinHandle<()>>,
    is_warned: bool,
    /// Whether it was released because no more may be rented.
    is_used_up: bool,
}

#[derive(Debug)]
struct RemoteEvents {
    recording: Option<RemoteRecording>,
    service: &'static str,
    mark: Option<RentalMark>,
}

/// What is rented beside what the flags say.
#[derive(Debug)]
pub(crate) struct Rental<'a> {
    pub(crate) size: Size,
    /// The limits of the policy.
    pub(crate) ceiling: RentedCeiling,
    /// The hosts that its pages may reach.
    pub(crate) hosts: PageHosts,
    /// Who uses it, for `telechir sessions list`.
    pub(crate) owner: &'a str,
    pub(crate) recording: Option<RemoteRecording>,
}

/// The values of the variables that the devices need.
pub(crate) fn secrets_of(devices: &DeviceArguments) -> Result<Secrets, CliError> {
    let secrets = Secrets::of(&devices.page)?;
    if !devices.has_remote_shell() {
        return Ok(secrets);
    }
    let shell = Secrets::from_environment(key_names(&INTERPRETER, "--shell"))?;
    Ok(secrets.and(shell.with_settings(&settings_of(&INTERPRETER))))
}

/// Rents the browser that the flags name, or attaches to the session that they name.
pub(crate) async fn open(
    arguments: &RemoteArguments,
    secrets: &Secrets,
    rental: Rental<'_>,
) -> Result<Option<Arc<RentedSession>>, CliError> {
    let unenforced = arguments.unenforced(&rental.hosts);
    if let (true, Some(unenforced)) = (arguments.remote_strict, &unenforced) {
        return Err(CliError::usage(format!(
            "--remote-strict: {unenforced} Nothing was opened; omit the flag, or choose a service that \
             enforces the hosts"
        )));
    }
    if let Some(unenforced) = &unenforced {
        tracing::warn!("{unenforced}");
    }
    let Some((service, session)) = arguments.service() else {
        return Ok(None);
    };
    let region = arguments.remote_region.as_deref();
    let account = ServiceAccount::new(service, region, AccountLimits::default(), |name| {
        secrets.find(name)
    });
    let account = Arc::new(account.map_err(failed)?);
    let browser = match session {
        Some(id) => attach(account, id, rental.recording, unenforced).await?,
        None => {
            let plan = RentalPlan {
                hosts: rental.hosts.listed.clone(),
                ..arguments.plan(rental.size)
            };
            let limits = arguments.limits(rental.ceiling);
            rent(account, &plan, limits, rental, unenforced).await?
        }
    };
    let browser = Arc::new(browser);
    if browser.is_ours() && service.ends_when_idle() {
        browser.watch_time();
    }
    Ok(Some(browser))
}

/// Rents the shell that the flags name.
pub(crate) async fn open_shell(
    arguments: &DeviceArguments,
    secrets: &Secrets,
    rental: Rental<'_>,
) -> Result<Option<Arc<RentedSession>>, CliError> {
    if !arguments.has_remote_shell() {
        return Ok(None);
    }
    let remote = &arguments.page.remote;
    let region = remote.shell_region();
    let account = ServiceAccount::new(&INTERPRETER, region, AccountLimits::default(), |name| {
        secrets.find(name)
    });
    let account = Arc::new(account.map_err(failed)?);
    let (plan, limits) = (remote.shell_plan(), remote.limits(rental.ceiling));
    let shell = rent(account, &plan, limits, rental, None).await?;
    Ok(Some(Arc::new(shell)))
}

async fn attach(
    account: Arc<ServiceAccount>,
    id: &str,
    recording: Option<RemoteRecording>,
    unenforced: Option<String>,
) -> Result<RentedSession, CliError> {
    let events = RemoteEvents {
        recording,
        service: account.service().name,
        mark: None,
    };
    let session = RemoteSession::attach(account, id).await.map_err(failed)?;
    let attached = RemoteStep::Attached;
    events.record(attached, Some(id), unenforced).await?;
    Ok(RentedSession {
        session,
        entry: Mutex::new(None),
        // What is somebody's has no limits of ours.
        limits: RentalLimits {
            sessions: usize::MAX,
            minutes: None,
        },
        time: Mutex::default(),
        events,
    })
}

async fn rent(
    account: Arc<ServiceAccount>,
    plan: &RentalPlan,
    limits: RentalLimits,
    rental: Rental<'_>,
    unenforced: Option<String>,
) -> Result<RentedSession, CliError> {
    let mark = RentalMark::unique();
    let service = account.service();
    let events = RemoteEvents {
        recording: rental.recording,
        service: service.name,
        mark: Some(mark.clone()),
    };
    let record = RentedRecord {
        service: service.name.to_owned(),
        base: account.base().to_owned(),
        region: account.region().map(str::to_owned),
        mark: mark.clone(),
        id: None,
        creation: RemoteSession::creation(&account, plan, &mark),
        requested_at: RentedRecord::now(),
        rented_at: RentedRecord::now(),
        timeout_seconds: plan.timeout.as_secs(),
        owner: rental.owner.to_owned(),
    };
    let mut entry = ledger()?.add(record, limits)?;
    // Nothing is asked for before both have it.
    events.record(RemoteStep::Requested, None, None).await?;
    let session = match RemoteSession::open(Arc::clone(&account), plan, &mark).await {
        Ok(session) => session,
        Err(error) => {
            let reason = Some(error.to_string());
            events.record(RemoteStep::Failed, None, reason).await?;
            if is_certainly_nothing(&error) {
                entry.remove()?;
            } else {
                // It may run all the same.
                release_entry(entry, &account).await;
            }
            return Err(failed(error));
        }
    };
    entry.answered(session.id())?;
    let id = session.id().to_owned();
    let opened = RemoteStep::Opened;
    events.record(opened, Some(&id), unenforced).await?;
    tracing::info!(service = service.name, id, "rented a session");
    Ok(RentedSession {
        session,
        entry: Mutex::new(Some(entry)),
        limits,
        time: Mutex::default(),
        events,
    })
}

/// Whether a service that answered so has created nothing.
fn is_certainly_nothing(error: &ServiceError) -> bool {
    match error.kind {
        ServiceErrorKind::Configuration
        | ServiceErrorKind::Invalid
        | ServiceErrorKind::Unauthorized
        | ServiceErrorKind::Quota
        | ServiceErrorKind::Busy
        | ServiceErrorKind::Gone => true,
        ServiceErrorKind::Unreachable | ServiceErrorKind::Unreadable => false,
    }
}

impl RentedSession {
    /// Whether it was rented here; otherwise it is somebody's.
    pub(crate) fn is_ours(&self) -> bool {
        self.session.is_ours()
    }
}

#[async_trait]
impl BrowserService for RentedSession {
    async fn endpoint(&self) -> Result<CdpEndpoint, EndpointError> {
        if self.watched().is_used_up {
            return Err(EndpointError::Ended(USED_UP.to_owned()));
        }
        let dial = self.session.dial().await;
        let dial = dial.map_err(|error| match error.kind {
            ServiceErrorKind::Gone => EndpointError::Ended(error.to_string()),
            ServiceErrorKind::Configuration
            | ServiceErrorKind::Invalid
            | ServiceErrorKind::Unauthorized
            | ServiceErrorKind::Quota
            | ServiceErrorKind::Busy
            | ServiceErrorKind::Unreachable
            | ServiceErrorKind::Unreadable => EndpointError::Unavailable(error.to_string()),
        })?;
        let unusable = |error: telechir_browser::InvalidEndpoint| {
            EndpointError::Unavailable(format!("its service names an unusable address: {error}"))
        };
        let mut endpoint = CdpEndpoint::new(&dial.url).map_err(unusable)?;
        for (name, value) in &dial.headers {
            endpoint = endpoint.with_header(name, value).map_err(unusable)?;
        }
        Ok(endpoint)
    }

    async fn after_action(&self) -> Option<String> {
        self.keep_time().await
    }

    async fn end(&self) -> Result<(), String> {
        self.end_at_service().await
    }
}

#[async_trait]
impl InterpreterSession for RentedSession {
    async fn invoke(&self, body: &Value, limit: Duration) -> Result<Vec<u8>, InvokeFailure> {
        let answer = self.session.invoke(body, limit).await;
        let stream = answer.map_err(|failed| {
            let text = failed.error.to_string();
            match (
                failed.error.kind == ServiceErrorKind::Gone,
                failed.is_effect_unknown,
            ) {
                (true, _) => InvokeFailure::Ended(text),
                (false, true) => InvokeFailure::Unknown(text),
                (false, false) => InvokeFailure::NotRun(text),
            }
        })?;
        Ok(stream.to_vec())
    }

    async fn after_command(&self) -> Option<String> {
        self.keep_time().await
    }

    async fn end(&self) -> Result<(), String> {
        self.end_at_service().await
    }
}

impl RentedSession {
    async fn keep_time(&self) -> Option<String> {
        let before = self.session.time_left();
        let mut reserved = None;
        let may_extend = || {
            reserved = self.reserve_time();
            reserved.is_some()
        };
        let keep = tokio::time::timeout(KEEP_TIMEOUT, self.session.keep_time(may_extend));
        let notice = keep.await.unwrap_or_else(|_| {
            tracing::warn!("the rented browser's time could not be extended: no answer");
            None
        });
        let is_extended = before.zip(self.session.time_left());
        if is_extended.is_some_and(|(before, after)| after > before) {
            let id = Some(self.session.id());
            if let Err(error) = self.events.record(RemoteStep::Extended, id, None).await {
                tracing::warn!(error = error.text(), "an extension was not recorded");
            }
        } else if let Some(earlier) = reserved
            // Without an answer the service may have extended it.
            && self.session.is_extension_refused()
        {
            self.not_extended(earlier);
        }
        notice.or_else(|| self.used_up_soon())
    }

    /// Releases the session at its service.
    pub(crate) async fn end_at_service(&self) -> Result<(), String> {
        let (watch, is_used_up) = {
            let mut time = self.watched();
            (time.watch.take(), time.is_used_up)
        };
        match watch {
            // It is releasing the browser.
            Some(watch) if is_used_up => {
                let _or_cancelled = watch.await;
            }
            Some(watch) => watch.abort(),
            None => {}
        }
        self.release().await
    }
}

impl RentedSession {
    async fn release(&self) -> Result<(), String> {
        let Some(entry) = self.lock().take() else {
            return Ok(());
        };
        let id = Some(self.session.id());
        match self.session.release().await {
            Ok(()) => {
                entry.remove().map_err(|error| error.to_string())?;
                let recorded = self.events.record(RemoteStep::Released, id, None).await;
                recorded.map_err(|error| error.text().to_owned())
            }
            Err(error) => {
                // The entry stays: the next start tries again.
                let reason = Some(error.to_string());
                let recorded = self.events.record(RemoteStep::NotReleased, id, reason);
                if let Err(error) = recorded.await {
                    tracing::warn!(error = error.text(), "a failed release was not recorded");
                }
                Err(format!("{error}; the next start of telechir tries again"))
            }
        }
    }
}

impl RentedSession {
    /// Begins the recorded time again, if it may be rented; since when it ran before.
    fn reserve_time(&self) -> Option<u64> {
        let mut entry = self.lock();
        let entry = entry.as_mut()?;
        let earlier = entry.record().requested_at;
        let extended = ledger().and_then(|ledger| Ok(ledger.extend(entry, self.limits)?));
        match extended {
            Ok(()) => Some(earlier),
            Err(error) => {
                tracing::warn!(error = error.text(), "the rented browser is not extended");
                None
            }
        }
    }

    /// Takes back a reserved time that the service has not given.
    fn not_extended(&self, earlier: u64) {
        if let Some(entry) = self.lock().as_mut()
            && let Err(error) = entry.not_extended(earlier)
        {
            tracing::warn!(%error, "the rented browser's time is counted for too long");
        }
    }

    /// Counts the time of a browser that runs while it is used, and releases it when no more may be
    /// rented.
    fn watch_time(self: &Arc<Self>) {
        let browser = Arc::downgrade(self);
        // The task looks for the watch, which is there as soon as it can.
        let mut time = self.watched();
        let watch = tokio::spawn(async move {
            while let Some(browser) = browser.upgrade() {
                let left = browser.recorded_seconds_left();
                let Some(left) = left else {
                    return;
                };
                if left == 0 && browser.reserve_time().is_none() {
                    {
                        let mut time = browser.watched();
                        if time.watch.is_none() {
                            // Whoever took the watch releases the browser.
                            return;
                        }
                        time.is_used_up = true;
                    }
                    if let Err(error) = browser.release().await {
                        tracing::warn!(error, "failed to release the rented browser");
                    }
                    return;
                }
                drop(browser);
                tokio::time::sleep(Duration::from_secs(left.max(1))).await;
            }
        });
        time.watch = Some(watch);
    }

    /// Gives the session at the service this much time from now at least, or its whole timeout anew
    /// if that is less.
    pub(crate) async fn extend_to(&self, time: Duration) -> Result<(), String> {
        let Some(left) = self.session.time_left().filter(|left| *left < time) else {
            return Ok(());
        };
        let service = self.session.account().service();
        let ends = format!("it ends in {} s", left.as_secs());
        let wrong = |why: String| format!("the session at {}: {ends}; {why}", service.title);
        if !service.can_extend() {
            return Err(wrong("the service cannot extend it".to_owned()));
        }
        let Some(earlier) = self.reserve_time() else {
            return Err(wrong(
                "no more time may be rented (--max-rented-minutes, or [rented] of the policy)"
                    .to_owned(),
            ));
        };
        if let Err(failed) = self.session.extend().await {
            if !failed.is_effect_unknown {
                self.not_extended(earlier);
            }
            return Err(wrong(failed.error.to_string()));
        }
        let id = Some(self.session.id());
        let recorded = self.events.record(RemoteStep::Extended, id, None).await;
        recorded.map_err(|error| error.text().to_owned())
    }

    fn recorded_seconds_left(&self) -> Option<u64> {
        let entry = self.lock();
        entry.as_ref().map(|entry| entry.record().seconds_left())
    }

    /// What the model reads once when the browser ends because no more may be rented.
    fn used_up_soon(&self) -> Option<String> {
        self.watched().watch.as_ref()?;
        let left = self.recorded_seconds_left()?;
        let total = self.lock().as_ref()?.record().timeout_seconds;
        let is_due = left.saturating_mul(5) <= total;
        if !is_due || self.watched().is_warned || self.reserve_time().is_some() {
            return None;
        }
        self.watched().is_warned = true;
        Some(format!(
            "This browser ends in {left} s, because no more time may be rented; finish what must be \
             done in it."
        ))
    }

    fn watched(&self) -> std::sync::MutexGuard<'_, WatchedTime> {
        self.time.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<RentedEntry>> {
        self.entry.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RemoteEvents {
    async fn record(
        &self,
        step: RemoteStep,
        session: Option<&str>,
        reason: Option<String>,
    ) -> Result<(), CliError> {
        let Some(recording) = &self.recording else {
            return Ok(());
        };
        let event = SessionEvent::RemoteBrowser {
            step,
            service: self.service.to_owned(),
            session: session.map(str::to_owned),
            mark: self.mark.as_ref().map(|mark| mark.as_str().to_owned()),
            reason,
        };
        Ok(recording.journal.record(&recording.run, &event).await?)
    }
}

/// Releases what processes that have ended left rented. Failures are only logged: they must not keep
/// a session from starting.
pub(crate) async fn release_left(variable: impl Fn(&str) -> Option<String>) {
    let left = match env::rented_folder().map(|folder| Ledger::new(folder).left()) {
        None => return,
        Some(Ok(left)) => left,
        Some(Err(error)) => {
            tracing::warn!(%error, "failed to look for browsers that were left rented");
            return;
        }
    };
    if left.is_empty() {
        return;
    }
    let work = async {
        for entry in left {
            let record = entry.record();
            let account = RemoteService::recorded(&record.service).map(|service| {
                ServiceAccount::new(
                    service,
                    record.region.as_deref(),
                    AccountLimits {
                        answer: RELEASE_TIMEOUT / 2,
                        ..AccountLimits::default()
                    },
                    &variable,
                )
            });
            match account {
                Some(Ok(account)) => release_entry(entry, &account).await,
                _ if record.is_over() => forget(entry),
                _ => tracing::warn!(
                    service = record.service,
                    "an earlier session left a rented browser that may still run; it is released \
                     by the next start that has the service's key in its environment"
                ),
            }
        }
    };
    if tokio::time::timeout(RELEASE_TIMEOUT, work).await.is_err() {
        tracing::warn!("browsers that were left rented could not be released in time");
    }
}

/// As [`release_left`], with the keys of the environment.
pub(crate) async fn release_left_by_environment() {
    release_left(env::variable).await;
}

async fn release_entry(entry: RentedEntry, account: &ServiceAccount) {
    let record = entry.record();
    let service = record.service.clone();
    if account.base() != record.base {
        tracing::warn!(
            service,
            "a browser was left rented at another address of this service; it is not released here"
        );
        return;
    }
    let (mark, id) = (&record.mark, record.id.as_deref());
    let released = RemoteSession::release_marked(account, mark, id, Some(&record.creation)).await;
    match released {
        Ok(true) => {
            tracing::warn!(service, "released a rented browser that was left");
            forget(entry);
        }
        // The request may still be on its way.
        Ok(false) if record.is_in_flight() => {}
        Ok(false) => forget(entry),
        Err(_) if record.is_over() => forget(entry),
        Err(error) => tracing::warn!(service, %error, "failed to release a rented browser"),
    }
}

fn forget(entry: RentedEntry) {
    if let Err(error) = entry.remove() {
        tracing::warn!(%error, "failed to forget a rented browser");
    }
}

/// The address at which people watch what this session rents, by the key of the environment.
pub(crate) async fn live_view(owner: &str) -> Result<LiveView, CliError> {
    let mut rented = rented().into_iter().filter(|(record, is_used)| {
        *is_used && record.owner == owner && record.service != INTERPRETER.name
    });
    let found = rented.next().and_then(|(record, _)| {
        let service = RemoteService::named(&record.service)?;
        Some((service, record.id.clone()?, record.region.clone()))
    });
    let (service, id, region) =
        found.ok_or_else(|| CliError::message(format!("{owner} rents no browser at a service")))?;
    let limits = AccountLimits::default();
    let account = ServiceAccount::new(service, region.as_deref(), limits, env::variable);
    let account = account.map_err(failed)?;
    RemoteSession::live_view(&account, &id)
        .await
        .map_err(failed)
}

/// All rented browsers, and whether a process still uses each.
pub(crate) fn rented() -> Vec<(RentedRecord, bool)> {
    let folder = env::rented_folder();
    folder.map_or_else(Vec::new, |folder| Ledger::new(folder).all())
}

fn ledger() -> Result<Ledger, CliError> {
    let folder = env::rented_folder().ok_or_else(|| {
        CliError::message(
            "no folder to record what is rented: set HOME or XDG_STATE_HOME; nothing was opened",
        )
    })?;
    Ok(Ledger::new(folder))
}

fn failed(error: ServiceError) -> CliError {
    let text = format!("--remote: {error}");
    match error.kind {
        ServiceErrorKind::Configuration => CliError::usage(text),
        ServiceErrorKind::Invalid
        | ServiceErrorKind::Unauthorized
        | ServiceErrorKind::Quota
        | ServiceErrorKind::Busy
        | ServiceErrorKind::Gone
        | ServiceErrorKind::Unreachable
        | ServiceErrorKind::Unreadable => CliError::message(text),
    }
}
