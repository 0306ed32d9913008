//! Requests of a client that are answered while others are: of screens, of the page, of the recording,
//! of a program that drives the browser, of a task.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use telechir_runtime::{DeviceKind, NewestOutput};

use super::{Client, closed, failed, lock, send};
use crate::message::{EventsFrom, HostReply};
use crate::server::events::{FirstReply, Subscription, send_events};
use crate::server::tasks::TaskWork;
use crate::{SessionImage, error_chain};

impl Client {
    pub(super) fn capture_screen(
        &mut self,
        id: u64,
        device: Option<DeviceKind>,
        max_width: Option<u32>,
    ) {
        let shared = Arc::clone(&self.shared);
        self.answer_later(id, async move {
            let image = shared.started()?.screens.image(device, max_width).await;
            let image = image.map_err(|e| format!("failed to {}", error_chain(&e)))?;
            Ok(HostReply::Image(Some(SessionImage {
                media_type: image.media_type.to_owned(),
                bytes: image.bytes.to_vec(),
            })))
        });
    }

    pub(super) fn read_page(&mut self, id: u64) {
        let shared = Arc::clone(&self.shared);
        self.answer_later(id, async move {
            let page = shared.started()?.page.clone();
            let page = page.ok_or("this session has no browser")?;
            let text = page.read().await;
            let text = text.map_err(|e| format!("failed to read the page: {}", error_chain(&e)))?;
            Ok(HostReply::Page { text })
        });
    }

    /// Extends the session, and then what it rents if the client wants that.
    pub(super) fn extend(&mut self, id: u64, seconds: u64, with_rented: bool) {
        let time = Duration::from_secs(seconds);
        self.shared.status.extend(time);
        let shared = Arc::clone(&self.shared);
        self.answer_later(id, async move {
            // Devices that are starting are rented with all of their time.
            let control = shared.started().ok().filter(|_| with_rented);
            if let Some(extender) = control.as_ref().and_then(|one| one.time_extender.as_ref()) {
                extender(time).await?;
            }
            Ok(HostReply::Done)
        });
    }

    pub(super) fn read_screenshot(&mut self, id: u64, digest: String) {
        let shared = Arc::clone(&self.shared);
        self.answer_later(id, async move {
            let read = shared.started()?.recording.screenshot(&digest).await;
            let read = read.map_err(|e| format!("failed to {}", error_chain(&e)))?;
            let image = |(media_type, bytes): (&str, Vec<u8>)| SessionImage {
                media_type: media_type.to_owned(),
                bytes,
            };
            Ok(HostReply::Image(read.map(image)))
        });
    }

    pub(super) fn read_call(&mut self, id: u64, row: u64) {
        let shared = Arc::clone(&self.shared);
        self.answer_later(id, async move {
            let read = shared.started()?.recording.call(row).await;
            let read = read.map_err(|e| format!("failed to {}", error_chain(&e)))?;
            Ok(HostReply::RecordedCall(read))
        });
    }

    /// Answers when this is ready; other requests are answered meanwhile.
    pub(super) fn answer_later(
        &mut self,
        id: u64,
        reply: impl Future<Output = Result<HostReply, String>> + Send + 'static,
    ) {
        let writer = Arc::clone(&self.writer);
        self.replies.spawn(async move {
            send(&writer, id, reply.await.unwrap_or_else(failed)).await;
        });
    }

    pub(super) fn work_for_task(&mut self, id: u64, work: TaskWork) {
        let tasks = Arc::clone(&self.shared.tasks);
        self.answer_later(id, async move { tasks.request(work).await });
    }

    pub(super) fn open_devtools(&mut self, id: u64) {
        let (shared, opened) = (Arc::clone(&self.shared), Arc::clone(&self.devtools));
        self.answer_later(id, async move {
            let connection = shared.devtools.open().await?;
            lock(&opened).insert(id, connection);
            Ok(HostReply::DevtoolsOpened { id })
        });
    }

    pub(super) fn receive_devtools(&mut self, id: u64, opened: u64) {
        let outgoing = lock(&self.devtools).get(&opened).map(|one| one.outgoing());
        let (devtools, mut closing) = (Arc::clone(&self.devtools), self.closing.clone());
        self.answer_later(id, async move {
            let messages = match outgoing {
                None => Vec::new(),
                Some(outgoing) => tokio::select! {
                    () = closed(&mut closing) => Vec::new(),
                    messages = outgoing.next() => messages,
                },
            };
            if messages.is_empty() {
                drop(lock(&devtools).remove(&opened));
            }
            Ok(HostReply::DevtoolsMessages { messages })
        });
    }

    pub(super) fn watch_screen(&mut self, id: u64, device: Option<DeviceKind>, since: Option<u64>) {
        let (shared, mut closing) = (Arc::clone(&self.shared), self.closing.clone());
        self.answer_later(id, async move {
            let screens = shared.started()?.screens.clone();
            let changes = tokio::select! {
                () = closed(&mut closing) => return Err("the session is being closed".to_owned()),
                changes = screens.changes(device, since) => changes,
            };
            let changes = changes.map_err(|e| format!("failed to {}", error_chain(&e)))?;
            Ok(HostReply::ScreenChanged(changes.into()))
        });
    }

    pub(super) fn watch_output(&mut self, id: u64, since: Option<u64>) {
        let output = self.shared.started().and_then(|control| {
            let output = control.output.clone();
            output.ok_or_else(|| "this session has no shell".to_owned())
        });
        self.watch(id, output, since);
    }

    pub(super) fn watch_message(&mut self, id: u64, since: Option<u64>) {
        self.watch(id, Ok(self.shared.message.clone()), since);
    }

    fn watch(&mut self, id: u64, output: Result<NewestOutput, String>, since: Option<u64>) {
        let mut closing = self.closing.clone();
        self.answer_later(id, async move {
            let output = output?;
            let tail = tokio::select! {
                () = closed(&mut closing) => return Err("the session is being closed".to_owned()),
                tail = output.changed(since) => tail,
            };
            Ok(HostReply::OutputChanged(tail))
        });
    }

    pub(super) fn subscribe(
        &mut self,
        id: u64,
        from: EventsFrom,
        window: Option<u32>,
        first: FirstReply,
    ) {
        let (writer, shared) = (Arc::clone(&self.writer), Arc::clone(&self.shared));
        let (subscription, state) = Subscription::new(window);
        self.subscriptions.insert(id, subscription);
        self.replies.spawn(async move {
            send_events(&writer, id, &shared.control, from, first, state).await;
        });
    }
}
