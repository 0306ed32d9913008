//! Finds a named target among the elements, or by OCR in windows without accessibility information.

use telechir_protocol::NamedElement;

use super::{FoundTarget, WithAccessibility, ocr, refused};
use crate::elements::{AmbiguousMatch, ElementTree, choose, normalized};
use crate::{Accessibility, Computer, Detail, DeviceError, ScreenPoint, TextLine, WindowSystem};

impl<C: Computer + WindowSystem, A: Accessibility> WithAccessibility<C, A> {
    pub(super) async fn find_named(&mut self, named: &NamedElement) -> Result<String, DeviceError> {
        let (tree, found) = self.find_in_tree(named).await?;
        found.map_err(|ambiguous| not_found(&ambiguous, &tree))
    }

    /// Finds the ref of an element, and returns the tree it was searched in.
    async fn find_in_tree(
        &mut self,
        named: &NamedElement,
    ) -> Result<(ElementTree, Result<String, AmbiguousMatch>), DeviceError> {
        let mut named = named.clone();
        if let Some(window) = named.window.take() {
            named.window = Some(self.title_of(window).await?);
        }
        if let (Some("window"), Some(name)) = (named.role.as_deref(), &named.name) {
            named.name = Some(self.title_of(name.clone()).await?);
        }
        // Only an id needs more than the basic details.
        let detail = if named.id.is_some() {
            Detail::Full
        } else {
            Detail::Basic
        };
        let tree = self.tree(detail).await?;
        let found = choose(&tree, &named).map(|index| tree.elements[index].id.clone());
        Ok((tree, found))
    }

    /// A named element, or the point of recognized text.
    pub(super) async fn find_named_or_text(
        &mut self,
        named: &NamedElement,
    ) -> Result<FoundTarget, DeviceError> {
        let (tree, found) = self.find_in_tree(named).await?;
        let ambiguous = match found {
            Ok(id) => return Ok(FoundTarget::Element(id)),
            Err(ambiguous) => ambiguous,
        };
        let is_none = matches!(ambiguous, AmbiguousMatch::None { .. });
        let name = named.name.as_deref();
        let Some(name) = name.filter(|_| is_none && ocr::may_match(named)) else {
            return Err(not_found(&ambiguous, &tree));
        };
        let lines = match self.recognize(&tree, named.window.as_deref()).await {
            Ok(lines) => lines,
            Err(DeviceError::Unavailable { what, message }) => {
                let found = missing(&ambiguous, &tree);
                return Err(refused(format!(
                    "{found} OCR cannot search for it either, as there is no {what}: {message}."
                )));
            }
            Err(error) => return Err(error),
        };
        let viewport = self.viewport;
        let seen_at = |at: ScreenPoint| {
            let (x, y) = (at.x().cast_signed(), at.y().cast_signed());
            viewport.map_or((x, y), |viewport| viewport.screenshot_point(x, y))
        };
        let found = ocr::find(&lines, name, self.computer.size(), seen_at);
        found.map(FoundTarget::Point).map_err(|several| {
            if several.is_empty() {
                not_found(&ambiguous, &tree)
            } else {
                refused(format!(
                    "Failed to find the {named}: OCR found it at {} points; give the coordinates of one: {}.",
                    several.len(),
                    several.join("; ")
                ))
            }
        })
    }

    /// Recognizes the lines in the windows without accessibility information, or in the named one
    /// of them.
    pub(super) async fn recognize(
        &mut self,
        tree: &ElementTree,
        window: Option<&str>,
    ) -> Result<Vec<TextLine>, DeviceError> {
        let windows = self.computer.windows().await?;
        let size = self.computer.size();
        let mut unknown_areas = ocr::unknown_areas(tree, &windows, size);
        if let Some(window) = window {
            let window = normalized(window);
            unknown_areas.retain(|part| normalized(&part.title).contains(&window));
        }
        let Some(reader) = self.reader.as_mut().filter(|_| !unknown_areas.is_empty()) else {
            return Ok(Vec::new());
        };
        let frame = self.computer.capture().await?;
        let mut lines = Vec::new();
        for part in unknown_areas {
            let screenshot = part.bounds.on(size).and_then(|region| frame.crop(region));
            if let Some(screenshot) = screenshot {
                let read = reader.read(&screenshot).await?;
                lines.extend(part.visible_lines(read, &windows, size));
            }
        }
        Ok(lines)
    }

    /// The title of a window that may be given by its id.
    async fn title_of(&mut self, text: String) -> Result<String, DeviceError> {
        let windows = self.computer.windows().await?;
        let known = windows.into_iter().find(|window| window.id == text);
        Ok(known.map_or(text, |window| window.title))
    }
}

/// The error as a sentence, with the applications that did not answer: the element may be theirs.
fn missing(error: &AmbiguousMatch, tree: &ElementTree) -> String {
    let mut message = format!("Failed to {error}.");
    for name in &tree.unresponsive {
        message.push_str(&format!(" {name} does not answer."));
    }
    message
}

fn not_found(error: &AmbiguousMatch, tree: &ElementTree) -> DeviceError {
    refused(missing(error, tree))
}
