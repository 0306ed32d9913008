//! Encodes computer results. An output holds only a screenshot, so text follows as a message.

use serde_json::{Value, json};
use telechir_protocol::{ComputerResult, StepState, TabState};

use super::call::checks;
use super::result::{error_text, truncated};
use super::{ItemWriter, MissingScreenshot, image_fields};
use crate::EncodeError;
use crate::extra_tools;
use crate::json::object_of;
use crate::openai::call_form::CallItem;
use crate::openai::item::{Item, restore};
use crate::openai::{DIALECT, PROVIDER};

/// A grey 32×32 image for outputs that require a screenshot where none exists.
const NO_IMAGE: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAACAAAAAgCAAAAABWESUoAAAAFklEQVR42mOYSQAwjCoYVTCqYKQqAACOEmQf2FoyIAAAAABJRU5ErkJggg==";

impl ItemWriter {
    pub(super) fn computer_result(
        &mut self,
        result: &ComputerResult,
        path: &str,
    ) -> Result<(), EncodeError> {
        let own = screenshot_image(result);
        self.image = own.clone().or_else(|| self.image.take());
        let in_browser = result.group.as_deref() == Some(extra_tools::BROWSER);
        let form = self
            .call_form(&result.call_id)
            .map(|call_form| call_form.item.clone());
        let form = form.unwrap_or(if in_browser {
            CallItem::Function
        } else {
            CallItem::Computer
        });
        if form == CallItem::Function {
            if self.missing_screenshot == MissingScreenshot::UsePrevious
                && result.current_url.is_some()
            {
                let why = "a function output holds only text and images";
                self.report
                    .preserved("current_url", path, why, "in its text");
            }
            let why = "a function output has no safety checks";
            for check in &result.acknowledged_safety_checks {
                let what = format!("acknowledged safety check {}", check.id);
                self.report.lost(what, path, why);
            }
            let parts = self.function_parts(result, own);
            let output = self.function_output(&result.call_id, parts.into(), &result.meta);
            self.push(output);
            return Ok(());
        }
        let image = match own {
            Some(own) => own,
            None => self.substitute_image(result, path)?,
        };
        let stored_detail = result.meta.property(PROVIDER, "detail").cloned();
        let detail =
            stored_detail.or_else(|| (form == CallItem::Computer).then(|| "original".into()));
        let mut screenshot = object_of([("type", "computer_screenshot".into())]);
        screenshot.extend(image);
        // By default large screenshots may be downscaled, which would shift coordinates.
        screenshot.extend(object_of([("detail", detail.into())]));
        let mut item = object_of([
            ("type", "computer_call_output".into()),
            ("id", result.item_id.as_deref().into()),
            ("call_id", result.call_id.as_str().into()),
            ("output", Value::Object(screenshot)),
        ]);
        if self.missing_screenshot == MissingScreenshot::UsePrevious {
            let checks = &result.acknowledged_safety_checks;
            self.note_foreign(checks, "acknowledged ", path);
        }
        let acknowledged = checks(&result.acknowledged_safety_checks);
        if acknowledged
            .as_array()
            .is_some_and(|checks| !checks.is_empty())
        {
            item.insert("acknowledged_safety_checks".to_owned(), acknowledged);
        }
        restore(&mut item, &result.meta, &["status"]);
        // Only valid in responses, not in requests.
        if item.get("status").is_some_and(|status| status == "failed") {
            item.shift_remove("status");
        }
        self.push(Value::Object(item));
        self.note_text(result, path);
        Ok(())
    }

    /// An image that replaces the missing screenshot; the substitution is reported.
    fn substitute_image(
        &mut self,
        result: &ComputerResult,
        path: &str,
    ) -> Result<Item, EncodeError> {
        let succeeded = result.error.is_none();
        if succeeded && self.missing_screenshot == MissingScreenshot::Reject {
            let problem = format!(
                "the output of call {} requires a screenshot, but its result has none",
                result.call_id
            );
            return Err(EncodeError::missing(DIALECT, problem));
        }
        let why = "an output requires a screenshot";
        let previous = self
            .image
            .clone()
            .map(|image| (image, "with the last screenshot before it"));
        let next = || {
            self.next_image
                .clone()
                .map(|image| (image, "with the next screenshot after it"))
        };
        if let Some((image, how)) = previous.or_else(next) {
            self.report
                .preserved("the absence of a screenshot", path, why, how);
            return Ok(image);
        }
        self.report.preserved(
            "the absence of a screenshot",
            path,
            why,
            "with a grey placeholder and a note",
        );
        self.notes.push(format!(
            "call {}: the image is a grey placeholder; there is no screenshot.",
            result.call_id
        ));
        Ok(object_of([("image_url", NO_IMAGE.into())]))
    }

    fn note_text(&mut self, result: &ComputerResult, path: &str) {
        let why = "an output of the computer tool holds only a screenshot";
        // In a reply the URL is only additional information; dropping it from a history is a loss.
        if result.current_url.is_some() && self.missing_screenshot == MissingScreenshot::UsePrevious
        {
            self.report.lost("current_url", path, why);
        }
        let result_texts = result_texts(result);
        if result_texts.is_empty() {
            return;
        }
        let what = if result.error.is_some() {
            "error"
        } else {
            "text_output"
        };
        self.report
            .preserved(what, path, why, "as a message after the outputs");
        self.notes.push(format!(
            "call {}: {}",
            result.call_id,
            result_texts.join("\n")
        ));
    }

    fn function_parts(&mut self, result: &ComputerResult, own: Option<Item>) -> Vec<Value> {
        let mut parts: Vec<Value> = Vec::new();
        for text in result_texts(result).into_iter().chain(page_lines(result)) {
            parts.push(json!({"type": "input_text", "text": truncated(&text)}));
        }
        let step_images = result
            .steps
            .iter()
            .filter_map(|step| step.screenshot.as_ref())
            .map(image_fields);
        let mut images: Vec<Item> = step_images.collect();
        images.extend(
            own.filter(|own| !images.contains(own))
                .into_iter()
                .collect::<Vec<_>>(),
        );
        for image in images {
            let mut part = object_of([("type", "input_image".into())]);
            part.extend(image);
            part.insert("detail".to_owned(), "original".into());
            parts.push(Value::Object(part));
        }
        if parts.is_empty() {
            parts.push(json!({"type": "input_text", "text": "Done."}));
        }
        parts
    }
}

fn screenshot_image(result: &ComputerResult) -> Option<Item> {
    let of_a_step = || {
        result
            .steps
            .iter()
            .rev()
            .find_map(|step| step.screenshot.as_ref())
    };
    result
        .screenshot
        .as_ref()
        .or_else(of_a_step)
        .map(image_fields)
}

/// The text of a result: its error with the progress made, and its output.
fn result_texts(result: &ComputerResult) -> Vec<String> {
    let mut result_texts = Vec::new();
    if let Some(failure) = &result.error {
        result_texts.push(format!("{}{}", error_text(failure), progress(result)));
    }
    match &result.text_output {
        Some(text) => result_texts.push(text.clone()),
        None => result_texts.extend(result.steps.iter().filter_map(|step| step.text.clone())),
    }
    result_texts.retain(|text| !text.is_empty());
    result_texts
}

/// How many actions ran before one failed; empty for a single action.
fn progress(result: &ComputerResult) -> String {
    let total = result.steps.len();
    let done = |state: &StepState| matches!(state, StepState::Delivered | StepState::Confirmed);
    let done = result.steps.iter().filter(|step| done(&step.state)).count();
    let left = result
        .steps
        .iter()
        .filter(|step| step.state == StepState::NotStarted)
        .count();
    if total < 2 {
        return String::new();
    }
    format!(" ({done} of {total} actions were executed, {left} not started.)")
}

/// URL and tabs of a browser, for outputs that can carry text.
fn page_lines(result: &ComputerResult) -> Option<String> {
    let tab = |tab: &TabState| {
        let mark = if tab.active { " (active)" } else { "" };
        format!("tab {}{mark}: {} {}", tab.tab_id, tab.title, tab.url)
    };
    let tabs = result.tabs.iter().map(tab);
    let page = result.current_url.iter().map(|url| format!("page: {url}"));
    let lines: Vec<String> = page.chain(tabs).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
