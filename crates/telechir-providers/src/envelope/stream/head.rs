//! The id and the model of a streamed response, which its first events name.

use serde_json::Value;

use crate::TranslationOptions;
use crate::envelope::api::Api;

/// What a stream's first event needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StreamHead {
    pub(super) id: String,
    pub(super) model: String,
    pub(super) created: u64,
}

/// Where the providers' events name the id, the model and the time.
const IDS: [&str; 6] = [
    "/message/id",
    "/response/id",
    "/interaction/id",
    "/conversation_id",
    "/responseId",
    "/id",
];
const MODELS: [&str; 5] = [
    "/message/model",
    "/response/model",
    "/interaction/model",
    "/modelVersion",
    "/model",
];
const TIMES: [&str; 2] = ["/response/created_at", "/created"];

/// Reads the first event with data of a stream of server-sent events.
#[derive(Debug, Default)]
pub(super) struct HeadReader {
    line: Vec<u8>,
    found: Option<StreamHead>,
}

/// A first event is short; a longer line is none.
const MAX_LINE_BYTES: usize = 1024 * 1024;

impl HeadReader {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.found.is_some() {
                return;
            }
            match byte {
                b'\n' | b'\r' => self.line_end(),
                byte if self.line.len() < MAX_LINE_BYTES => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn line_end(&mut self) {
        let line = std::mem::take(&mut self.line);
        let Some(data) = line.strip_prefix(b"data:") else {
            return;
        };
        if let Ok(event) = telechir_protocol::json_limits::parse(data) {
            let text = |pointers: &[&str]| {
                let mut found = pointers
                    .iter()
                    .filter_map(|pointer| event.pointer(pointer)?.as_str());
                found.next().unwrap_or_default().to_owned()
            };
            let mut times = TIMES
                .iter()
                .filter_map(|pointer| event.pointer(pointer)?.as_u64());
            self.found = Some(StreamHead {
                id: text(&IDS),
                model: text(&MODELS),
                created: times.next().unwrap_or(0),
            });
        }
    }

    /// What was found, with the model's name mapped.
    pub(super) fn found(&self, options: &TranslationOptions) -> StreamHead {
        let mut head = self.found.clone().unwrap_or_default();
        if let Some(mapped) = options.models.get(&head.model).or(options.model.as_ref()) {
            head.model.clone_from(mapped);
        }
        if head.id.is_empty() {
            head.id = crate::envelope::response::NO_ID.to_owned();
        }
        head
    }
}

/// The head of a translated response.
pub(super) fn of_document(api: Api, document: &Value) -> StreamHead {
    let text = |pointers: &[&str]| {
        let mut found = pointers
            .iter()
            .filter_map(|pointer| document.pointer(pointer)?.as_str());
        found.next().unwrap_or_default().to_owned()
    };
    let created = match api {
        Api::Responses => document.get("created_at"),
        _ => document.get("created"),
    };
    StreamHead {
        id: text(&["/id", "/responseId", "/conversation_id"]),
        model: text(&["/model", "/modelVersion"]),
        created: created.and_then(Value::as_u64).unwrap_or(0),
    }
}
