//! Where a script is, and what comes next: checks one request, learns from it, says the words.

use axum::body::Bytes;
use axum::http::HeaderMap;
use serde_json::{Map, Value};

use super::templates::{Values, filled, filled_text, taken};
use super::{
    Again, Expectation, Fault, Provider, Refusal, Script, Tally, Turn, anthropic, bodies, chat,
    conversations, converse, google, openai,
};

/// A script that is being played.
#[derive(Debug, Default)]
pub(super) struct Play {
    pub(super) tally: Tally,
    values: Values,
    said: Vec<Vec<Value>>,
    /// How often the words of the present turn were said already.
    round: usize,
    /// After a fault the very same bytes must come again.
    must_repeat: Option<Bytes>,
}

/// What goes back over HTTP.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) headers: Map<String, Value>,
    pub(super) body: String,
}

type Results = std::collections::BTreeMap<String, String>;

impl Play {
    pub(super) fn new(script: &Script, values: Values) -> Self {
        let tally = Tally {
            turns: script.turns.len(),
            ..Tally::default()
        };
        Self {
            tally,
            values,
            ..Self::default()
        }
    }

    /// Checks one request and says the next words. A refusal is remembered.
    pub(super) fn answer(
        &mut self,
        script: &Script,
        path: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Result<Reply, Refusal> {
        if self
            .must_repeat
            .as_ref()
            .is_some_and(|earlier| earlier != body)
        {
            return Err(Refusal::invalid(
                "recorded model: a retry must send the same request again",
            ));
        }
        let unreadable =
            |error| format!("We could not parse the JSON body of your request: {error}");
        let request: Value =
            serde_json::from_slice(body).map_err(|error| Refusal::invalid(unreadable(error)))?;
        let results = match script.provider {
            Provider::Anthropic => {
                anthropic::check(headers, &request, &self.said)?;
                anthropic::results(&request)
            }
            Provider::Openai => {
                openai::check(headers, &request, &self.said)?;
                openai::results(&request)
            }
            Provider::Google => {
                google::check(headers, &request, &self.said)?;
                google::results(&request)
            }
            Provider::GoogleSteps => {
                google::check_steps(headers, &request, &self.said)?;
                google::step_results(&request)
            }
            Provider::Functions | Provider::FunctionsInline | Provider::MistralChat => {
                let rules = rules(script.provider);
                chat::check(rules, headers, &request, &self.said)?;
                chat::results(&request)
            }
            Provider::MistralConversations => {
                conversations::check(headers, &request, &self.said)?;
                conversations::results(&request)
            }
            Provider::Converse => {
                converse::check(headers, &request, &self.said)?;
                converse::results(&request)
            }
            Provider::BedrockMessages => {
                bodies::check_messages(headers, &request, &self.said)?;
                anthropic::results(&request)
            }
            Provider::BedrockInvoke => {
                bodies::check_invoke(path, headers, &request, &self.said)?;
                anthropic::results(&request)
            }
        };
        self.turn_over(script, &results)?;
        let at_its_end = || {
            Refusal::invalid(
                "recorded model: the script is at its end, and there was one more request",
            )
        };
        let turn = script.turns.get(self.tally.played).ok_or_else(at_its_end)?;
        if let Some(fault) = &turn.fault {
            self.must_repeat = Some(body.clone());
            self.tally.played += 1;
            return Ok(faulty(fault, script.provider));
        }
        self.must_repeat = None;
        if self.round == 0 {
            self.learn(turn, &results)?;
        }
        self.say(script.provider, turn, &request)
    }

    /// Leaves a turn that was said until something happened, when it has happened.
    fn turn_over(&mut self, script: &Script, results: &Results) -> Result<(), Refusal> {
        let again = script
            .turns
            .get(self.tally.played)
            .and_then(|turn| turn.again.as_ref());
        let Some(Again { until, rounds }) = again.filter(|_| self.round > 0) else {
            return Ok(());
        };
        match self.expected(until, results) {
            Ok(()) => {
                self.tally.played += 1;
                self.round = 0;
            }
            Err(refusal) if self.round >= *rounds => return Err(refusal),
            Err(_) => {}
        }
        Ok(())
    }

    /// Compares the results with what was expected, and takes from them what later words need.
    fn learn(&mut self, turn: &Turn, results: &Results) -> Result<(), Refusal> {
        for rule in &turn.take {
            let value = taken(rule, of(results, &rule.call)?)?;
            self.values.insert(rule.name.clone(), value);
        }
        turn.expect
            .iter()
            .try_for_each(|expectation| self.expected(expectation, results))
    }

    fn expected(&self, expectation: &Expectation, results: &Results) -> Result<(), Refusal> {
        let call = filled_text(&expectation.call, &self.values)?;
        let wanted = filled_text(&expectation.contains, &self.values)?;
        let found = of(results, &call)?;
        if found.contains(&wanted) {
            return Ok(());
        }
        let shown: String = found.chars().take(300).collect();
        let message = format!(
            "recorded model: the result of {call} does not contain {wanted:?}; it says {shown:?}"
        );
        Err(Refusal::invalid(message))
    }

    fn say(&mut self, provider: Provider, turn: &Turn, request: &Value) -> Result<Reply, Refusal> {
        self.round += 1;
        self.values
            .insert("round".to_owned(), self.round.to_string());
        let say: Vec<Value> = turn
            .say
            .iter()
            .map(|item| filled(item, &self.values))
            .collect::<Result<_, _>>()?;
        let (number, with) = (self.said.len() + 1, Value::Object(turn.with.clone()));
        let answer = answer(provider, request, number, &say, &with);
        self.said.push(say);
        if turn.again.is_none() {
            self.tally.played += 1;
            self.round = 0;
        }
        Ok(Reply {
            status: 200,
            headers: Map::new(),
            body: answer.to_string(),
        })
    }
}

/// A whole answer around the words that are said.
pub(super) fn answer(
    provider: Provider,
    request: &Value,
    number: usize,
    say: &[Value],
    with: &Value,
) -> Value {
    match provider {
        Provider::Anthropic | Provider::BedrockMessages | Provider::BedrockInvoke => {
            anthropic::answer(request, number, say.to_vec(), with)
        }
        Provider::Openai => openai::answer(request, number, say.to_vec(), with),
        Provider::Google => google::answer(request, number, say.to_vec(), with),
        Provider::GoogleSteps => google::interaction(request, number, say.to_vec(), with),
        Provider::Functions | Provider::FunctionsInline | Provider::MistralChat => {
            chat::answer(request, number, say.to_vec(), with)
        }
        Provider::MistralConversations => {
            conversations::answer(request, number, say.to_vec(), with)
        }
        Provider::Converse => converse::answer(request, say.to_vec(), with),
    }
}

/// Whose rules hold for chat completions.
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

fn of<'a>(results: &'a Results, call: &str) -> Result<&'a str, Refusal> {
    let missing = || Refusal::invalid(format!("recorded model: there is no new result of {call}"));
    results.get(call).map(String::as_str).ok_or_else(missing)
}

fn faulty(fault: &Fault, provider: Provider) -> Reply {
    let kind = if fault.status == 429 {
        "rate_limit_error"
    } else {
        "api_error"
    };
    let refusal = Refusal {
        status: fault.status,
        kind,
        message: "a recorded fault".to_owned(),
    };
    let own = || refusal.body(provider).to_string();
    let body = fault.body.clone().unwrap_or_else(own);
    let mut headers = refusal.headers(provider);
    headers.extend(fault.headers.clone());
    Reply {
        status: fault.status,
        headers,
        body,
    }
}
