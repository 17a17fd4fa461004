//! Which crate may depend on what: the walls of the architecture.

use serde_json::Value;

use super::Breach;

/// The dependencies that a crate may name in its manifest.
struct Wall {
    name: &'static str,
    /// A crate may depend on product crates of a lower level only.
    level: u32,
    normal: &'static [&'static str],
    development: &'static [&'static str],
}

/// From the bottom to the top. A crate that is not here has no place yet: write a design note first.
const WALLS: [Wall; 7] = [
    Wall {
        name: "onward-core",
        level: 1,
        normal: &[
            "blake3",
            "dagre",
            "jiff",
            "pulldown-cmark",
            "regex-lite",
            "rmp-serde",
            "saphyr-parser",
            "schemars",
            "serde",
            "serde_json",
            "thiserror",
        ],
        development: &["insta", "jsonschema", "proptest"],
    },
    Wall {
        name: "onward-store",
        level: 2,
        normal: &[
            "onward-core",
            "blake3",
            "jiff",
            "libc",
            "nix",
            "rusqlite",
            "serde",
            "serde_json",
            "thiserror",
            "uuid",
            "zstd",
        ],
        development: &["insta", "onward-store", "proptest", "tempfile"],
    },
    Wall {
        name: "onward-engine",
        level: 3,
        normal: &[
            "onward-core",
            "onward-store",
            "blake3",
            "jiff",
            "libc",
            "nix",
            "rustix",
            "serde",
            "serde_json",
            "signal-hook",
            "similar",
            "thiserror",
            "tracing",
        ],
        development: &["insta", "libtest-mimic", "onward-store", "onward-testkit", "proptest", "tempfile"],
    },
    Wall {
        // The one crate with an async runtime.
        name: "onward-serve",
        level: 4,
        normal: &[
            "onward-core",
            "onward-engine",
            "http-body-util",
            "hyper",
            "hyper-util",
            "rmcp",
            "serde",
            "serde_json",
            "tokio",
            "uuid",
        ],
        development: &[],
    },
    Wall {
        name: "onward",
        level: 5,
        normal: &[
            "onward-core",
            "onward-engine",
            "onward-serve",
            "anstream",
            "clap",
            "clap_complete",
            "clap_mangen",
            "console",
            "jiff",
            "rustix",
            "schemars",
            "serde",
            "serde_json",
            "signal-hook",
            "tracing",
        ],
        development: &["insta", "jsonschema", "nix", "onward-testkit", "serde_json", "tempfile", "vt100"],
    },
    Wall {
        name: TESTKIT,
        // The simulator plays the real driver over the real core; everything else sees the product as a user does.
        level: 4,
        normal: &[
            "onward-core",
            "onward-engine",
            "onward-store",
            "jiff",
            "nix",
            "rustix",
            "serde",
            "serde_json",
            "tempfile",
        ],
        development: &[],
    },
    Wall {
        // It measures the product from the inside and from the outside; nothing depends on it.
        name: "onward-bench",
        level: 6,
        normal: &["onward-core", "onward-engine", "onward-store", "nix", "rusqlite", "serde", "serde_json", "tempfile"],
        development: &[],
    },
];

/// The one crate that is for tests only.
const TESTKIT: &str = "onward-testkit";

/// The direct dependencies of one crate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CrateDependencies {
    pub name: String,
    pub normal: Vec<String>,
    pub development: Vec<String>,
    pub build: Vec<String>,
}

/// Reads what `cargo metadata --no-deps --format-version 1` prints.
#[track_caller]
pub fn direct_dependencies(metadata: &str) -> Vec<CrateDependencies> {
    let metadata: Value = serde_json::from_str(metadata).expect("cargo metadata prints JSON");
    let packages = metadata["packages"].as_array().expect("cargo metadata names the packages");
    packages.iter().map(crate_dependencies).collect()
}

/// Every crate depends on what its wall allows, and product crates depend downwards.
pub fn check_dependencies(crates: &[CrateDependencies]) -> Vec<Breach> {
    crates.iter().flat_map(check_crate).collect()
}

fn crate_dependencies(package: &Value) -> CrateDependencies {
    let text = |value: &Value| value.as_str().expect("cargo metadata gives a text here").to_owned();
    let mut found = CrateDependencies { name: text(&package["name"]), ..CrateDependencies::default() };
    for dependency in package["dependencies"].as_array().expect("cargo metadata lists dependencies") {
        let list = match dependency["kind"].as_str() {
            None => &mut found.normal,
            Some("dev") => &mut found.development,
            Some(_) => &mut found.build,
        };
        list.push(text(&dependency["name"]));
    }
    found
}

fn check_crate(found: &CrateDependencies) -> Vec<Breach> {
    let finding = |message| Breach::in_file(&found.name, message);
    let Some(wall) = WALLS.iter().find(|wall| wall.name == found.name) else {
        return vec![finding("a new crate: it needs a design note and a place among the walls".to_owned())];
    };
    let outside = |names: &[String], allowed: &[&str], kind: &str| -> Vec<Breach> {
        let outside = names.iter().filter(|name| !allowed.contains(&name.as_str()));
        outside.map(|name| finding(format!("`{name}` is not allowed as a {kind} of this crate"))).collect()
    };
    let upwards = found.normal.iter().filter(|name| level(name).is_some_and(|level| level >= wall.level));
    let mut findings: Vec<Breach> =
        upwards.map(|name| finding(format!("depends on `{name}`, which stands above it"))).collect();
    if found.normal.iter().any(|name| name == TESTKIT) {
        findings.push(finding(format!("`{TESTKIT}` is for tests only")));
    }
    findings.extend(outside(&found.normal, wall.normal, "dependency"));
    findings.extend(outside(&found.development, wall.development, "dev-dependency"));
    findings.extend(outside(&found.build, &[], "build-dependency"));
    findings
}

fn level(name: &str) -> Option<u32> {
    WALLS.iter().find(|wall| wall.name == name).map(|wall| wall.level)
}
