//! HTML output in which text cannot become markup.

use std::fmt::Write as _;

use telechir_protocol::display::escape as visible;

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

    /// Appends an inline screenshot with a caption.
    pub(super) fn screenshot(&mut self, base64: &str, caption: &str) -> &mut Self {
        let plain = base64
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        // Base64 of each format's first bytes.
        let kind = match base64.get(..4) {
            Some("/9j/") => "jpeg",
            Some("UklG") => "webp",
            Some(_) | None => "png",
        };
        if plain {
            let _infallible = write!(
                self.0,
                "<figure><img alt=\"screenshot\" loading=\"lazy\" src=\"data:image/{kind};base64,{base64}\">"
            );
            self.element("figcaption", "", caption).raw("</figure>\n");
        }
        self
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
        html.element("p", "c", "</p><script>alert('x')</script>\u{202e}")
            .screenshot("\" onerror=\"x", "no");
        let expected =
            r#"<p class="c">&lt;/p&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\u{202e}</p>"#;
        assert_eq!(html.into_string(), expected);
    }
}
