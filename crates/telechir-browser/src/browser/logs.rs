//! Console messages of a page.

use std::collections::VecDeque;

use serde_json::json;
use telechir_device::DeviceError;

use super::Browser;
use crate::client::PendingReply;
use crate::error::CdpError;
use crate::tab_registry::Tab;

impl Browser {
    /// The console messages of a page and its frames. Chromium stores them for every page and
    /// replays them on request, so nothing has to listen beforehand.
    pub(super) async fn console(&mut self, tab: &Tab) -> Result<String, DeviceError> {
        let sessions = self.registry.sessions_of(&tab.session);
        self.registry.capture_console(&sessions);
        let enabled = self.enable_consoles(&sessions).await;
        for session in &sessions {
            for method in ["Runtime.disable", "Log.disable"] {
                self.client.notify(Some(session), method, json!({}));
            }
        }
        let lines = self.registry.take_console_lines(&sessions);
        enabled?;
        Ok(if lines.is_empty() {
            "The page logged nothing.".to_owned()
        } else {
            lines.join("\n")
        })
    }

    async fn enable_consoles(&mut self, sessions: &[String]) -> Result<(), CdpError> {
        let enable = |session: &String, method| self.client.send(Some(session), method, json!({}));
        let mut answers: VecDeque<PendingReply> = VecDeque::new();
        for session in sessions {
            answers.push_back(enable(session, "Runtime.enable")?);
            answers.push_back(enable(session, "Log.enable")?);
        }
        // The page itself must answer; frames may be gone.
        for _ in 0..2 {
            if let Some(answer) = answers.pop_front() {
                answer.within(self.options.reply_timeout).await?;
            }
        }
        for answer in answers {
            let _a_frame_may_be_gone = answer.within(self.options.reply_timeout).await;
        }
        Ok(())
    }
}
