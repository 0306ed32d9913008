//! Finding what is named: among the elements, and where they say nothing among the words that are
//! read off the pixels.

use telechir_protocol::Named;

use super::{WithAccessibility, refused, words};
use crate::elements::{AmbiguousMatch, Tree, choose};
use crate::{
    Accessibility, Computer, Detail, DeviceError, Line, ScreenPoint, TextRecognizer as _, Windows,
};

impl<C: Computer + Windows, A: Accessibility> WithAccessibility<C, A> {
    pub(super) async fn find_named(&mut self, named: &Named) -> Result<String, DeviceError> {
        let (tree, found) = self.look_for(named).await?;
        found.map_err(|not_one| not_found(&not_one, &tree))
    }

    /// The ref of the element that is meant, and the tree it was looked for in.
    async fn look_for(
        &mut self,
        named: &Named,
    ) -> Result<(Tree, Result<String, AmbiguousMatch>), DeviceError> {
        let mut named = named.clone();
        if let Some(window) = named.window.take() {
            named.window = Some(self.title_of(window).await?);
        }
        // Only an id needs more than what everything says at once.
        let detail = if named.id.is_some() {
            Detail::Full
        } else {
            Detail::Basic
        };
        let tree = self.tree(detail).await?;
        let found = choose(&tree, &named).map(|place| tree.elements[place].id.clone());
        Ok((tree, found))
    }

    /// The pixel of what is named: an element's, or that of words which were read.
    pub(super) async fn pixel_of_named(
        &mut self,
        named: &Named,
    ) -> Result<ScreenPoint, DeviceError> {
        let (tree, found) = self.look_for(named).await?;
        let not_one = match found {
            Ok(id) => return self.pixel_of_ref(&id).await,
            Err(not_one) => not_one,
        };
        let is_none = matches!(not_one, AmbiguousMatch::None { .. });
        let name = named.name.as_deref();
        let Some(name) = name.filter(|_| is_none && words::could_be(named)) else {
            return Err(not_found(&not_one, &tree));
        };
        let lines = match self.read_words(&tree, named.window.as_deref()).await {
            Ok(lines) => lines,
            Err(DeviceError::Unavailable { what, message }) => {
                let found = missing(&not_one, &tree);
                return Err(refused(format!("{found} Nor is there {what}: {message}.")));
            }
            Err(error) => return Err(error),
        };
        let viewport = self.viewport;
        let seen_at = |at: ScreenPoint| {
            let (x, y) = (at.x().cast_signed(), at.y().cast_signed());
            viewport.map_or((x, y), |viewport| viewport.seen_at(x, y))
        };
        words::find(&lines, name, self.computer.size(), seen_at).map_err(|several| {
            if several.is_empty() {
                not_found(&not_one, &tree)
            } else {
                refused(format!(
                    "Failed to find the {named}: it is read at {} places; give one's coordinate: {}.",
                    several.len(),
                    several.join("; ")
                ))
            }
        })
    }

    /// The lines on the windows of which the tree says nothing, or on the one of them that is
    /// named.
    pub(super) async fn read_words(
        &mut self,
        tree: &Tree,
        window: Option<&str>,
    ) -> Result<Vec<Line>, DeviceError> {
        let windows = self.computer.windows().await?;
        let size = self.computer.size();
        let mut silent = words::silent(tree, &windows, size);
        if let Some(window) = window {
            let window = window.to_lowercase();
            silent.retain(|part| part.title.to_lowercase().contains(&window));
        }
        let Some(reader) = self.reader.as_mut().filter(|_| !silent.is_empty()) else {
            return Ok(Vec::new());
        };
        let frame = self.computer.capture().await?;
        let mut lines = Vec::new();
        for part in silent {
            let screenshot = part.place.on(size).and_then(|region| frame.crop(region));
            if let Some(screenshot) = screenshot {
                let read = reader.read(&screenshot).await?;
                lines.extend(part.seen(read, &windows, size));
            }
        }
        Ok(lines)
    }

    /// The title of a window that may be given by its id.
    async fn title_of(&mut self, words: String) -> Result<String, DeviceError> {
        let windows = self.computer.windows().await?;
        let known = windows.into_iter().find(|window| window.id == words);
        Ok(known.map_or(words, |window| window.title))
    }
}

/// As a sentence, with who did not answer: the element may be theirs.
fn missing(error: &AmbiguousMatch, tree: &Tree) -> String {
    let mut message = format!("Failed to {error}.");
    for name in &tree.silent {
        message.push_str(&format!(" {name} does not answer."));
    }
    message
}

fn not_found(error: &AmbiguousMatch, tree: &Tree) -> DeviceError {
    refused(missing(error, tree))
}
