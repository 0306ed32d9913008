//! The declaration of a request's tools, without those that the target cannot have.

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;
use telechir_protocol::Tool;

use super::tools::name_of;
use crate::declaration::tool_position;
use crate::phrases::occurring;
use crate::{Declaration, Dialect, Report, ToolOffer};

/// Declares the tools that the target can have together, and reports each other one.
pub(super) fn declare(
    to: Dialect,
    offered: &[(Tool, String)],
    model: Option<&str>,
    report: &mut Report,
) -> Declaration {
    let offer = ToolOffer {
        tools: offered.iter().map(|(tool, _)| tool.clone()).collect(),
        model: model.map(str::to_owned),
    };
    match to.declare_possible(&offer) {
        Ok((declaration, mut losses, refused)) => {
            for loss in &mut losses.losses {
                let tool = tool_position(&loss.location).and_then(|at| offered.get(at));
                if let Some((_, pointer)) = tool {
                    loss.location.clone_from(pointer);
                }
            }
            for (at, error) in refused {
                let (tool, pointer) = &offered[at];
                report.lost(name_of(tool), pointer, error.to_string());
            }
            report.absorb(losses);
            report_sizes(offered, &declaration, report);
            declaration
        }
        Err(error) => {
            for (tool, pointer) in offered {
                report.lost(name_of(tool), pointer, error.to_string());
            }
            Declaration::default()
        }
    }
}

/// Reports the size of a screen that the declaration does not have.
fn report_sizes(offered: &[(Tool, String)], declaration: &Declaration, report: &mut Report) {
    let sizes = offered.iter().filter_map(|(tool, pointer)| match tool {
        Tool::ComputerUse(tool) => {
            let (width, height) = tool.display_width.zip(tool.display_height)?;
            Some((width, height, pointer))
        }
        _ => None,
    });
    let sizes: Vec<(u32, u32, &String)> = sizes.collect();
    if sizes.is_empty() {
        return;
    }
    let sides: HashSet<u32> = sizes
        .iter()
        .flat_map(|(width, height, _)| [*width, *height])
        .collect();
    let sides: Vec<u32> = sides.into_iter().collect();
    let numbers: Vec<String> = sides.iter().map(u32::to_string).collect();
    let numbers: Vec<&str> = numbers.iter().map(String::as_str).collect();
    // Converse has the tools of Anthropic's own models in a field of the body.
    let written = declaration.tools.iter().chain(declaration.body.values());
    let written: String = written.map(Value::to_string).collect();
    let is_digit = |c: char| c.is_ascii_digit();
    let is_number = |_, range: Range<usize>| {
        !written[..range.start].ends_with(is_digit) && !written[range.end..].starts_with(is_digit)
    };
    let found = occurring(&numbers, &written, is_number);
    let found = sides.iter().zip(found).filter(|(_, found)| *found);
    let found: HashSet<u32> = found.map(|(side, _)| *side).collect();
    for (width, height, pointer) in sizes {
        if !found.contains(&width) || !found.contains(&height) {
            let what = format!("the display of {width} × {height} pixels");
            let why = "the target's tool takes the size from its screenshots";
            report.lost(what, pointer, why);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::phrases::steps;
    use crate::{Dialect, TranslationOptions};

    /// A request with functions, each of which is declared twice, and settings.
    fn request(functions: usize) -> String {
        let tools = (0..functions * 2).map(|at| {
            json!({"name": format!("look_up_{}", at % functions), "strict": true,
                "description": format!("Looks up number {at}."), "defer_loading": at % 3 == 0,
                "input_schema": {"type": "object", "properties": {"key": {"type": "string"}}}})
        });
        let tools: Vec<Value> = tools.collect();
        let messages = json!([{"role": "user", "content": "Look it up."}]);
        json!({"model": "m", "max_tokens": 9, "tools": tools, "messages": messages}).to_string()
    }

    #[test]
    fn twice_the_tools_take_twice_the_steps() {
        for to in Dialect::ALL {
            let steps = [32, 64].map(|functions| {
                let request = request(functions);
                steps::take();
                let options = TranslationOptions::default();
                let translated =
                    Dialect::AnthropicMessages.translate(to, request.as_bytes(), &options);
                translated.unwrap();
                steps::take()
            });
            assert!(steps[1] <= steps[0] * 9 / 4, "{to}: {steps:?}");
        }
    }
}
