//! Changes what pages see: tabs, frames and workers that exist, and those that open later.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use telechir_device::DeviceError;

use super::Browser;
use crate::cdp_session::CdpSession;
use crate::client::PendingReply;
use crate::context::Context;
use crate::emulation::PageSettings;
use crate::error::{CdpError, refused};
use crate::input_state::InputState;

/// How long other tabs, frames and workers may take to confirm a change. One that hangs sees it as soon
/// as it goes on.
const CONFIRMATION_TIMEOUT: Duration = Duration::from_secs(1);

impl Browser {
    /// Reads the scale at which a phone shows the page: one without a viewport tag is laid out wider
    /// than the screen.
    pub(super) async fn measure_page_scale(&mut self, page: &CdpSession) -> Result<(), CdpError> {
        self.input.scale = self.setup.scale;
        if self.setup.is_mobile {
            let metrics = page.call("Page.getLayoutMetrics", json!({})).await?;
            let factor = metrics["cssVisualViewport"]["scale"].as_f64();
            self.input.scale = self.setup.scale.zoomed(factor.unwrap_or(1.0));
        }
        Ok(())
    }

    /// Applies the settings of an `emulate` action; returns what pages see now.
    pub(super) async fn emulate(
        &mut self,
        settings: &Map<String, Value>,
    ) -> Result<String, DeviceError> {
        let now = self.options.emulation.clone();
        let PageSettings {
            emulation: next,
            viewport,
        } = PageSettings::read(&now, &self.initial_settings, settings)?;
        if viewport.is_some() && self.screen.is_some() {
            return Err(refused(
                "The browser's window fills its screen and cannot be resized; a headless browser \
                 can.",
            ));
        }
        let (front, page) = self.front().await?;
        next.check(&page).await.map_err(|error| match error {
            DeviceError::Unavailable { message, .. } => {
                refused(format!("Invalid setting: {message}."))
            }
            other @ DeviceError::Refused { .. }
            | other @ DeviceError::Unsupported { .. }
            | other @ DeviceError::Stale { .. }
            | other @ DeviceError::Timeout { .. }
            | other @ DeviceError::Unresponsive { .. }
            | other @ DeviceError::Restarted { .. }
            | other @ DeviceError::Reconnected { .. }
            | other @ DeviceError::Stopped { .. }
            | other @ DeviceError::Disconnected { .. } => other,
        })?;
        let mut changes = now.changes_to(&next, &self.agent);
        let mut setup = self.setup.clone();
        setup.overrides = next.commands(&self.agent);
        setup.is_mobile = next.is_mobile;
        if let Some(size) = viewport {
            setup.size = Some(setup.scale.size(size));
        }
        if viewport.is_some() || now.is_mobile != next.is_mobile {
            changes.extend(setup.viewport());
        }
        if now.granted() != next.granted() {
            self.grant(&next.granted()).await?;
        }
        self.registry.set_setup(setup.clone());
        changes.push(("Target.setAutoAttach", setup.auto_attachment()));
        let mut others = self.router.sessions_of(&self.registry);
        others.retain(|session| *session != front.session);
        let others: Vec<_> = others
            .iter()
            .map(|session| self.send_all(session, &changes))
            .collect();
        match page.call_all(changes).await {
            // Pages and frames of one process share the override that one of them has set.
            Err(CdpError::Protocol { message, .. }) if message.contains("already in effect") => {}
            applied => applied?,
        }
        if let Some(size) = viewport {
            self.size = size;
            self.input = InputState::new(size, setup.scale);
        }
        self.setup = setup;
        self.options.emulation = next;
        let applied = format!("Applied: {}.", names(settings));
        Ok(match count_unconfirmed(others).await {
            0 => applied,
            count => format!(
                "{applied} Other tabs, frames and workers that do not answer and have not confirmed it: {count}."
            ),
        })
    }

    /// Grants the permissions of the options.
    pub(crate) async fn grant_initially(&mut self) -> Result<(), DeviceError> {
        match self.options.emulation.granted().as_slice() {
            [] => Ok(()),
            granted => self.grant(granted).await,
        }
    }

    /// Grants these permissions to all pages, and no others.
    async fn grant(&mut self, permissions: &[&str]) -> Result<(), DeviceError> {
        let context = self.context.as_ref().and_then(Context::id_in_commands);
        let with_context = |mut params: Value| {
            if let Some(context) = context {
                params["browserContextId"] = context.into();
            }
            params
        };
        let limit = self.options.reply_timeout;
        let reset = with_context(json!({}));
        self.client
            .call(None, "Browser.resetPermissions", reset, limit)
            .await?;
        if permissions.is_empty() {
            return Ok(());
        }
        let grant = with_context(json!({ "permissions": permissions }));
        self.client
            .call(None, "Browser.grantPermissions", grant, limit)
            .await?;
        Ok(())
    }

    /// Sends commands to a session, whose replies are awaited later.
    fn send_all(&self, session: &str, commands: &[(&'static str, Value)]) -> Vec<PendingReply> {
        let send = |(method, params): &(&'static str, Value)| {
            let sent = self.client.send(Some(session), method, params.clone());
            // The next command reports a loss.
            sent.ok()
        };
        commands.iter().filter_map(send).collect()
    }
}

/// How many sessions have not answered these commands in time. A session that refuses one, as workers
/// do with those about pages, has answered.
async fn count_unconfirmed(sessions: Vec<Vec<PendingReply>>) -> usize {
    let sessions = sessions.into_iter().map(async |replies| {
        let replies = replies.into_iter();
        let replies = replies.map(|reply| reply.within(CONFIRMATION_TIMEOUT));
        let replies = join_all(replies).await;
        replies
            .iter()
            .any(|reply| matches!(reply, Err(CdpError::Timeout { .. })))
    });
    let unconfirmed = join_all(sessions).await;
    unconfirmed.into_iter().filter(|missing| *missing).count()
}

fn names(settings: &Map<String, Value>) -> String {
    let names: Vec<&str> = settings.keys().map(String::as_str).collect();
    names.join(", ")
}
