//! What is known of the browser's tabs, kept up to date by its events.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;
use telechir_protocol::StateChange;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::screencast::Waiting;
use crate::client::{Client, Event, lock};
use crate::error::Gone;
use crate::setup::Setup;

mod console;
mod downloads;
mod frames;
mod request_log;
mod page_notices;

use console::Console;
use downloads::Downloads;
pub(crate) use downloads::{LARGEST, Whole};
pub(crate) use frames::Frame;
use frames::Frames;
use request_log::Network;
use page_notices::Notes;

/// A request that runs longer counts as a long poll and no longer as loading.
const LONG_POLL: Duration = Duration::from_secs(2);
/// A page that goes elsewhere again and again does so sooner.
const GOES_ON: Duration = Duration::from_secs(1);
/// So many of the documents that came in a tab are remembered: whoever waits for one of them may
/// hear of the next ones at the same time.
const CAME: usize = 8;
/// A document that was not painted after so long has nothing to paint.
const FIRST_PAINT: Duration = Duration::from_millis(500);

/// Tabs that may be open at once; a page that opens more of them gets no more.
pub(crate) const MOST_TABS: usize = 50;

/// One tab.
#[derive(Clone, Debug)]
pub(crate) struct Tab {
    /// The name used in calls.
    pub(crate) name: String,
    /// Chromium's name of it, which is also that of its main frame.
    pub(crate) target: String,
    /// Where its commands go.
    pub(crate) session: String,
    pub(crate) title: String,
    pub(crate) url: String,
    /// Its process is gone; only a new load brings it back.
    pub(crate) crashed: bool,
    /// How often that happened.
    pub(crate) crashes: u64,
    /// How often the address changed, within the document too.
    pub(crate) commits: u64,
    /// The last loads whose documents came, that of this document last.
    came: VecDeque<Came>,
    /// Whether the document is parsed.
    pub(crate) ready: bool,
    /// When the document came, until it is first painted.
    unpainted: Option<Instant>,
    loading: HashSet<String>,
    requests: HashMap<String, Request>,
    /// When it last painted, loaded or fetched.
    stirred: Instant,
    /// When it last loaded or fetched.
    loaded: Instant,
    /// When it last said or heard something that nobody waits for.
    spoke: Instant,
}

/// What a tab did lately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Activity {
    /// When it last painted, loaded or fetched.
    pub(crate) stirred: Instant,
    /// When it last loaded or fetched.
    pub(crate) loaded: Instant,
    /// When it last said or heard something that nobody waits for: more may come of that later.
    pub(crate) spoke: Instant,
    /// Whether it still loads.
    pub(crate) is_busy: bool,
}

/// A load whose document came.
#[derive(Clone, Debug)]
struct Came {
    loader: String,
    /// Other loads of the tab that had begun before, and did not fail: one that still comes is none
    /// of this document's doing.
    rivals: Vec<String>,
}

#[derive(Clone, Debug)]
struct Request {
    loader: String,
    is_document: bool,
    /// Whether it loads what the tab is to show, and not a frame of it.
    is_tab_s: bool,
    since: Instant,
}

impl Tab {
    /// Whether it loads, or did a moment ago: it may go on by itself.
    pub(crate) fn is_restless(&self) -> bool {
        !self.ready
            || self.requests.values().any(|request| request.is_document)
            || self.loaded.elapsed() < GOES_ON
    }

    /// The load the document came from.
    pub(crate) fn document(&self) -> Option<&str> {
        self.came.back().map(|came| came.loader.as_str())
    }

    /// Whether what is there is the document of this load or of its own doing, and not one that was
    /// on its way before; none when it did not come yet.
    pub(crate) fn keeps_place(&self, loader: &str) -> Option<bool> {
        let mut came = self.came.iter().skip_while(|came| came.loader != loader);
        let asked = came.next()?;
        Some(came.all(|next| !asked.rivals.contains(&next.loader)))
    }

    /// Whether a load that had begun before this document came may still take its place.
    pub(crate) fn is_contested(&self) -> bool {
        self.came.back().is_some_and(|came| !came.rivals.is_empty())
    }
}

/// The record of all tabs. The reader of events writes it, everyone else asks.
#[derive(Debug)]
pub(crate) struct Book {
    state: Mutex<State>,
    changed: watch::Sender<u64>,
    setup: Setup,
}

#[derive(Debug, Default)]
struct State {
    tabs: Vec<Tab>,
    named: u32,
    active: Option<String>,
    /// Targets in the order they were in front, the last one last.
    recent: Vec<String>,
    /// Opened by a page and not yet looked at.
    newcomers: Vec<String>,
    /// A drag that Chromium handed to us.
    drag: Option<Value>,
    notes: Notes,
    frames: Frames,
    downloads: Downloads,
    /// A file picker that a page wanted, by the page's session.
    choosers: HashMap<String, Chooser>,
    networks: HashMap<String, Network>,
    console: Console,
    /// Who waits for what a page casts, by the page's session.
    casts: HashMap<String, Waiting>,
}

/// A file picker that was not shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chooser {
    /// The control that it is for, by Chromium's number.
    pub(crate) node: i64,
    /// Whether it takes several files.
    pub(crate) is_multiple: bool,
}

impl Book {
    /// An empty book; new tabs are prepared as `setup` says.
    pub(crate) fn new(setup: Setup) -> Self {
        Self {
            state: Mutex::default(),
            changed: watch::Sender::new(0),
            setup,
        }
    }

    /// All tabs in the order they came.
    pub(crate) fn tabs(&self) -> Vec<Tab> {
        lock(&self.state).tabs.clone()
    }

    /// The tab with this name.
    pub(crate) fn named(&self, name: &str) -> Option<Tab> {
        self.find(|tab| tab.name == name)
    }

    /// The tab that Chromium calls so.
    pub(crate) fn target(&self, target: &str) -> Option<Tab> {
        self.find(|tab| tab.target == target)
    }

    /// The tab in front, when there is one.
    pub(crate) fn active(&self) -> Option<Tab> {
        let active = lock(&self.state).active.clone()?;
        self.target(&active)
    }

    /// Remembers which tab is in front.
    pub(crate) fn set_active(&self, target: &str) {
        let mut state = lock(&self.state);
        state.recent.retain(|old| old != target);
        state.recent.push(target.to_owned());
        state.newcomers.retain(|old| old != target);
        state.active = Some(target.to_owned());
    }

    /// The tab that was in front before the ones that are gone.
    pub(crate) fn most_recent(&self) -> Option<Tab> {
        let state = lock(&self.state);
        let recent = state
            .recent
            .last()
            .or_else(|| state.tabs.last().map(|tab| &tab.target))?;
        state.tabs.iter().find(|tab| tab.target == *recent).cloned()
    }

    /// Takes the tabs that pages opened since the last time.
    pub(crate) fn take_newcomers(&self) -> Vec<Tab> {
        let mut state = lock(&self.state);
        let names = std::mem::take(&mut state.newcomers);
        let is_new = |tab: &&Tab| names.contains(&tab.target);
        state.tabs.iter().filter(is_new).cloned().collect()
    }

    /// The frame that Chromium calls so, when it is known.
    pub(crate) fn frame(&self, name: &str) -> Option<Frame> {
        lock(&self.state).frames.get(name)
    }

    /// The frames in a tab, by their names, without its main one.
    pub(crate) fn frames_in(&self, tab: &Tab) -> Vec<(String, Frame)> {
        let mut frames = lock(&self.state).frames.below(&tab.session);
        frames.retain(|(name, _)| *name != tab.target);
        frames
    }

    /// Whether a frame is one of its tabs'.
    pub(crate) fn knows_frame(&self, name: &str) -> bool {
        let state = lock(&self.state);
        state.frames.get(name).is_some() || state.tabs.iter().any(|tab| tab.target == name)
    }

    /// The session of its own that a frame has, when it has one.
    pub(crate) fn own_session(&self, frame: &str) -> Option<String> {
        lock(&self.state).frames.own_session(frame)
    }

    /// Takes frames from what a session says when it is asked for all of them.
    pub(crate) fn sync_frames(&self, session: &str, tree: &Value) {
        lock(&self.state).frames.sync(session, tree);
    }

    /// Has the next picture that a page makes and casts given to whoever waits for it.
    pub(crate) fn wait_for_cast(&self, session: &str, waiting: Waiting) {
        lock(&self.state).casts.insert(session.to_owned(), waiting);
    }

    /// Takes the drag that a page began, when it did.
    pub(crate) fn take_drag(&self) -> Option<Value> {
        lock(&self.state).drag.take()
    }

    /// Takes what happened beside the actions: dialogs, downloads.
    pub(crate) fn take_notes(&self) -> Option<String> {
        lock(&self.state).notes.take()
    }

    /// Takes what changed beside the actions, of what is still there.
    pub(crate) fn take_changes(&self) -> Vec<StateChange> {
        let mut state = lock(&self.state);
        let changes = state.notes.take_changes();
        let is_there = |change: &StateChange| match change {
            StateChange::TabOpened { tab_id } => state.tabs.iter().any(|tab| tab.name == *tab_id),
            StateChange::DownloadStarted { .. }
            | StateChange::DownloadCompleted { .. }
            | StateChange::DownloadFailed { .. } => true,
        };
        changes.into_iter().filter(is_there).collect()
    }

    /// Adds a sentence to what happened beside the actions.
    pub(crate) fn note(&self, sentence: String) {
        lock(&self.state).notes.add(sentence);
    }

    /// Says what a page wanted that only a person may give.
    pub(crate) fn wish(&self, what: &str) {
        lock(&self.state).notes.wish(what);
    }

    /// From here on files that pages give are kept.
    pub(crate) fn keep_downloads(&self) {
        lock(&self.state).downloads.are_kept = true;
    }

    /// Takes the files that came whole since the last time.
    pub(crate) fn take_whole(&self) -> Vec<Whole> {
        lock(&self.state).downloads.take_whole()
    }

    /// Says what became of a file that came whole: where it is and how long, or why it is not.
    pub(crate) fn say_download(&self, of: Whole, kept: Result<(String, u64), String>) {
        let notes = &mut lock(&self.state).notes;
        match kept {
            Ok((path, bytes)) => of.say_kept(notes, path, bytes),
            Err(why) => of.say_failed(notes, &why),
        }
    }

    /// Says how far the files came that are under way.
    pub(crate) fn say_downloads(&self) {
        let mut state = lock(&self.state);
        let State {
            downloads, notes, ..
        } = &mut *state;
        downloads.say_running(notes);
    }

    /// The file picker that the page wanted last.
    pub(crate) fn chooser(&self, session: &str) -> Option<Chooser> {
        lock(&self.state).choosers.get(session).copied()
    }

    /// What the page in a tab fetched, in lines.
    pub(crate) fn network(&self, session: &str) -> String {
        let state = lock(&self.state);
        state
            .networks
            .get(session)
            .map_or_else(|| Network::default().told(), Network::told)
    }

    /// Keeps what these sessions log from here on.
    pub(crate) fn listen(&self, sessions: &[String]) {
        let mut state = lock(&self.state);
        sessions
            .iter()
            .for_each(|session| state.console.listen(session));
    }

    /// Takes what these sessions logged since they are listened to.
    pub(crate) fn logged(&self, sessions: &[String]) -> Vec<String> {
        let mut state = lock(&self.state);
        sessions
            .iter()
            .flat_map(|session| state.console.take_lines(session))
            .collect()
    }

    /// The session of a tab and those of its frames that have their own.
    pub(crate) fn sessions_of(&self, session: &str) -> Vec<String> {
        lock(&self.state).frames.sessions_of(session)
    }

    /// What the tab in front does; none when there is none.
    pub(crate) fn activity(&self) -> Option<Activity> {
        let now = Instant::now();
        let state = lock(&self.state);
        let active = state.active.as_ref()?;
        let tab = state.tabs.iter().find(|tab| tab.target == *active)?;
        let open = |request: &Request| request.is_document || now - request.since < LONG_POLL;
        let unpainted = tab.unpainted.is_some_and(|since| now - since < FIRST_PAINT);
        Some(Activity {
            stirred: tab.stirred,
            loaded: tab.loaded,
            spoke: tab.spoke,
            is_busy: unpainted
                || tab.requests.values().any(open)
                || (!tab.ready && !tab.loading.is_empty()),
        })
    }

    /// Takes titles and addresses from a list of targets.
    pub(crate) fn rename(&self, infos: &Value) {
        let mut state = lock(&self.state);
        infos
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|info| state.rename(info));
    }

    /// A view that can wait for changes.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Takes an event in. Never waits; what must be said to the browser is sent at once.
    pub(crate) fn take(&self, client: &Client, event: &Event) {
        {
            let mut state = lock(&self.state);
            let params = &event.params;
            match &event.session {
                None => state.of_browser(client, &self.setup, &event.method, params),
                Some(session) => {
                    state.of_frames(client, &self.setup, session, &event.method, params);
                    state.of_page(client, &self.setup, session, &event.method, params);
                }
            }
        }
        self.changed.send_modify(|count| *count += 1);
    }

    fn find(&self, fits: impl Fn(&Tab) -> bool) -> Option<Tab> {
        lock(&self.state).tabs.iter().find(|tab| fits(tab)).cloned()
    }
}

impl State {
    fn of_browser(&mut self, client: &Client, setup: &Setup, method: &str, params: &Value) {
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
            "Browser.downloadWillBegin" => self.downloads.begin(client, &mut self.notes, params),
            "Browser.downloadProgress" => self.downloads.progress(client, &mut self.notes, params),
            _ => {}
        }
    }

    fn attach(&mut self, client: &Client, setup: &Setup, params: &Value) {
        let info = &params["targetInfo"];
        let session = text(&params["sessionId"]);
        if self.tabs.len() >= MOST_TABS {
            let target = serde_json::json!({ "targetId": info["targetId"] });
            client.notify(None, "Target.closeTarget", target);
            self.notes.one_tab_too_many();
            return;
        }
        setup.prepare(client, &session);
        self.named += 1;
        let tab = Tab {
            name: format!("tab_{}", self.named),
            target: text(&info["targetId"]),
            session,
            title: text(&info["title"]),
            url: text(&info["url"]),
            crashed: false,
            crashes: 0,
            commits: 0,
            came: VecDeque::new(),
            ready: true,
            unpainted: None,
            loading: HashSet::new(),
            requests: HashMap::new(),
            stirred: Instant::now(),
            loaded: Instant::now(),
            spoke: Instant::now(),
        };
        self.notes.change(StateChange::TabOpened {
            tab_id: tab.name.clone(),
        });
        self.newcomers.push(tab.target.clone());
        self.tabs.push(tab);
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

    fn forget(&mut self, gone: impl Fn(&Tab) -> bool) {
        for tab in self.tabs.extract_if(.., |tab| gone(tab)) {
            self.choosers.remove(&tab.session);
            self.networks.remove(&tab.session);
            self.casts.remove(&tab.session);
            self.recent.retain(|old| *old != tab.target);
            self.newcomers.retain(|old| *old != tab.target);
            if self.active.as_ref() == Some(&tab.target) {
                self.active = None;
            }
        }
    }

    /// What is said of frames, also by those that have a process of their own.
    fn of_frames(
        &mut self,
        client: &Client,
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
            }
            "Target.attachedToTarget" => setup.prepare_other(client, &text(&params["sessionId"])),
            "Target.detachedFromTarget" => {
                let own = text(&params["sessionId"]);
                client.fail_session(&own, Gone::Closed);
                self.frames.forget(&own);
            }
            _ => self.frames.take(session, method, params),
        }
    }

    fn of_page(
        &mut self,
        client: &Client,
        setup: &Setup,
        session: &str,
        method: &str,
        params: &Value,
    ) {
        match method {
            "Page.javascriptDialogOpening" => self.notes.dialog(client, session, params),
            "Page.fileChooserOpened" => self.choose(session, params),
            "Input.dragIntercepted" => self.drag = Some(params["data"].clone()),
            "Inspector.targetCrashed" => {
                client.fail_session(session, Gone::Crashed);
                self.note_crash(session);
            }
            "Page.frameRequestedNavigation" => self.notes.elsewhere(params),
            "Network.responseReceived" => self.notes.document(setup, params),
            "Page.screencastFrame" => {
                let waits = self.casts.get(session);
                if waits.is_some_and(|waits| waits.is_for(params))
                    && let Some(waits) = self.casts.remove(session)
                {
                    // It is a copy of what was painted before.
                    return waits.give(text(&params["data"]));
                }
            }
            _ => {}
        }
        self.console.take(session, method, params);
        if self.tabs.iter().any(|tab| tab.session == session) {
            self.networks
                .entry(session.to_owned())
                .or_default()
                .take(method, params);
        }
        if let Some(tab) = self.tabs.iter_mut().find(|tab| tab.session == session) {
            tab.take(client, method, params);
        }
    }
}

impl State {
    /// Remembers a file picker that was not shown, for the files that may come for it.
    fn choose(&mut self, session: &str, params: &Value) {
        let is_multiple = params["mode"] == "selectMultiple";
        let files = if is_multiple { "files" } else { "a file" };
        match params["backendNodeId"].as_i64() {
            Some(node) => {
                self.choosers.insert(session.to_owned(), Chooser { node, is_multiple });
                self.notes.add(format!(
                    "The page asked for {files}; no file picker is shown here, and the page waits: file_upload on the element that asked gives it {files}."
                ));
            }
            None => self.notes.add(format!(
                "The page asked for {files}; no file picker is shown here, and this page can be given none."
            )),
        }
    }

    fn note_crash(&mut self, session: &str) {
        if let Some(tab) = self.tabs.iter().find(|tab| tab.session == session) {
            let name = &tab.name;
            self.notes.add(format!(
                "The page in {name} crashed; reload it or go to another address."
            ));
        }
    }
}

impl Tab {
    fn take(&mut self, client: &Client, method: &str, params: &Value) {
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
                if let Some(came) = self.came.back_mut() {
                    // A document's request is named as its load.
                    came.rivals.retain(|rival| *rival != request);
                }
                self.requests.remove(&request);
            }
            "Inspector.targetCrashed" => self.crash(),
            "Page.lifecycleEvent" if params["name"] == "firstPaint" => self.unpainted = None,
            "Page.screencastFrame" => {
                let answer = serde_json::json!({ "sessionId": params["sessionId"] });
                client.notify(Some(&self.session), "Page.screencastFrameAck", answer);
                self.stirred = Instant::now();
                return;
            }
            // It may be about what is shown, or go on all the time.
            "Page.frameRequestedNavigation"
            | "Network.webSocketFrameSent"
            | "Network.webSocketFrameReceived"
            | "Network.eventSourceMessageReceived" => {
                self.spoke = Instant::now();
                return;
            }
            // Says nothing about the picture.
            _ => return,
        }
        self.stirred = Instant::now();
        self.loaded = self.stirred;
    }

    fn commit(&mut self, loader: String) {
        let others = self
            .requests
            .extract_if(|_, request| request.loader != loader);
        let rivals = others
            .filter(|(_, request)| request.is_document && request.is_tab_s)
            .map(|(_, request)| request.loader)
            .collect();
        if self.came.len() == CAME {
            self.came.pop_front();
        }
        self.came.push_back(Came { loader, rivals });
        self.commits += 1;
        self.ready = false;
        self.unpainted = Some(Instant::now());
        self.crashed = false;
    }

    fn request(&mut self, params: &Value) {
        let kind = params["type"].as_str().unwrap_or_default();
        if matches!(kind, "EventSource" | "WebSocket" | "Ping" | "Prefetch") {
            return;
        }
        let request = Request {
            loader: text(&params["loaderId"]),
            is_document: kind == "Document",
            is_tab_s: params["frameId"] == self.target.as_str(),
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

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
