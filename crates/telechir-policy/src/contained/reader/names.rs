//! Names of variables, in assignments and redirections.

pub(super) fn is_name(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(|c: char| c.is_ascii_digit())
        && word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a word before `<` or `>` is its descriptor: a number, or `{name}` of a variable.
pub(super) fn is_descriptor(word: &str) -> bool {
    let variable = word
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    let name = variable.map(|name| match name.strip_suffix(']') {
        Some(element) => element.split('[').next().unwrap_or_default(),
        None => name,
    });
    name.is_some_and(is_name) || word.bytes().all(|byte| byte.is_ascii_digit())
}

/// The variable to which a word assigns a value, if it does, and the value.
pub(super) fn assigned(word: &str, quoted_at: Option<usize>) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let is_before_quotes = quoted_at.is_none_or(|at| name.len() < at);
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.strip_suffix("[]").unwrap_or(name);
    (is_before_quotes && is_name(name)).then_some((name, value))
}
