//! Check: the ranges that `settings.rs` documents, and the syntax of glob patterns.
//!
//! In: settings. Out: what is wrong with them, as text.

use std::iter::Peekable;
use std::net::IpAddr;
use std::str::Chars;

use crate::boundary::fault_of_root;
use crate::settings::{ChunkProfiles, HttpToken, Settings, Telemetry};

/// A numeric setting with its minimum and maximum.
type Range = (&'static str, f64, f64, f64);

/// No sensible upper limit.
const ANY: f64 = f64::INFINITY;

#[rustfmt::skip]
fn table(settings: &Settings) -> Vec<Range> {
    // Without `..`: a new section does not compile until it is decided whether it has numbers.
    let Settings { write: _, projects: _, publish: _, watch, belt, worker, privacy: _, chunk, recognize, link,
        relate: _, embed, vectors: _, dedup, memory: _, llm, kb, retrieval, serve, http,
        log: _, telemetry: _, update: _ } =
        settings;
    let crate::settings::Llm { extraction, query } = llm;
    let ChunkProfiles { definition, procedure, reference, code } = &chunk.profiles;
    vec![
        ("watch.debounce_ms",                watch.debounce_ms as f64,              20.0,  5_000.0),
        ("watch.poll_interval_ms",           watch.poll_interval_ms as f64,         100.0, ANY),
        // A pass over 100,000 files takes a second or two; more often would be permanent work.
        ("watch.reconcile_seconds",          reconcile(watch.reconcile_seconds),    5.0,   ANY),
        ("watch.max_file_bytes",             watch.max_file_bytes as f64,           1.0,   1_000_000_000.0),
        ("watch.max_document_bytes",         watch.max_document_bytes as f64,       1.0,   1_000_000_000.0),
        ("belt.max_bytes_in_flight",         belt.max_bytes_in_flight as f64,       1.0,   1_000_000_000_000.0),
        ("worker.processes",                 worker.processes as f64,               0.0,   8.0),
        ("worker.max_seconds",               worker.max_seconds as f64,             1.0,   3_600.0),
        ("worker.max_cpu_seconds",           worker.max_cpu_seconds as f64,         1.0,   3_600.0),
        // With less, hardly a page can be parsed.
        ("worker.max_memory_bytes",          worker.max_memory_bytes as f64,        32_000_000.0, 64_000_000_000.0),
        ("worker.idle_seconds",              worker.idle_seconds as f64,            1.0,   86_400.0),
        ("chunk.max_tokens",                 f64::from(chunk.max_tokens),           50.0,  4_000.0),
        ("chunk.min_tokens",                 f64::from(chunk.min_tokens),           0.0,   4_000.0),
        ("chunk.overlap_tokens",             f64::from(chunk.overlap_tokens),       0.0,   2_000.0),
        ("chunk.profiles.definition.max_tokens",     f64::from(definition.max_tokens),     50.0, 4_000.0),
        ("chunk.profiles.definition.min_tokens",     f64::from(definition.min_tokens),     0.0,  4_000.0),
        ("chunk.profiles.definition.overlap_tokens", f64::from(definition.overlap_tokens), 0.0,  2_000.0),
        ("chunk.profiles.procedure.max_tokens",      f64::from(procedure.max_tokens),      50.0, 4_000.0),
        ("chunk.profiles.procedure.min_tokens",      f64::from(procedure.min_tokens),      0.0,  4_000.0),
        ("chunk.profiles.procedure.overlap_tokens",  f64::from(procedure.overlap_tokens),  0.0,  2_000.0),
        ("chunk.profiles.reference.max_tokens",      f64::from(reference.max_tokens),      50.0, 4_000.0),
        ("chunk.profiles.reference.min_tokens",      f64::from(reference.min_tokens),      0.0,  4_000.0),
        ("chunk.profiles.reference.overlap_tokens",  f64::from(reference.overlap_tokens),  0.0,  2_000.0),
        ("chunk.profiles.code.max_tokens",           f64::from(code.max_tokens),           50.0, 4_000.0),
        ("chunk.profiles.code.min_tokens",           f64::from(code.min_tokens),           0.0,  4_000.0),
        ("chunk.profiles.code.overlap_tokens",       f64::from(code.overlap_tokens),       0.0,  2_000.0),
        ("recognize.gazetteer.top_k",        recognize.gazetteer.top_k as f64,      0.0,   1_000_000.0),
        ("recognize.gazetteer.min_documents", f64::from(recognize.gazetteer.min_documents), 1.0, ANY),
        ("recognize.gazetteer.max_words",    recognize.gazetteer.max_words as f64,  1.0,   8.0),
        ("link.tau1",                        f64::from(link.tau1),                  0.0,   1.0),
        ("link.tau2",                        f64::from(link.tau2),                  0.0,   1.0),
        ("link.propose",                     f64::from(link.propose),               0.0,   1.0),
        ("link.margin",                      f64::from(link.margin),                0.0,   1.0),
        ("link.cosine",                      f64::from(link.cosine),                0.0,   1.0),
        ("link.string",                      f64::from(link.string),                0.0,   1.0),
        ("link.entity_type",                 f64::from(link.entity_type),           0.0,   1.0),
        ("link.context",                     f64::from(link.context),               0.0,   1.0),
        ("link.popularity",                  f64::from(link.popularity),            0.0,   1.0),
        ("embed.window_tokens",              f64::from(embed.window_tokens),        16.0,  4_000.0),
        ("embed.dimensions",                 f64::from(embed.dimensions),           0.0,   65_536.0),
        ("embed.remote.batch",               f64::from(embed.remote.batch),         1.0,   2_048.0),
        ("embed.remote.timeout_seconds",     f64::from(embed.remote.timeout_seconds), 1.0, 3_600.0),
        ("embed.remote.dimensions",          f64::from(embed.remote.dimensions),    0.0,   65_536.0),
        ("llm.extraction.timeout_ms",         extraction.timeout_ms as f64, 100.0, 600_000.0),
        ("llm.extraction.max_output_tokens", f64::from(extraction.max_output_tokens), 1.0, 100_000.0),
        ("llm.extraction.max_input_chars", f64::from(extraction.max_input_chars), 1_000.0, 1_000_000.0),
        ("llm.extraction.max_calls_per_hour", f64::from(extraction.max_calls_per_hour), 1.0, 100_000.0),
        ("llm.extraction.max_retries", f64::from(extraction.max_retries), 0.0, 5.0),
        ("llm.query.timeout_ms",              query.timeout_ms as f64, 100.0, 600_000.0),
        ("llm.query.max_output_tokens", f64::from(query.max_output_tokens), 1.0, 100_000.0),
        ("llm.query.max_input_chars", f64::from(query.max_input_chars), 1_000.0, 1_000_000.0),
        ("llm.query.max_calls_per_hour", f64::from(query.max_calls_per_hour), 1.0, 100_000.0),
        ("llm.query.max_retries", f64::from(query.max_retries), 0.0, 5.0),
        ("dedup.min_words",                  f64::from(dedup.min_words),            4.0,   1_000.0),
        ("dedup.similarity",                 f64::from(dedup.similarity),           0.5,   1.0),
        ("http.max_connections",             f64::from(http.max_connections),       1.0, 10_000.0),
        ("http.max_sessions",                f64::from(http.max_sessions),          1.0, 10_000.0),
        ("http.requests_per_second",         f64::from(http.requests_per_second),   1.0, 100_000.0),
        ("http.burst",                       f64::from(http.burst),                 1.0, 100_000.0),
        ("http.max_body_bytes",              f64::from(http.max_body_bytes),        1_024.0, 1_048_576.0),
        ("kb.max_ingest_bytes",              kb.max_ingest_bytes as f64,            1_000.0, 10_000_000.0),
        ("retrieval.k",                      f64::from(retrieval.k),                1.0,   100.0),
        ("retrieval.recall_k",               f64::from(retrieval.recall_k),         1.0,   4_096.0),
        ("retrieval.hops",                   f64::from(retrieval.hops),             0.0,   4.0),
        ("retrieval.max_chars",              f64::from(retrieval.max_chars),        200.0, 100_000.0),
        ("retrieval.floor.relevance",        f64::from(retrieval.floor.relevance),  0.0,   1.0),
        ("retrieval.floor.words",            f64::from(retrieval.floor.words),      0.0,   1.0),
        ("retrieval.floor.vector",           f64::from(retrieval.floor.vector),     -1.0,  1.0),
        ("retrieval.floor.similar",          f64::from(retrieval.floor.similar),    -1.0,  1.0),
        ("retrieval.rerank.depth",           f64::from(retrieval.rerank.depth),     1.0,   100.0),
        ("retrieval.rerank.weight",          f64::from(retrieval.rerank.weight),    0.0,   10.0),
        ("serve.request_deadline_ms",        serve.request_deadline_ms as f64,      100.0, 3_600_000.0),
        ("serve.idle_exit_minutes",          serve.idle_exit_minutes as f64,        0.0,   ANY),
    ]
}

/// Zero means never, which is in range.
fn reconcile(seconds: u64) -> f64 {
    if seconds == 0 { ANY } else { seconds as f64 }
}

/// Checks the number at `key`, if it is one.
pub(super) fn ranges(settings: &Settings, key: &str) -> Result<(), String> {
    let range = range_of(settings, key);
    range.map_or(Ok(()), |(value, least, greatest)| within(value, least, greatest))
}

/// Returns the number at `key` with its minimum and maximum, if it is one.
fn range_of(settings: &Settings, key: &str) -> Option<(f64, f64, f64)> {
    if let Some(name) = key.strip_prefix("retrieval.relation_weights.") {
        let weight = settings.retrieval.relation_weights.get(name).copied().unwrap_or_default();
        return Some((f64::from(weight), 0.0, 1.0));
    }
    if let Some(name) = key.strip_prefix("retrieval.weights.") {
        // All weights share one range, so a new one needs no row in the table.
        let weights = serde_json::to_value(settings.retrieval.weights).unwrap_or_default();
        // `unsure` is a share, the other weights are factors.
        let greatest = if name == "unsure" { 1.0 } else { 10.0 };
        return Some((weights[name].as_f64().unwrap_or_default(), 0.0, greatest));
    }
    let row = table(settings).into_iter().find(|(name, ..)| *name == key);
    row.map(|(_, value, least, greatest)| (value, least, greatest))
}

/// Returns the bounds of the number at `key`, if it is one; no greatest where any is fine.
pub(crate) fn bounds(key: &str) -> Option<(f64, Option<f64>)> {
    let (_, least, greatest) = range_of(&Settings::default(), key)?;
    Some((least, Some(greatest).filter(|it| *it != ANY)))
}

fn within(value: f64, least: f64, greatest: f64) -> Result<(), String> {
    if (least..=greatest).contains(&value) {
        Ok(())
    } else if greatest == ANY {
        Err(format!("is {value}; it must be at least {least}"))
    } else {
        Err(format!("is {value}; it must be from {least} to {greatest}"))
    }
}

/// Checks that the patterns in the list at `key` are globs, if it is such a list.
///
/// The daemon's matcher decides in the end; this check names file and key for what no matcher accepts, without a
/// matcher in every client.
pub(super) fn globs(settings: &Settings, key: &str) -> Result<(), String> {
    let labeled: Vec<String>;
    let patterns = match key {
        "watch.ignore" => &settings.watch.ignore,
        "privacy.allow_paths" => &settings.privacy.allow_paths,
        "privacy.labels" => {
            let pattern = |it: &String| {
                let parts = it.trim().split_once(char::is_whitespace);
                parts.map(|(_, glob)| glob.trim().to_string()).ok_or_else(|| {
                    format!("has `{it}`; an entry is a label and a pattern: `internal hr/**`")
                })
            };
            labeled = settings.privacy.labels.iter().map(pattern).collect::<Result<_, _>>()?;
            &labeled
        }
        _ => return Ok(()),
    };
    // As in a `.gitignore`, a line that begins with `#` is a comment.
    for pattern in patterns.iter().filter(|it| !it.starts_with('#')) {
        glob(pattern)
            .map_err(|why| format!("has `{pattern}`, which is not a glob pattern: {why}"))?;
    }
    Ok(())
}

/// Checks that each entry of the list at `key` means something, if it is the list of extensions.
pub(super) fn extensions(settings: &Settings, key: &str) -> Result<(), String> {
    let means_nothing = |entry: &&String| {
        let entry = entry.trim();
        let name = entry.trim_start_matches('-').trim_start_matches('.');
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '~');
        entry != "-*" && (name.is_empty() || !name.chars().all(is_part))
    };
    match settings.watch.extensions.iter().find(means_nothing).filter(|_| key == "watch.extensions")
    {
        Some(entry) => Err(format!(
            "has `{entry}`, which is not an extension; an entry is `tex`, `-pdf`, `-*`, `code` or `config`"
        )),
        None => Ok(()),
    }
}

/// Checks that the patterns of names at `key` can be used, if it is their list.
pub(super) fn patterns(settings: &Settings, key: &str) -> Result<(), String> {
    match key {
        "recognize.patterns" => crate::patterns::compile(&settings.recognize.patterns).map(drop),
        _ => Ok(()),
    }
}

/// Checks that the path at `key` is absolute, if it is one: a relative path would depend on where the daemon is
/// started. Folders of notes must be inside the project instead.
pub(super) fn paths(settings: &Settings, key: &str) -> Result<(), String> {
    let folder = match key {
        "memory.folder" => Some((&settings.memory.folder, "memory")),
        "kb.folder" => Some((&settings.kb.folder, "kb")),
        _ => None,
    };
    if let Some((folder, usual)) = folder {
        // A hidden folder would not be read.
        let is_inside = folder.split('/').all(|part| !part.starts_with('.') && !part.is_empty());
        let why =
            || format!("is `{folder}`; it must be a folder inside the project, such as `{usual}`");
        return if is_inside { Ok(()) } else { Err(why()) };
    }
    if key == "projects.roots" {
        let fault = settings.projects.roots.iter().find_map(|it| fault_of_root(it));
        return fault.map_or(Ok(()), Err);
    }
    let path = match key {
        "recognize.model" => &settings.recognize.model,
        "recognize.given" => &settings.recognize.given,
        "embed.remote.key_file" => &settings.embed.remote.key_file,
        "http.token_file" => &settings.http.token_file,
        "llm.extraction.key_file" => &settings.llm.extraction.key_file,
        "llm.query.key_file" => &settings.llm.query.key_file,
        _ => return Ok(()),
    };
    match path.is_empty() || path.starts_with('/') {
        true => Ok(()),
        false => Err(format!("is `{path}`; it must be an absolute path")),
    }
}

/// Checks that the value at `key` is the address of a server, if it is one.
pub(super) fn addresses(settings: &Settings, key: &str) -> Result<(), String> {
    let url = match key {
        "embed.hub" => &settings.embed.hub,
        "embed.remote.url" => &settings.embed.remote.url,
        "llm.extraction.url" => &settings.llm.extraction.url,
        "llm.query.url" => &settings.llm.query.url,
        "telemetry.otlp" => &settings.telemetry.otlp,
        "update.url" => &settings.update.url,
        _ => return Ok(()),
    };
    let is_http = url.starts_with("http://") || url.starts_with("https://");
    if !url.is_empty() && !is_http {
        return Err(format!("is `{url}`; it must begin with `http://` or `https://`"));
    }
    // A path is appended to it.
    match url.contains(['?', '#']) {
        true => Err(format!("is `{url}`; it must end before any `?` or `#`")),
        false => Ok(()),
    }
}

/// Returns true when an address of HTTP leads to this machine, by its name alone.
fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    // The last `@` ends the user's name and password, which may contain others.
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|it| it.to_canonical().is_loopback())
}

/// Returns what is wrong with one glob pattern.
fn glob(pattern: &str) -> Result<(), &'static str> {
    let mut rest = pattern.chars().peekable();
    let mut n_open = 0_usize;
    while let Some(c) = rest.next() {
        match c {
            '\\' if rest.next().is_none() => return Err("nothing follows its `\\`"),
            '[' => class(&mut rest)?,
            '{' => n_open += 1,
            '}' => n_open = n_open.checked_sub(1).ok_or("its `}` was never opened")?,
            _ => {}
        }
    }
    if n_open == 0 { Ok(()) } else { Err("its `{` is never closed") }
}

/// Checks the rest of a class such as `[!a-z]`, after its bracket.
fn class(rest: &mut Peekable<Chars<'_>>) -> Result<(), &'static str> {
    rest.next_if(|c| matches!(c, '!' | '^'));
    let mut previous: Option<char> = None;
    while let Some(c) = rest.next() {
        match c {
            // As the first character, a bracket stands for itself.
            ']' if previous.is_some() => return Ok(()),
            '-' if previous.is_some() && rest.peek().is_some_and(|next| *next != ']') => {
                let last = rest.next();
                if previous > last {
                    return Err("a range in its `[` ends before it begins");
                }
                previous = last;
            }
            c => previous = Some(c),
        }
    }
    Err("its `[` is never closed")
}

/// Checks numbers against each other, after all layers are applied. The error names the key to change.
pub(super) fn together(settings: &Settings) -> Result<(), (&'static str, String)> {
    let chunk = &settings.chunk;
    let ChunkProfiles { definition, procedure, reference, code } = &chunk.profiles;
    let profiles = [
        (
            "chunk.overlap_tokens",
            "chunk.min_tokens",
            chunk.max_tokens,
            chunk.overlap_tokens,
            chunk.min_tokens,
        ),
        (
            "chunk.profiles.definition.overlap_tokens",
            "chunk.profiles.definition.min_tokens",
            definition.max_tokens,
            definition.overlap_tokens,
            definition.min_tokens,
        ),
        (
            "chunk.profiles.procedure.overlap_tokens",
            "chunk.profiles.procedure.min_tokens",
            procedure.max_tokens,
            procedure.overlap_tokens,
            procedure.min_tokens,
        ),
        (
            "chunk.profiles.reference.overlap_tokens",
            "chunk.profiles.reference.min_tokens",
            reference.max_tokens,
            reference.overlap_tokens,
            reference.min_tokens,
        ),
        (
            "chunk.profiles.code.overlap_tokens",
            "chunk.profiles.code.min_tokens",
            code.max_tokens,
            code.overlap_tokens,
            code.min_tokens,
        ),
    ];
    // Overlaps of more than half would repeat most of every chunk.
    for (overlap_key, min_key, most, overlap, least) in profiles {
        let most_key = min_key.replace("min_tokens", "max_tokens");
        if overlap * 2 > most {
            return Err((
                overlap_key,
                format!("is {overlap}; it must be at most half of `{most_key}`"),
            ));
        }
        if least > most {
            return Err((min_key, format!("is {least}; it must be at most `{most_key}`")));
        }
    }
    if settings.http.token == HttpToken::None && !settings.http.token_file.is_empty() {
        let why = "is `none`, but `http.token_file` names a token: remove one of them";
        return Err(("http.token", why.to_string()));
    }
    let Telemetry { otlp, allow_plain } = &settings.telemetry;
    if otlp.starts_with("http:") && !allow_plain && !is_loopback(otlp) {
        let why = format!(
            "is `{otlp}`: another machine is reached by `https://`, or with `telemetry.allow_plain: true`"
        );
        return Err(("telemetry.otlp", why));
    }
    let (memory, kb) = (&settings.memory.folder, &settings.kb.folder);
    let rest = kb.strip_prefix(memory.as_str());
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
        // Blame the key that was changed; both have defaults that fit.
        let key = if *kb == Settings::default().kb.folder { "memory.folder" } else { "kb.folder" };
        let why = format!(
            "puts entries (`{kb}`) into the folder of memory (`{memory}`), where each would also become an entity: use \
             them a folder of their own"
        );
        return Err((key, why));
    }
    Ok(())
}

/// Returns the edit distance of two keys, in bytes; keys are short ASCII.
pub(super) fn distance(left: &str, right: &str) -> usize {
    // One row of the table at a time; `diagonal` is the value up and to the left.
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, b) in right.bytes().enumerate() {
            let substituted = diagonal + usize::from(a != b);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::exact;
    use crate::load::leaves;

    #[test]
    fn every_number_has_a_range_and_every_default_is_within() {
        let settings = Settings::default();
        let ranged = table(&settings);
        for (key, value, least, greatest) in &ranged {
            assert!((*least..=*greatest).contains(value), "{key} = {value}");
        }
        for (key, value) in leaves(&exact(&settings)) {
            let open = ["retrieval.relation_weights.", "retrieval.weights."]
                .iter()
                .any(|map| key.starts_with(map));
            assert_eq!(ranges(&settings, &key), Ok(()), "{key}");
            assert!(
                !value.is_number() || open || ranged.iter().any(|row| row.0 == key),
                "{key} has no range"
            );
        }
    }

    #[test]
    fn an_entry_that_is_no_extension_is_refused() {
        let mut settings = Settings::default();
        for (entry, is_sound) in [
            ("tex", true),
            (".Tex", true),
            ("-pdf", true),
            ("-.DOCX", true),
            ("-*", true),
            ("c++", true),
            ("", false),
            (" ", false),
            ("-", false),
            ("*", false),
            ("*.md", false),
            ("docs/md", false),
            ("tar.gz", false),
        ] {
            settings.watch.extensions = vec!["md".to_string(), entry.to_string()];
            let found = extensions(&settings, "watch.extensions");
            assert_eq!(found.is_ok(), is_sound, "{entry}: {found:?}");
        }
    }

    #[test]
    fn every_weight_has_the_same_range_but_for_a_share() {
        for (key, value, is_sound) in [
            ("retrieval.weights.bridge", 10.0, true),
            ("retrieval.weights.bridge", 10.5, false),
            ("retrieval.weights.bridge", -0.5, false),
            ("retrieval.weights.unsure", 1.0, true),
            ("retrieval.weights.unsure", 1.5, false),
        ] {
            let mut settings = Settings::default();
            let weights = &mut settings.retrieval.weights;
            let slot =
                if key.ends_with("unsure") { &mut weights.unsure } else { &mut weights.bridge };
            *slot = value;
            assert_eq!(ranges(&settings, key).is_ok(), is_sound, "{key} = {value}");
        }
    }

    #[test]
    fn globs_that_no_matcher_takes_are_told_from_the_rest() {
        for sound in ["", "*.tmp", "/a/**", "!keep", "[a-z]x", "[]]", "[!]a]", "[a-]", "{a,b{c,d}}"]
        {
            assert_eq!(glob(sound), Ok(()), "{sound}");
        }
        for broken in ["[", "[]", "a[!b", "[z-a]", "{a", "a}", "a\\"] {
            assert!(glob(broken).is_err(), "{broken}");
        }
    }

    #[test]
    fn distance_counts_edits() {
        let table = [
            ("", "", 0),
            ("abc", "abc", 0),
            ("abc", "", 3),
            ("link.tau2", "link.tua2", 2),
            ("a", "b", 1),
        ];
        for (left, right, expected) in table {
            assert_eq!(distance(left, right), expected, "{left} {right}");
        }
    }
}
