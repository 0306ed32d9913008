//! Which of OpenAI's tools a model has.

use crate::service_rules::Generation;

/// The shell tool of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelShell {
    /// `shell`: models from GPT-5.1.
    Shell,
    /// `local_shell`: the first Codex models.
    LocalShell,
    /// None; functions are all that the model has.
    Functions,
}

/// The computer tool of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ModelComputer {
    /// `computer`: models from GPT-5.4.
    Computer,
    /// `computer_use_preview`.
    Preview,
    /// None.
    Missing,
}

/// Start of the name of the model that only has the preview of the computer tool.
const PREVIEW: &str = "computer-use-preview";

/// Starts of the names of older models without a number of their own generation.
const OLDER: [&str; 7] = [
    "o1",
    "o3",
    "o4",
    "chatgpt-4",
    "gpt-audio",
    "gpt-oss",
    "gpt-realtime",
];

/// The shell tool of a model; that of the newest for an unknown name.
pub(super) fn shell(model: &str) -> ModelShell {
    let name = own_name(model);
    if name.starts_with("codex-mini") || name == "gpt-5-codex" {
        return ModelShell::LocalShell;
    }
    match is_at_least(name, (5, 1)) {
        true => ModelShell::Shell,
        false => ModelShell::Functions,
    }
}

/// The computer tool of a model; that of the newest for an unknown name.
pub(super) fn computer(model: &str) -> ModelComputer {
    let name = own_name(model);
    if name.starts_with(PREVIEW) {
        return ModelComputer::Preview;
    }
    match is_at_least(name, (5, 4)) && !name.starts_with("codex-mini") {
        true => ModelComputer::Computer,
        false => ModelComputer::Missing,
    }
}

/// The generation whose tools a model has, from its name alone.
pub(crate) fn generation(model: &str) -> Generation {
    let name = own_name(model);
    match number(name) {
        Some((major, minor)) => Generation::Numbered(major, minor),
        None if is_older(name) || name.starts_with("codex-mini") => Generation::Older,
        None => Generation::Newest,
    }
}

/// The name without the vendor that a router puts before it.
fn own_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

fn is_at_least(name: &str, generation: (u32, u32)) -> bool {
    !is_older(name) && number(name).is_none_or(|number| number >= generation)
}

fn is_older(name: &str) -> bool {
    name.starts_with(PREVIEW) || OLDER.iter().any(|older| name.starts_with(older))
}

/// The generation: `gpt-5.4-mini` is 5.4, `gpt-4o` is 4.
fn number(name: &str) -> Option<(u32, u32)> {
    let rest = name.strip_prefix("gpt-")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (major, minor) = match rest[..end.unwrap_or(rest.len())].split_once('.') {
        Some(numbers) => numbers,
        None => (&rest[..end.unwrap_or(rest.len())], "0"),
    };
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{ModelComputer, ModelShell, computer, shell};

    #[test]
    fn the_tools_follow_the_generation() {
        use ModelComputer::{Computer, Missing, Preview};
        use ModelShell::{Functions, LocalShell, Shell};
        for (model, its_computer, its_shell) in [
            ("gpt-6.2-astra-law", Computer, Shell),
            ("gpt-6-luna", Computer, Shell),
            ("gpt-5.6-sol", Computer, Shell),
            ("gpt-5.5-2026-04-23", Computer, Shell),
            ("gpt-5.4-mini", Computer, Shell),
            ("openai/gpt-5.4", Computer, Shell),
            ("gpt-5.3-chat-latest", Missing, Shell),
            ("gpt-5.1-codex-max", Missing, Shell),
            ("gpt-5-codex", Missing, LocalShell),
            ("codex-mini-latest", Missing, LocalShell),
            ("gpt-5-2025-08-07", Missing, Functions),
            ("gpt-4o-mini", Missing, Functions),
            ("gpt-4-0613", Missing, Functions),
            ("chatgpt-4o-latest", Missing, Functions),
            ("o3-deep-research", Missing, Functions),
            ("computer-use-preview-2025-03-11", Preview, Functions),
            ("gpt-daybreak-blue-latest", Computer, Shell),
            ("our-deployment", Computer, Shell),
            ("", Computer, Shell),
        ] {
            assert_eq!(
                (computer(model), shell(model)),
                (its_computer, its_shell),
                "{model}"
            );
        }
    }
}
