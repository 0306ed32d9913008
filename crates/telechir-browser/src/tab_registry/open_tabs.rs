//! Tabs that open and close, and whose they are.

use std::collections::{HashMap, HashSet, VecDeque};

use serde_json::{Value, json};
use telechir_protocol::StateChange;
use tokio::time::Instant;

use super::document_loads::DocumentLoads;
use super::page_notices::MAX_TABS;
use super::private_tab::NewTab;
use super::{Owner, RegistryState, Tab, TabRegistry};
use crate::client::{CdpClient, lock, text};
use crate::setup::Setup;

impl TabRegistry {
    /// Registers tabs of a browser that somebody else owns: none of them is closed, and those with
    /// these CDP target ids exist already. The tab to start in is registered however many there are.
    pub(crate) fn of_owner(self, existing: HashSet<String>, start: &str) -> Self {
        let owner = Owner {
            existing,
            start: start.to_owned(),
        };
        lock(&self.state).owner = Some(owner);
        self
    }

    /// Whether somebody else owns the tabs.
    pub(crate) fn has_owner(&self) -> bool {
        lock(&self.state).owner.is_some()
    }
}

impl RegistryState {
    /// Adds a new tab, unless it is private, or there are too many.
    pub(super) fn attach(&mut self, client: &CdpClient, setup: &Setup, params: &Value) {
        let info = &params["targetInfo"];
        let session = text(&params["sessionId"]);
        if self.private_tab.take(client, params) == NewTab::Private {
            return;
        }
        let target = text(&info["targetId"]);
        let is_known = self
            .owner
            .as_ref()
            .is_some_and(|owner| owner.existing.contains(&target));
        let is_start = self
            .owner
            .as_ref()
            .is_some_and(|owner| owner.start == target);
        let opener = info["openerId"].as_str().map(str::to_owned);
        // In a browser of somebody else, the owner opens tabs, too.
        let is_of_page = self.owner.is_none() || (opener.is_some() && !is_known);
        if self.tabs.len() >= MAX_TABS && !is_start {
            if is_of_page {
                let target = json!({ "targetId": info["targetId"] });
                client.notify(None, "Target.closeTarget", target);
                self.notices.count_closed_tab();
            } else {
                let params = json!({ "sessionId": session });
                client.notify(None, "Target.detachFromTarget", params);
                self.notices.count_hidden_tab();
            }
            return;
        }
        setup.prepare(client, &session);
        self.last_number += 1;
        let tab = Tab {
            name: format!("tab_{}", self.last_number),
            target,
            session,
            opener,
            title: text(&info["title"]),
            url: text(&info["url"]),
            crashed: false,
            crashes: 0,
            commits: 0,
            commits_log: VecDeque::new(),
            ready: true,
            unpainted_since: None,
            loading: HashSet::new(),
            requests: HashMap::new(),
            loads: DocumentLoads::default(),
            last_activity: Instant::now(),
            last_load: Instant::now(),
            last_message: Instant::now(),
        };
        if !is_known {
            self.notices.change(StateChange::TabOpened {
                tab_id: tab.name.clone(),
            });
        }
        if is_of_page {
            self.opened_by_page.push(tab.target.clone());
        }
        self.tabs.push(tab);
    }

    /// Removes tabs that are gone.
    pub(super) fn forget(&mut self, gone: impl Fn(&Tab) -> bool) {
        for tab in self.tabs.extract_if(.., |tab| gone(tab)) {
            self.dialogs.close(&tab.session);
            self.file_choosers.remove(&tab.session);
            self.request_logs.remove(&tab.session);
            self.frame_waiters.remove(&tab.session);
            self.recent.retain(|old| *old != tab.target);
            self.opened_by_page.retain(|old| *old != tab.target);
            if self.active.as_ref() == Some(&tab.target) {
                self.active = None;
            }
        }
    }
}
