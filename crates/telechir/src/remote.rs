//! Rents the browser that the flags name, keeps it, and releases what earlier processes left rented.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use telechir_browser::{BrowserService, CdpEndpoint, EndpointError};
use telechir_protocol::Size;
use telechir_remote::{
    AccountLimits, Ledger, RemoteService, RemoteSession, RentalMark, RentalPlan, RentedEntry,
    RentedRecord, ServiceAccount, ServiceError, ServiceErrorKind,
};
use telechir_runtime::{Journal, RemoteStep, RunId, SessionEvent};

use crate::args::RemoteArguments;
use crate::env;
use crate::error::CliError;
use crate::secrets::Secrets;

/// How long a start may take to release what was left.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(20);

/// How long an action may wait for the extension of the browser's time.
const KEEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Where the life of a rented browser is recorded.
#[derive(Clone, Debug)]
pub(crate) struct RemoteRecording {
    pub(crate) journal: Journal,
    pub(crate) run: RunId,
}

/// A browser at a service, as a session uses it.
#[derive(Debug)]
pub(crate) struct RemoteBrowser {
    session: RemoteSession,
    /// What the next start needs to release it; none if it is somebody's, or was released.
    entry: Mutex<Option<RentedEntry>>,
    events: RemoteEvents,
}

#[derive(Debug)]
struct RemoteEvents {
    recording: Option<RemoteRecording>,
    service: &'static str,
    mark: Option<RentalMark>,
}

/// Rents the browser that the flags name, or attaches to the session that they name.
pub(crate) async fn open(
    arguments: &RemoteArguments,
    size: Size,
    secrets: &Secrets,
    owner: &str,
    recording: Option<RemoteRecording>,
) -> Result<Option<Arc<RemoteBrowser>>, CliError> {
    let Some((service, session)) = arguments.service() else {
        return Ok(None);
    };
    let region = arguments.remote_region.as_deref();
    let account = ServiceAccount::new(service, region, AccountLimits::default(), |name| {
        secrets.find(name)
    });
    let account = Arc::new(account.map_err(failed)?);
    let browser = match session {
        Some(id) => attach(account, id, recording).await?,
        None => {
            let plan = arguments.plan(size);
            let limit = arguments.max_rented();
            rent(account, &plan, limit, owner, recording).await?
        }
    };
    Ok(Some(Arc::new(browser)))
}

async fn attach(
    account: Arc<ServiceAccount>,
    id: &str,
    recording: Option<RemoteRecording>,
) -> Result<RemoteBrowser, CliError> {
    let events = RemoteEvents {
        recording,
        service: account.service().name,
        mark: None,
    };
    let session = RemoteSession::attach(account, id).await.map_err(failed)?;
    events.record(RemoteStep::Attached, Some(id), None).await?;
    Ok(RemoteBrowser {
        session,
        entry: Mutex::new(None),
        events,
    })
}

async fn rent(
    account: Arc<ServiceAccount>,
    plan: &RentalPlan,
    limit: usize,
    owner: &str,
    recording: Option<RemoteRecording>,
) -> Result<RemoteBrowser, CliError> {
    let mark = RentalMark::unique();
    let service = account.service();
    let events = RemoteEvents {
        recording,
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
        timeout_seconds: plan.timeout.as_secs(),
        owner: owner.to_owned(),
    };
    let mut entry = ledger()?.add(record, limit)?;
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
    events.record(RemoteStep::Opened, Some(&id), None).await?;
    tracing::info!(service = service.name, id, "rented a browser");
    Ok(RemoteBrowser {
        session,
        entry: Mutex::new(Some(entry)),
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

impl RemoteBrowser {
    /// Whether it was rented here; otherwise it is somebody's.
    pub(crate) fn is_ours(&self) -> bool {
        self.session.is_ours()
    }
}

#[async_trait]
impl BrowserService for RemoteBrowser {
    async fn endpoint(&self) -> Result<CdpEndpoint, EndpointError> {
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
        let before = self.session.time_left();
        let keep = tokio::time::timeout(KEEP_TIMEOUT, self.session.keep_time());
        let notice = keep.await.unwrap_or_else(|_| {
            tracing::warn!("the rented browser's time could not be extended: no answer");
            None
        });
        let is_extended = before.zip(self.session.time_left());
        if is_extended.is_some_and(|(before, after)| after > before) {
            if let Some(entry) = self.lock().as_mut()
                && let Err(error) = entry.extended()
            {
                tracing::warn!(%error, "failed to record that the rented browser runs on");
            }
            let id = Some(self.session.id());
            if let Err(error) = self.events.record(RemoteStep::Extended, id, None).await {
                tracing::warn!(error = error.text(), "an extension was not recorded");
            }
        }
        notice
    }

    async fn end(&self) -> Result<(), String> {
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

impl RemoteBrowser {
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
            let account = RemoteService::named(&record.service).map(|service| {
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
