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
    "credentials",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "id_rsa",
    "kubeconfig",
    "master.key",
];

/// What a name ends with.
const ENDINGS: &[&str] =
    &[".jks", ".kdbx", ".key", ".keystore", ".ovpn", ".p12", ".p8", ".pem", ".pfx", ".ppk", ".tfstate", ".tfvars"];

/// Names without their ending, where the file holds data and no program text.
const STEMS: &[&str] = &["credential", "credentials", "secret", "secrets", "service-account", "service_account"];
const DATA: &[&str] = &["cfg", "conf", "csv", "env", "ini", "json", "properties", "toml", "txt", "xml", "yaml", "yml"];

/// `.env.production` is one; `.env.example` shows what belongs into it.
const ENV: &str = ".env.";
const SAMPLES: &[&str] = &["dist", "example", "sample", "template"];

/// Places in which a harmless name is none.
const PLACES: &[&str] = &[".aws/config", ".docker/config.json", ".kube/config"];

/// Whether a path has the name of a file that holds secrets. The case of its letters does not matter.
pub fn is_secret_name(path: &str) -> bool {
    let path = path.to_lowercase();
    let name = path.rsplit('/').next().unwrap_or_default();
    let ending = name.rsplit('.').next().unwrap_or_default();
    let of_env = name.starts_with(ENV) && !SAMPLES.contains(&ending);
    let of_data = name.split_once('.').is_some_and(|(stem, rest)| STEMS.contains(&stem) && DATA.contains(&rest));
    let in_place =
        PLACES.iter().any(|place| path.strip_suffix(place).is_some_and(|rest| rest.is_empty() || rest.ends_with('/')));
    NAMES.contains(&name) || ENDINGS.iter().any(|ending| name.ends_with(ending)) || of_env || of_data || in_place
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        let secret = [
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
        ];
        for path in secret {
            assert!(is_secret_name(path), "{path}");
        }
        let plain = [
            ".env.example",
            ".env.sample",
            "id_rsa.pub",
            "environment.rs",
            "secrets.rs",
            "credentials.go",
            "config.json",
            "keys.md",
            "monkey.txt",
            "credentials/readme.md",
            "key",
            ".aws/readme",
            "not.aws/config",
        ];
        for path in plain {
            assert!(!is_secret_name(path), "{path}");
        }
    }
}
