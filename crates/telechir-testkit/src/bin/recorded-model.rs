//! A recorded model as a program: serves one script; exits with 1 if a request was rejected or a
//! turn was not played.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use telechir_testkit::provider::{ModelServer, PlayReport, Provider, Script, ServedPage};
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "\
usage: recorded-model [--script FILE] [--page FILE [--word-file FILE]] [--set NAME=VALUE]...
  --script     the model's responses; without it only the page is served
  --page       HTML served at /page; {{word}} in it becomes a random word
  --word-file  file to write the random word to, for checking the run
  --set        a value known to the script from the start
Prints one line of JSON when it listens; exits on SIGTERM with a summary.";

/// Command-line flags, parsed by hand: a library would be larger than this program.
#[derive(Debug, Default)]
struct RecordedModelArgs {
    script: Option<PathBuf>,
    page: Option<PathBuf>,
    word_file: Option<PathBuf>,
    values: Vec<(String, String)>,
}

impl RecordedModelArgs {
    fn read(mut args: impl Iterator<Item = String>) -> Option<Self> {
        let mut arguments = Self::default();
        while let Some(flag) = args.next() {
            let value = args.next()?;
            match flag.as_str() {
                "--script" => arguments.script = Some(value.into()),
                "--page" => arguments.page = Some(value.into()),
                "--word-file" => arguments.word_file = Some(value.into()),
                "--set" => {
                    let (name, value) = value.split_once('=')?;
                    arguments.values.push((name.to_owned(), value.to_owned()));
                }
                _ => return None,
            }
        }
        let serves_something = arguments.script.is_some() || arguments.page.is_some();
        serves_something.then_some(arguments)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Some(arguments) = RecordedModelArgs::read(std::env::args().skip(1)) else {
        let _nowhere_else = writeln!(std::io::stderr(), "{USAGE}");
        return ExitCode::from(2);
    };
    match serve(&arguments).await {
        Ok(report) if report.is_clean() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            let _nowhere_else = writeln!(std::io::stderr(), "recorded-model: failed to {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: &RecordedModelArgs) -> Result<PlayReport, Box<dyn std::error::Error>> {
    let script = match &arguments.script {
        Some(path) => Script::open(path)?,
        None => Script::empty(Provider::Anthropic),
    };
    let page = match &arguments.page {
        Some(path) => page(path, arguments.word_file.as_deref())?,
        None => ServedPage::default(),
    };
    let mut terminated = signal(SignalKind::terminate())?;
    let mut interrupted = signal(SignalKind::interrupt())?;
    let server = ModelServer::start(script, page, arguments.values.clone()).await?;
    let listening = serde_json::json!({
        "base_url": server.base_url(), "page_url": format!("http://{}/page", server.address()),
    });
    writeln!(std::io::stdout(), "{listening}")?;
    tokio::select! {
        _ = terminated.recv() => {}
        _ = interrupted.recv() => {}
    }
    let report = server.report();
    summarise(&report)?;
    Ok(report)
}

fn page(path: &Path, word_file: Option<&Path>) -> std::io::Result<ServedPage> {
    let word = random_word()?;
    if let Some(file) = word_file {
        std::fs::write(file, &word)?;
    }
    Ok(ServedPage {
        html: std::fs::read_to_string(path)?.replace("{{word}}", &word),
    })
}

/// Twelve random letters and digits, without lookalikes.
fn random_word() -> std::io::Result<String> {
    const LETTERS: &[u8; 32] = b"abcdefghjkmnpqrstuvwxyz023456789";
    let mut bytes = [0_u8; 12];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes
        .iter()
        .map(|byte| char::from(LETTERS[usize::from(byte % 32)]))
        .collect())
}

fn summarise(report: &PlayReport) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(
        out,
        "recorded model: {} of {} turns played, {} requests checked, {} refused, page fetched {} times",
        report.played,
        report.turns,
        report.requests,
        report.rejections.len(),
        report.page_views
    )?;
    for rejection in &report.rejections {
        writeln!(
            out,
            "recorded model: refused with {} {}: {}",
            rejection.status, rejection.kind, rejection.message
        )?;
    }
    Ok(())
}
