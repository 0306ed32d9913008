//! Names of variables, in assignments, redirections and expansions.

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

/// How many characters the parameter has with which the text after `${` begins: a name, a number or
/// a special parameter, perhaps after `!` and before a subscript.
pub(super) fn parameter_length(text: &[char]) -> usize {
    let is_name = |c: &&char| c.is_ascii_alphanumeric() || **c == '_';
    let is_special = |c: &char| matches!(c, '@' | '*' | '#' | '?' | '$' | '!' | '-');
    let indirect = match text {
        ['!', next, ..] if next.is_ascii_alphanumeric() || matches!(next, '_' | '@' | '*') => 1,
        _ => 0,
    };
    let rest = &text[indirect..];
    let name = match rest.iter().take_while(is_name).count() {
        0 => usize::from(rest.first().is_some_and(is_special)),
        name => name,
    };
    let rest = &rest[name..];
    let subscript = match rest.first() {
        Some('[') => rest.iter().position(|c| *c == ']').map_or(0, |end| end + 1),
        _ => 0,
    };
    indirect + name + subscript
}
