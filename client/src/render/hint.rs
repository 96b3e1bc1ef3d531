//! Hint: translates hints for agents to the command line.
//!
//! In: a hint of the daemon, with names of tools and parameters. Out: the same for a shell.

/// Phrases of hints for agents, and their translations. Longer phrases come first.
const PHRASES: &[(&str, &str)] = &[
    ("call again with one of these as `entity_id`", "`kgctl explain '#ID'` with one of these ids"),
    (
        "take `doc_id` from a hybrid_query hit of this index",
        "take the id from `kgctl query TEXT --json`",
    ),
    ("call again with", "run it again with"),
    ("call again", "run it again"),
    ("`entity_id`", "`kgctl explain '#ID'`"),
    ("`max_chars`", "`--max-chars`"),
    ("`max_tokens`", "`--max-tokens`"),
    ("`next_cursor`", "`next_cursor` (of `--json`)"),
    ("`type`", "`--type`"),
    ("`rels`", "`--rel`"),
    ("`hops`", "`--hops`"),
    ("`limit`", "`--limit`"),
    ("`tags`", "`--tag`"),
    ("`since`", "`--since`"),
    ("entity_lookup", "kgctl lookup NAME"),
    ("explain_entity", "kgctl explain NAME"),
    ("hybrid_query", "kgctl query TEXT"),
    ("review_links", "kgctl review"),
    ("ingest_docs", "kgctl ingest PATH"),
    ("extract_and_link", "kgctl extract"),
];

/// Translates a hint of the daemon: names of tools and parameters become commands and flags. A bare tool name gets the
/// quotes of a command.
pub fn for_shell(text: &str) -> String {
    let mut text = text.to_string();
    for (agent, shell) in PHRASES {
        // With its backticks first: the bare name would match inside them, too, and double them.
        if shell.starts_with("kgctl ") {
            text = text.replace(&format!("`{agent}`"), &format!("`{shell}`"));
            text = text.replace(agent, &format!("`{shell}`"));
        } else {
            text = text.replace(agent, shell);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_and_parameters_become_commands_and_flags() {
        let table = [
            (
                "call again with one of these as `entity_id`",
                "`kgctl explain '#ID'` with one of these ids",
            ),
            (
                "2 of 9 hits fit; raise `max_chars` for more",
                "2 of 9 hits fit; raise `--max-chars` for more",
            ),
            ("find it with `entity_lookup`", "find it with `kgctl lookup NAME`"),
            ("try `hybrid_query`", "try `kgctl query TEXT`"),
            ("see `kgctl logs`", "see `kgctl logs`"),
        ];
        for (agent, shell) in table {
            assert_eq!(for_shell(agent), shell);
        }
    }
}
