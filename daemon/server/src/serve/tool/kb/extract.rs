//! Extract: the entries of one file, by rules.
//!
//! In: the path and text of a file, without secrets. Out: [`Extraction`]: a summary, and at most
//! ten entries.
//! A section of Markdown with enough words becomes an entry under its heading; if there are too
//! many sections, neighbors are merged. A text without headings is one entry; code and settings
//! yield their opening comment, if any. Words decide the type of knowledge (`we decided`, `always`,
//! `the mistake was`); if they do, a short sentence is enough.
//! Invariants: the details are quoted from the file, nothing else; the same file gives the same
//! entries; sections left out as too short are listed.

use std::ops::Range;

use config::formats::{self, Source};
use notes::parse::{Heading, parse};
use proto::tool::kb::EntryType;

use extract::chunk::sentences;
use model::print::count_words;

/// Most entries per file (S2).
const MAX_ENTRIES: usize = 10;

/// Characters of a file that are read (S2).
const MAX_CHARS: usize = 100_000;

/// Fewest words of a section that becomes an entry, and of one whose words mark a decision, a
/// lesson or a convention.
const MIN_WORDS: usize = 8;
const MIN_WORDS_OF_KIND: usize = 3;

/// Deepest headings that start an entry.
const MAX_LEVEL: u8 = 3;

/// Longest title and summary, characters.
const MAX_TITLE: usize = 120;
const MAX_SUMMARY: usize = 400;

/// Most tags that entries inherit from their file.
const MAX_TAGS: usize = 10;

/// The entries of a file, with a summary.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Extraction {
    pub(super) summary: String,
    pub(super) entries: Vec<Extracted>,
    /// Titles of sections that were too short.
    pub(super) left_out: Vec<String>,
}

/// An entry of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Extracted {
    pub(super) short_title: String,
    pub(super) long_title: String,
    pub(super) details: String,
    pub(super) entry_type: EntryType,
    pub(super) tags: Vec<String>,
}

/// Extracts the entries of a file.
pub(super) fn extract(path: &str, text: &str) -> Extraction {
    let end = text.char_indices().nth(MAX_CHARS).map_or(text.len(), |it| it.0);
    let text = text.get(..end).unwrap_or(text);
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
    match extension.to_lowercase().as_str() {
        "md" | "markdown" => of_markdown(stem, text),
        "" if !is_program(name) => of_prose(stem, text),
        extension if formats::of(extension).is_some_and(|it| it.source == Source::Prose) => {
            of_prose(stem, text)
        }
        _ => of_head(name, text),
    }
}

fn is_program(name: &str) -> bool {
    matches!(
        name,
        "Dockerfile" | "Makefile" | "Justfile" | "Jenkinsfile" | "Vagrantfile" | "Procfile"
    )
}

/// A section: its heading, the headings above it, the offset of its heading, and the text below it.
#[derive(Clone)]
struct Section {
    title: String,
    above: Vec<String>,
    heading: usize,
    place: Range<usize>,
}

fn of_markdown(stem: &str, text: &str) -> Extraction {
    let note = parse(text);
    let start = note.frontmatter.as_ref().map_or(0, |front| front.body);
    let outer: Vec<&Heading> = note.headings.iter().filter(|it| it.is_outer).collect();
    let stated = note.title_or(stem).to_string();
    let first = outer.first().filter(|it| it.level == 1 && it.place.span.start >= start);
    let title = first.map_or(stated, |heading| heading.text.clone());
    let tags: Vec<String> = note
        .frontmatter
        .as_ref()
        .map(|front| front.tags())
        .unwrap_or_default()
        .into_iter()
        .filter(|tag| !tag.contains(char::is_whitespace))
        .take(MAX_TAGS)
        .collect();
    // As fine as ten entries allow.
    let cut = |level: u8| sections(text, start, &title, &outer, level);
    let (mut found, mut left_out) = cut(MAX_LEVEL);
    for level in (1..MAX_LEVEL).rev() {
        let coarser = if found.len() > MAX_ENTRIES { cut(level) } else { (vec![], vec![]) };
        // A single entry for the whole file would be about nothing.
        if coarser.0.len() > 1 {
            (found, left_out) = coarser;
        }
    }
    let entries = grouped(&found, MAX_ENTRIES).into_iter().map(|section| {
        let body = text.get(section.place.clone()).unwrap_or("").trim();
        let above = section.above.join(" › ");
        let long = match section.title == title || above.is_empty() {
            true => section.title.clone(),
            false => format!("{above} › {}", section.title),
        };
        Extracted {
            entry_type: type_of(&section.title, body),
            short_title: shortened(&section.title, MAX_TITLE),
            long_title: shortened(&long, MAX_TITLE + 60),
            details: body.to_string(),
            tags: tags.clone(),
        }
    });
    let body = text.get(start..).unwrap_or(text);
    Extraction { summary: summary_of(body), entries: entries.collect(), left_out }
}

/// Merges sections into at most `most` groups of neighbors, about equally many each, titled `One –
/// Three`, with the headings between them.
fn grouped(sections: &[Section], most: usize) -> Vec<Section> {
    let (n, most) = (sections.len(), most.min(sections.len()));
    let group = |at: usize| {
        let group = sections.get(at * n / most..(at + 1) * n / most)?;
        let (first, last) = (group.first()?, group.last()?);
        if group.len() == 1 {
            return Some(first.clone());
        }
        let title = format!("{} – {}", first.title, last.title);
        let place = first.heading..last.place.end;
        Some(Section { title, above: first.above.clone(), heading: first.heading, place })
    };
    (0..most).filter_map(group).collect()
}

/// Returns the sections that become entries, and the titles of those that are too short.
fn sections(
    text: &str,
    start: usize,
    title: &str,
    headings: &[&Heading],
    level: u8,
) -> (Vec<Section>, Vec<String>) {
    let marks: Vec<&&Heading> =
        headings.iter().filter(|it| it.level <= level && it.place.span.start >= start).collect();
    let (mut found, mut left_out) = (Vec::new(), Vec::new());
    let mut add = |title: &str, above: Vec<String>, heading: usize, place: Range<usize>| {
        let body = text.get(place.clone()).unwrap_or("").trim();
        if has_enough_content(title, body) {
            found.push(Section { title: title.to_string(), above, heading, place });
        } else if count_words(body) > 0 {
            left_out.push(shortened(title, MAX_TITLE));
        }
    };
    let first = marks.first().map_or(text.len(), |it| it.place.span.start);
    add(title, vec![], start, start..first);
    let mut open: Vec<(u8, String)> = Vec::new();
    for (at, heading) in marks.iter().enumerate() {
        open.retain(|(level, _)| *level < heading.level);
        let above = open.iter().map(|it| it.1.clone()).collect();
        let to = marks.get(at + 1).map_or(text.len(), |next| next.place.span.start);
        let span = &heading.place.span;
        add(&heading.text, above, span.start, span.end..to);
        open.push((heading.level, heading.text.clone()));
    }
    (found, left_out)
}

/// Returns whether a section has enough content for an entry; an introduction to a list below has
/// none.
fn has_enough_content(title: &str, body: &str) -> bool {
    let is_of_kind = || type_of(title, body) != EntryType::FactualReference && !body.ends_with(':');
    match count_words(body) {
        n if n >= MIN_WORDS => true,
        n => n >= MIN_WORDS_OF_KIND && is_of_kind(),
    }
}

fn of_prose(stem: &str, text: &str) -> Extraction {
    let body = text.trim();
    let title = shortened(&spoken(stem), MAX_TITLE);
    let summary = summary_of(body);
    let entry = Extracted {
        entry_type: type_of(&title, body),
        long_title: if summary.is_empty() { title.clone() } else { shortened(&summary, MAX_TITLE) },
        short_title: title,
        details: body.to_string(),
        tags: vec![],
    };
    if has_enough_content(&entry.short_title, body) {
        return Extraction { summary, entries: vec![entry], left_out: vec![] };
    }
    let left_out = if count_words(body) > 0 { vec![entry.short_title] } else { vec![] };
    Extraction { summary, entries: vec![], left_out }
}

/// Extracts the comment at the head of code or settings.
fn of_head(name: &str, text: &str) -> Extraction {
    let mut words: Vec<String> = Vec::new();
    let mut is_block = false;
    for line in text.lines().skip_while(|line| line.starts_with("#!") || line.trim().is_empty()) {
        let line = line.trim();
        let opens =
            ["/**", "/*", "\"\"\"", "'''", "<!--"].into_iter().find(|it| line.starts_with(it));
        let bare = match (is_block, opens) {
            (false, Some(open)) => {
                is_block = true;
                line.get(open.len()..)
            }
            (true, _) => Some(line.trim_start_matches('*')),
            (false, None) => ["//!", "///", "//", "#", "--", ";;", ";", "%"]
                .iter()
                .find_map(|it| line.strip_prefix(it)),
        };
        let Some(bare) = bare else { break };
        let end = ["*/", "\"\"\"", "'''", "-->"].into_iter().find(|it| bare.contains(it));
        let inner = end.and_then(|end| bare.split(end).next()).unwrap_or(bare);
        words.push(inner.trim().to_string());
        if is_block && end.is_some() {
            break;
        }
    }
    let body = words.join("\n").trim().to_string();
    let mut found = of_prose(name, &body);
    for entry in &mut found.entries {
        entry.short_title = name.to_string();
    }
    found
}

/// Returns the first two sentences of running text.
fn summary_of(text: &str) -> String {
    let is_prose = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with(['#', '|', '>', '-', '*', '`', '!', '=', '+', '<'])
    };
    let mut prose = String::new();
    for line in text.lines().skip_while(|line| !is_prose(line)).take_while(is_prose) {
        prose += line.trim();
        prose.push(' ');
    }
    let first: Vec<&str> = sentences(&prose).take(2).filter_map(|range| prose.get(range)).collect();
    shortened(&first.join(" "), MAX_SUMMARY)
}

fn spoken(stem: &str) -> String {
    let words: Vec<&str> = stem.split(['-', '_', ' ']).filter(|it| !it.is_empty()).collect();
    let text = words.join(" ");
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn shortened(text: &str, most: usize) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.chars().count() <= most {
        return text;
    }
    let cut: String = text.chars().take(most - 1).collect();
    let end = cut.rfind(' ').unwrap_or(cut.len());
    format!("{}…", cut.get(..end).unwrap_or(&cut))
}

/// Words that mark the type of knowledge in a section; the type with the most of them wins, the
/// first one on a tie.
const CUES: [(EntryType, &[&str]); 3] = [
    (
        EntryType::Decision,
        &[
            "we decided",
            "we chose",
            "decision:",
            "was chosen",
            "instead of",
            "we will use",
            "adr ",
            "adr-",
            "decided to",
            "alternatives considered",
            "rationale",
        ],
    ),
    (
        EntryType::LessonLearned,
        &[
            "lesson",
            "we learned",
            "mistake",
            "root cause",
            "post-mortem",
            "postmortem",
            "in hindsight",
            "turned out",
            "debugging",
        ],
    ),
    (
        EntryType::PatternConvention,
        &[
            "always ",
            "never ",
            "convention",
            "must ",
            "should ",
            "naming",
            "style guide",
            "pattern",
            "prefer ",
            "rule:",
        ],
    ),
];

/// Counts a cue where it begins a word: `whenever` does not contain `never `.
fn count_cue(text: &str, cue: &str) -> usize {
    let begins_word = |at| !text.get(..at).unwrap_or("").ends_with(char::is_alphanumeric);
    text.match_indices(cue).filter(|(at, _)| begins_word(*at)).count()
}

fn type_of(title: &str, body: &str) -> EntryType {
    let text = format!("{title}\n{body}").to_lowercase();
    let title = title.to_lowercase();
    let count = |cues: &[&str]| {
        // A cue in the heading counts three times in all, because a heading names the topic.
        let in_title = cues.iter().filter(|cue| count_cue(&title, cue.trim()) > 0).count();
        cues.iter().map(|cue| count_cue(&text, cue)).sum::<usize>() + 2 * in_title
    };
    let mut best = (EntryType::FactualReference, 0);
    for (entry_type, cues) in CUES {
        // A single `should` does not make a convention.
        let least = if entry_type == EntryType::PatternConvention { 1 } else { 0 };
        let n = count(cues);
        if n > best.1.max(least) {
            best = (entry_type, n);
        }
    }
    best.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries_of(path: &str, text: &str) -> Vec<(String, String, EntryType)> {
        let found = extract(path, text).entries;
        found.into_iter().map(|it| (it.short_title, it.long_title, it.entry_type)).collect()
    }

    #[test]
    fn sections_of_markdown_are_entries() {
        let text = "---\ntags: [ops]\n---\n# Queue\n\nThe queue holds jobs until a worker takes them away.\n\n\
                    ## Why Redis\n\nWe decided on Redis instead of Kafka because we had it running already.\n\n\
                    ## Todo\n\nShort.\n\n## Rules\n\nJobs must be small. Never put files into them, always paths.\n";
        assert_eq!(
            entries_of("docs/queue.md", text),
            [
                ("Queue".into(), "Queue".into(), EntryType::FactualReference),
                ("Why Redis".into(), "Queue › Why Redis".into(), EntryType::Decision),
                ("Rules".into(), "Queue › Rules".into(), EntryType::PatternConvention),
            ]
        );
        let found = extract("docs/queue.md", text);
        assert_eq!(found.left_out, ["Todo"]);
        assert_eq!(found.summary, "The queue holds jobs until a worker takes them away.");
        assert_eq!(
            found.entries[1].details,
            "We decided on Redis instead of Kafka because we had it running already."
        );
        assert_eq!(found.entries[0].tags, ["ops"]);
    }

    #[test]
    fn a_short_sentence_that_says_what_it_is_is_enough() {
        let text = "# Store\n\nWe decided to use rollback journals.\n\n## Lesson\n\n\
                    Readers blocked the writer all day.\n\n## Convention\n\nNames are in lower case.\n\n\
                    ## Rules\n\nThese are our conventions:\n\n\
                    ## 決定\n\n私たちは待ち行列にサーバーを使うことにしました。\n\n## Note\n\nIt works well.\n";
        let kinds: Vec<(String, EntryType)> =
            entries_of("docs/store.md", text).into_iter().map(|it| (it.0, it.2)).collect();
        assert_eq!(
            kinds,
            [
                ("Store".into(), EntryType::Decision),
                ("Lesson".into(), EntryType::LessonLearned),
                ("Convention".into(), EntryType::PatternConvention),
                ("決定".into(), EntryType::FactualReference),
            ]
        );
        assert_eq!(extract("docs/store.md", text).left_out, ["Rules", "Note"]);
    }

    #[test]
    fn a_cue_is_a_word_and_no_part_of_one() {
        for (body, expected) in [
            ("The office in Madrid keeps the quadrant.", EntryType::FactualReference),
            ("Whenever it rains, whenever it snows.", EntryType::FactualReference),
            ("See ADR-0011 for the keys.", EntryType::Decision),
        ] {
            assert_eq!(type_of("Note", body), expected, "{body}");
        }
    }

    #[test]
    fn more_sections_than_ten_are_cut_coarser() {
        let part =
            |n: usize| format!("### Part {n}\n\none two three four five six seven eight nine.\n\n");
        let half: String = (0..8).map(part).collect();
        let text = format!("# T\n\n## One\n\n{half}## Two\n\n{half}");
        let titles: Vec<String> = entries_of("t.md", &text).into_iter().map(|it| it.0).collect();
        assert_eq!(titles, ["One", "Two"]);
    }

    #[test]
    fn many_sections_of_one_line_are_ten_entries_that_leave_nothing_out() {
        let part =
            |n: usize| format!("## Part {n}\n\nThe value of part {n} is {n} units in total.\n\n");
        let text = format!("# Parts\n\n{}", (1..=15).map(part).collect::<String>());
        let found = extract("t.md", &text).entries;
        assert_eq!(found.len(), MAX_ENTRIES);
        let titles: Vec<&str> = found.iter().map(|it| it.short_title.as_str()).collect();
        assert_eq!(titles[..3], ["Part 1", "Part 2 – Part 3", "Part 4"]);
        assert_eq!(found[0].details, "The value of part 1 is 1 units in total.");
        assert!(
            found[1].details.starts_with("## Part 2\n")
                && found[1].details.ends_with("is 3 units in total.")
        );
        let details: String = found.iter().map(|it| it.details.as_str()).collect();
        assert!((1..=15).all(|n| details.contains(&format!("of part {n} is"))));
    }

    #[test]
    fn of_code_the_comment_at_its_head_counts() {
        let code = "#!/bin/sh\n# Rotates the keys of all hosts every night at two.\n# Needs root.\nset -e\n# not\n";
        let found = extract("bin/rotate.sh", code);
        assert_eq!(found.entries[0].short_title, "rotate.sh");
        assert_eq!(
            found.entries[0].details,
            "Rotates the keys of all hosts every night at two.\nNeeds root."
        );
        let python =
            "\"\"\"Reads the table of hosts and writes it as JSON again.\"\"\"\nimport json\n";
        assert_eq!(extract("a.py", python).entries.len(), 1);
        assert!(extract("a.rs", "fn main() {}\n").entries.is_empty());
    }
}
