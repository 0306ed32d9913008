//! Which crate may depend on which. `ARCHITECTURE.md` explains the table.

use cargo_metadata::{DependencyKind, MetadataCommand};

/// The crates of the workspace that one crate may depend on.
struct Layer {
    name: &'static str,
    ours: &'static [&'static str],
}

/// What a device crate may depend on.
const DEVICE: &[&str] = &[
    "telechir-protocol",
    "telechir-device",
    "telechir-process",
    "telechir-egress",
];

const LAYERS: &[Layer] = &[
    Layer {
        name: "telechir-protocol",
        ours: &[],
    },
    Layer {
        name: "telechir-providers",
        ours: &["telechir-protocol"],
    },
    Layer {
        name: "telechir-policy",
        ours: &["telechir-protocol"],
    },
    Layer {
        name: "telechir-device",
        ours: &["telechir-protocol"],
    },
    Layer {
        name: "telechir-gateway",
        ours: &["telechir-protocol"],
    },
    Layer {
        name: "telechir-image",
        ours: &["telechir-protocol", "telechir-device"],
    },
    Layer {
        name: "telechir-process",
        ours: &["telechir-protocol"],
    },
    Layer {
        name: "telechir-egress",
        ours: &["telechir-policy", "telechir-process"],
    },
    Layer {
        name: "telechir-http",
        ours: &[],
    },
    Layer {
        name: "telechir-remote",
        ours: &["telechir-protocol", "telechir-http"],
    },
    Layer {
        name: "telechir-remote-devices",
        ours: &[
            "telechir-protocol",
            "telechir-providers",
            "telechir-device",
            "telechir-image",
            "telechir-http",
        ],
    },
    Layer {
        name: "telechir-x11",
        ours: DEVICE,
    },
    Layer {
        name: "telechir-atspi",
        ours: &["telechir-protocol", "telechir-device", "telechir-process"],
    },
    Layer {
        name: "telechir-ocr",
        ours: &["telechir-protocol", "telechir-device", "telechir-process"],
    },
    Layer {
        name: "telechir-browser",
        ours: DEVICE,
    },
    Layer {
        name: "telechir-shell",
        ours: DEVICE,
    },
    Layer {
        name: "telechir-runtime",
        ours: &[
            "telechir-protocol",
            "telechir-policy",
            "telechir-device",
            "telechir-image",
        ],
    },
    Layer {
        name: "telechir-host",
        ours: &[
            "telechir-gateway",
            "telechir-protocol",
            "telechir-policy",
            "telechir-process",
            "telechir-runtime",
        ],
    },
    Layer {
        name: "telechir-tools",
        ours: &["telechir-protocol", "telechir-providers"],
    },
    Layer {
        name: "telechir-server",
        ours: &[
            "telechir-protocol",
            "telechir-providers",
            "telechir-policy",
            "telechir-host",
            "telechir-tools",
        ],
    },
    Layer {
        name: "telechir-agent",
        ours: &[
            "telechir-http",
            "telechir-protocol",
            "telechir-providers",
            "telechir-runtime",
        ],
    },
    Layer {
        name: "telechir",
        ours: &[
            "telechir-protocol",
            "telechir-providers",
            "telechir-policy",
            "telechir-device",
            "telechir-process",
            "telechir-egress",
            "telechir-remote",
            "telechir-remote-devices",
            "telechir-x11",
            "telechir-atspi",
            "telechir-ocr",
            "telechir-browser",
            "telechir-shell",
            "telechir-runtime",
            "telechir-agent",
            "telechir-host",
            "telechir-tools",
            "telechir-server",
        ],
    },
    Layer {
        name: "telechir-testkit",
        ours: &["telechir-protocol", "telechir-device", "telechir-process"],
    },
    Layer {
        name: "xtask",
        ours: &[],
    },
];

/// External crates that only these crates may use directly, with the reason.
const OWNERS: &[(&str, &[&str], &str)] = &[
    ("tokio", IMPURE, "pure crates do not wait"),
    (
        "rustix",
        &[
            "telechir-process",
            "telechir-x11",
            "telechir-ocr",
            "telechir-remote",
            "telechir-browser",
            "telechir-shell",
            "telechir-host",
            "telechir-server",
            "telechir",
            "telechir-testkit",
        ],
        "system calls stay in the devices, the session host and the standard streams of a server",
    ),
    (
        "x11rb",
        &["telechir-x11", "telechir-testkit"],
        "one crate is an X client",
    ),
    ("zbus", &["telechir-atspi"], "one crate is a D-Bus client"),
    (
        "rusqlite",
        &["telechir-runtime"],
        "one crate writes the journal",
    ),
    (
        "hyper",
        &[
            "telechir-http",
            "telechir-browser",
            "telechir-egress",
            "telechir-server",
        ],
        "one crate calls services, one connects to a browser's WebSocket, one is a proxy, one \
         serves the HTTP API",
    ),
    (
        "axum",
        &["telechir-server", "telechir-testkit"],
        "one crate serves the HTTP API, one a model for tests",
    ),
    ("clap", &["telechir"], "only the binary reads flags"),
    (
        "toml",
        &["telechir-policy", "telechir"],
        "one crate reads policy files, one the configuration of MCP clients",
    ),
    (
        "brush-parser",
        &["telechir-policy"],
        "one crate reads shell commands",
    ),
];

const IMPURE: &[&str] = &[
    "telechir-process",
    "telechir-egress",
    "telechir-http",
    "telechir-remote",
    "telechir-remote-devices",
    "telechir-x11",
    "telechir-atspi",
    "telechir-ocr",
    "telechir-browser",
    "telechir-shell",
    "telechir-runtime",
    "telechir-host",
    "telechir-agent",
    "telechir-server",
    "telechir",
    "telechir-testkit",
];

/// One dependency of a crate of the workspace.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    from: String,
    to: String,
}

/// Dependencies of this workspace that the tables do not allow.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let metadata = MetadataCommand::new()
        .no_deps()
        .exec()
        .map_err(|e| format!("read the workspace: {e}"))?;
    let mut edges = Vec::new();
    let mut names = Vec::new();
    for package in &metadata.packages {
        names.push(package.name.to_string());
        let normal = package
            .dependencies
            .iter()
            .filter(|d| d.kind == DependencyKind::Normal);
        edges.extend(normal.map(|d| Edge {
            from: package.name.to_string(),
            to: d.name.clone(),
        }));
    }
    Ok(judge(&names, &edges))
}

fn judge(names: &[String], edges: &[Edge]) -> Vec<String> {
    let unknown = names
        .iter()
        .filter(|name| layer(name).is_none())
        .map(|name| format!("{name} has no row in xtask/src/layers.rs"));
    unknown.chain(edges.iter().filter_map(breach)).collect()
}

fn layer(name: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.name == name)
}

fn breach(edge: &Edge) -> Option<String> {
    let Edge { from, to } = edge;
    if layer(to).is_some() {
        let allowed = layer(from)?.ours.contains(&to.as_str());
        return (!allowed).then(|| format!("{from} must not depend on {to}"));
    }
    let (_, owners, reason) = OWNERS.iter().find(|(name, ..)| name == to)?;
    let allowed = owners.contains(&from.as_str());
    (!allowed).then(|| format!("{from} must not depend on {to}: {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(edges: &[(&str, &str)]) -> Vec<String> {
        let edges: Vec<Edge> = edges
            .iter()
            .map(|(from, to)| Edge {
                from: (*from).to_owned(),
                to: (*to).to_owned(),
            })
            .collect();
        judge(&[], &edges)
    }

    #[test]
    fn this_workspace_keeps_the_layers() {
        assert_eq!(check(), Ok(Vec::new()));
    }

    #[test]
    fn the_engine_must_not_see_providers() {
        let found = findings(&[("telechir-runtime", "telechir-providers")]);
        assert_eq!(
            found,
            ["telechir-runtime must not depend on telechir-providers"]
        );
    }

    #[test]
    fn devices_must_not_see_each_other() {
        let found = findings(&[("telechir-browser", "telechir-x11")]);
        assert_eq!(found, ["telechir-browser must not depend on telechir-x11"]);
    }

    #[test]
    fn a_pure_crate_must_not_wait() {
        let found = findings(&[("telechir-policy", "tokio")]);
        assert_eq!(
            found,
            ["telechir-policy must not depend on tokio: pure crates do not wait"]
        );
    }

    #[test]
    fn a_new_crate_needs_a_row() {
        let found = judge(&["telechir-new".to_owned()], &[]);
        assert_eq!(found, ["telechir-new has no row in xtask/src/layers.rs"]);
    }
}
