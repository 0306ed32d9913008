//! What a page logged and fetched.

use std::collections::VecDeque;

use serde_json::json;
use telechir_device::DeviceError;

use super::Browser;
use crate::tab_registry::Tab;
use crate::client::Answer;
use crate::error::CdpError;

impl Browser {
    /// What the page in a tab and its frames logged. Chromium keeps it for every page and says it
    /// to whoever asks, so that nobody has to listen before.
    pub(super) async fn console(&mut self, tab: &Tab) -> Result<String, DeviceError> {
        let sessions = self.book.sessions_of(&tab.session);
        self.book.listen(&sessions);
        let told = self.ask_consoles(&sessions).await;
        for session in &sessions {
            for method in ["Runtime.disable", "Log.disable"] {
                self.client.notify(Some(session), method, json!({}));
            }
        }
        let lines = self.book.logged(&sessions);
        told?;
        Ok(if lines.is_empty() {
            "The page logged nothing.".to_owned()
        } else {
            lines.join("\n")
        })
    }

    async fn ask_consoles(&mut self, sessions: &[String]) -> Result<(), CdpError> {
        let ask = |session: &String, method| self.client.send(Some(session), method, json!({}));
        let mut answers: VecDeque<Answer> = VecDeque::new();
        for session in sessions {
            answers.push_back(ask(session, "Runtime.enable")?);
            answers.push_back(ask(session, "Log.enable")?);
        }
        // The page's own must answer; a frame may go away meanwhile.
        for _ in 0..2 {
            if let Some(answer) = answers.pop_front() {
                answer.within(self.options.answer_limit).await?;
            }
        }
        for answer in answers {
            let _a_frame_without_an_answer_says_nothing =
                answer.within(self.options.answer_limit).await;
        }
        Ok(())
    }
}
