//! The state of the browser's tabs, updated by CDP events.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use telechir_protocol::StateChange;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::client::{CdpClient, CdpEvent, lock, text};
use crate::error::Gone;
use crate::memory::MemoryLimit;
use crate::screencast::FrameWaiter;
use crate::setup::Setup;

mod console;
mod dialogs;
mod document_loads;
mod downloads;
mod frames;
mod http_logins;
mod open_tabs;
mod page_notices;
mod private_tab;
pub(crate) mod request_details;
mod request_log;

use console::Console;
use dialogs::Dialogs;
pub(crate) use dialogs::{DialogKind, DialogReport, OpenDialog, PageLeaving};
use document_loads::DocumentLoads;
use downloads::Downloads;
pub(crate) use downloads::{FinishedDownload, MAX_FILE_BYTES};
use frames::FrameTable;
pub(crate) use frames::TabFrame;
use http_logins::HttpLogins;
pub(crate) use page_notices::MAX_TABS;
use page_notices::PageNotices;
pub(crate) use private_tab::MAX_ORIGINS;
use private_tab::{PrivateTab, VisitedOrigins};
pub(crate) use request_details::{RequestDetails, body as body_text};
use request_log::RequestLog;

/// A request that runs longer counts as a long poll, no longer as loading.
const LONG_POLL_AFTER: Duration = Duration::from_secs(2);
/// Pages that redirect repeatedly do so within this time.
const REDIRECT_WINDOW: Duration = Duration::from_secs(1);
/// Committed documents remembered per tab: a waiting navigation may see several commits at once.
const MAX_COMMITS_LOGGED: usize = 8;
/// A document that is not painted within this time has nothing to paint.
const FIRST_PAINT_TIMEOUT: Duration = Duration::from_millis(500);

/// A tab of the browser.
#[derive(Clone, Debug)]
pub(crate) struct Tab {
    /// The name used in calls, such as `tab_2`.
    pub(crate) name: String,
    /// The CDP target id, which is also the id of its main frame.
    pub(crate) target: String,
    /// The CDP session that receives its commands.
    pub(crate) session: String,
    /// The CDP target id of the tab whose page opened it; that tab may be closed.
    opener: Option<String>,
    pub(crate) title: String,
    pub(crate) url: String,
    /// Whether its renderer process is gone; a new load replaces it.
    pub(crate) crashed: bool,
    /// How many times the renderer crashed.
    pub(crate) crashes: u64,
    /// How many times the URL changed, including changes within the document.
    pub(crate) commits: u64,
    /// The last committed loads, that of the current document last.
    commits_log: VecDeque<CommittedLoad>,
    /// Whether the document is parsed (DOMContentLoaded).
    pub(crate) ready: bool,
    /// When the document was committed, until its first paint.
    unpainted_since: Option<Instant>,
    loading: HashSet<String>,
    requests: HashMap<String, OpenRequest>,
    pub(crate) loads: DocumentLoads,
    /// When it last painted, loaded or made a request.
    last_activity: Instant,
    /// When it last loaded or made a request.
    last_load: Instant,
    /// When it last exchanged a message, such as over a WebSocket, that settling does not wait for.
    last_message: Instant,
}

/// The recent activity of a tab.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TabActivity {
    /// When it last painted, loaded or made a request.
    pub(crate) last_activity: Instant,
    /// When it last loaded or made a request.
    pub(crate) last_load: Instant,
    /// When it last exchanged a message that settling does not wait for; effects may follow.
    pub(crate) last_message: Instant,
    /// Whether a load, a request or the first paint is pending.
    pub(crate) is_busy: bool,
}

/// A load whose document was committed.
#[derive(Clone, Debug)]
struct CommittedLoad {
    loader: String,
    /// Other loads of the tab that had started earlier and have not failed: if one of them still
    /// commits, this document did not cause it.
    pending_loads: Vec<String>,
}

#[derive(Clone, Debug)]
struct OpenRequest {
    loader: String,
    frame: String,
    is_document: bool,
    /// Whether it loads the main frame, not a child frame.
    is_main_frame: bool,
    since: Instant,
}

impl Tab {
    /// Whether the tab is loading or was a moment ago: it may navigate again by itself.
    pub(crate) fn may_navigate_again(&self) -> bool {
        !self.ready
            || self.requests.values().any(|request| request.is_document)
            || self.last_load.elapsed() < REDIRECT_WINDOW
    }

    /// The loader id of the current document.
    pub(crate) fn document(&self) -> Option<&str> {
        self.commits_log
            .back()
            .map(|commits_log| commits_log.loader.as_str())
    }

    /// Whether the current document is that of this load or a successor of it, and not one of a
    /// load that had started earlier; `None` before this load commits.
    pub(crate) fn is_load_still_current(&self, loader: &str) -> Option<bool> {
        let mut commits_log = self
            .commits_log
            .iter()
            .skip_while(|commits_log| commits_log.loader != loader);
        let committed = commits_log.next()?;
        Some(commits_log.all(|next| !committed.pending_loads.contains(&next.loader)))
    }

    /// Whether a load that had started before this document may still replace it.
    pub(crate) fn has_pending_load(&self) -> bool {
        self.commits_log
            .back()
            .is_some_and(|commits_log| !commits_log.pending_loads.is_empty())
    }
}

/// The state of all tabs. The event reader writes it; all others query it.
#[derive(Debug)]
pub(crate) struct TabRegistry {
    state: Mutex<RegistryState>,
    changed: watch::Sender<u64>,
    setup: Mutex<Arc<Setup>>,
}

#[derive(Debug, Default)]
struct RegistryState {
    tabs: Vec<Tab>,
    last_number: u32,
    active: Option<String>,
    /// Target ids in activation order, the latest last.
    recent: Vec<String>,
    /// Opened by a page and not yet reported.
    opened_by_page: Vec<String>,
    /// The data of a drag that Chromium intercepted.
    drag: Option<Value>,
    notices: PageNotices,
    dialogs: Dialogs,
    frames: FrameTable,
    downloads: Downloads,
    /// Intercepted file choosers, by the session of the page.
    file_choosers: HashMap<String, FileChooser>,
    request_logs: HashMap<String, RequestLog>,
    console: Console,
    /// Waiting receivers of screencast frames, by the session of the page.
    frame_waiters: HashMap<String, FrameWaiter>,
    /// The memory limit of the browser's processes, if telechir sets one.
    memory: Option<MemoryLimit>,
    logins: HttpLogins,
    origins: VisitedOrigins,
    private_tab: PrivateTab,
    /// `None` if nobody else owns the browser.
    owner: Option<Owner>,
}

/// Somebody else who owns the tabs.
#[derive(Debug)]
struct Owner {
    /// The CDP target ids of the tabs that existed before.
    existing: HashSet<String>,
    /// The one to start in.
    start: String,
}

/// A file chooser that was intercepted and not shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FileChooser {
    /// The file control, as a CDP backend node id.
    pub(crate) node: i64,
    /// Whether it accepts several files.
    pub(crate) is_multiple: bool,
}

impl TabRegistry {
    /// An empty registry; `setup` prepares new tabs.
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            state: Mutex::default(),
            changed: watch::Sender::new(0),
            setup: Mutex::new(Arc::new(setup)),
        }
    }

    /// Prepares tabs that open from now on in another way.
    pub(crate) fn set_setup(&self, setup: Setup) {
        *lock(&self.setup) = Arc::new(setup);
    }

    /// Sets the memory limit, which explains why pages crash.
    pub(crate) fn with_memory(self, memory: Option<MemoryLimit>) -> Self {
        lock(&self.state).memory = memory;
        self
    }

    /// The memory limit of the browser's processes, if telechir sets one.
    pub(crate) fn memory(&self) -> Option<MemoryLimit> {
        lock(&self.state).memory.clone()
    }

    /// All tabs in the order in which they were opened.
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        lock(&self.state).tabs.clone()
    }

    /// The tab with this name.
    pub(crate) fn by_name(&self, name: &str) -> Option<Tab> {
        self.find(|tab| tab.name == name)
    }

    /// The tab with this CDP target id.
    pub(crate) fn by_target(&self, target: &str) -> Option<Tab> {
        self.find(|tab| tab.target == target)
    }

    /// The active tab, if any.
    pub(crate) fn active(&self) -> Option<Tab> {
        let active = lock(&self.state).active.clone()?;
        self.by_target(&active)
    }

    /// Marks a tab as active.
    pub(crate) fn set_active(&self, target: &str) {
        let mut state = lock(&self.state);
        state.recent.retain(|old| old != target);
        state.recent.push(target.to_owned());
        state.opened_by_page.retain(|old| old != target);
        state.active = Some(target.to_owned());
    }

    /// The most recently active tab that is still open.
    pub(crate) fn most_recent(&self) -> Option<Tab> {
        let state = lock(&self.state);
        let recent = state
            .recent
            .last()
            .or_else(|| state.tabs.last().map(|tab| &tab.target))?;
        state.tabs.iter().find(|tab| tab.target == *recent).cloned()
    }

    /// Takes the tabs that pages opened since the last call.
    pub(crate) fn take_opened_by_page(&self) -> Vec<Tab> {
        let mut state = lock(&self.state);
        let names = std::mem::take(&mut state.opened_by_page);
        let is_new = |tab: &&Tab| names.contains(&tab.target);
        state.tabs.iter().filter(is_new).cloned().collect()
    }

    /// The frame with this CDP frame id, if known.
    pub(crate) fn frame(&self, name: &str) -> Option<TabFrame> {
        lock(&self.state).frames.get(name)
    }

    /// The child frames of a tab with their ids.
    pub(crate) fn frames_in(&self, tab: &Tab) -> Vec<(String, TabFrame)> {
        let mut frames = lock(&self.state).frames.below(&tab.session);
        frames.retain(|(name, _)| *name != tab.target);
        frames
    }

    /// Whether the frame belongs to one of the tabs.
    pub(crate) fn knows_frame(&self, name: &str) -> bool {
        let state = lock(&self.state);
        state.frames.get(name).is_some() || state.tabs.iter().any(|tab| tab.target == name)
    }

    /// The session of an out-of-process frame.
    pub(crate) fn own_session(&self, frame: &str) -> Option<String> {
        lock(&self.state).frames.own_session(frame)
    }

    /// Updates the frames of a session from `Page.getFrameTree`.
    pub(crate) fn sync_frames(&self, session: &str, tree: &Value) {
        lock(&self.state).frames.sync(session, tree);
    }

    /// Registers the receiver of the session's next screencast frame.
    pub(crate) fn set_frame_waiter(&self, session: &str, waiting: FrameWaiter) {
        lock(&self.state)
            .frame_waiters
            .insert(session.to_owned(), waiting);
    }

    /// Takes the data of a drag that a page started, if any.
    pub(crate) fn take_drag(&self) -> Option<Value> {
        lock(&self.state).drag.take()
    }

    /// Takes the sentences about events such as dialogs and downloads.
    pub(crate) fn take_notices(&self) -> Option<String> {
        lock(&self.state).notices.take_text()
    }

    /// Takes the state changes; tabs that are closed again are left out.
    pub(crate) fn take_changes(&self) -> Vec<StateChange> {
        let mut state = lock(&self.state);
        let changes = state.notices.take_changes();
        let is_there = |change: &StateChange| match change {
            StateChange::TabOpened { tab_id } => state.tabs.iter().any(|tab| tab.name == *tab_id),
            StateChange::DownloadStarted { .. }
            | StateChange::DownloadCompleted { .. }
            | StateChange::DownloadFailed { .. } => true,
        };
        changes.into_iter().filter(is_there).collect()
    }

    /// Adds a sentence about an event.
    pub(crate) fn note(&self, sentence: String) {
        lock(&self.state).notices.add(sentence);
    }

    /// Notes a permission that a page requested and was denied, or `print`.
    pub(crate) fn note_denied_permission(&self, what: &str) {
        lock(&self.state).notices.denied_permission(what);
    }

    /// Saves downloads from now on; before, they are refused.
    pub(crate) fn enable_downloads(&self) {
        lock(&self.state).downloads.is_enabled = true;
    }

    /// Takes the downloads that finished since the last call.
    pub(crate) fn take_finished(&self) -> Vec<FinishedDownload> {
        lock(&self.state).downloads.take_finished()
    }

    /// Reports a saved download with its path and size in bytes, or why saving failed.
    pub(crate) fn report_download(
        &self,
        download: FinishedDownload,
        saved: Result<(String, u64), String>,
    ) {
        let notices = &mut lock(&self.state).notices;
        match saved {
            Ok((path, bytes)) => download.report_saved(notices, path, bytes),
            Err(reason) => download.report_failed(notices, &reason),
        }
    }

    /// Reports the progress of running downloads.
    pub(crate) fn report_downloads(&self) {
        let mut state = lock(&self.state);
        let RegistryState {
            downloads, notices, ..
        } = &mut *state;
        downloads.report_progress(notices);
    }

    /// The last file chooser that the page opened.
    pub(crate) fn file_chooser(&self, session: &str) -> Option<FileChooser> {
        lock(&self.state).file_choosers.get(session).copied()
    }

    /// Collects the console messages of these sessions from now on.
    pub(crate) fn capture_console(&self, sessions: &[String]) {
        let mut state = lock(&self.state);
        sessions
            .iter()
            .for_each(|session| state.console.capture(session));
    }

    /// Takes the console messages of these sessions since `capture_console`.
    pub(crate) fn take_console_lines(&self, sessions: &[String]) -> Vec<String> {
        let mut state = lock(&self.state);
        sessions
            .iter()
            .flat_map(|session| state.console.take_lines(session))
            .collect()
    }

    /// The session of a tab and those of its out-of-process frames.
    pub(crate) fn sessions_of(&self, session: &str) -> Vec<String> {
        lock(&self.state).frames.sessions_of(session)
    }

    /// The activity of the active tab, if any.
    pub(crate) fn activity(&self) -> Option<TabActivity> {
        let now = Instant::now();
        let state = lock(&self.state);
        let active = state.active.as_ref()?;
        let tab = state.tabs.iter().find(|tab| tab.target == *active)?;
        let open =
            |request: &OpenRequest| request.is_document || now - request.since < LONG_POLL_AFTER;
        let is_unpainted = tab
            .unpainted_since
            .is_some_and(|since| now - since < FIRST_PAINT_TIMEOUT);
        Some(TabActivity {
            last_activity: tab.last_activity,
            last_load: tab.last_load,
            last_message: tab.last_message,
            is_busy: is_unpainted
                || tab.requests.values().any(open)
                || (!tab.ready && !tab.loading.is_empty()),
        })
    }

    /// Updates titles and URLs from `Target.getTargets`.
    pub(crate) fn rename(&self, infos: &Value) {
        let mut state = lock(&self.state);
        infos
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|info| state.rename(info));
    }

    /// A receiver that is notified of every change.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Processes an event. Never waits; commands in response are sent without waiting for replies.
    pub(crate) fn handle_event(&self, client: &CdpClient, event: &CdpEvent) {
        {
            let setup = self.setup();
            let mut state = lock(&self.state);
            let params = &event.params;
            match &event.session {
                None => state.on_browser_event(client, &setup, &event.method, params),
                Some(session) => {
                    state.on_frame_event(client, &setup, session, &event.method, params);
                    state.on_page_event(client, &setup, session, &event.method, params);
                }
            }
        }
        self.notify();
    }

    fn setup(&self) -> Arc<Setup> {
        Arc::clone(&lock(&self.setup))
    }

    /// Notifies those that wait for a change.
    fn notify(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    fn find(&self, fits: impl Fn(&Tab) -> bool) -> Option<Tab> {
        lock(&self.state).tabs.iter().find(|tab| fits(tab)).cloned()
    }
}

impl RegistryState {
    fn on_browser_event(
        &mut self,
        client: &CdpClient,
        setup: &Setup,
        method: &str,
        params: &Value,
    ) {
        let info = &params["targetInfo"];
        match method {
            "Target.attachedToTarget" if info["type"] == "page" => {
                self.attach(client, setup, params);
            }
            "Target.targetInfoChanged" => self.rename(info),
            "Target.detachedFromTarget" => {
                let session = text(&params["sessionId"]);
                client.fail_session(&session, Gone::Closed);
                self.frames.forget(&session);
                self.forget(|tab| tab.session == session);
            }
            "Target.targetDestroyed" => {
                let target = text(&params["targetId"]);
                self.forget(|tab| tab.target == target);
            }
            "Browser.downloadWillBegin" => {
                self.downloads.begin(client, &mut self.notices, params);
                if let Some(log) = self.log_of_frame(&text(&params["frameId"])) {
                    log.begin_download(params);
                }
            }
            "Browser.downloadProgress" => {
                self.downloads.progress(client, &mut self.notices, params);
                let logs = self.request_logs.values_mut();
                logs.for_each(|log| log.end_download(params));
            }
            _ => {}
        }
    }

    /// The log of the tab with this main frame, else that of the active tab.
    fn log_of_frame(&mut self, frame: &str) -> Option<&mut RequestLog> {
        let is_active = |tab: &&Tab| self.active.as_ref() == Some(&tab.target);
        let tab = self.tabs.iter().find(|tab| tab.target == frame);
        let tab = tab.or_else(|| self.tabs.iter().find(is_active))?;
        Some(self.request_logs.entry(tab.session.clone()).or_default())
    }

    fn rename(&mut self, info: &Value) {
        let found = self
            .tabs
            .iter_mut()
            .find(|tab| info["targetId"] == tab.target.as_str());
        if let Some(tab) = found {
            tab.title = text(&info["title"]);
            tab.url = text(&info["url"]);
        }
    }

    /// Events about frames, including those of out-of-process frames.
    fn on_frame_event(
        &mut self,
        client: &CdpClient,
        setup: &Setup,
        session: &str,
        method: &str,
        params: &Value,
    ) {
        match method {
            "Target.attachedToTarget" if params["targetInfo"]["type"] == "iframe" => {
                let own = text(&params["sessionId"]);
                setup.prepare_frame(client, &own);
                let frame = text(&params["targetInfo"]["targetId"]);
                self.frames.attach(session, &own, &frame);
                // The end of its document's load is reported to the frame's own session. If that
                // report is missed, it is waited for as for any other request.
                let requests = self
                    .tabs
                    .iter_mut()
                    .flat_map(|tab| tab.requests.values_mut());
                for request in requests.filter(|request| request.frame == frame) {
                    request.is_document = false;
                }
            }
            "Target.attachedToTarget" => setup.prepare_other(client, &text(&params["sessionId"])),
            "Target.detachedFromTarget" => {
                let own = text(&params["sessionId"]);
                client.fail_session(&own, Gone::Closed);
                self.frames.forget(&own);
            }
            // Also sent for what happened before the session existed.
            "Page.lifecycleEvent" if params["name"] == "load" => {
                let frame = text(&params["frameId"]);
                for tab in &mut self.tabs {
                    tab.requests
                        .retain(|_, request| request.frame != frame || request.is_main_frame);
                }
            }
            _ => self.frames.handle_event(session, method, params),
        }
    }

    fn on_page_event(
        &mut self,
        client: &CdpClient,
        setup: &Setup,
        session: &str,
        method: &str,
        params: &Value,
    ) {
        match method {
            "Page.javascriptDialogOpening" => {
                self.dialogs
                    .open(client, &mut self.notices, session, params);
            }
            "Page.javascriptDialogClosed" => self.dialogs.close(session),
            "Page.fileChooserOpened" => self.note_file_chooser(session, params),
            "Input.dragIntercepted" => self.drag = Some(params["data"].clone()),
            "Inspector.targetCrashed" => {
                let memory = self.memory.as_ref();
                let gone = memory.map_or(Gone::Crashed, MemoryLimit::reason_for_page);
                client.fail_session(session, gone);
                self.dialogs.close(session);
                self.note_crash(session, gone);
            }
            "Page.frameRequestedNavigation" => self.notices.external_protocol(params),
            "Network.responseReceived" => self.notices.document(setup, params),
            "Page.frameNavigated" if !self.private_tab.is(session) => {
                self.origins.add_document(&params["frame"]);
            }
            "Fetch.requestPaused" => return self.private_tab.answer(client, session, params),
            "Fetch.authRequired" => {
                let credentials = &setup.credentials;
                return self.logins.answer(client, credentials, session, params);
            }
            "Page.screencastFrame" => {
                let waiter = self.frame_waiters.get(session);
                if waiter.is_some_and(|waiter| waiter.is_for(params))
                    && let Some(waiter) = self.frame_waiters.remove(session)
                {
                    // The frame is a copy of an earlier paint, so it counts as no activity.
                    return waiter.send(text(&params["data"]));
                }
            }
            _ => {}
        }
        self.console.handle_event(session, method, params);
        if self.tabs.iter().any(|tab| tab.session == session) {
            self.request_logs
                .entry(session.to_owned())
                .or_default()
                .handle_event(method, params);
        }
        if let Some(tab) = self.tabs.iter_mut().find(|tab| tab.session == session) {
            tab.handle_event(client, method, params);
        }
    }
}

impl RegistryState {
    /// Remembers an intercepted file chooser for a later upload.
    fn note_file_chooser(&mut self, session: &str, params: &Value) {
        let is_multiple = params["mode"] == "selectMultiple";
        let files = if is_multiple { "files" } else { "a file" };
        match params["backendNodeId"].as_i64() {
            Some(node) => {
                self.file_choosers.insert(session.to_owned(), FileChooser { node, is_multiple });
                self.notices.add(format!(
                    "The page requested {files}; no file picker is shown, and the page is waiting. Upload {files} to the element that opened it."
                ));
            }
            None => self.notices.add(format!(
                "The page requested {files}; no file picker is shown, and this page cannot be given any."
            )),
        }
    }

    fn note_crash(&mut self, session: &str, gone: Gone) {
        if let Some(tab) = self.tabs.iter().find(|tab| tab.session == session) {
            let (name, what) = (&tab.name, gone.to_string());
            let what = what.trim_start_matches("it ");
            self.notices.add(format!("The page in {name} {what}."));
        }
    }
}

impl Tab {
    fn handle_event(&mut self, client: &CdpClient, method: &str, params: &Value) {
        self.loads.handle_event(&self.target, method, params);
        match method {
            "Page.frameNavigated" if params["frame"]["parentId"].is_null() => {
                self.commit(text(&params["frame"]["loaderId"]));
                self.url = text(&params["frame"]["url"]);
            }
            "Page.navigatedWithinDocument" if params["frameId"] == self.target.as_str() => {
                self.commits += 1;
                self.url = text(&params["url"]);
            }
            "Page.domContentEventFired" => self.ready = true,
            "Page.frameStartedLoading" => {
                self.loading.insert(text(&params["frameId"]));
            }
            "Page.frameStoppedLoading" | "Page.frameDetached" => {
                self.loading.remove(&text(&params["frameId"]));
            }
            "Network.requestWillBeSent" => self.request(params),
            "Network.loadingFinished" | "Network.loadingFailed" => {
                let request = text(&params["requestId"]);
                if let Some(commits_log) = self.commits_log.back_mut() {
                    // The request id of a document is its loader id.
                    commits_log.pending_loads.retain(|rival| *rival != request);
                }
                self.end_request(method, params);
            }
            "Inspector.targetCrashed" => self.crash(),
            "Page.lifecycleEvent" if params["name"] == "firstPaint" => self.unpainted_since = None,
            "Page.screencastFrame" => {
                let answer = serde_json::json!({ "sessionId": params["sessionId"] });
                client.notify(Some(&self.session), "Page.screencastFrameAck", answer);
                self.last_activity = Instant::now();
                return;
            }
            // These may belong to the action, or go on forever.
            "Page.frameRequestedNavigation"
            | "Network.webSocketFrameSent"
            | "Network.webSocketFrameReceived"
            | "Network.eventSourceMessageReceived" => {
                self.last_message = Instant::now();
                return;
            }
            // These do not change the page's appearance.
            _ => return,
        }
        self.last_activity = Instant::now();
        self.last_load = self.last_activity;
    }

    fn commit(&mut self, loader: String) {
        let others = self
            .requests
            .extract_if(|_, request| request.loader != loader);
        let pending_loads = others
            .filter(|(_, request)| request.is_document && request.is_main_frame)
            .map(|(_, request)| request.loader)
            .collect();
        if self.commits_log.len() == MAX_COMMITS_LOGGED {
            self.commits_log.pop_front();
        }
        self.commits_log.push_back(CommittedLoad {
            loader,
            pending_loads,
        });
        self.commits += 1;
        self.ready = false;
        self.unpainted_since = Some(Instant::now());
        self.crashed = false;
    }

    fn request(&mut self, params: &Value) {
        let kind = params["type"].as_str().unwrap_or_default();
        if matches!(kind, "EventSource" | "WebSocket" | "Ping" | "Prefetch") {
            return;
        }
        let loader = text(&params["loaderId"]);
        // The script of a worker belongs to no document, and only the worker's own session would
        // report that it has loaded.
        if loader.is_empty() {
            return;
        }
        let request = OpenRequest {
            loader,
            frame: text(&params["frameId"]),
            is_document: kind == "Document",
            is_main_frame: params["frameId"] == self.target.as_str(),
            since: Instant::now(),
        };
        self.requests.insert(text(&params["requestId"]), request);
    }

    fn crash(&mut self) {
        self.crashed = true;
        self.crashes += 1;
        self.requests.clear();
        self.loading.clear();
    }
}
