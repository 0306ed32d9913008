//! The ids of a connection's requests in flight. A second request with one of them is refused: the SDK
//! would execute both and send one answer, and a client could not know whose it is.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;
use rmcp::model::{ClientNotification, GetExtensions as _, JsonRpcMessage, RequestId};
use rmcp::service::{RoleServer, RxJsonRpcMessage, TxJsonRpcMessage};

use super::parameters::shown;

/// The ids of one connection's requests in flight. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdsInFlight(Arc<Mutex<HashMap<RequestId, RequestState>>>);

/// A request is in flight until its answer is sent; one that was cancelled gets none, and is in flight
/// until its handler has ended.
#[derive(Debug, Default)]
struct RequestState {
    is_cancelled: bool,
    has_ended: bool,
}

/// Goes with a request through its handler, and notices when that has ended.
#[derive(Clone)]
struct InFlight {
    _until_dropped: Arc<HandlerEnd>,
}

struct HandlerEnd {
    ids: IdsInFlight,
    id: RequestId,
}

impl IdsInFlight {
    /// Reads a message of the client before it is handled.
    ///
    /// # Errors
    /// With the answer to a request that has the id of another one.
    pub(crate) fn receive(
        &self,
        message: &mut RxJsonRpcMessage<RoleServer>,
    ) -> Result<(), Box<TxJsonRpcMessage<RoleServer>>> {
        match message {
            JsonRpcMessage::Request(request) => {
                let Some(in_flight) = self.begin(&request.id) else {
                    return Err(Box::new(reused(&request.id)));
                };
                request.request.extensions_mut().insert(in_flight);
            }
            JsonRpcMessage::Notification(_)
            | JsonRpcMessage::Response(_)
            | JsonRpcMessage::Error(_) => self.note_cancellation(message),
        }
        Ok(())
    }

    /// Notes whether a message of the client cancels a request.
    pub(crate) fn note_cancellation(&self, message: &RxJsonRpcMessage<RoleServer>) {
        if let JsonRpcMessage::Notification(notification) = message
            && let ClientNotification::CancelledNotification(cancelled) = &notification.notification
            && let Some(id) = &cancelled.params.request_id
        {
            self.end(id, |state| state.is_cancelled = true);
        }
    }

    /// Reads a message of the server before it is sent.
    pub(crate) fn send(&self, message: &TxJsonRpcMessage<RoleServer>) {
        let id = match message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = id {
            self.states().remove(id);
        }
    }

    /// None if a request in flight has the id.
    fn begin(&self, id: &RequestId) -> Option<InFlight> {
        match self.states().entry(id.clone()) {
            Entry::Occupied(_) => None,
            Entry::Vacant(entry) => {
                entry.insert(RequestState::default());
                let (ids, id) = (self.clone(), id.clone());
                Some(InFlight {
                    _until_dropped: Arc::new(HandlerEnd { ids, id }),
                })
            }
        }
    }

    fn end(&self, id: &RequestId, change: impl FnOnce(&mut RequestState)) {
        let mut states = self.states();
        if let Some(state) = states.get_mut(id) {
            change(state);
            if state.is_cancelled && state.has_ended {
                states.remove(id);
            }
        }
    }

    fn states(&self) -> MutexGuard<'_, HashMap<RequestId, RequestState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for HandlerEnd {
    fn drop(&mut self) {
        self.ids.end(&self.id, |state| state.has_ended = true);
    }
}

/// The error has the id, as every answer; what the first request is answered has it, too.
fn reused(id: &RequestId) -> TxJsonRpcMessage<RoleServer> {
    let shown = shown(&id.clone().into_json_value());
    let message = format!(
        "no request: expected an \"id\" of its own, found {shown}, which a request that is not answered \
         yet has; that one goes on, this one was not executed"
    );
    TxJsonRpcMessage::<RoleServer>::error(
        ErrorData::invalid_request(message, None),
        Some(id.clone()),
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json, to_value};

    use super::*;

    fn request(id: &Value) -> RxJsonRpcMessage<RoleServer> {
        from_value(json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).expect("a request")
    }

    /// The error for a request with this id; none if it may be handled.
    fn refused(ids: &IdsInFlight, message: &mut RxJsonRpcMessage<RoleServer>) -> Option<Value> {
        let error = ids.receive(message).err()?;
        Some(to_value(*error).expect("JSON"))
    }

    fn cancel(ids: &IdsInFlight, id: &Value) {
        let params = json!({"requestId": id});
        let cancelled =
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
        let mut cancelled = from_value(cancelled).expect("a notification");
        assert_eq!(refused(ids, &mut cancelled), None);
    }

    fn answer(ids: &IdsInFlight, id: RequestId, is_error: bool) {
        let answer = match is_error {
            true => {
                let error = ErrorData::invalid_params("wrong", None);
                TxJsonRpcMessage::<RoleServer>::error(error, Some(id))
            }
            false => {
                let result = from_value(json!({})).expect("a result");
                TxJsonRpcMessage::<RoleServer>::response(result, id)
            }
        };
        ids.send(&answer);
    }

    #[test]
    fn an_id_is_free_again_when_its_request_is_answered() {
        for is_error in [false, true] {
            let ids = IdsInFlight::default();
            let mut first = request(&json!(7));
            assert_eq!(refused(&ids, &mut first), None);
            let error = refused(&ids, &mut request(&json!(7))).expect("an error");
            assert_eq!(error["id"], 7, "{error}");
            assert_eq!(error["error"]["code"], -32_600, "{error}");
            let text = error["error"]["message"].as_str().unwrap_or_default();
            assert!(text.contains("found 7,"), "{text}");
            // Another type is another id.
            let mut text = request(&json!("7"));
            assert_eq!(refused(&ids, &mut text), None);
            let error = refused(&ids, &mut request(&json!("7"))).expect("an error");
            assert_eq!(error["id"], "7", "{error}");
            drop(first);
            assert!(
                refused(&ids, &mut request(&json!(7))).is_some(),
                "not answered yet"
            );
            answer(&ids, RequestId::Number(7), is_error);
            assert_eq!(refused(&ids, &mut request(&json!(7))), None);
        }
    }

    #[test]
    fn an_id_is_free_again_when_its_request_was_cancelled_and_has_ended() {
        for is_cancelled_first in [true, false] {
            let ids = IdsInFlight::default();
            let mut first = request(&json!("a"));
            assert_eq!(refused(&ids, &mut first), None);
            if is_cancelled_first {
                cancel(&ids, &json!("a"));
                assert!(
                    refused(&ids, &mut request(&json!("a"))).is_some(),
                    "it runs"
                );
                drop(first);
            } else {
                drop(first);
                cancel(&ids, &json!("a"));
            }
            assert_eq!(refused(&ids, &mut request(&json!("a"))), None);
        }
    }

    #[test]
    fn a_long_id_is_shortened_in_the_text_alone() {
        let ids = IdsInFlight::default();
        let id = json!("é".repeat(10_000));
        let mut first = request(&id);
        assert_eq!(refused(&ids, &mut first), None);
        let error = refused(&ids, &mut request(&id)).expect("an error");
        assert_eq!(error["id"], id);
        let text = error["error"]["message"].as_str().unwrap_or_default();
        assert!(text.len() < 400 && text.contains('…'), "{text}");
    }
}
