//! Splits the bytes of a CDP pipe into messages, each terminated by a zero byte.

/// Maximum message length; a screenshot of a large screen has a tenth of it.
pub(crate) const MAX_MESSAGE_BYTES: usize = 256 << 20;

/// Splits a byte stream into messages.
#[derive(Debug, Default)]
pub(crate) struct MessageSplitter {
    buffer: Vec<u8>,
    searched: usize,
}

impl MessageSplitter {
    /// Appends bytes as they are received.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete message, without its zero byte.
    pub(crate) fn next_message(&mut self) -> Option<Vec<u8>> {
        let Some(offset) = self.buffer[self.searched..]
            .iter()
            .position(|byte| *byte == 0)
        else {
            self.searched = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.searched + offset + 1);
        let mut message = std::mem::replace(&mut self.buffer, rest);
        message.pop();
        self.searched = 0;
        Some(message)
    }

    /// Whether the message that is being received exceeds the limit.
    pub(crate) fn is_too_long(&self) -> bool {
        self.buffer.len() > MAX_MESSAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_messages_however_the_bytes_arrive() {
        let bytes = b"{\"a\":1}\0{}\0[\"\xc3\xa9\"]\0";
        for size in 1..bytes.len() {
            let mut splitter = MessageSplitter::default();
            let mut messages = Vec::new();
            for chunk in bytes.chunks(size) {
                splitter.push(chunk);
                while let Some(message) = splitter.next_message() {
                    messages.push(String::from_utf8(message).unwrap());
                }
            }
            assert_eq!(
                messages,
                ["{\"a\":1}", "{}", "[\"é\"]"],
                "in chunks of {size}"
            );
        }
    }
}
