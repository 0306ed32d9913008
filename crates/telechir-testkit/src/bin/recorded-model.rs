//! A recorded model as a program: serves one script, and ends with 1 when a request was refused
//! or the script was not played to its end.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use telechir_testkit::provider::{ModelServer, Page, Provider, Script, Tally};
use tokio::signal::unix::{SignalKind, signal};

/// Plays recorded words of a model over HTTP, and a page with a word drawn for this run.
///
/// Prints one line of JSON when it listens; ends on SIGTERM with a summary.
#[derive(Debug, Parser)]
struct Arguments {
    /// The script to play; without one only the page is served.
    #[arg(long, required_unless_present = "page")]
    script: Option<PathBuf>,
    /// HTML served at /page; `{{word}}` in it becomes a word drawn at random.
    #[arg(long)]
    page: Option<PathBuf>,
    /// Where the drawn word is written, for whoever checks the run. No model can read it there.
    #[arg(long, requires = "page")]
    word_file: Option<PathBuf>,
    /// Values known to the script from the start, as NAME=VALUE.
    #[arg(long = "set", value_name = "NAME=VALUE")]
    values: Vec<String>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match serve(&Arguments::parse()).await {
        Ok(tally) if tally.is_clean() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            let _nowhere_else = writeln!(std::io::stderr(), "recorded-model: failed to {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: &Arguments) -> Result<Tally, Box<dyn std::error::Error>> {
    let script = match &arguments.script {
        Some(path) => Script::open(path)?,
        None => Script::empty(Provider::Anthropic),
    };
    let page = match &arguments.page {
        Some(path) => page(path, arguments.word_file.as_deref())?,
        None => Page::default(),
    };
    let pair = |text: &String| {
        text.split_once('=')
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let values = arguments.values.iter().filter_map(pair).collect();
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let server = ModelServer::start(script, page, values).await?;
    let listening = serde_json::json!({
        "base_url": server.base_url(), "page_url": format!("http://{}/page", server.address()),
    });
    writeln!(std::io::stdout(), "{listening}")?;
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    let tally = server.tally();
    summarise(&tally)?;
    Ok(tally)
}

fn page(path: &Path, word_file: Option<&Path>) -> std::io::Result<Page> {
    let word = draw()?;
    if let Some(file) = word_file {
        std::fs::write(file, &word)?;
    }
    Ok(Page {
        html: std::fs::read_to_string(path)?.replace("{{word}}", &word),
    })
}

/// Twelve letters and digits without lookalikes, from the kernel.
fn draw() -> std::io::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let mut bytes = [0_u8; 12];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(byte % 32)]))
        .collect())
}

fn summarise(tally: &Tally) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(
        out,
        "recorded model: {} of {} turns played, {} requests checked, {} refused, page fetched {} times",
        tally.played,
        tally.turns,
        tally.requests,
        tally.refusals.len(),
        tally.page_views
    )?;
    for refusal in &tally.refusals {
        writeln!(
            out,
            "recorded model: refused with {} {}: {}",
            refusal.status, refusal.kind, refusal.message
        )?;
    }
    Ok(())
}
