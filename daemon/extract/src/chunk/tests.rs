//! Chunks printed as tables, and properties of any document.

use std::sync::LazyLock;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use model::Stage;
use model::document::{Block, BlockKind, DocHead, StatedNote};
use model::terms::{RelPath, SpanMap};

static WORDPIECE: LazyLock<Arc<WordPiece>> = LazyLock::new(WordPiece::builtin);

/// A document from rows of kind and text: `h1`–`h6`, `p`, `q`, `code`, `row`, `-` (item), `1` (ordered item),
/// the last two indented by two spaces a level. Rows of one kind in a row share their list or table.
fn doc(rows: &[(&str, &str)]) -> Document {
    let (mut text, mut blocks) = (String::new(), Vec::<Block>::new());
    let mut headings: Vec<(u8, u32)> = Vec::new();
    let (mut lists, mut n_lists, mut n_tables, mut last) = (vec![], 0, 0, "");
    for &(kind, body) in rows {
        let depth = (kind.len() - kind.trim_start().len()) / 2;
        let (is_list, was_list) = (is_item(kind), is_item(last));
        if !text.is_empty() {
            text.push_str(if (is_list && was_list) || (kind == "row" && last == "row") {
                "\n"
            } else {
                "\n\n"
            });
        }
        if let Some(level) = kind.strip_prefix('h').and_then(|level| level.parse::<u8>().ok()) {
            headings.retain(|(above, _)| *above < level);
        }
        let section = headings.last().map(|(_, block)| *block);
        // Code between items does not end a list.
        if !is_list && kind != "code" {
            lists.clear();
        }
        if is_list {
            lists.truncate(depth + 1);
            while lists.len() <= depth {
                lists.push(n_lists);
                n_lists += 1;
            }
        }
        n_tables += u32::from(kind == "row" && last != "row");
        let kind_of = match kind.trim_start() {
            "p" => BlockKind::Paragraph,
            "q" => BlockKind::Quote,
            "code" => BlockKind::Code { language: String::new() },
            "row" => BlockKind::TableRow { table: n_tables, is_header: last != "row" },
            "-" => BlockKind::ListItem { list: lists[depth], depth: depth as u8, ordinal: None },
            "1" => BlockKind::ListItem { list: lists[depth], depth: depth as u8, ordinal: Some(1) },
            heading => {
                let level = heading[1..].parse().expect("a row's kind is one of the list above");
                headings.push((level, blocks.len() as u32));
                BlockKind::Heading(level)
            }
        };
        let start = text.len();
        text.push_str(body);
        blocks.push(Block { kind: kind_of, span: Span::new(start, text.len()), section });
        last = kind;
    }
    normal(text, blocks)
}

fn is_item(kind: &str) -> bool {
    matches!(kind.trim_start(), "-" | "1")
}

fn normal(text: String, blocks: Vec<Block>) -> Document {
    let (path, hash) = (RelPath::new("a.md"), ContentHash::of(text.as_bytes()));
    Document {
        head: DocHead { path, hash, n_bytes: text.len() as u64, ..DocHead::default() },
        title: "Guide".into(),
        language: "en".into(),
        map: SpanMap::identity(text.len(), 0),
        text,
        line_starts: vec![0],
        blocks,
        ..Document::default()
    }
}

/// The sizes of a chunk (maximum, minimum, overlap) and of its window, in tokens.
type Sizes = (u32, u32, u32, u32);

fn chunked(
    doc: Document,
    (max_tokens, min_tokens, overlap_tokens, window_tokens): Sizes,
) -> Document {
    let sizes = settings::ChunkSizes { max_tokens, min_tokens, overlap_tokens };
    let profiles = settings::ChunkProfiles {
        definition: sizes.clone(),
        procedure: sizes.clone(),
        reference: sizes.clone(),
        code: sizes,
    };
    let chunk = settings::Chunk { max_tokens, min_tokens, overlap_tokens, profiles };
    let embed = settings::Embed { window_tokens, ..settings::Embed::default() };
    let mut chunker = Chunker::new(&chunk, &embed, Arc::clone(&WORDPIECE));
    chunker.run(doc).expect("chunking never fails")
}

fn check(rows: &[(&str, &str)], sizes: Sizes, expected: Expect) {
    let doc = chunked(doc(rows), sizes);
    let mut table = String::new();
    for chunk in &doc.chunks {
        let windows: Vec<&str> = chunk.windows.iter().map(|window| window.of(&doc.text)).collect();
        let shown = windows.join("¦").replace('\n', "⏎");
        table.push_str(&format!(
            "{:<2} [{}] {shown}\n",
            chunk.n_tokens,
            chunk.headings.join(" > ")
        ));
    }
    expected.assert_eq(&table);
}

const SENTENCES: &str = "One two three. Four five six. Seven eight nine. Ten eleven twelve.";

#[test]
fn chunks_follow_sections() {
    check(
        &[
            ("p", "Before all."),
            ("h1", "Guide"),
            ("p", SENTENCES),
            ("h2", "Install"),
            ("p", SENTENCES),
            ("h3", "Linux"),
            ("p", SENTENCES),
        ],
        (40, 3, 0, 40),
        expect![[r#"
            3  [] Before all.
            17 [] Guide⏎⏎One two three. Four five six. Seven eight nine. Ten eleven twelve.
            17 [Install] Install⏎⏎One two three. Four five six. Seven eight nine. Ten eleven twelve.
            17 [Install > Linux] Linux⏎⏎One two three. Four five six. Seven eight nine. Ten eleven twelve.
        "#]],
    );
}

#[test]
fn small_sections_join_what_follows_under_their_parent() {
    check(
        &[
            ("h1", "A"),
            ("p", "Tiny."),
            ("h2", "B"),
            ("p", "Small."),
            ("h2", "C"),
            ("p", SENTENCES),
            ("h2", "D"),
            ("p", "Last of A."),
            ("h1", "E"),
            ("h2", "F"),
            ("p", SENTENCES),
        ],
        (30, 12, 0, 30),
        expect![[r#"
            23 [A] A⏎⏎Tiny.⏎⏎B⏎⏎Small.⏎⏎C⏎⏎One two three. Four five six. Seven eight nine. Ten eleven twelve.
            5  [A > D] D⏎⏎Last of A.
            18 [E > F] E⏎⏎F⏎⏎One two three. Four five six. Seven eight nine. Ten eleven twelve.
        "#]],
    );
}

#[test]
fn a_heading_takes_the_start_of_what_follows() {
    check(
        &[("h1", "Title"), ("p", SENTENCES)],
        (16, 4, 0, 16),
        expect![[r#"
            13 [Title] Title⏎⏎One two three. Four five six. Seven eight nine.
            4  [Title] Ten eleven twelve.
        "#]],
    );
    check(
        &[("h1", "Title"), ("h2", "Sub"), ("p", SENTENCES)],
        (16, 4, 0, 16),
        expect![[r#"
            14 [Title > Sub] Title⏎⏎Sub⏎⏎One two three. Four five six. Seven eight nine.
            4  [Title > Sub] Ten eleven twelve.
        "#]],
    );
}

#[test]
fn overlap_is_whole_sentences_of_the_section() {
    check(
        &[("h1", "X"), ("p", SENTENCES), ("p", "Last words."), ("h1", "Y"), ("p", SENTENCES)],
        (13, 4, 5, 13),
        expect![[r#"
            13 [X] X⏎⏎One two three. Four five six. Seven eight nine.
            11 [X] Seven eight nine. Ten eleven twelve.⏎⏎Last words.
            13 [Y] Y⏎⏎One two three. Four five six. Seven eight nine.
            8  [Y] Seven eight nine. Ten eleven twelve.
        "#]],
    );
}

#[test]
fn long_sentences_are_cut_between_words() {
    check(
        &[("p", "one two three four five six seven eight nine ten. End.")],
        (4, 1, 2, 3),
        expect![[r#"
            4  [] one two three ¦four
            4  [] five six seven ¦eight
            3  [] nine ten.
            2  [] End.
        "#]],
    );
}

#[test]
fn code_is_cut_between_lines() {
    check(
        &[("p", "See:"), ("code", "fn main() {\n    run();\n\n    stop();\n}")],
        (9, 1, 4, 9),
        expect![[r#"
            8  [] See:⏎⏎fn main() {
            9  []     run();⏎⏎    stop();⏎}
        "#]],
    );
    check(
        &[("code", "a b\na b c d e f g\nc")],
        (4, 1, 0, 4),
        expect![[r#"
            2  [] a b
            7  [] a b c d ¦e f g
            1  [] c
        "#]],
    );
    check(
        &[("code", "a b c d e f g h i j")],
        (2, 1, 0, 2),
        expect![[r#"
            2  [] a b
            2  [] c d
            2  [] e f
            2  [] g h
            2  [] i j
        "#]],
    );
}

#[test]
fn a_row_of_a_sheet_has_its_own_chunk_under_its_columns() {
    let rows = [("h2", "Staff"), ("row", "name | port"), ("row", "http | 80"), ("row", "ssh | 22")];
    let mut doc = doc(&rows);
    doc.head.path = RelPath::new("hosts.csv");
    let doc = chunked(doc, (50, 10, 0, 50));
    let chunks = doc.chunks.iter().map(|it| (it.headings.join(" > "), it.span.of(&doc.text)));
    let chunks: Vec<_> = chunks.collect();
    let first = ("Staff".to_string(), "Staff\n\nname | port\nhttp | 80");
    assert_eq!(chunks, [first, ("Staff > name | port".to_string(), "ssh | 22")]);
}

#[test]
fn tables_are_cut_between_rows() {
    check(
        &[
            ("p", "Ports."),
            ("row", "name | port"),
            ("row", "http | 80"),
            ("row", "ssh | 22"),
            ("p", "End."),
        ],
        (8, 1, 0, 8),
        expect![[r#"
            8  [] Ports.⏎⏎name | port⏎http | 80
            6  [name | port] ssh | 22⏎⏎End.
        "#]],
    );
}

/// A stated fact is a separate chunk in every note; in the memory folder, so is each outermost item.
#[test]
fn a_fact_is_a_chunk_of_its_own_with_what_is_nested_in_it() {
    let rows = [
        ("h1", "# Ada"),
        ("p", "Keeper of the light."),
        ("-", "- [duty] Lights the lantern"),
        ("  -", "  - at dusk"),
        ("-", "- [duty] Bakes bread"),
        ("-", "- Sings"),
        ("-", "- Swims"),
    ];
    for (path, items) in
        [("ada.md", &["- Sings\n- Swims"] as &[&str]), ("memory/ada.md", &["- Sings", "- Swims"])]
    {
        let doc = doc(&rows);
        let ends = doc.text.match_indices('\n').map(|(at, _)| at as u32 + 1);
        let stated = StatedNote {
            note: notes::parse::parse(&doc.text),
            link_lines: vec![],
            node: notes::memory::read(&doc.text),
        };
        let doc = Document {
            head: DocHead { path: RelPath::new(path), ..doc.head },
            line_starts: std::iter::once(0).chain(ends).collect(),
            note: Some(Box::new(stated)),
            ..doc
        };
        let doc = chunked(doc, (60, 20, 0, 60));
        let texts: Vec<&str> = doc.chunks.iter().map(|it| it.span.of(&doc.text)).collect();
        let facts = ["- [duty] Lights the lantern\n  - at dusk", "- [duty] Bakes bread"];
        let above = ["# Ada\n\nKeeper of the light."];
        assert_eq!(texts, [&above, &facts as &[&str], items].concat(), "{path}");
    }
}

#[test]
fn procedures_stay_whole() {
    let steps = [
        ("p", "Do this now:"),
        ("1", "Fetch the sources."),
        ("  -", "Or the archive."),
        ("code", "git clone x"),
        ("1", "Build them."),
        ("  -", "Twice."),
        ("p", "Then rest a while."),
    ];
    check(
        &steps,
        (12, 1, 4, 24),
        expect![[r#"
            4  [] Do this now:
            17 [] Fetch the sources.⏎Or the archive.⏎⏎git clone x⏎⏎Build them.⏎Twice.
            7  [] Twice.⏎⏎Then rest a while.
        "#]],
    );
    check(
        &steps,
        (8, 1, 0, 16),
        expect![[r#"
            8  [] Do this now:⏎⏎Fetch the sources.
            8  [] Or the archive.⏎⏎git clone x
            5  [] Build them.⏎Twice.
            5  [] Then rest a while.
        "#]],
    );
}

/// The profile of each chunk, with its headings.
fn check_profiles(doc: Document, expected: Expect) {
    let chunk = settings::Chunk { min_tokens: 1, ..settings::Chunk::default() };
    let embed = settings::Embed::default();
    let mut chunker = Chunker::new(&chunk, &embed, Arc::clone(&WORDPIECE));
    let chunks = chunker.run(doc).expect("chunking never fails").chunks;
    let row =
        |chunk: &Chunk| format!("{:<10} {}\n", chunk.profile.as_str(), chunk.headings.join(" > "));
    expected.assert_eq(&chunks.iter().map(row).collect::<String>());
}

#[test]
fn sections_show_what_they_are() {
    let rows = [
        ("h1", "Manual"),
        ("p", SENTENCES),
        ("h2", "Set it up"),
        ("p", "Do this:"),
        ("1", "Fetch the sources."),
        ("code", "git clone x"),
        ("1", "Build them."),
        ("1", "Start the service."),
        ("h2", "Ports"),
        ("row", "name | port"),
        ("row", "http | 80"),
        ("h2", "rotate_keys()"),
        ("p", SENTENCES),
        ("h2", "Example"),
        ("p", "See:"),
        ("code", "fn main() {\n    run(1, 2, 3);\n}"),
        ("h2", "Why is it slow?"),
        ("p", SENTENCES),
        ("h2", "Glossary"),
        ("h3", "Key"),
        ("p", SENTENCES),
    ];
    check_profiles(
        doc(&rows),
        expect![[r#"
            general    Manual
            procedure  Manual > Set it up
            reference  Manual
            code       Manual > Example
            definition Manual
        "#]],
    );
    let stated = |doc_type: &str| {
        let mut doc = doc(&[("h1", "Keys"), ("p", SENTENCES)]);
        doc.meta.doc_type = Some(doc_type.into());
        doc
    };
    check_profiles(stated("Runbook"), expect![["procedure  Keys\n"]]);
    check_profiles(stated("faq"), expect![["definition Keys\n"]]);
    check_profiles(stated("meeting"), expect![["general    Keys\n"]]);
}

#[test]
fn profiles_have_sizes_of_their_own() {
    let rows = [("h1", "Is it so?"), ("p", SENTENCES), ("h1", "Plain"), ("p", SENTENCES)];
    let small = settings::ChunkSizes { max_tokens: 8, min_tokens: 1, overlap_tokens: 0 };
    let profiles =
        settings::ChunkProfiles { definition: small, ..settings::ChunkProfiles::default() };
    let chunk = settings::Chunk { max_tokens: 60, min_tokens: 1, overlap_tokens: 0, profiles };
    let mut chunker = Chunker::new(&chunk, &settings::Embed::default(), Arc::clone(&WORDPIECE));
    let chunks = chunker.run(doc(&rows)).expect("chunking never fails").chunks;
    let sizes: Vec<(&str, bool)> =
        chunks.iter().map(|chunk| (chunk.profile.as_str(), chunk.n_tokens <= 8)).collect();
    let definition = ("definition", true);
    assert_eq!(sizes, [definition, definition, definition, ("general", false)]);
}

#[test]
fn a_chunk_is_in_the_language_of_most_of_it() {
    let mut doc = doc(&[("p", "Kurz."), ("p", SENTENCES)]);
    doc.other_languages = vec![(doc.blocks[0].span, "de".to_string())];
    let language = |doc: &Document| chunked(doc.clone(), (60, 1, 0, 60)).chunks[0].language.clone();
    assert_eq!(language(&doc), "en");
    doc.other_languages = vec![(doc.blocks[1].span, "de".to_string())];
    assert_eq!(language(&doc), "de");
}

#[test]
fn empty_text_gives_no_chunk() {
    check(&[], (10, 1, 0, 10), expect![[""]]);
    check(&[("p", " \n "), ("code", "\n\n")], (10, 1, 0, 10), expect![[""]]);
}

#[test]
fn windows_are_even() {
    check(
        &[("p", SENTENCES)],
        (40, 1, 0, 14),
        expect![[r#"
            16 [] One two three. Four five six. ¦Seven eight nine. Ten eleven twelve.
        "#]],
    );
}

#[test]
fn hash_covers_title_headings_and_text() {
    let hash = |rows: &[(&str, &str)], title: &str| {
        let mut doc = doc(rows);
        doc.title = title.into();
        chunked(doc, (40, 1, 0, 40)).chunks.last().map(|chunk| chunk.hash)
    };
    let base = hash(&[("h1", "A"), ("p", "Text.")], "T");
    assert_eq!(base, hash(&[("p", "Other."), ("h1", "A"), ("p", "Text.")], "T"));
    for (rows, title) in [
        ([("h1", "A"), ("p", "Text.")], "U"),
        ([("h1", "B"), ("p", "Text.")], "T"),
        ([("h1", "A"), ("p", "Text!")], "T"),
    ] {
        assert_ne!(base, hash(&rows, title));
    }
}

#[test]
fn sentences_leave_out_code_and_rows() {
    let doc = doc(&[
        ("h1", "What? Why."),
        ("p", "A b. C d."),
        ("code", "x. Y."),
        ("row", "r. S | t"),
        ("-", "Item. More."),
        ("q", "Quote."),
    ]);
    let surfaces: Vec<&str> = sentences_of(&doc).iter().map(|span| span.of(&doc.text)).collect();
    assert_eq!(surfaces, ["What? Why.", "A b.", "C d.", "Item.", "More.", "Quote."]);
}

#[test]
fn hostile_outlines_are_linear() {
    let many = |kinds: &[(&'static str, &'static str)]| {
        let rows: Vec<(&str, &str)> = kinds.iter().copied().cycle().take(40_000).collect();
        let n_chunks = chunked(doc(&rows), (50, 10, 10, 20)).chunks.len();
        assert!(n_chunks > 0);
    };
    many(&[("h1", "x")]);
    many(&[("1", "x"), ("code", "y")]);
    many(&[("1", "\u{200b}"), ("code", "\u{200b}")]);
    many(&[("  1", "x"), ("1", "x"), ("    -", "y")]);
    many(&[("row", "a | b")]);
}

fn any_doc() -> impl Strategy<Value = Document> {
    let kind = prop::sample::select(vec![
        "h1", "h2", "h3", "p", "p", "p", "q", "code", "code", "row", "row", "-", "1", "1", "  -",
        "  1",
    ]);
    let prose = "([A-Za-z0-9é日≠\u{200b}]{1,9}[ ,.!?]{1,2}){1,40}";
    let lines = "([a-z(){};= ]{0,12}\n?){1,12}";
    let row = kind.prop_flat_map(move |kind| {
        let body = if kind == "code" { lines } else { prose };
        body.prop_map(move |body| (kind, body))
    });
    prop::collection::vec(row, 0..14).prop_map(|rows| {
        let rows: Vec<(&str, &str)> =
            rows.iter().map(|(kind, body)| (*kind, body.as_str())).collect();
        doc(&rows)
    })
}

fn any_sizes() -> impl Strategy<Value = Sizes> {
    (5u32..60, 0u32..30, 0u32..20, 2u32..40)
}

/// True when at most one word has pieces, so that the text cannot be split further.
fn is_one_word(text: &str) -> bool {
    let mut words = Vec::new();
    CachedWordPiece::new(Arc::clone(&WORDPIECE)).words(text, &mut words);
    words.len() <= 1
}

#[test]
fn a_turn_is_a_passage_and_is_embedded_with_what_was_said_before() {
    let long = "Ben: It is a long story, and it began in March. We sold the boat then. Nobody wanted it at first, \
                and the winter was hard.";
    check(
        &[
            ("h2", "Monday"),
            (
                "p",
                "Ana: Who has the keys to the shed now?\nBen: Clara, since Tuesday, and she keeps them.",
            ),
            ("p", "Ana: And what happened to your old boat?"),
            ("p", long),
            ("p", "Ana: I am sorry to hear that, really."),
        ],
        (60, 10, 0, 60),
        expect![[r#"
            12 [Monday] Monday⏎⏎Ana: Who has the keys to the shed now?
            12 [Monday] Ana: Who has the keys to the shed now?⏎Ben: Clara, since Tuesday, and she keeps them.
            10 [Monday] Ben: Clara, since Tuesday, and she keeps them.⏎⏎Ana: And what happened to your old boat?
            32 [Monday] Ana: And what happened to your old boat?⏎⏎Ben: It is a long story, and it began in March. We sold the boat then. Nobody wanted it at first, and the winter was hard.
            11 [Monday] Ben: It is a long story, and it began in March. We sold the boat then. Nobody wanted it at first, and the winter was hard.⏎⏎Ana: I am sorry to hear that, really.
        "#]],
    );
    // Below roles.
    check(
        &[
            ("h1", "Undoing"),
            ("h2", "User"),
            ("p", "How do I undo a commit?"),
            ("h2", "Assistant, 2024-03-01 12:30"),
            ("p", "With a soft reset."),
            ("p", "It keeps the files."),
        ],
        (60, 10, 0, 60),
        expect![[r#"
            10 [Undoing > User] Undoing⏎⏎User⏎⏎How do I undo a commit?
            21 [Undoing > Assistant, 2024-03-01 12:30] User⏎⏎How do I undo a commit?⏎⏎Assistant, 2024-03-01 12:30⏎⏎With a soft reset.⏎⏎It keeps the files.
        "#]],
    );
    // In a file of lines, which make one paragraph.
    let mut log = doc(&[(
        "p",
        "13:56 - Ana: I am here now. 13:57 - Bo: So am I, at last. 14:02 - Ana: Good. 14:03 - Bo: Then we can start.",
    )]);
    log.line_starts = [0, 28, 57, 76].to_vec();
    let log = chunked(log, (60, 10, 0, 60));
    let said: Vec<&str> = log.chunks.iter().map(|it| it.span.of(&log.text)).collect();
    assert_eq!(
        said,
        [
            "13:56 - Ana: I am here now.",
            "13:57 - Bo: So am I, at last.",
            "14:02 - Ana: Good.",
            "14:03 - Bo: Then we can start."
        ]
    );
    // Records, remarks, assigned tasks, verses and lists of questions are no dialogue.
    let name = ("p", "Name: Ana\nStatus: done");
    let psalm = ("p", "Psalm 23:1: The Lord is my shepherd, I shall not want.");
    let john = ("p", "John 3:16: For God so loved the world that he gave his son.");
    let [asked, answered] =
        [("p", "Q: Where is the key to the shed?"), ("p", "A: In the drawer, below.")];
    let [owner, machine] = [
        ("p", "Owner: Ana Smith, since the spring."),
        ("p", "Machine: the north pump, in hall two."),
    ];
    let remark = ("p", "Note: the pump must be off before you open the lid.");
    let warning = ("p", "Warning: the lid is hot for an hour after that.");
    let (prose, task) = (("p", SENTENCES), ("-", "Ana: writes the report for the next meeting"));
    for rows in [
        [name; 6],
        [remark, prose, prose, warning, remark, warning],
        [task; 6],
        [psalm, john, psalm, john, psalm, john],
        [asked, answered, asked, answered, asked, answered],
        [machine, owner, machine, owner, machine, owner],
    ] {
        let chunks = chunked(doc(&rows), (300, 50, 0, 200)).chunks;
        assert!(chunks.iter().all(|it| it.profile != Profile::Dialogue), "{rows:?}");
        assert_eq!(chunks.len(), 1, "{rows:?}");
    }
}

/// Pieces that must not be cut, with their tokens: code lines, rows and list items.
fn lines_of(doc: &Document) -> Vec<(Span<Norm>, usize)> {
    let mut lines = Vec::new();
    for block in &doc.blocks {
        let mut start = block.span.start();
        let body = block.span.of(&doc.text);
        let pieces: Vec<&str> = match block.kind {
            BlockKind::Code { .. } => body.split_inclusive('\n').collect(),
            BlockKind::TableRow { .. } | BlockKind::ListItem { .. } => vec![body],
            _ => vec![],
        };
        for piece in pieces {
            let trimmed = start + piece.trim_end().len();
            lines.push((Span::new(start, trimmed), WORDPIECE.count_tokens(piece)));
            start += piece.len();
        }
    }
    lines
}

proptest! {
    #[test]
    fn chunks_cover_the_text(doc in any_doc(), sizes in any_sizes()) {
        let doc = chunked(doc, sizes);
        let mut end = 0;
        for chunk in &doc.chunks {
            let gap = &doc.text[end.min(chunk.span.start())..chunk.span.start()];
            prop_assert!(gap.trim().is_empty(), "{gap:?} is in no chunk");
            prop_assert!(chunk.span.end() > end, "a chunk holds nothing new");
            end = chunk.span.end();
        }
        prop_assert!(doc.text[end..].trim().is_empty());
    }

    #[test]
    fn budgets_hold(doc in any_doc(), sizes in any_sizes()) {
            let is_step = |block: &Block| matches!(block.kind, BlockKind::ListItem { ordinal: Some(_), .. });
        let has_procedure = doc.blocks.iter().any(is_step);
        let doc = chunked(doc, sizes);
        let lines = lines_of(&doc);
        for chunk in &doc.chunks {
            let n_tokens = WORDPIECE.count_tokens(chunk.span.of(&doc.text));
            prop_assert_eq!(n_tokens, chunk.n_tokens as usize);
            let is_line = lines.iter().any(|(line, _)| line.contains(chunk.span));
            let is_word = is_one_word(chunk.span.of(&doc.text));
            let most = if has_procedure { 2 * sizes.0 } else { sizes.0 } as usize;
            prop_assert!(n_tokens <= most || is_line || is_word, "{} > {most}", n_tokens);
            for window in &chunk.windows {
                let surface = window.of(&doc.text);
                let n_tokens = WORDPIECE.count_tokens(surface);
                prop_assert!(n_tokens <= sizes.3 as usize || is_one_word(surface));
            }
        }
    }

    #[test]
    fn windows_tile_their_chunk(doc in any_doc(), sizes in any_sizes()) {
        for chunk in chunked(doc, sizes).chunks {
            let first = chunk.windows.first().map(|window| window.start());
            let last = chunk.windows.last().map(|window| window.end());
            prop_assert_eq!((first, last), (Some(chunk.span.start()), Some(chunk.span.end())));
            prop_assert!(chunk.windows.windows(2).all(|pair| pair[0].end() == pair[1].start()));
        }
    }

    #[test]
    fn lines_rows_and_steps_are_not_cut(doc in any_doc(), sizes in any_sizes()) {
        let doc = chunked(doc, sizes);
        for (line, n_tokens) in lines_of(&doc) {
            let is_cut = doc.chunks.iter().any(|chunk| chunk.span.overlaps(line) && !chunk.span.contains(line));
            prop_assert!(!is_cut || n_tokens > 4 * sizes.0 as usize, "{:?}", line.of(&doc.text));
        }
    }

    #[test]
    fn chunking_repeats(doc in any_doc(), sizes in any_sizes()) {
        prop_assert_eq!(chunked(doc.clone(), sizes).chunks, chunked(doc, sizes).chunks);
    }
}
