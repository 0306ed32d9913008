//! The flags of `run` about its conversation.

use std::io::{IsTerminal as _, stderr};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use telechir_agent::Agent;
use telechir_providers::ImageLimit;

use crate::session_events::{ModelText, with_streamed_text};

#[derive(Debug, Args)]
pub(crate) struct ConversationArguments {
    /// Send the text of FILE as system instructions instead of telechir's description of the session.
    #[arg(long, value_name = "FILE")]
    pub(crate) system: Option<PathBuf>,
    /// Add the text of FILE to the system instructions.
    #[arg(long, value_name = "FILE")]
    pub(crate) system_append: Option<PathBuf>,
    /// Continue the run RUN of the recording, also after kill -9: nothing is executed twice. With a
    /// task, also after its end. Provider and model are those of RUN and, unless a device flag is given,
    /// so are the flags of devices and policy.
    #[arg(long, value_name = "RUN", requires = "record", conflicts_with_all = ["run", "system", "system_append"])]
    pub(crate) resume: Option<String>,
    /// Send only the newest N screenshots again with each request [default: 10 to 40, in batches].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=600))]
    pub(crate) keep_screenshots: Option<u16>,
    /// Remove the oldest turns, with their results, while the conversation has more than about N tokens
    /// [default: no limit].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1000..))]
    pub(crate) max_history_tokens: Option<u64>,
    /// Show the model's text as it arrives, also on the live page: if stderr is a terminal or with --view
    /// (auto), always, or never.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub(crate) stream: StreamWhen,
    /// Serve the live page of this run on loopback, and print its address on stderr: with answers if that
    /// is a terminal, else read-only.
    #[arg(long)]
    pub(crate) view: bool,
    /// Print every event as one JSON line on stdout, instead of the model's last message.
    #[arg(long)]
    pub(crate) json: bool,
}

/// When responses are requested as streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamWhen {
    Auto,
    Always,
    Never,
}

impl ConversationArguments {
    /// Whether responses are requested as streams.
    pub(crate) fn is_streamed(&self) -> bool {
        match self.stream {
            StreamWhen::Auto => self.view || stderr().is_terminal(),
            StreamWhen::Always => true,
            StreamWhen::Never => false,
        }
    }

    /// The agent, and the text of its model for the progress and for the events, if it is streamed; then
    /// `page` gets it, too.
    pub(crate) fn stream_text(
        &self,
        agent: Agent,
        page: impl Fn(&str) + Send + Sync + 'static,
    ) -> (Agent, [Option<ModelText>; 2]) {
        match self.is_streamed() {
            true => with_streamed_text(agent, page),
            false => (agent, [None, None]),
        }
    }

    /// How many screenshots stay in the conversation.
    pub(crate) fn images(&self) -> ImageLimit {
        let Some(keep) = self.keep_screenshots.map(usize::from) else {
            return ImageLimit::default();
        };
        let prune_above = keep;
        ImageLimit { keep, prune_above }
    }
}
