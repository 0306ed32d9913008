//! Positions in the recordings of several sessions, as one text.

use std::path::Path;

use telechir_host::SessionDescription;

use crate::http::short_hash::short_hash;

/// Sessions whose positions fit into a header.
pub(super) const MAX_SESSIONS: usize = 1024;
/// Letters and digits of a key: 60 bits.
const KEY_LENGTH: usize = 12;
/// Between two sessions.
const SEPARATOR: char = '.';
/// The text of no position.
const NONE: &str = "0";

/// Names a session and tells it from earlier ones with the same name and another recording.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct SessionKey(String);

impl SessionKey {
    pub(super) fn of(session: &SessionDescription) -> Self {
        let text = |member: &str| session.config[member].as_str();
        let Some(record) = text("record") else {
            return Self::new(&format!("{} {}", session.name, session.started_ms));
        };
        // As the server names the recordings of its sessions.
        let is_own = text("run") == Some(session.name.as_str())
            && Path::new(record)
                .file_name()
                .is_some_and(|name| *name == *session.name);
        match is_own {
            true => Self::of_recording(&session.name),
            false => Self::new(&format!(
                "{} {} {record}",
                session.name,
                text("run").unwrap_or_default()
            )),
        }
    }

    /// The key of the session that wrote the server's recording with this id.
    pub(super) fn of_recording(id: &str) -> Self {
        Self::new(&format!("recording {id}"))
    }

    fn new(text: &str) -> Self {
        let mut hash = short_hash(text);
        hash.truncate(KEY_LENGTH);
        Self(hash)
    }
}

/// The row to read on from, for each of some sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Positions(Vec<(SessionKey, u64)>);

impl Positions {
    /// The positions as text, always in the same order.
    pub(super) fn text<'a>(positions: impl Iterator<Item = (&'a SessionKey, u64)>) -> String {
        let mut positions: Vec<String> = positions
            .map(|(key, row)| format!("{}{row:x}", key.0))
            .collect();
        positions.sort_unstable();
        match positions.is_empty() {
            true => NONE.to_owned(),
            false => positions.join(&SEPARATOR.to_string()),
        }
    }

    /// Reads what [`Self::text`] wrote; none for everything else.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if text == NONE {
            return Some(Self::default());
        }
        let mut positions = text.split(SEPARATOR).map(position);
        let positions: Option<Vec<_>> = positions.by_ref().take(MAX_SESSIONS + 1).collect();
        let mut positions = positions.filter(|all| all.len() <= MAX_SESSIONS)?;
        let count = positions.len();
        positions.sort_unstable();
        positions.dedup_by(|one, other| one.0 == other.0);
        (positions.len() == count).then_some(Self(positions))
    }
}

impl IntoIterator for Positions {
    type Item = (SessionKey, u64);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

fn position(text: &str) -> Option<(SessionKey, u64)> {
    let (key, row) = text.split_at_checked(KEY_LENGTH)?;
    let is_key = key.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'));
    let is_row = row.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let row = u64::from_str_radix(row, 16).ok()?;
    // A recording's numbers are signed.
    let is_possible = i64::try_from(row).is_ok() && row > 0;
    (is_key && is_row && is_possible).then(|| (SessionKey(key.to_owned()), row))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn positions(rows: &[(&str, u64)]) -> Positions {
        let mut positions: Vec<_> = rows
            .iter()
            .map(|(name, row)| (SessionKey::new(name), *row))
            .collect();
        positions.sort_unstable();
        Positions(positions)
    }

    fn text(positions: &Positions) -> String {
        Positions::text(positions.0.iter().map(|(key, row)| (key, *row)))
    }

    #[test]
    fn positions_are_read_as_they_were_written() {
        for rows in [
            &[][..],
            &[("a", 1)],
            &[("a", 1), ("b", 0xffff), ("c", 1 << 40)],
        ] {
            let positions = positions(rows);
            assert_eq!(Positions::parse(&text(&positions)), Some(positions));
        }
    }

    #[test]
    fn the_largest_id_fits_into_the_head_of_a_request() {
        let rows: Vec<(String, u64)> = (0..MAX_SESSIONS)
            .map(|number| (number.to_string(), 0xffff_ffff))
            .collect();
        let rows: Vec<(&str, u64)> = rows.iter().map(|(name, row)| (&**name, *row)).collect();
        let positions = positions(&rows);
        let text = text(&positions);
        assert!(text.len() < 24 << 10, "{}", text.len());
        assert_eq!(Positions::parse(&text), Some(positions));
    }

    #[test]
    fn another_text_is_no_position() {
        let one = text(&positions(&[("a", 7)]));
        for wrong in [
            "",
            "1",
            "0.0",
            ".",
            "abc",
            &format!("{one}."),
            &format!(".{one}"),
            &format!("{one}g"),
            &format!("{one} "),
            &one[..KEY_LENGTH],
            &format!("{}0", &one[..KEY_LENGTH]),
            &format!("{}ffffffffffffffff", &one[..KEY_LENGTH]),
            &format!("{one}.{one}"),
            &one.to_uppercase(),
            "é€äöüßéé12",
        ] {
            assert_eq!(Positions::parse(wrong), None, "{wrong:?}");
        }
    }
}
