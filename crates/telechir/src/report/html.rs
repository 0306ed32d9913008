//! Markup, written so that text can only be text.

use std::fmt::Write as _;

use telechir_protocol::display::escape as visible;

/// A piece of markup. Text gets into it only escaped.
#[derive(Clone, Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Markup of this program's own; never anything from a recording.
    pub(super) fn raw(&mut self, markup: &'static str) -> &mut Self {
        self.0.push_str(markup);
        self
    }

    /// Any text, with what cannot be seen written out.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 {
                self.0.push('\n');
            }
            self.line(line);
        }
        self
    }

    /// Long lines in pieces, because whole they would be cut in the middle.
    fn line(&mut self, mut line: &str) {
        const PIECE: usize = 2000;
        while !line.is_empty() {
            let end = line
                .char_indices()
                .nth(PIECE)
                .map_or(line.len(), |(end, _)| end);
            let (piece, rest) = line.split_at(end);
            escape_into(&mut self.0, &visible(piece));
            line = rest;
        }
    }

    /// An element with only text in it; `tag` and `class` are this program's own.
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

    /// A picture inside the page, with a line under it.
    pub(super) fn screenshot(&mut self, base64: &str, caption: &str) -> &mut Self {
        let plain = base64
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte));
        // Told by the first bytes of each format.
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
    fn text_stays_text() {
        let mut html = Html::default();
        html.element("p", "c", "</p><script>alert('x')</script>\u{202e}")
            .screenshot("\" onerror=\"x", "no");
        let expected =
            r#"<p class="c">&lt;/p&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\u{202e}</p>"#;
        assert_eq!(html.into_string(), expected);
    }
}
