//! JSON documents in and out of this crate. Images that only pass through are neither copied nor
//! inspected.

use std::borrow::Cow;
use std::io;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::ser::Formatter;
use telechir_protocol::slots::{self, Expanded, SlotString, Slots, SlottedDocument};
use telechir_protocol::{Message, ModelTurn, json_limits};

use crate::{DecodeError, EncodeError, Envelope, History, Report, precision};

/// A document to decode. An owned document is not copied: the decoded images refer to it.
#[derive(Debug)]
pub struct DocumentInput<'a>(Cow<'a, [u8]>);

/// An encoded document, ready to be written.
#[derive(Clone, Debug)]
pub struct Document {
    template: Value,
    slots: Vec<Slots>,
}

/// A part of an encoded document.
#[derive(Clone, Debug)]
pub struct DocumentPart(PartBytes);

#[derive(Clone, Debug)]
enum PartBytes {
    /// The JSON around the images.
    Text(Vec<u8>),
    /// An image, inside the document it was read from.
    Image(SlotString),
}

impl Document {
    pub(crate) fn new(template: Value, slots: Vec<Slots>) -> Self {
        Self { template, slots }
    }

    /// Writes the document as compact JSON.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_to(&self, writer: impl io::Write) -> io::Result<()> {
        let slots = &self.slots;
        let mut serializer = serde_json::Serializer::with_formatter(writer, SlotFiller { slots });
        Ok(self.template.serialize(&mut serializer)?)
    }

    /// The document as compact JSON in one buffer.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut length = ByteCounter(0);
        let mut bytes = Vec::new();
        let written = self.write_to(&mut length).and_then(|()| {
            bytes.reserve_exact(length.0);
            self.write_to(&mut bytes)
        });
        debug_assert!(written.is_ok(), "writing to memory cannot fail");
        bytes
    }

    /// The document as compact JSON in parts, to be concatenated. Images are not copied: their
    /// parts refer to the documents they were read from.
    pub fn to_parts(&self) -> Vec<DocumentPart> {
        let text = self.template.to_string();
        let part = |piece: slots::TextPart<'_>| {
            let own = || PartBytes::Text(piece.as_bytes().to_vec());
            DocumentPart(piece.slot_string().map_or_else(own, PartBytes::Image))
        };
        slots::parts(&text, &self.slots).map(part).collect()
    }

    /// The document as a JSON value. Copies its images.
    pub fn into_value(mut self) -> Value {
        slots::expand(&mut self.template, &self.slots);
        self.template
    }
}

impl AsRef<[u8]> for DocumentPart {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            PartBytes::Text(bytes) => bytes,
            PartBytes::Image(image) => image.as_ref(),
        }
    }
}

impl Serialize for Document {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let filled = Expanded {
            value: &self.template,
            slots: &self.slots,
        };
        filled.serialize(serializer)
    }
}

/// Writes the text that each slot stands for. It never needs escaping.
struct SlotFiller<'a> {
    slots: &'a [Slots],
}

impl Formatter for SlotFiller<'_> {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.slots.is_empty() {
            return writer.write_all(fragment.as_bytes());
        }
        slots::parts(fragment, self.slots).try_for_each(|piece| writer.write_all(piece.as_bytes()))
    }
}

/// Counts the bytes written.
struct ByteCounter(usize);

impl io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A decoded value that may contain slots.
pub(crate) trait ContainsSlots: Sized {
    /// Serializes everything that may contain slots, so that they can be counted.
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error>;

    /// Replaces slots in supported positions by references to the document, and counts them in
    /// `seen`.
    fn adopt(&mut self, slots: &Slots, seen: &mut [usize]);
}

impl ContainsSlots for History {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rest = match &self.envelope {
            Envelope::List => None,
            Envelope::Object { rest, .. } => Some(rest),
        };
        (&self.messages, rest).serialize(serializer)
    }

    fn adopt(&mut self, slots: &Slots, seen: &mut [usize]) {
        for message in &mut self.messages {
            message.adopt_slots(slots, seen);
        }
    }
}

impl ContainsSlots for ModelTurn {
    fn show<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.contents().serialize(serializer)
    }

    fn adopt(&mut self, slots: &Slots, seen: &mut [usize]) {
        self.adopt_slots(slots, seen);
    }
}

/// Decodes a document with slots in place of its images, if the dialect supports that. A string
/// that ends up anywhere but in a raw representation or a `data:` URL is read in full.
pub(crate) fn read<T: ContainsSlots>(
    input: DocumentInput<'_>,
    with_slots: bool,
    read: impl Fn(Value) -> Result<(T, Report), DecodeError>,
) -> Result<(T, Report), DecodeError> {
    let read = |document: &[u8]| {
        let (read, mut report) = read(json_limits::parse(document)?)?;
        precision::report(document, "", &mut report);
        Ok((read, report))
    };
    if !with_slots {
        return read(&input.0);
    }
    let mut slotted = match SlottedDocument::new(input.0) {
        Ok(slotted) => slotted,
        Err(document) => return read(&document),
    };
    for _ in 0..2 {
        // If decoding with slots fails, decode without them, so that errors are the same.
        let first: Result<_, DecodeError> = read(&slotted.text());
        let Ok((mut decoded, report)) = first else {
            break;
        };
        let mut seen = vec![0; slotted.count()];
        let Ok(found) = occurrences(&decoded, &report, &slotted) else {
            break;
        };
        decoded.adopt(slotted.slots(), &mut seen);
        if found == seen {
            return Ok((decoded, report));
        }
        for index in (0..found.len()).filter(|index| found[*index] != seen[*index]) {
            slotted.exclude(index);
        }
    }
    read(slotted.document())
}

/// How often each slot occurs anywhere in the decoded value.
fn occurrences<T: ContainsSlots>(
    read: &T,
    report: &Report,
    slotted: &SlottedDocument,
) -> serde_json::Result<Vec<usize>> {
    let mut found = vec![0; slotted.count()];
    let counting = SlotCounter {
        slots: slotted.slots(),
        found: &mut found,
    };
    let mut serializer = serde_json::Serializer::with_formatter(io::sink(), counting);
    read.show(&mut serializer)?;
    report.serialize(&mut serializer)?;
    Ok(found)
}

/// Counts the slots in serialized strings.
struct SlotCounter<'a> {
    slots: &'a Slots,
    found: &'a mut [usize],
}

impl Formatter for SlotCounter<'_> {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        _: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let counted = self.slots.count(fragment, self.found);
        counted.ok_or_else(|| io::Error::other("part of a slot"))
    }
}

/// The slots of all messages.
pub(crate) fn slots_of(messages: &[Message]) -> Vec<Slots> {
    let mut all = Vec::new();
    for message in messages {
        message.gather_slots(&mut all);
    }
    all
}

/// Whether the encoder changed a slot or wrote part of one; then the value is encoded again without
/// slots.
pub(crate) fn is_touched<T>(
    outcome: &Result<T, EncodeError>,
    parts: impl Fn(&T) -> (&[Value], &Report),
    slots: &[Slots],
) -> bool {
    let (written, report) = match outcome {
        Ok(done) => parts(done),
        Err(error) => return slots::is_touched(&error.to_string()),
    };
    let mut losses = report.losses.iter();
    losses.any(|loss| {
        let mut texts = [&loss.what, &loss.location, &loss.why]
            .into_iter()
            .chain(&loss.preserved_as);
        texts.any(|text| slots::is_touched(text))
    }) || written.iter().any(|value| slots::is_damaged(value, slots))
}

impl From<Vec<u8>> for DocumentInput<'_> {
    fn from(document: Vec<u8>) -> Self {
        Self(Cow::Owned(document))
    }
}

impl From<String> for DocumentInput<'_> {
    fn from(document: String) -> Self {
        Self(Cow::Owned(document.into_bytes()))
    }
}

impl<'a, T: AsRef<[u8]> + ?Sized> From<&'a T> for DocumentInput<'a> {
    fn from(document: &'a T) -> Self {
        Self(Cow::Borrowed(document.as_ref()))
    }
}
