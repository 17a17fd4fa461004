//! Files that hold secrets by custom, known by their names alone.

/// Whole names, in lower case.
const NAMES: &[&str] = &[
    ".dockercfg",
    ".env",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".vault-token",
    "_netrc",
    "kubeconfig",
    "master.key",
];

/// Keys of SSH, also under longer names.
const KEYS: &[&str] = &["id_dsa", "id_ecdsa", "id_ed25519", "id_rsa"];
const PUBLIC_KEY: &str = "pub";

/// Endings of files that are secret whatever they are called; also with something behind them that is no ending of a program,
/// as in `prod.env.local` and `server.pem.bak`.
const ENDINGS: &[&str] =
    &["env", "envrc", "jks", "kdbx", "key", "keystore", "ovpn", "p12", "p8", "pem", "pfx", "ppk", "tfstate", "tfvars"];

/// Words with which the name of such a file begins or ends, where it holds data and no program text.
const WORDS: &[&str] =
    &["client_secret", "credential", "credentials", "secret", "secrets", "service-account", "service_account"];
const DATA: &[&str] = &[
    "backup",
    "bak",
    "cfg",
    "conf",
    "csv",
    "env",
    "ini",
    "json",
    "old",
    "orig",
    "properties",
    "save",
    "toml",
    "txt",
    "xml",
    "yaml",
    "yml",
];

/// Endings of programs and pages. `.env.js` is the exception: all that begins with `.env.` is secret.
const PROGRAMS: &[&str] = &[
    "c", "cc", "cjs", "cpp", "cs", "css", "go", "h", "html", "java", "js", "jsx", "kt", "md", "mjs", "php", "py", "rb",
    "rs", "rst", "swift", "ts", "tsx", "vue",
];
const ENV: &str = ".env.";

/// Endings that say that the file shows what belongs into the secret one.
const SAMPLES: &[&str] = &["dist", "example", "sample", "template"];

/// Places in which a harmless name is none.
const PLACES: &[&str] = &[".aws/config", ".docker/config.json", ".kube/config"];

/// Whether a path has the name of a file that holds secrets. The case of its letters does not matter.
pub fn is_secret_name(path: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let parts: Vec<&str> = name.split('.').collect();
    let endings = || parts.iter().skip(1);
    if endings().any(|ending| SAMPLES.contains(ending)) {
        return false;
    }
    let is_program = parts.len() > 1 && parts.last().is_some_and(|last| PROGRAMS.contains(last));
    let ends = !is_program && endings().any(|ending| ENDINGS.contains(ending));
    let is_key = !is_program && KEYS.iter().any(|key| name.starts_with(key)) && parts.last() != Some(&PUBLIC_KEY);
    let in_place =
        PLACES.iter().any(|place| path.strip_suffix(place).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')));
    NAMES.contains(&name) || name.starts_with(ENV) || ends || is_key || is_secret_data(&parts) || in_place
}

/// `credentials`, `credentials-prod.json`, `aws-credentials`, but no program that is called so.
fn is_secret_data(parts: &[&str]) -> bool {
    let (stem, endings) = parts.split_first().map_or(("", &[][..]), |(stem, rest)| (*stem, rest));
    let apart = |rest: &str, border: fn(&str) -> Option<char>| {
        rest.is_empty() || border(rest).is_some_and(|letter| !letter.is_ascii_alphanumeric())
    };
    let named = WORDS.iter().any(|word| {
        stem.strip_prefix(word).is_some_and(|rest| apart(rest, |rest| rest.chars().next()))
            || stem.strip_suffix(word).is_some_and(|rest| apart(rest, |rest| rest.chars().next_back()))
    });
    named && endings.last().is_none_or(|last| DATA.contains(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[&str] = &[
        ".env",
        "app/.env",
        ".ENV",
        ".env.production",
        "id_rsa",
        "keys/id_ed25519",
        "server.pem",
        "tls.key",
        "a/b.p12",
        "credentials",
        ".aws/credentials",
        "home/.aws/config",
        "credentials.json",
        "secrets.yml",
        ".npmrc",
        ".netrc",
        "prod.tfvars",
        "service-account.json",
        "cfg/prod.env",
        "cfg/prod.env.local",
        "deploy/prod.env.bak",
        ".envrc",
        "env/.envrc.private",
        "id_rsa.bak",
        "id_ed25519_work",
        "credentials-prod",
        "credentials_old.json",
        "aws-credentials",
        "terraform.tfvars.json",
        "terraform.tfstate.backup",
        "old/server.pem.bak",
        "tls.key.old",
        "secrets.prod.yaml",
        "client_secret_4711.json",
        ".env.js",
        "example.key",
        "secrets.old",
    ];

    const PLAIN: &[&str] = &[
        ".env.example",
        ".env.sample",
        ".env.template",
        "cfg/prod.env.example",
        ".envrc.sample",
        "terraform.tfvars.example",
        "credentials.example.json",
        "id_rsa_work.pub",
        "credentials_test.go",
        "credentials-dialog.tsx",
        "src/credentials.rs",
        "src/environment/dev.envoy.yaml",
        "keyboard.keymap",
        "docs/credentials-and-keys.md",
        "id_rsa.pub",
        "environment.rs",
        "secrets.rs",
        "credentials.go",
        "config.json",
        "keys.md",
        "monkey.txt",
        "credentials/readme.md",
        "key",
        "no-secret-at-all.rs",
        "api.key.ts",
        "app.env.js",
        "id_rsa_test.go",
        "secretary.txt",
        ".aws/readme",
        "not.aws/config",
    ];

    #[test]
    fn secrets_are_known_by_their_names() {
        for path in SECRET {
            assert!(is_secret_name(path), "{path}");
        }
        for path in PLAIN {
            assert!(!is_secret_name(path), "{path}");
        }
    }
}
