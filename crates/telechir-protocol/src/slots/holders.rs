//! Where the slots of a document may be in neutral values: raw representations and `data:`
//! addresses. Both keep the strings with them.

use serde_json::Value;

use super::Slots;
use crate::media::DataUri;
use crate::{
    AnsweredTurn, ComputerResult, Content, Media, Message, Meta, ModelTurn, Raw, ToolResult,
};

/// A value that may have slots.
enum Holder<R, U> {
    Raw(R),
    Uri(U),
}

/// Both ways to go through a content's holders: to look, and to change them.
macro_rules! visit {
    ($content:ident, $screen:ident, $media:ident, $meta:ident, $as_mut:ident, $of:ident, $iter:ident $(, $mut:tt)?) => {
        fn $content(content: &$($mut)? Content, found: &mut dyn FnMut(Holder<&$($mut)? Raw, &$($mut)? DataUri>)) {
            match content {
                Content::Data(data) => found(Holder::Uri(&$($mut)? data.uri)),
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

        fn $screen(result: &$($mut)? ComputerResult, found: &mut dyn FnMut(Holder<&$($mut)? Raw, &$($mut)? DataUri>)) {
            let screenshots = result.steps.$iter().filter_map(|step| step.screenshot.$as_mut());
            result.screenshot.$iter().chain(screenshots).for_each(|media| $media(media, found));
        }

        fn $media(media: &$($mut)? Media, found: &mut dyn FnMut(Holder<&$($mut)? Raw, &$($mut)? DataUri>)) {
            let meta = match media {
                Media::Data(data) => {
                    found(Holder::Uri(&$($mut)? data.uri));
                    &$($mut)? data.meta
                }
                Media::Uri(uri) => &$($mut)? uri.meta,
                Media::HostedFile(file) => &$($mut)? file.meta,
            };
            $meta(meta, found);
        }

        fn $meta(meta: &$($mut)? Meta, found: &mut dyn FnMut(Holder<&$($mut)? Raw, &$($mut)? DataUri>)) {
            if let Some(raw) = meta.raw_representation.$as_mut() {
                found(Holder::Raw(raw));
            }
        }
    };
}

visit!(look, look_screen, look_media, look_meta, as_ref, meta, iter);
visit!(
    change,
    change_screen,
    change_media,
    change_meta,
    as_mut,
    meta_mut,
    iter_mut,
    mut
);

fn gather_from(holder: Holder<&Raw, &DataUri>, all: &mut Vec<Slots>) {
    let slots = match holder {
        Holder::Raw(raw) => Some(raw.slots()),
        Holder::Uri(uri) => uri.slots(),
    };
    if let Some(slots) = slots.filter(|slots| !slots.is_empty())
        && !all.iter().any(|known| known.is_same(slots))
    {
        all.push(slots.clone());
    }
}

fn adopt_into(holder: Holder<&mut Raw, &mut DataUri>, slots: &Slots, seen: &mut [usize]) {
    match holder {
        Holder::Raw(raw) => {
            raw.adopt(slots);
            count(raw.template(), slots, seen);
        }
        Holder::Uri(uri) => {
            let adopted = uri.adopt(slots);
            if let Some(times) = adopted.and_then(|index| seen.get_mut(index)) {
                *times += 1;
            }
        }
    }
}

/// How often each slot is in a value.
fn count(value: &Value, slots: &Slots, seen: &mut [usize]) {
    match value {
        Value::String(text) => {
            let _what_is_left_of_one_is_found_elsewhere = slots.count(text, seen);
        }
        Value::Array(items) => items.iter().for_each(|item| count(item, slots, seen)),
        Value::Object(members) => {
            members.values().for_each(|value| count(value, slots, seen));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn fill(holder: Holder<&mut Raw, &mut DataUri>) {
    match holder {
        Holder::Raw(raw) => raw.fill(),
        Holder::Uri(uri) => uri.fill(),
    }
}

impl Content {
    /// Adds the slots that it may have to `all`.
    pub fn gather_slots(&self, all: &mut Vec<Slots>) {
        look(self, &mut |holder| gather_from(holder, all));
    }

    /// Gives the strings of a document to what was read of it, and counts how often each of its
    /// slots was met where slots may be.
    pub fn adopt_slots(&mut self, slots: &Slots, seen: &mut [usize]) {
        change(self, &mut |holder| adopt_into(holder, slots, seen));
    }

    /// Writes the strings in the places of its slots.
    pub fn fill_slots(&mut self) {
        change(self, &mut fill);
    }
}

impl Message {
    /// Adds the slots that it may have to `all`.
    pub fn gather_slots(&self, all: &mut Vec<Slots>) {
        look_meta(&self.meta, &mut |holder| gather_from(holder, all));
        self.contents.iter().for_each(|part| part.gather_slots(all));
    }

    /// Gives the strings of a document to what was read of it, and counts how often each of its
    /// slots was met where slots may be.
    pub fn adopt_slots(&mut self, slots: &Slots, seen: &mut [usize]) {
        change_meta(&mut self.meta, &mut |holder| {
            adopt_into(holder, slots, seen)
        });
        for part in &mut self.contents {
            part.adopt_slots(slots, seen);
        }
    }

    /// Writes the strings in the places of its slots.
    pub fn fill_slots(&mut self) {
        change_meta(&mut self.meta, &mut fill);
        self.contents.iter_mut().for_each(Content::fill_slots);
    }
}

impl ModelTurn {
    /// Gives the strings of a document to what was read of it, and counts how often each of its
    /// slots was met where slots may be.
    pub fn adopt_slots(&mut self, slots: &Slots, seen: &mut [usize]) {
        for part in self.contents_mut() {
            part.adopt_slots(slots, seen);
        }
    }
}

impl AnsweredTurn {
    /// Adds the slots that calls and results may have to `all`.
    pub fn gather_slots(&self, all: &mut Vec<Slots>) {
        for part in self.turn().contents() {
            part.gather_slots(all);
        }
        for result in self.results() {
            result.gather_slots(all);
        }
    }

    /// Writes the strings in the places of its slots.
    pub fn fill_slots(&mut self) {
        let (turn, results) = self.parts_mut();
        turn.iter_mut().for_each(Content::fill_slots);
        results.iter_mut().for_each(ToolResult::fill_slots);
    }
}

impl ToolResult {
    fn gather_slots(&self, all: &mut Vec<Slots>) {
        let mut gather = |holder: Holder<&Raw, &DataUri>| gather_from(holder, all);
        let meta = match self {
            Self::Computer(result) => {
                look_screen(result, &mut gather);
                &result.meta
            }
            Self::Function(result) => {
                result.items.iter().for_each(|item| look(item, &mut gather));
                &result.meta
            }
            Self::Shell(result) => &result.meta,
            Self::Edit(result) => &result.meta,
        };
        look_meta(meta, &mut gather);
    }

    fn fill_slots(&mut self) {
        let meta = match self {
            Self::Computer(result) => {
                change_screen(result, &mut fill);
                &mut result.meta
            }
            Self::Function(result) => {
                result.items.iter_mut().for_each(Content::fill_slots);
                &mut result.meta
            }
            Self::Shell(result) => &mut result.meta,
            Self::Edit(result) => &mut result.meta,
        };
        change_meta(meta, &mut fill);
    }
}
