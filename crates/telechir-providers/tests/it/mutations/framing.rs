//! Damages streams but keeps most of their framing, so that the damage reaches the payload.

use serde_json::Value;

use super::change::{self, Dice};

/// Changes a stream: its bytes, the order of its events, or the payload of one.
pub(crate) fn stream(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match dice.roll(8) {
        0 => return,
        1 => return change::bytes(bytes, dice),
        _ => {}
    }
    if let Some(mut all) = frames(bytes) {
        reorder(&mut all, dice, |frame, dice| {
            payload(&mut frame.payload, dice)
        });
        *bytes = all.iter().flat_map(Frame::bytes).collect();
    } else if let Ok(mut value) = serde_json::from_slice::<Value>(bytes) {
        change::document(&mut value, dice);
        *bytes = value.to_string().into_bytes();
    } else {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let mut all: Vec<String> = text.split_inclusive("\n\n").map(str::to_owned).collect();
        reorder(&mut all, dice, data);
        *bytes = all.concat().into_bytes();
    }
}

/// Removes, repeats, moves or changes one event.
fn reorder<T: Clone>(all: &mut Vec<T>, dice: &mut Dice, change: impl Fn(&mut T, &mut Dice)) {
    if all.is_empty() {
        return;
    }
    let (at, to) = (dice.roll(all.len()), dice.roll(all.len()));
    match dice.roll(12) {
        0 => drop(all.remove(at)),
        1 => all.insert(to, all[at].clone()),
        2 => all.swap(at, to),
        3 => all.truncate(at),
        _ => change(&mut all[at], dice),
    }
}

/// Changes the first `data` line of an event.
fn data(event: &mut String, dice: &mut Dice) {
    let Some(start) = event.find("data:").map(|at| at + "data:".len()) else {
        return;
    };
    let end = event[start..]
        .find('\n')
        .map_or(event.len(), |at| start + at);
    if let Ok(mut value) = serde_json::from_str::<Value>(&event[start..end]) {
        change::document(&mut value, dice);
        event.replace_range(start..end, &value.to_string());
    }
}

fn payload(bytes: &mut Vec<u8>, dice: &mut Dice) {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) => {
            change::document(&mut value, dice);
            *bytes = value.to_string().into_bytes();
        }
        Err(_) => change::bytes(bytes, dice),
    }
}

/// A frame of an AWS event stream, without its checksums.
#[derive(Clone)]
struct Frame {
    headers: Vec<u8>,
    payload: Vec<u8>,
}

impl Frame {
    /// Encodes the frame with valid checksums.
    fn bytes(&self) -> Vec<u8> {
        let length = |count: usize| u32::try_from(count).unwrap().to_be_bytes();
        let mut bytes = length(16 + self.headers.len() + self.payload.len()).to_vec();
        bytes.extend(length(self.headers.len()));
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        bytes.extend(&self.headers);
        bytes.extend(&self.payload);
        bytes.extend(crc32fast::hash(&bytes).to_be_bytes());
        bytes
    }
}

/// Splits bytes into frames, ignoring checksums; drops an incomplete frame at the end.
fn frames(mut bytes: &[u8]) -> Option<Vec<Frame>> {
    let number = |bytes: &[u8]| {
        let bytes = <[u8; 4]>::try_from(bytes).ok()?;
        usize::try_from(u32::from_be_bytes(bytes)).ok()
    };
    let mut all = Vec::new();
    while bytes.len() >= 16 {
        let (total, headers) = (number(&bytes[..4])?, number(&bytes[4..8])?);
        let end = total.checked_sub(4)?;
        let body = bytes.get(12..end);
        let Some((headers, payload)) = body.and_then(|body| body.split_at_checked(headers)) else {
            break;
        };
        let (headers, payload) = (headers.to_vec(), payload.to_vec());
        all.push(Frame { headers, payload });
        bytes = bytes.get(total..).unwrap_or_default();
    }
    (!all.is_empty()).then_some(all)
}
