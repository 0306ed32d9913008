//! Plays a script: validates one request, captures values from it, and returns the next response.

use axum::body::Bytes;
use axum::http::HeaderMap;
use serde_json::{Map, Value, json};

use super::streams::{self, StreamedBody};
use super::templates::{Values, filled, filled_text, taken};
use super::{
    Expectation, Fault, PlayReport, Provider, Rejection, RepeatUntil, Script, ScriptTurn,
    anthropic, bodies, chat, conversations, converse, google, openai,
};

/// Progress through a script.
#[derive(Debug, Default)]
pub(super) struct ScriptPlayer {
    pub(super) report: PlayReport,
    values: Values,
    history: Vec<Vec<Value>>,
    /// How often the current turn was played already.
    round: usize,
    /// After a fault, the body that must be sent again unchanged.
    must_repeat: Option<Bytes>,
}

/// The HTTP response.
#[derive(Debug)]
pub(super) struct HttpReply {
    pub(super) status: u16,
    pub(super) headers: Map<String, Value>,
    pub(super) kind: &'static str,
    pub(super) body: Bytes,
}

/// The content type of a complete document.
pub(super) const JSON: &str = "application/json";

type Results = std::collections::BTreeMap<String, String>;

impl ScriptPlayer {
    pub(super) fn new(script: &Script, values: Values) -> Self {
        let report = PlayReport {
            turns: script.turns.len(),
            ..PlayReport::default()
        };
        Self {
            report,
            values,
            ..Self::default()
        }
    }

    /// Validates one request and returns the next response. Rejections are recorded.
    pub(super) fn answer(
        &mut self,
        script: &Script,
        path: &str,
        headers: &HeaderMap,
        body: &Bytes,
        is_streamed: bool,
    ) -> Result<HttpReply, Rejection> {
        if self
            .must_repeat
            .as_ref()
            .is_some_and(|earlier| earlier != body)
        {
            return Err(Rejection::invalid(
                "recorded model: a retry must send the same request again",
            ));
        }
        let unreadable =
            |error| format!("We could not parse the JSON body of your request: {error}");
        let request: Value =
            serde_json::from_slice(body).map_err(|error| Rejection::invalid(unreadable(error)))?;
        let results = self.checked(script.provider, path, headers, &request)?;
        self.turn_over(script, &results)?;
        let at_its_end = || {
            Rejection::invalid(
                "recorded model: the script has ended, but there was another request",
            )
        };
        let turn = script
            .turns
            .get(self.report.played)
            .ok_or_else(at_its_end)?;
        if let Some(fault) = &turn.fault {
            self.must_repeat = Some(body.clone());
            self.report.played += 1;
            return Ok(faulty(fault, script.provider));
        }
        self.must_repeat = None;
        if self.round == 0 {
            self.learn(turn, &results)?;
        }
        let is_streamed = is_streamed || request["stream"] == true;
        self.content(script.provider, turn, &request, is_streamed)
    }

    /// Validates a request against the responses so far, and returns its results. A request that says
    /// that older turns were removed must have the latest ones.
    fn checked(
        &mut self,
        provider: Provider,
        path: &str,
        headers: &HeaderMap,
        request: &Value,
    ) -> Result<Results, Rejection> {
        let all = results_of(provider, path, headers, request, &self.history);
        let is_shortened = request.to_string().contains("[Older turns were removed");
        self.report.shortened += usize::from(is_shortened);
        if all.is_ok() || !is_shortened {
            return all;
        }
        let mut latest = (1..self.history.len()).map(|from| &self.history[from..]);
        let found = latest.find_map(|some| results_of(provider, path, headers, request, some).ok());
        found.map_or(all, Ok)
    }

    /// Advances past a repeated turn whose condition holds.
    fn turn_over(&mut self, script: &Script, results: &Results) -> Result<(), Rejection> {
        let again = script
            .turns
            .get(self.report.played)
            .and_then(|turn| turn.again.as_ref());
        let Some(RepeatUntil { until, rounds }) = again.filter(|_| self.round > 0) else {
            return Ok(());
        };
        match self.expected(until, results) {
            Ok(()) => {
                self.report.played += 1;
                self.round = 0;
            }
            Err(rejection) if self.round >= *rounds => return Err(rejection),
            Err(_) => {}
        }
        Ok(())
    }

    /// Checks the turn's expectations and captures its values.
    fn learn(&mut self, turn: &ScriptTurn, results: &Results) -> Result<(), Rejection> {
        for rule in &turn.take {
            let value = taken(rule, of(results, &rule.call)?)?;
            self.values.insert(rule.name.clone(), value);
        }
        turn.expect
            .iter()
            .try_for_each(|expectation| self.expected(expectation, results))
    }

    fn expected(&self, expectation: &Expectation, results: &Results) -> Result<(), Rejection> {
        let call = filled_text(&expectation.call, &self.values)?;
        let wanted = filled_text(&expectation.contains, &self.values)?;
        let found = of(results, &call)?;
        if found.contains(&wanted) {
            return Ok(());
        }
        let excerpt: String = found.chars().take(300).collect();
        let message = format!(
            "recorded model: the result of {call} does not contain {wanted:?}; found {excerpt:?}"
        );
        Err(Rejection::invalid(message))
    }

    fn content(
        &mut self,
        provider: Provider,
        turn: &ScriptTurn,
        request: &Value,
        is_streamed: bool,
    ) -> Result<HttpReply, Rejection> {
        self.round += 1;
        self.values
            .insert("round".to_owned(), self.round.to_string());
        let content: Vec<Value> = turn
            .content
            .iter()
            .map(|item| filled(item, &self.values))
            .collect::<Result<_, _>>()?;
        let (number, with) = (self.history.len() + 1, Value::Object(turn.with.clone()));
        let answer = answer(provider, request, number, &content, &with);
        self.history.push(content);
        if turn.again.is_none() {
            self.report.played += 1;
            self.round = 0;
        }
        let body = match is_streamed {
            true => streams::stream(provider, request, &answer),
            false => StreamedBody {
                kind: JSON,
                bytes: answer.to_string().into(),
            },
        };
        self.report.streamed += usize::from(is_streamed);
        Ok(HttpReply {
            status: 200,
            headers: Map::new(),
            kind: body.kind,
            body: body.bytes,
        })
    }
}

impl Script {
    /// The response bodies with placeholders left as they are.
    pub fn responses(&self) -> Vec<Value> {
        let request = json!({"model": "recorded"});
        let turns = self.turns.iter().filter(|turn| turn.fault.is_none());
        let answer = |(index, turn): (usize, &ScriptTurn)| {
            let with = Value::Object(turn.with.clone());
            answer(self.provider, &request, index + 1, &turn.content, &with)
        };
        turns.enumerate().map(answer).collect()
    }
}

/// A complete response with this content.
fn answer(
    provider: Provider,
    request: &Value,
    number: usize,
    content: &[Value],
    with: &Value,
) -> Value {
    match provider {
        Provider::Anthropic | Provider::BedrockMessages | Provider::BedrockInvoke => {
            anthropic::answer(request, number, content.to_vec(), with)
        }
        Provider::Openai => openai::answer(request, number, content.to_vec(), with),
        Provider::Google => google::answer(request, number, content.to_vec(), with),
        Provider::GoogleSteps => google::interaction(request, number, content.to_vec(), with),
        Provider::Functions | Provider::FunctionsInline | Provider::MistralChat => {
            chat::answer(request, number, content.to_vec(), with)
        }
        Provider::MistralConversations => {
            conversations::answer(request, number, content.to_vec(), with)
        }
        Provider::Converse => converse::answer(request, content.to_vec(), with),
    }
}

/// The rules for chat completions of a provider.
fn rules(provider: Provider) -> chat::Rules {
    match provider {
        Provider::FunctionsInline => chat::Rules::Images,
        Provider::MistralChat => chat::Rules::Mistral,
        Provider::Functions
        | Provider::Anthropic
        | Provider::Openai
        | Provider::Google
        | Provider::GoogleSteps
        | Provider::Converse
        | Provider::BedrockMessages
        | Provider::BedrockInvoke
        | Provider::MistralConversations => chat::Rules::Words,
    }
}

fn of<'a>(results: &'a Results, call: &str) -> Result<&'a str, Rejection> {
    let missing =
        || Rejection::invalid(format!("recorded model: there is no new result of {call}"));
    results.get(call).map(String::as_str).ok_or_else(missing)
}

fn faulty(fault: &Fault, provider: Provider) -> HttpReply {
    let kind = if fault.status == 429 {
        "rate_limit_error"
    } else {
        "api_error"
    };
    let rejection = Rejection {
        status: fault.status,
        kind,
        message: "a recorded fault".to_owned(),
    };
    let own = || rejection.body(provider).to_string();
    let body = fault.body.clone().unwrap_or_else(own);
    let mut headers = rejection.headers(provider);
    headers.extend(fault.headers.clone());
    HttpReply {
        status: fault.status,
        headers,
        kind: JSON,
        body: body.into(),
    }
}

/// Validates a request against these responses, and returns its results.
fn results_of(
    provider: Provider,
    path: &str,
    headers: &HeaderMap,
    request: &Value,
    history: &[Vec<Value>],
) -> Result<Results, Rejection> {
    let results = match provider {
        Provider::Anthropic => {
            anthropic::check(headers, request, history)?;
            anthropic::results(request)
        }
        Provider::Openai => {
            openai::check(headers, request, history)?;
            openai::results(request)
        }
        Provider::Google => {
            google::check(headers, request, history)?;
            google::results(request)
        }
        Provider::GoogleSteps => {
            google::check_steps(headers, request, history)?;
            google::step_results(request)
        }
        Provider::Functions | Provider::FunctionsInline | Provider::MistralChat => {
            let rules = rules(provider);
            chat::check(rules, headers, request, history)?;
            chat::results(request)
        }
        Provider::MistralConversations => {
            conversations::check(headers, request, history)?;
            conversations::results(request)
        }
        Provider::Converse => {
            converse::check(headers, request, history)?;
            converse::results(request)
        }
        Provider::BedrockMessages => {
            bodies::check_messages(headers, request, history)?;
            anthropic::results(request)
        }
        Provider::BedrockInvoke => {
            bodies::check_invoke(path, headers, request, history)?;
            anthropic::results(request)
        }
    };
    Ok(results)
}
