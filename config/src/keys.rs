//! Keys: names of files and folders in which keys and passwords are stored.
//!
//! In: the name of a file or folder. Out: whether it is one of those.
//! Invariants: facts about names only; copies (`id_rsa.bak`, `.env~`) are judged by the name they are copies of.

use crate::formats;

/// Whole names, lowercase.
const NAMES: [&str; 45] = [
    "token.json",
    "tokens.json",
    "auth.json",
    ".netrc",
    "_netrc",
    ".pgpass",
    "pgpass.conf",
    ".npmrc",
    ".pypirc",
    ".yarnrc",
    ".git-credentials",
    ".gitcookies",
    ".htpasswd",
    "htpasswd",
    ".dockercfg",
    ".s3cfg",
    ".boto",
    ".my.cnf",
    ".mylogin.cnf",
    ".vault-token",
    ".vault_pass",
    ".terraformrc",
    "terraform.rc",
    "kubeconfig",
    "shadow",
    "gshadow",
    "passwd",
    "master.passwd",
    "htdigest",
    ".htdigest",
    ".envrc",
    "wallet.dat",
    "logins.json",
    "key3.db",
    "key4.db",
    "cookies.sqlite",
    "login data",
    ".bash_history",
    ".zsh_history",
    ".sh_history",
    ".psql_history",
    ".mysql_history",
    ".python_history",
    ".node_repl_history",
    "secring.gpg",
];

/// Prefixes of names, lowercase.
const BEGINNINGS: [&str; 12] = [
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ed25519",
    "ssh_host_",
    ".env.",
    "credentials.",
    "vault_pass",
    "service-account",
    "service_account",
    "client_secret",
    ".rediscli_history",
];

/// Extensions of keys, key stores and settings with secrets, lowercase.
const EXTENSIONS: [&str; 30] = [
    "pem",
    "key",
    "p12",
    "pfx",
    "p8",
    "jks",
    "jceks",
    "bks",
    "keystore",
    "truststore",
    "ppk",
    "kdbx",
    "kdb",
    "keychain",
    "keychain-db",
    "agilekeychain",
    "1pif",
    "opvault",
    "gpg",
    "pgp",
    "keytab",
    "ovpn",
    "env",
    "tfstate",
    "tfvars",
    "kubeconfig",
    "htpasswd",
    "secret",
    "secrets",
    "psafe3",
];

/// Words that reveal the contents when they are the whole name: `passwords.csv`, `secrets.yaml`. Also at the start or
/// end of a longer name (`db-credentials.json`), unless the file is a document for readers.
const WORDS: [&str; 8] = [
    "credentials",
    "credential",
    "secrets",
    "secret",
    "passwords",
    "password",
    "apikeys",
    "api_keys",
];

/// Suffixes of copies.
const COPIES: [&str; 9] =
    ["~", ".bak", ".backup", ".old", ".orig", ".save", ".copy", ".disabled", ".swp"];

/// Folders in which every file is denied, lowercase.
const FOLDERS: [&str; 9] = [
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    "gcloud",
    ".gcloud",
];

/// Returns true when files of this name contain keys or passwords.
pub fn is_key_file(name: &str) -> bool {
    is_denied(original(&name.to_ascii_lowercase()))
}

/// Returns true when files in folders of this name do.
pub fn is_key_folder(name: &str) -> bool {
    FOLDERS.iter().any(|it| it.eq_ignore_ascii_case(name))
}

/// Returns the name of the original of a copy.
fn original(mut name: &str) -> &str {
    while let Some(rest) = COPIES.iter().find_map(|ending| name.strip_suffix(ending)) {
        if rest.is_empty() {
            break;
        }
        name = rest;
    }
    name
}

/// Judges a lowercase name.
fn is_denied(name: &str) -> bool {
    // `.netrc` has no extension: its dot is the first character.
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, ending),
        _ => (name, ""),
    };
    // `mdx` is no format of ours, but a document for readers all the same.
    let is_for_readers = ending == "mdx"
        || formats::of(ending)
            .is_some_and(|it| it.is_for_readers && it.extensions.contains(&ending));
    let has_word = |word: &&str| {
        // `secrets` in `secrets-prod` counts, but not in `secretsauce`: a separator must follow or precede.
        let rest = stem.strip_prefix(*word).or_else(|| stem.strip_suffix(*word));
        rest.is_some_and(|rest| {
            rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    // `.env` itself is a name that begins with its extension.
    name == "credentials"
        || NAMES.contains(&name)
        // `id_rsa_rotation_howto.md` is a text about keys; up to 8 more characters it may be a copy of one.
        || BEGINNINGS
            .iter()
            .any(|it| name.starts_with(it) && !(is_for_readers && stem.len() > it.len() + 8))
        || extension(name).is_some_and(|it| EXTENSIONS.contains(&it))
        || (!is_for_readers && !ending.is_empty() && WORDS.iter().any(has_word))
}

fn extension(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, extension)| extension)
}
