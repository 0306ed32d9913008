//! Where the shell runs.

use telechir_shell::Docker;

/// The shell at Amazon Bedrock AgentCore.
pub(crate) const AT_AGENTCORE: &str = "agentcore";

/// Checks where the shell runs: `sandbox`, `host`, a service, or a container engine with an optional
/// image.
pub(super) fn shell_location(text: &str) -> Result<String, String> {
    let is_known = matches!(text, "sandbox" | "host" | AT_AGENTCORE)
        || container(text).is_some_and(|(_, image)| !image.is_empty() && !image.starts_with('-'));
    if is_known {
        Ok(text.to_owned())
    } else {
        Err("expected sandbox, host, docker[:IMAGE], podman[:IMAGE] or agentcore".to_string())
    }
}

/// The engine and the image, if the shell runs in a container.
pub(crate) fn container(shell: &str) -> Option<(&str, &str)> {
    let (engine, image) = shell.split_once(':').unwrap_or((shell, Docker::IMAGE));
    matches!(engine, "docker" | "podman").then_some((engine, image))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_sandboxed_unconfined_in_a_container_or_at_a_service() {
        for location in [
            "sandbox",
            "host",
            "docker",
            "docker:debian:12",
            "podman:localhost/mine",
            "agentcore",
        ] {
            assert_eq!(shell_location(location).as_deref(), Ok(location));
        }
        for other in [
            "",
            "none",
            "docker:",
            "docker:--privileged",
            "lxc:debian",
            "agentcore:x",
        ] {
            assert!(shell_location(other).is_err(), "{other}");
        }
        assert_eq!(container("docker:debian:12"), Some(("docker", "debian:12")));
        assert_eq!(container("podman"), Some(("podman", Docker::IMAGE)));
        assert_eq!(container("host"), None);
        assert_eq!(container("agentcore"), None);
    }
}
