//! The neutral values that may contain slots: raw representations and `data:` URIs. Both keep their
//! document alive.

use serde_json::Value;

use super::Slots;
use crate::media::DataUri;
use crate::{
    AnsweredTurn, ComputerResult, Content, Media, Message, Meta, ModelTurn, Raw, ToolResult,
};

/// A value that may contain slots.
enum SlotHolder<R, U> {
    Raw(R),
    Uri(U),
}

/// Both traversals of a content's slot holders: by reference and mutable.
macro_rules! visitors {
    ($content:ident, $screen:ident, $media:ident, $meta:ident, $as_mut:ident, $of:ident, $iter:ident $(, $mut:tt)?) => {
        fn $content(content: &$($mut)? Content, found: &mut dyn FnMut(SlotHolder<&$($mut)? Raw, &$($mut)? DataUri>)) {
            match content {
                Content::Data(data) => found(SlotHolder::Uri(&$($mut)? data.uri)),
                Content::FunctionResult(result) => result.items.$iter().for_each(|item| $content(item, found)),
                Content::ComputerResult(result) => $screen(result, found),
                Content::CommandCall(call)
                | Content::CommandResult(call)
                | Content::ImageGenerationCall(call)
                | Content::ImageGenerationResult(call) => {
                    call.inputs.$iter().chain(call.results.$iter()).for_each(|part| $content(part, found));
                }
                Content::ApprovalRequest(request) => $content(&$($mut)? request.call, found),
                Content::ApprovalResponse(response) => {
                    response.call.$iter().for_each(|call| $content(call, found));
                }
                Content::Text(_)
                | Content::Reasoning(_)
                | Content::Uri(_)
                | Content::HostedFile(_)
                | Content::FunctionCall(_)
                | Content::ComputerCall(_)
                | Content::ShellCall(_)
                | Content::ShellResult(_)
                | Content::EditCall(_)
                | Content::EditResult(_)
                | Content::Usage(_)
                | Content::Error(_)
                | Content::Other(_) => {}
            }
            if let Some(meta) = content.$of() {
                $meta(meta, found);
            }
        }

        fn $screen(result: &$($mut)? ComputerResult, found: &mut dyn FnMut(SlotHolder<&$($mut)? Raw, &$($mut)? DataUri>)) {
            let screenshots = result.steps.$iter().filter_map(|step| step.screenshot.$as_mut());
            result.screenshot.$iter().chain(screenshots).for_each(|media| $media(media, found));
        }

        fn $media(media: &$($mut)? Media, found: &mut dyn FnMut(SlotHolder<&$($mut)? Raw, &$($mut)? DataUri>)) {
            let meta = match media {
                Media::Data(data) => {
                    found(SlotHolder::Uri(&$($mut)? data.uri));
                    &$($mut)? data.meta
                }
                Media::Uri(uri) => &$($mut)? uri.meta,
                Media::HostedFile(file) => &$($mut)? file.meta,
            };
            $meta(meta, found);
        }

        fn $meta(meta: &$($mut)? Meta, found: &mut dyn FnMut(SlotHolder<&$($mut)? Raw, &$($mut)? DataUri>)) {
            if let Some(raw) = meta.raw_representation.$as_mut() {
                found(SlotHolder::Raw(raw));
            }
        }
    };
}

visitors!(
    visit_ref,
    visit_screen_ref,
    visit_media_ref,
    visit_meta_ref,
    as_ref,
    meta,
    iter
);
visitors!(
    visit_mut,
    visit_screen_mut,
    visit_media_mut,
    visit_meta_mut,
    as_mut,
    meta_mut,
    iter_mut,
    mut
);

fn gather_from(holder: SlotHolder<&Raw, &DataUri>, all: &mut Vec<Slots>) {
    let slots = match holder {
        SlotHolder::Raw(raw) => Some(raw.slots()),
        SlotHolder::Uri(uri) => uri.slots(),
    };
    if let Some(slots) = slots.filter(|slots| !slots.is_empty())
        && !all.iter().any(|known| known.is_same(slots))
    {
        all.push(slots.clone());
    }
}

fn adopt_into(holder: SlotHolder<&mut Raw, &mut DataUri>, slots: &Slots, seen: &mut [usize]) {
    match holder {
        SlotHolder::Raw(raw) => {
            raw.adopt(slots);
            count(raw.template(), slots, seen);
        }
        SlotHolder::Uri(uri) => {
            let adopted = uri.adopt(slots);
            if let Some(times) = adopted.and_then(|index| seen.get_mut(index)) {
                *times += 1;
            }
        }
    }
}

/// Counts each slot in a value.
fn count(value: &Value, slots: &Slots, seen: &mut [usize]) {
    match value {
        Value::String(text) => {
            let _damaged_slots_are_found_elsewhere = slots.count(text, seen);
        }
        Value::Array(items) => items.iter().for_each(|item| count(item, slots, seen)),
        Value::Object(members) => {
            members.values().for_each(|value| count(value, slots, seen));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn fill(holder: SlotHolder<&mut Raw, &mut DataUri>) {
    match holder {
        SlotHolder::Raw(raw) => raw.fill(),
        SlotHolder::Uri(uri) => uri.fill(),
    }
}

impl Content {
    /// Collects the documents whose slots the content contains.
    pub fn gather_slots(&self, all: &mut Vec<Slots>) {
        visit_ref(self, &mut |holder| gather_from(holder, all));
    }

    /// Connects the slots in a decoded content to their document, and counts each slot that was
    /// found where slots are supported.
    pub fn adopt_slots(&mut self, slots: &Slots, seen: &mut [usize]) {
        visit_mut(self, &mut |holder| adopt_into(holder, slots, seen));
    }

    /// Replaces the slots by their strings.
    pub fn fill_slots(&mut self) {
        visit_mut(self, &mut fill);
    }
}

impl Message {
    /// Collects the documents whose slots the message contains.
    pub fn gather_slots(&self, all: &mut Vec<Slots>) {
        visit_meta_ref(&self.meta, &mut |holder| gather_from(holder, all));
        self.contents.iter().for_each(|part| part.gather_slots(all));
    }

    /// Connects the slots in a decoded message to their document, and counts each slot that was
    /// found where slots are supported.
    pub fn adopt_slots(&mut self, slots: &Slots, seen: &mut [usize]) {
        visit_meta_mut(&mut self.meta, &mut |holder| {
            adopt_into(holder, slots, seen)
        });
        for part in &mut self.contents {
            part.adopt_slots(slots, seen);
        }
    }

    /// Replaces the slots by their strings.
    pub fn fill_slots(&mut self) {
        visit_meta_mut(&mut self.meta, &mut fill);
        self.contents.iter_mut().for_each(Content::fill_slots);
    }
}

impl ModelTurn {
    /// Connects the slots in a decoded turn to their document, and counts each slot that was found
    /// where slots are supported.
    pub fn adopt_slots(&mut self, slots: &Slots, seen: &mut [usize]) {
        for part in self.contents_mut() {
            part.adopt_slots(slots, seen);
        }
    }
}

impl AnsweredTurn {
    /// Collects the documents whose slots the calls and results contain.
    pub fn gather_slots(&self, all: &mut Vec<Slots>) {
        for part in self.turn().contents() {
            part.gather_slots(all);
        }
        for result in self.results() {
            result.gather_slots(all);
        }
    }

    /// Replaces the slots by their strings.
    pub fn fill_slots(&mut self) {
        let (turn, results) = self.parts_mut();
        turn.iter_mut().for_each(Content::fill_slots);
        results.iter_mut().for_each(ToolResult::fill_slots);
    }
}

impl ToolResult {
    fn gather_slots(&self, all: &mut Vec<Slots>) {
        let mut gather = |holder: SlotHolder<&Raw, &DataUri>| gather_from(holder, all);
        let meta = match self {
            Self::Computer(result) => {
                visit_screen_ref(result, &mut gather);
                &result.meta
            }
            Self::Function(result) => {
                result
                    .items
                    .iter()
                    .for_each(|item| visit_ref(item, &mut gather));
                &result.meta
            }
            Self::Shell(result) => &result.meta,
            Self::Edit(result) => &result.meta,
        };
        visit_meta_ref(meta, &mut gather);
    }

    fn fill_slots(&mut self) {
        let meta = match self {
            Self::Computer(result) => {
                visit_screen_mut(result, &mut fill);
                &mut result.meta
            }
            Self::Function(result) => {
                result.items.iter_mut().for_each(Content::fill_slots);
                &mut result.meta
            }
            Self::Shell(result) => &mut result.meta,
            Self::Edit(result) => &mut result.meta,
        };
        visit_meta_mut(meta, &mut fill);
    }
}
