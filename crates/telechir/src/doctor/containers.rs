//! Container engines for `--shell=docker` and `--shell=podman`, and their runtimes.

use std::path::Path;

use telechir_process::{Spawn, find_program};

use super::finding::{CheckFailure, CheckResult, Observation};
use super::program::{ProgramOutput, run};
use crate::env;

const ENGINES: [&str; 2] = ["docker", "podman"];
/// The runtime of gVisor.
const GVISOR: &str = "runsc";

/// The engines that answer, with their runtimes. An engine that does not answer counts as missing if it
/// is the only one: most are stopped because nobody needs them.
pub(super) async fn check() -> CheckResult {
    let (mut seen, mut failures) = (Vec::new(), Vec::new());
    for engine in ENGINES {
        if find_program(Path::new(engine)).is_none() {
            continue;
        }
        match runtimes(engine).await {
            Ok(runtimes) => seen.push(describe(engine, &runtimes)),
            Err(cause) => failures.push(format!("{engine} does not answer: {cause}")),
        }
    }
    match (seen.is_empty(), failures.is_empty()) {
        (true, true) => Err(CheckFailure::missing("neither docker nor podman was found")
            .fix_command("apt-get install podman")),
        (true, false) => {
            Err(CheckFailure::missing(failures.join("; ")).fix_command("systemctl start docker"))
        }
        (false, true) => Ok(Observation::new(seen.join("; "))),
        (false, false) => {
            let failure = CheckFailure::broken(failures.join("; "));
            Ok(Observation::degraded(seen.join("; "), failure))
        }
    }
}

/// The names of an engine's runtimes, or why it does not tell them.
async fn runtimes(engine: &str) -> Result<Vec<String>, String> {
    let names = |output: &ProgramOutput| output.out.split_whitespace().map(str::to_owned).collect();
    if engine == "docker" {
        let list = "{{range $name, $_ := .Runtimes}}{{$name}} {{end}}";
        return Ok(names(&query(engine, &["info", "--format", list]).await?));
    }
    // Podman does not list them.
    let default = query(engine, &["info", "--format={{.Host.OCIRuntime.Name}}"]).await?;
    let mut names: Vec<String> = names(&default);
    let option = format!("--runtime={GVISOR}");
    if query(engine, &[&option, "info", "--format=ok"])
        .await
        .is_ok()
    {
        names.push(GVISOR.to_owned());
    }
    Ok(names)
}

async fn query(engine: &str, arguments: &[&str]) -> Result<ProgramOutput, String> {
    let spawn = Spawn::new(engine)
        .args(arguments)
        .envs(env::container_engine())
        // Rootless Podman needs setuid helpers.
        .no_new_privs(false);
    let output = run(spawn).await?;
    if output.is_success {
        Ok(output)
    } else {
        Err(output.err)
    }
}

fn describe(engine: &str, runtimes: &[String]) -> String {
    let names = runtimes.join(", ");
    if runtimes.iter().any(|name| name == GVISOR) {
        format!("{engine} with the runtimes {names}; --runtime={GVISOR} isolates by gVisor")
    } else {
        format!("{engine} with the runtimes {names}; without gVisor ({GVISOR})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gvisor_is_named_if_it_is_there() {
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| (*name).to_owned())
                .collect::<Vec<_>>()
        };
        let text = describe("docker", &names(&["runc", "runsc"]));
        assert!(
            text.contains("runc, runsc; --runtime=runsc isolates"),
            "{text}"
        );
        let text = describe("docker", &names(&["runc", "runsc-x"]));
        assert!(text.contains("without gVisor"), "{text}");
    }
}
