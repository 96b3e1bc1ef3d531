//! Version: what to say when daemon and `kgctl` are not of one make.
//!
//! In: two versions. Out: which one is older, and what to do about it.

/// What differs, and what to do about it; `None` when both are the same.
pub(crate) fn mismatch(daemon: &str, ours: &str) -> Option<(String, String)> {
    if daemon == ours {
        return None;
    }
    let (detail, hint) = match number(daemon).zip(number(ours)) {
        Some((daemon, ours)) if daemon > ours => (
            "the daemon is newer than this `kgctl`",
            "install the `kgctl` that came with it; some commands and replies may not fit until then",
        ),
        Some(_) => {
            ("the daemon is older than this `kgctl`", "`kgctl restart` runs the installed one")
        }
        None => ("daemon and `kgctl` differ", "install both together, then `kgctl restart`"),
    };
    Some((format!("{detail}: {daemon} and {ours}"), hint.to_string()))
}

/// The three numbers of `1.2.3`, or of `1.2.3-rc.1`.
fn number(version: &str) -> Option<[u64; 3]> {
    let release = version.split(['-', '+']).next()?;
    let parts: Vec<u64> =
        release.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_one_is_named() {
        let rows = [
            ("0.1.0", "0.1.0", ""),
            ("0.2.0", "0.1.9", "the daemon is newer than this `kgctl`: 0.2.0 and 0.1.9"),
            ("0.10.0", "0.9.0", "the daemon is newer than this `kgctl`: 0.10.0 and 0.9.0"),
            ("0.1.0", "0.1.1", "the daemon is older than this `kgctl`: 0.1.0 and 0.1.1"),
            ("strange", "0.1.0", "daemon and `kgctl` differ: strange and 0.1.0"),
        ];
        for (daemon, ours, expected) in rows {
            let found = mismatch(daemon, ours);
            assert_eq!(found.map(|(detail, _)| detail).unwrap_or_default(), expected);
        }
    }
}
