//! Deny: names of files that are never read, whatever the settings list.
//!
//! In: a path relative to the root. Out: why it is not read, if its name is the reason.
//! Invariants: checked before the list of extensions and before every rule of the folder; only `privacy.allow_paths`
//! of the user's own configuration overrides it.

use config::formats;
use config::keys::{is_key_file, is_key_folder};

use super::rules::SkipReason;
use redact::holds_secret;

/// Extensions of binary files: images, sound, films, archives, programs, fonts, databases, models.
const BINARY: &str = "\
    png jpg jpeg gif bmp tif tiff webp ico icns heic heif avif psd raw cr2 mp3 wav flac ogg oga opus m4a aac \
    wma aiff mid midi mp4 m4v mkv avi mov wmv webm mpg mpeg flv 3gp zip tar gz tgz bz2 xz zst 7z rar lz4 jar \
    war ear apk ipa deb rpm dmg iso img vmdk qcow2 exe dll so dylib o a lib obj class pyc pyo wasm bin dat \
    msi ttf otf woff woff2 eot db sqlite sqlite3 db3 mdb accdb ldb rdb dbf parquet arrow feather npy npz pkl \
    pickle safetensors onnx";

/// Returns why the file at a path is never read; `None` if it may be.
pub(super) fn reason(path: &str) -> Option<SkipReason> {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    if is_key_file(name) || folders.split('/').any(is_key_folder) {
        return Some(SkipReason::Denied);
    }
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase());
    if holds_secret(path) {
        Some(SkipReason::SecretName)
    } else if extension
        .is_some_and(|it| BINARY.split(' ').any(|known| known == it) && formats::of(&it).is_none())
    {
        Some(SkipReason::Binary)
    } else {
        None
    }
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
            "secrets.docm",
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
