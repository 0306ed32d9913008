//! Extracts the prompt of a command that waits for input.

/// The prompt in printed text: the unfinished last line, or a last line that looks like a question.
pub(crate) fn extract(printed: &[u8]) -> String {
    let text = without_escapes(&String::from_utf8_lossy(printed));
    let line = match text.rsplit_once('\n') {
        None => text.as_str(),
        Some((before, "")) => {
            let last = before.rsplit('\n').next().unwrap_or_default().trim_end();
            // A finished line counts only if it looks like a question.
            if last.ends_with([':', '?', '>', ']', ')']) {
                last
            } else {
                ""
            }
        }
        Some((_, open)) => open,
    };
    let line = line.rsplit('\r').find(|part| !part.trim().is_empty());
    line.unwrap_or_default().trim().to_owned()
}

/// Removes terminal control sequences.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\x1b' {
            if !c.is_control() || matches!(c, '\n' | '\r' | '\t') {
                plain.push(c);
            }
            continue;
        }
        match chars.next() {
            Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
            Some(']') => while chars.next().is_some_and(|c| c != '\x07' && c != '\x1b') {},
            Some(_) | None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_is_the_unfinished_line_or_a_last_question() {
        for (printed, prompt) in [
            ("Password: ", "Password:"),
            ("one\ntwo\nName? ", "Name?"),
            ("Go on? [y/N]\n", "Go on? [y/N]"),
            ("only words\n", ""),
            ("", ""),
            ("10%\r50%\rSure (y/n) ", "Sure (y/n)"),
            ("\x1b[1mlogin\x1b[0m: ", "login:"),
            ("\x1b]0;title\x07mysql> ", "mysql>"),
        ] {
            assert_eq!(extract(printed.as_bytes()), prompt, "{printed:?}");
        }
    }
}
