//! Encodes calls as items.

use serde_json::{Value, json};
use telechir_protocol::{
    Arguments, Command, ComputerCall, Content, EditCall, EditTool, FunctionCall, SafetyCheck,
    SafetySource, ShellAction, ShellCall, ShellEnvironment,
};

use super::{ItemWriter, client_call};
use crate::json::object_of;
use crate::openai::action::ActionLoss;
use crate::openai::call_form::{CallForm, CallItem};
use crate::openai::decode::TOOL_CALL_FIELDS;
use crate::openai::item::{Item, restore};
use crate::{extra_tools, fallback_tools};

impl ItemWriter {
    pub(super) fn computer_call(&mut self, call: &ComputerCall, path: &str) {
        // An unfinished call of this provider has a status and no actions.
        let is_own = call.actions.is_empty() && call.status.is_some();
        let none = || is_own.then(Default::default);
        let written = self.action_encoder.encode(&call.actions).or_else(none);
        let call_form = CallForm::computer(call, written.is_some());
        let preview = call_form.item == CallItem::Preview;
        let as_function = call_form.item == CallItem::Function;
        self.call_forms.insert(call.call_id.clone(), call_form);
        if let Some(intent) = &call.intent {
            self.report
                .lost(format!("intent `{intent}`"), path, "calls carry no intent");
        }
        let Some((actions, losses)) = written.filter(|_| !as_function) else {
            return self.computer_function(call, path);
        };
        self.report_action_losses(losses, path);
        if let Some(target) = &call.target {
            self.report.lost(
                format!("target `{target}`"),
                path,
                "the computer tool has one screen",
            );
        }
        let mut item = object_of([
            ("type", "computer_call".into()),
            (
                "id",
                id(call.item_id.as_deref(), "cu", call.call_id.as_str()).into(),
            ),
            ("call_id", call.call_id.as_str().into()),
            (
                "status",
                call.status.as_deref().unwrap_or("completed").into(),
            ),
            ("pending_safety_checks", checks(&call.pending_safety_checks)),
        ]);
        self.note_foreign(&call.pending_safety_checks, "", path);
        match actions.as_slice() {
            [] => restore(&mut item, &call.meta, &["action", "actions"]),
            [only] if preview => {
                item.insert("action".to_owned(), only.clone());
            }
            _ => {
                item.insert("actions".to_owned(), actions.into());
            }
        }
        self.push(Value::Object(item));
    }

    /// Reports checks of other providers, which the service does not know.
    pub(super) fn note_foreign(&mut self, checks: &[SafetyCheck], how: &str, path: &str) {
        let foreign = checks
            .iter()
            .filter(|check| check.source != SafetySource::Openai);
        for check in foreign {
            let what = format!("{how}safety check {} of another source", check.id);
            let why = "a call can only carry the service's own checks";
            self.report.lost(what, path, why);
        }
    }

    /// Encodes what the computer tool does not support as a call of our own function.
    fn computer_function(&mut self, call: &ComputerCall, path: &str) {
        let why = "a function call has no safety checks";
        for check in &call.pending_safety_checks {
            let what = format!("safety check {}", check.id);
            self.report.lost(what, path, why);
        }
        let (name, arguments) = extra_tools::encode_computer_call(call);
        let unread = fallback_tools::unread_arguments(&Content::ComputerCall(call.clone()));
        let arguments = unread.map_or(arguments, |unread| unread.to_text());
        if crate::openai::item::raw_of(&call.meta).is_none() {
            let names = extra_tools::action_names(call);
            let why = "the computer tool does not support it";
            self.report.preserved(
                format!("call of {names}"),
                path,
                why,
                format!("as a call of the function `{name}`"),
            );
        }
        let mut item = object_of([
            ("type", "function_call".into()),
            (
                "id",
                call.item_id
                    .as_deref()
                    .filter(|id| id.starts_with("fc_"))
                    .into(),
            ),
            ("call_id", call.call_id.as_str().into()),
            ("name", name.into()),
            ("arguments", arguments.into()),
        ]);
        restore(&mut item, &call.meta, &TOOL_CALL_FIELDS);
        self.push(Value::Object(item));
    }

    fn report_action_losses(&mut self, losses: Vec<ActionLoss>, path: &str) {
        for ActionLoss { what, why, how } in losses {
            match how {
                Some(how) => self.report.preserved(what, path, why, how),
                None => self.report.lost(what, path, why),
            }
        }
    }

    pub(super) fn shell_call(&mut self, call: &ShellCall, path: &str) {
        let call_form = CallForm::shell(call);
        let form = call_form.item.clone();
        self.call_forms.insert(call.call_id.clone(), call_form);
        match form {
            CallItem::LocalShell { .. } => self.local_shell_call(call),
            CallItem::Shell { .. } => self.commands(call, path),
            CallItem::Function
            | CallItem::Custom
            | CallItem::Computer
            | CallItem::Preview
            | CallItem::Patch
            | CallItem::Other(_) => {
                self.shell_function(call, path);
            }
        }
    }

    fn commands(&mut self, call: &ShellCall, path: &str) {
        let commands: Vec<String> = call.commands.iter().map(Command::to_line).collect();
        if call.action == ShellAction::Start {
            self.report.lost(
                "start in the background",
                path,
                "the shell tool has no such action",
            );
        }
        self.note_surroundings(call, path);
        let action = json!({
            "commands": commands, "timeout_ms": call.timeout_ms, "max_output_length": call.max_output,
        });
        let environment = match &call.environment {
            ShellEnvironment::Hosted {
                container_id: Some(id),
            } => {
                json!({"type": "container_reference", "container_id": id})
            }
            ShellEnvironment::Local | ShellEnvironment::Hosted { container_id: None } => {
                Value::Null
            }
        };
        // The provider's own items may omit the status.
        let ended = || call.item_id.is_none().then_some("completed");
        let status = call.status.as_deref().or_else(ended);
        let mut item = object_of([
            ("type", "shell_call".into()),
            ("id", call.item_id.as_deref().into()),
            ("call_id", call.call_id.as_str().into()),
            ("status", status.into()),
            ("action", action),
            ("environment", environment),
        ]);
        restore(&mut item, &call.meta, &["caller", "environment"]);
        self.push(Value::Object(item));
    }

    /// Reports where and as whom a command was to run.
    fn note_surroundings(&mut self, call: &ShellCall, path: &str) {
        let dropped = [
            ("cwd", call.cwd.is_some()),
            ("env", !call.env.is_empty()),
            ("user", call.user.is_some()),
        ];
        for (name, _) in dropped.into_iter().filter(|(_, is_set)| *is_set) {
            self.report.lost(
                format!("`{name}` of the shell call"),
                path,
                "the shell tool expects it in the command",
            );
        }
    }

    fn local_shell_call(&mut self, call: &ShellCall) {
        let command: Vec<String> = match call.commands.first() {
            Some(Command::Argv(argv)) => argv.clone(),
            Some(Command::Line(line)) => vec!["bash".to_owned(), "-lc".to_owned(), line.clone()],
            None => Vec::new(),
        };
        let mut action = object_of([
            ("type", "exec".into()),
            ("command", command.into()),
            ("timeout_ms", call.timeout_ms.into()),
            ("user", call.user.as_deref().into()),
            ("working_directory", call.cwd.as_deref().into()),
        ]);
        action.insert("env".to_owned(), Value::Object(call.env.clone()));
        self.push(Value::Object(object_of([
            ("type", "local_shell_call".into()),
            (
                "id",
                id(call.item_id.as_deref(), "lsh", call.call_id.as_str()).into(),
            ),
            ("call_id", call.call_id.as_str().into()),
            (
                "status",
                call.status.as_deref().unwrap_or("completed").into(),
            ),
            ("action", Value::Object(action)),
        ])));
    }

    /// Encodes what the shell tool does not support as a call of our own function.
    fn shell_function(&mut self, call: &ShellCall, path: &str) {
        let unread = fallback_tools::unread_arguments(&Content::ShellCall(call.clone()));
        let unread = unread.map(|unread| unread.to_text());
        let Some(arguments) = unread.or_else(|| extra_tools::encode_shell_call(call)) else {
            return;
        };
        self.note_surroundings(call, path);
        let limits = [
            ("timeout_ms", call.timeout_ms.is_some()),
            ("max_output", call.max_output.is_some()),
        ];
        for (name, _) in limits.into_iter().filter(|(_, is_set)| *is_set) {
            let what = format!("`{name}` of the shell call");
            self.report
                .lost(what, path, "the function has no argument for it");
        }
        let why = "the shell tool can only run commands";
        let how = format!("as a call of the function `{}`", extra_tools::SHELL);
        self.report
            .preserved("a shell call that runs no command", path, why, how);
        self.push(Value::Object(object_of([
            ("type", "function_call".into()),
            ("call_id", call.call_id.as_str().into()),
            ("name", extra_tools::SHELL.into()),
            ("arguments", arguments.into()),
        ])));
    }

    pub(super) fn edit_call(&mut self, call: &EditCall, path: &str) {
        self.call_forms
            .insert(call.call_id.clone(), CallForm::edit(call));
        let operation = call.operations.first();
        let mut operation_fields: Item = operation
            .map(|operation| operation.args.clone())
            .unwrap_or_default();
        let (verb, name) = match call.tool {
            EditTool::Patch => ("type", "apply_patch"),
            EditTool::Editor => ("command", "str_replace_based_edit_tool"),
            EditTool::Memory => ("command", "memory"),
        };
        if let Some(operation) = operation {
            operation_fields.insert(verb.to_owned(), operation.name.as_str().into());
            operation_fields.extend(object_of([("path", operation.path.as_deref().into())]));
        }
        if call.operations.len() > 1 {
            self.report.lost(
                "all operations but the first",
                path,
                "a call has a single operation",
            );
        }
        if call.tool == EditTool::Patch {
            let mut item = object_of([
                ("type", "apply_patch_call".into()),
                ("id", call.item_id.as_deref().into()),
                ("call_id", call.call_id.as_str().into()),
                ("status", "completed".into()),
                ("operation", operation_fields.into()),
            ]);
            restore(&mut item, &call.meta, &["caller", "status"]);
            return self.push(Value::Object(item));
        }
        let how = format!("as a call of the function `{name}`");
        self.report
            .preserved("an editor call", path, "the provider has no such tool", how);
        self.push(Value::Object(object_of([
            ("type", "function_call".into()),
            ("call_id", call.call_id.as_str().into()),
            ("name", name.into()),
            (
                "arguments",
                Value::Object(operation_fields).to_string().into(),
            ),
        ])));
    }

    pub(super) fn function_call(&mut self, call: &FunctionCall, path: &str) {
        let call_form = CallForm::function(call);
        let custom = call_form.item == CallItem::Custom;
        let own_type = if let CallItem::Other(kind) = &call_form.item {
            Some(kind.clone())
        } else {
            None
        };
        let call_id = call
            .call_id
            .as_ref()
            .map_or_else(|| self.synthetic_id(path), |id| id.as_str().to_owned());
        self.call_forms.insert(call_id.as_str().into(), call_form);
        if !call.requires_local_execution {
            let how = "as a call of a function of the same name";
            self.report.preserved(
                format!("a call of `{}` executed by the provider", call.name),
                path,
                "it belongs to another provider",
                how,
            );
        }
        if let Some(kind) = own_type {
            let item = client_call::call_item(&kind, call, &call_id);
            return self.push(Value::Object(item));
        }
        let (kind, input) = if custom {
            ("custom_tool_call", "input")
        } else {
            ("function_call", "arguments")
        };
        let arguments = match &call.arguments {
            Arguments::Text(text) if text.is_empty() && !custom => "{}".to_owned(),
            Arguments::Text(_) | Arguments::Json(_) => call.arguments.to_text(),
        };
        let mut item = object_of([
            ("type", kind.into()),
            ("id", call.item_id.as_deref().into()),
            ("call_id", call_id.into()),
            ("name", call.name.as_str().into()),
            (input, arguments.into()),
        ]);
        restore(&mut item, &call.meta, &TOOL_CALL_FIELDS);
        self.push(Value::Object(item));
    }

    fn synthetic_id(&mut self, path: &str) -> String {
        let synthetic = format!("call_{}", self.items.len());
        let why = "every call of this dialect requires an id";
        self.report.preserved(
            "the absence of a call id",
            path,
            why,
            format!("as `{synthetic}`"),
        );
        synthetic
    }
}

/// The item's own id or, where an id is required, one derived from the call id.
fn id(item_id: Option<&str>, prefix: &str, call_id: &str) -> String {
    item_id.map_or_else(|| format!("{prefix}_{call_id}"), str::to_owned)
}

/// The checks issued by this provider.
pub(super) fn checks(checks: &[SafetyCheck]) -> Value {
    let own_checks = checks
        .iter()
        .filter(|check| check.source == SafetySource::Openai);
    let check = |check: &SafetyCheck| {
        Value::Object(object_of([
            ("id", check.id.as_str().into()),
            ("code", check.code.as_deref().into()),
            ("message", check.message.as_deref().into()),
        ]))
    };
    own_checks.map(check).collect()
}
