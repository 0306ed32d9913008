//! Detects members that an object has twice. JSON readers keep the last one, so that the values of
//! the others would be lost in silence.

use std::collections::{BTreeSet, HashSet};
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::Report;

/// Duplicates listed individually; further ones are only counted.
const MAX_LISTED: usize = 20;
const WHY: &str = "the object has the key more than once; the last value counts";

/// Reports the members of a JSON text that a later member of the same name replaces, each with its
/// pointer.
pub(crate) fn report(json: &[u8], report: &mut Report) {
    let mut found = Duplicates::default();
    let mut reader = serde_json::Deserializer::from_slice(json);
    // What cannot be read is reported by the decoder.
    let _invalid = Scan(&mut found).deserialize(&mut reader);
    for pointer in found.pointers {
        let name = pointer.rsplit('/').next().unwrap_or_default();
        let name = name.replace("~1", "/").replace("~0", "~");
        report.lost(format!("an earlier value of `{name}`"), pointer, WHY);
    }
    if found.rest > 0 {
        let what = format!("{} more values of repeated keys", found.rest);
        report.lost(what, "/", WHY);
    }
}

/// Adds the names of all members of a JSON text, without those inside of texts.
pub(crate) fn add_names(json: &[u8], names: &mut BTreeSet<String>) {
    let mut found = Duplicates {
        names: Some(std::mem::take(names)),
        ..Duplicates::default()
    };
    let mut reader = serde_json::Deserializer::from_slice(json);
    let _invalid = Scan(&mut found).deserialize(&mut reader);
    *names = found.names.unwrap_or_default();
}

#[derive(Default)]
struct Duplicates {
    /// The pointer of the value that is being read.
    pointer: String,
    pointers: Vec<String>,
    rest: usize,
    /// All names, if they are collected.
    names: Option<BTreeSet<String>>,
}

/// Reads one value and remembers nothing of it but repeated keys.
struct Scan<'a>(&'a mut Duplicates);

impl<'de> DeserializeSeed<'de> for Scan<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Scan<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let length = self.0.pointer.len();
        for at in 0_usize.. {
            let _infallible = write!(self.0.pointer, "/{at}");
            let next = items.next_element_seed(Scan(self.0))?;
            self.0.pointer.truncate(length);
            if next.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let length = self.0.pointer.len();
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            self.0.pointer.push('/');
            self.0
                .pointer
                .push_str(&name.replace('~', "~0").replace('/', "~1"));
            if let Some(all) = &mut self.0.names
                && !all.contains(&name)
            {
                all.insert(name.clone());
            }
            if !names.insert(name) {
                match self.0.pointers.len() < MAX_LISTED {
                    true => self.0.pointers.push(self.0.pointer.clone()),
                    false => self.0.rest += 1,
                }
            }
            members.next_value_seed(Scan(self.0))?;
            self.0.pointer.truncate(length);
        }
        Ok(())
    }
}
