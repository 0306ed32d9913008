//! HTML output in which text cannot become markup.

use std::fmt::Write as _;

use telechir_protocol::Size;
use telechir_protocol::display::escape as visible;

use super::marks::ActionMark;

/// A fragment of HTML. Text is always escaped.
#[derive(Clone, Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Appends constant markup of this program, never content of a recording.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Appends text with invisible characters escaped.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.0.push('\n');
            }
            self.line(line);
        }
        self
    }

    /// Escapes a line in chunks, because `visible` cuts long text in the middle.
    fn line(&mut self, mut line: &str) {
        const MAX_CHUNK_CHARS: usize = 2000;
        while !line.is_empty() {
            let end = line
                .char_indices()
                .nth(MAX_CHUNK_CHARS)
                .map_or(line.len(), |(end, _)| end);
            let (chunk, rest) = line.split_at(end);
            escape_into(&mut self.0, &visible(chunk));
            line = rest;
        }
    }

    /// Appends an element that contains only text; `tag` and `class` are constants.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        class: &'static str,
        text: &str,
    ) -> &mut Self {
        let _infallible = write!(self.0, "<{tag} class=\"{class}\">");
        self.text(text);
        let _infallible = write!(self.0, "</{tag}>");
        self
    }

    /// Appends another fragment.
    pub(super) fn append(&mut self, other: Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Opens the article of a call; device and verdict are constants by which it is filtered.
    pub(super) fn article(&mut self, device: &'static str, verdict: &'static str) -> &mut Self {
        let _infallible = write!(self.0, "<article class=\"on-{device} was-{verdict}\">");
        self
    }

    /// Appends a checkbox that shows or hides the articles of a class.
    pub(super) fn filter(&mut self, class: &'static str, name: &'static str) -> &mut Self {
        let _infallible = write!(
            self.0,
            "<label><input type=\"checkbox\" id=\"{class}-{name}\" checked>{name}</label> "
        );
        self
    }

    /// Appends a style rule that makes an image the background of its class.
    pub(super) fn image_rule(&mut self, index: usize, base64: &str) {
        // Base64 of each format's first bytes.
        let kind = match base64.get(..4) {
            Some("/9j/") => "jpeg",
            Some("UklG") => "webp",
            Some(_) | None => "png",
        };
        let _infallible = writeln!(
            self.0,
            ".i{index}{{background-image:url(data:image/{kind};base64,{base64})}}"
        );
    }

    /// Opens a figure of a picture's size and its box of layers.
    pub(super) fn open_shot(&mut self, size: Size) -> &mut Self {
        let Size { width, height } = size;
        let _infallible = write!(
            self.0,
            "<figure><div class=\"shot\" role=\"img\" aria-label=\"screenshot\" \
             style=\"aspect-ratio:{width}/{height};max-width:{width}px\">"
        );
        self
    }

    /// Appends an image to the open picture, at this left, top, width and height in percent.
    pub(super) fn layer(&mut self, image: usize, [left, top, width, height]: [f64; 4]) {
        let _infallible = write!(
            self.0,
            "<div class=\"i{image}\" style=\"left:{left:.4}%;top:{top:.4}%;width:{width:.4}%;\
             height:{height:.4}%\"></div>"
        );
    }

    /// Draws marks above the layers of the open picture.
    pub(super) fn marks(&mut self, size: Size, marks: &[ActionMark]) {
        let Size { width, height } = size;
        let _infallible = write!(self.0, "<svg viewBox=\"0 0 {width} {height}\">");
        for mark in marks {
            let (x, y) = match mark {
                ActionMark::At(at) => *at,
                ActionMark::Path(path) => {
                    self.0.push_str("<polyline points=\"");
                    for (x, y) in path {
                        let _infallible = write!(self.0, "{x:.1},{y:.1} ");
                    }
                    self.0.push_str("\"/>");
                    path.last().copied().unwrap_or_default()
                }
            };
            let _infallible = write!(
                self.0,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"12\"/>\
                 <circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\"/>"
            );
        }
        self.0.push_str("</svg>");
    }

    /// Closes the open picture with a caption.
    pub(super) fn close_shot(&mut self, class: &'static str, caption: &str) {
        self.raw("</div>")
            .element("figcaption", class, caption)
            .raw("</figure>\n");
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }
}

fn escape_into(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Html;

    #[test]
    fn text_is_escaped() {
        let mut html = Html::default();
        html.element("p", "c", "</p><script>alert('x')</script>\u{202e}");
        let expected =
            r#"<p class="c">&lt;/p&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\u{202e}</p>"#;
        assert_eq!(html.into_string(), expected);
    }
}
