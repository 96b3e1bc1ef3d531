//! Deny: names of files that are never read, whatever the settings list.
//!
//! In: a path relative to the root. Out: why it is not read, if its name says so.
//! Invariants: it comes before the list of extensions and before every rule of the folder; only `privacy.allow_paths`
//! of the user's own configuration lifts it; copies (`id_rsa.bak`, `.env~`) are judged by the name they are copies of.
//! Not here: secrets inside of files that are read (`normalize/redact.rs`).

use super::rules::SkipReason;
use crate::pipeline::normalize::redact::holds_secret;

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

/// Beginnings of names, lowercase.
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

/// Extensions of keys, of stores of keys and of settings that hold them, lowercase.
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

/// Words that name what a file holds, when all of its name is one of them: `passwords.csv`, `secrets.yaml`. Also
/// at the beginning or end of a longer name (`db-credentials.json`), unless the file is written for readers.
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

/// Extensions of documents that people write for people, lowercase: `secrets.md` may explain how secrets are kept, and
/// what it should not hold is removed from it.
const FOR_READERS: [&str; 12] = [
    "md", "markdown", "mdx", "rst", "adoc", "asciidoc", "org", "html", "htm", "pdf", "docx",
    "ipynb",
];

/// Endings of copies.
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

/// Extensions that are no text: images, sound, films, archives, programs, fonts, databases, models.
const BINARY: [&str; 99] = [
    "png",
    "jpg",
    "jpeg",
    "gif",
    "bmp",
    "tif",
    "tiff",
    "webp",
    "ico",
    "icns",
    "heic",
    "heif",
    "avif",
    "psd",
    "raw",
    "cr2",
    "mp3",
    "wav",
    "flac",
    "ogg",
    "oga",
    "opus",
    "m4a",
    "aac",
    "wma",
    "aiff",
    "mid",
    "midi",
    "mp4",
    "m4v",
    "mkv",
    "avi",
    "mov",
    "wmv",
    "webm",
    "mpg",
    "mpeg",
    "flv",
    "3gp",
    "zip",
    "tar",
    "gz",
    "tgz",
    "bz2",
    "xz",
    "zst",
    "7z",
    "rar",
    "lz4",
    "jar",
    "war",
    "ear",
    "apk",
    "ipa",
    "deb",
    "rpm",
    "dmg",
    "iso",
    "img",
    "vmdk",
    "qcow2",
    "exe",
    "dll",
    "so",
    "dylib",
    "o",
    "a",
    "lib",
    "obj",
    "class",
    "pyc",
    "pyo",
    "wasm",
    "bin",
    "dat",
    "msi",
    "ttf",
    "otf",
    "woff",
    "woff2",
    "eot",
    "db",
    "sqlite",
    "sqlite3",
    "db3",
    "mdb",
    "accdb",
    "ldb",
    "rdb",
    "dbf",
    "parquet",
    "arrow",
    "feather",
    "npy",
    "npz",
    "pkl",
    "pickle",
    "safetensors",
    "onnx",
];

/// Why the file at a path is never read; `None` when nothing speaks against it.
pub(super) fn reason(path: &str) -> Option<SkipReason> {
    let lower = path.to_ascii_lowercase();
    let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
    if is_denied(original(name)) || folders.split('/').any(|folder| FOLDERS.contains(&folder)) {
        Some(SkipReason::Denied)
    } else if holds_secret(path) {
        Some(SkipReason::SecretName)
    } else if extension(name).is_some_and(|it| BINARY.contains(&it)) {
        Some(SkipReason::Binary)
    } else {
        None
    }
}

/// The name that a copy was made of.
fn original(mut name: &str) -> &str {
    while let Some(rest) = COPIES.iter().find_map(|ending| name.strip_suffix(ending)) {
        if rest.is_empty() {
            break;
        }
        name = rest;
    }
    name
}

fn extension(name: &str) -> Option<&str> {
    name.rsplit_once('.').map(|(_, extension)| extension)
}

/// `name` is in lowercase.
fn is_denied(name: &str) -> bool {
    let (stem, ending) = match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => (stem, ending),
        _ => (name, ""),
    };
    let is_for_readers = FOR_READERS.contains(&ending);
    let has_word = |word: &&str| {
        let rest = stem.strip_prefix(*word).or_else(|| stem.strip_suffix(*word));
        rest.is_some_and(|rest| {
            rest.is_empty() || !rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
        })
    };
    // `.env` itself is a name that begins with its extension.
    name == "credentials"
        || NAMES.contains(&name)
        || BEGINNINGS
            .iter()
            .any(|it| name.starts_with(it) && !(is_for_readers && stem.len() > it.len() + 8))
        || extension(name).is_some_and(|it| EXTENSIONS.contains(&it))
        || (!is_for_readers && !ending.is_empty() && WORDS.iter().any(has_word))
}

#[cfg(test)]
mod tests {
    use super::{SkipReason, reason};

    #[test]
    fn keys_and_passwords_are_never_read() {
        for path in [
            "server.pem",
            "a/b/TLS.KEY",
            "id_rsa",
            "id_rsa.pub",
            "id_ed25519_work",
            "x.p12",
            "x.pfx",
            "x.jks",
            "x.keystore",
            ".env",
            ".env.local",
            "prod.env",
            "credentials",
            "credentials.json",
            "credentials.md",
            "token.json",
            ".netrc",
            ".pgpass",
            ".npmrc",
            ".git-credentials",
            "kubeconfig",
            "prod.kubeconfig",
            "v.kdbx",
            ".htpasswd",
            "shadow",
            "db-credentials.yaml",
            "secrets.yml",
            "passwords.txt",
            ".ssh/config",
            "home/.aws/config",
            "id_rsa.bak",
            ".env~",
            "server.key.old",
            "service-account.json",
        ] {
            assert_eq!(reason(path), Some(SkipReason::Denied), "{path}");
        }
    }

    #[test]
    fn documents_about_them_are() {
        for path in [
            "secrets.md",
            "managing-secrets.md",
            "password-policy.md",
            "key.md",
            "keys.txt",
            "environment.md",
            "tokenizer.txt",
            "ssh/config.md",
            "shadow.md",
            "docs/credentials-guide.md",
            "env/setup.md",
            "a.html",
            "secretary.txt",
            "monkey.txt",
            "README",
            "keynote.md",
        ] {
            assert_eq!(reason(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_no_text_is_counted_apart() {
        for path in ["a.png", "x/y.MP4", "z.sqlite", "w.tar.gz"] {
            assert_eq!(reason(path), Some(SkipReason::Binary), "{path}");
        }
    }

    #[test]
    fn a_name_that_holds_a_token_is_denied() {
        let path = format!("notes/for gh{}.md", "p_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        assert_eq!(reason(&path), Some(SkipReason::SecretName));
    }
}
