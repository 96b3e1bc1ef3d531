//! Links, permalinks and statements of notes: rows that follow from the files alone.

use crate::notes::Missing;
use crate::{address, notes};
use index::store::testing::Bench;
use model::Item;
use model::terms::RelPath;
use proto::error::Code;

/// Renders where the links of a note lead.
fn led(bench: &Bench, path: &str) -> Vec<String> {
    let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
    let links = snapshot.notes().links(bench.doc(path)).expect("links");
    let shown = |it: &index::read::Link| {
        format!("{} -> {}", it.target, it.to_path.as_deref().unwrap_or("-"))
    };
    links.iter().map(shown).collect()
}

/// S0 §13: Resolve pending link.
#[test]
fn resolve_pending_link() {
    let mut bench = Bench::new();
    bench.put("a.md", "- requires [[entity-b]]\n");
    bench.settle_all();
    assert_eq!(led(&bench, "a.md"), ["entity-b -> -"]);
    bench.put("x.md", "---\ntitle: Entity B\n---\n");
    bench.settle_all();
    assert_eq!(led(&bench, "a.md"), ["entity-b -> x.md"]);
    bench.drop_file("x.md");
    bench.settle_all();
    assert_eq!(led(&bench, "a.md"), ["entity-b -> -"]);
}

/// S0 §13: Case-insensitive resolution.
#[test]
fn case_insensitive_resolution() {
    let mut bench = Bench::new();
    bench.put("b.md", "---\npermalink: machine-learning\n---\n");
    bench.put("a.md", "- implements [[Machine Learning]]\n");
    assert_eq!(led(&bench, "a.md"), ["Machine Learning -> b.md"]);
}

/// S0 §13: Unresolvable link stays pending.
#[test]
fn unresolvable_link_stays_pending() {
    let mut bench = Bench::new();
    bench.put("a.md", "See [[nonexistent-entity]].\n");
    bench.settle_all();
    assert_eq!(led(&bench, "a.md"), ["nonexistent-entity -> -"]);
}

#[test]
fn links_follow_titles_aliases_and_moves() {
    let mut bench = Bench::new();
    bench.put(
        "a/x.md",
        "[[Target]] [[Other name]] [t](../c/target.md) [[#Here]] ![[target]]\n\n# Here\n",
    );
    bench.put("b/target.md", "# T\n");
    bench.settle_all();
    let found = led(&bench, "a/x.md");
    assert_eq!(
        found,
        [
            "Target -> b/target.md",
            "Other name -> -",
            "../c/target.md -> -",
            " -> a/x.md",
            "target -> b/target.md"
        ]
    );
    // A nearer note takes over the links; an alias appears.
    bench.put("a/target.md", "---\naliases: [Other Name]\n---\n");
    bench.settle_all();
    assert_eq!(led(&bench, "a/x.md")[..2], ["Target -> a/target.md", "Other name -> a/target.md"]);
    // The file moves away: the link by path follows the path, the others follow the name.
    let mut moved = bench.item("c/target.md", "---\naliases: [Other Name]\n---\n");
    if let Item::Document(ticket, _) = &mut moved {
        ticket.moved_from = Some(RelPath::new("a/target.md"));
    }
    bench.commit(&[moved]);
    bench.settle_all();
    assert_eq!(
        led(&bench, "a/x.md"),
        [
            "Target -> b/target.md",
            "Other name -> c/target.md",
            "../c/target.md -> c/target.md",
            " -> a/x.md",
            "target -> b/target.md"
        ]
    );
}

#[test]
fn permalinks_are_numbered_by_depth_and_path() {
    let mut bench = Bench::new();
    bench.put("z/deep/note.md", "");
    bench.put("b/note.md", "");
    bench.put("a/note.md", "");
    bench.put("x.md", "---\ntitle: Note 1\n---\n");
    bench.settle_all();
    let of = |rows: &[&str]| rows.iter().map(|row| row.to_string()).collect::<Vec<_>>();
    assert_eq!(
        bench.permalinks(),
        of(&["a/note.md = note", "b/note.md = note-2", "x.md = note-1", "z/deep/note.md = note-3"])
    );
    // The number is free again. A note of that title may state the permalink, one of another title may not.
    bench.drop_file("x.md");
    bench.put("y/y.md", "---\npermalink: Note\n---\n");
    bench.put("y/z.md", "---\ntitle: Note\npermalink: Note\n---\n");
    bench.settle_all();
    assert_eq!(
        bench.permalinks(),
        of(&[
            "a/note.md = note-1",
            "b/note.md = note-2",
            "y/y.md = y",
            "y/z.md = note",
            "z/deep/note.md = note-3"
        ])
    );
}

#[test]
fn stated_permalinks_are_granted_alike_in_whatever_order_documents_come() {
    let titled = |title: &str, permalink: &str| {
        format!("---\ntitle: {title}\npermalink: {permalink}\n---\n")
    };
    let files = [
        ("plans/todo.md", String::new()),
        ("twin.md", String::new()),
        ("a/twin.md", String::new()),
        ("b/x.md", titled("Twin", "twin-2")),
        ("dl/a.md", titled("A", "plans/todo")),
        ("dl/b.md", titled("B", "twin-1")),
        ("dl/c.md", titled("C", "d")),
        ("dl/d.md", titled("D", "c")),
        ("dl/e.md", titled("Plans Todo", "shared")),
        ("dl/f.md", titled("F", "shared")),
        ("dl/g.md", titled("G", "f")),
        ("f.pdf.txt", String::new()),
    ];
    let mut texts: Vec<(String, Vec<String>)> = Vec::new();
    for turn in 0..files.len() {
        let mut bench = Bench::new();
        let mut order: Vec<_> = files.iter().collect();
        order.rotate_left(turn);
        if turn % 2 == 1 {
            order.reverse();
        }
        for (path, text) in order {
            if turn % 3 == 2 {
                bench.put(path, "---\ntitle: Draft\npermalink: twin\n---\n");
            }
            bench.put(path, text);
        }
        bench.settle_all();
        texts.push((bench.notes_text(), bench.permalinks()));
    }
    for text in &texts[1..] {
        assert_eq!(&texts[0], text);
    }
    expect_test::expect![[r#"
        a/twin.md = twin-1
        b/x.md = twin-2
        dl/a.md = a
        dl/b.md = b
        dl/c.md = c
        dl/d.md = d
        dl/e.md = shared
        dl/f.md = shared-1
        dl/g.md = g
        plans/todo.md = todo
        twin.md = twin
    "#]]
    .assert_eq(&(texts[0].1.join("\n") + "\n"));
}

#[test]
fn many_notes_of_one_name_are_numbered_by_the_ripple() {
    let mut bench = Bench::new();
    let items: Vec<_> = (0..60)
        .map(|n| bench.item(&format!("{n:02}/readme.md"), "[[readme]] [[readme-59]]"))
        .collect();
    bench.commit(&items);
    bench.settle_all();
    assert_eq!(bench.count("SELECT count(DISTINCT permalink) FROM notes"), 60);
    assert_eq!(
        led(&bench, "07/readme.md"),
        ["readme -> 07/readme.md", "readme-59 -> 59/readme.md"]
    );
    assert_eq!(bench.count("SELECT count(*) FROM work WHERE key LIKE 'readme%'"), 0);
}

#[test]
fn the_order_in_which_notes_come_leaves_no_trace() {
    let files = [
        (
            "a/x.md",
            "[[note]] [[Note]] [n](note.md) [[b/note#H]] [[Alias]] [[note-1]]\n- [fact] x #t (c) ^o\nk:: v\n",
        ),
        (
            "a/note.md",
            "---\naliases: [Alias]\nup: \"[[x]]\"\n---\n# H\n- requires [[x]], [[nowhere]]\n",
        ),
        ("b/note.md", "# H\n[[../a/x]] [x](../a/x.md#h)\n"),
        ("note.md", "[[A/Note]] ![[b/note^id]]\n"),
        ("c.txt", "plain"),
        ("d/README.md", "[c](../c.txt) [[C.txt]] [d](/d/)\n"),
    ];
    let (mut texts, mut shown) = (Vec::new(), String::new());
    for turn in 0..4 {
        let mut bench = Bench::new();
        let mut order: Vec<_> = files.to_vec();
        order.rotate_left(turn * 2 % files.len());
        if turn % 2 == 1 {
            order.reverse();
        }
        for (path, text) in &order {
            if turn == 3 {
                bench.put(path, &format!("---\ntitle: Draft {path}\n---\n[[note]]"));
                bench.put(&format!("gone-{path}"), text);
            }
            bench.put(path, text);
            if turn == 2 {
                bench.settle_all();
            }
        }
        for (path, _) in order.iter().filter(|_| turn == 3) {
            bench.drop_file(&format!("gone-{path}"));
        }
        bench.settle_all();
        texts.push(bench.notes_text());
        shown = bench.permalinks().join("\n") + "\n";
        for (path, _) in files.iter().filter(|(path, _)| path.ends_with(".md")) {
            let led = led(&bench, path);
            shown += &led.iter().map(|led| format!("{path}: {led}\n")).collect::<String>();
        }
    }
    for text in &texts[1..] {
        assert_eq!(&texts[0], text);
    }
    assert!(!texts[0].contains("dirty"), "{}", texts[0]);
    expect_test::expect![[r#"
        a/note.md = note-1
        a/x.md = x
        b/note.md = note-2
        d/README.md = readme
        note.md = note
        a/x.md: note -> note.md
        a/x.md: Note -> note.md
        a/x.md: note.md -> a/note.md
        a/x.md: b/note -> b/note.md
        a/x.md: Alias -> a/note.md
        a/x.md: note-1 -> a/note.md
        a/note.md: x -> a/x.md
        a/note.md: x -> a/x.md
        a/note.md: nowhere -> -
        b/note.md: ../a/x -> a/x.md
        b/note.md: ../a/x.md -> a/x.md
        note.md: A/Note -> a/note.md
        note.md: b/note -> b/note.md
        d/README.md: ../c.txt -> c.txt
        d/README.md: C.txt -> c.txt
        d/README.md: /d/ -> d/README.md
    "#]]
    .assert_eq(&shown);
}

#[test]
fn backlinks_have_their_lines() {
    let mut bench = Bench::new();
    bench.put("t.md", "---\ntitle: Target\n---\n# Part\n\nText. ^b1\n");
    bench.put("b.md", "one\n\n- requires [[Target#Part]] (why)\n");
    bench.put("a.md", "See [[t|it]] and [t](t.md#^b1).\n");
    let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
    let found = snapshot.notes().backlinks(bench.doc("t.md"), 0, 10).expect("backlinks");
    let shown: Vec<String> = found
        .iter()
        .map(|it| {
            let relation = it.relation.as_deref().unwrap_or("-");
            format!("{}:{} {relation} {} | {}", it.from_path, it.line, it.is_typed, it.line_text)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "a.md:1 links_to false | See [[t|it]] and [t](t.md#^b1).",
            "a.md:1 links_to false | See [[t|it]] and [t](t.md#^b1).",
            "b.md:3 requires true | - requires [[Target#Part]] (why)",
        ]
    );
    let some = snapshot.notes().backlinks(bench.doc("t.md"), 1, 1).expect("backlinks");
    assert_eq!(some, found[1..2]);
    let links = snapshot.notes().links(bench.doc("a.md")).expect("links");
    assert_eq!(
        notes::distinct(bench.doc("a.md"), links).len(),
        2,
        "a block is a target of its own"
    );
}

#[test]
fn broken_links_say_why() {
    let mut bench = Bench::new();
    bench.put(
        "t.md",
        "# Part One!\n\n## Sub\n\n# Part One!\n\nText. ^b1\n\n<a name=\"here\"></a>\n",
    );
    bench.put(
        "a.md",
        "[[t#part one]] [[t#Part One!#Sub]] [t](t.md#part-one-1) [t](t.md#here) [[t#^b1]] [[t#^B1]]\n\n\
         [[t#Sub#Part]] [[t#no]] [[t#^no]] [[gone]] [x](gone.md) ![i](gone.png) [[gone.pdf]] [p](gone.docx) [[#None]] [t](t.md#part-one-2)\n",
    );
    bench.settle_all();
    let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
    let broken = notes::broken_links(&snapshot, "", 100, |_, _| false).expect("broken links");
    let shown: Vec<String> = broken
        .iter()
        .map(|(it, missing)| {
            let place = it.heading.as_deref().or(it.block.as_deref()).unwrap_or("");
            format!("{}:{} {:?} {} {place}", it.from_path, it.line, missing, it.target)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "a.md:3 Heading t Sub#Part",
            "a.md:3 Heading t no",
            "a.md:3 Block t no",
            "a.md:3 Target gone ",
            "a.md:3 Target gone.md ",
            "a.md:3 Target gone.pdf ",
            "a.md:3 Target gone.docx ",
            "a.md:3 Heading  None",
            "a.md:3 Heading t.md part-one-2",
        ]
    );
    let of_others = notes::broken_links(&snapshot, "b", 100, |_, _| false).expect("none");
    assert_eq!(of_others.len(), 0);
    assert_eq!(broken[0].1, Missing::Heading);
}

#[test]
fn notes_are_found_by_address_and_read_whole() {
    let mut bench = Bench::new();
    bench.put(
        "Specs/Search API.md",
        "---\ntitle: Search Implementation\ntype: spec\ntags: [One]\ncount: 3\n---\n- [fact] It ranks #fts (today)\n",
    );
    bench.put("specs2/b.md", "x");
    let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
    let doc = bench.doc("Specs/Search API.md");
    let find = |address: &str| address::document(&snapshot, address).map_err(|error| error.code);
    let matching = |pattern: &str| snapshot.notes().matching(pattern, 10).expect("reads");
    let entity = bench.count(&format!("SELECT entity_id FROM docs WHERE id = {doc}"));
    for address in [
        "memory://search-implementation",
        "Search Implementation",
        "memory://specs/search-api",
        "Specs/Search API.md",
        "Specs/Search API",
        &format!("memory://id/{entity}"),
    ] {
        assert_eq!(find(address), Ok(doc), "{address}");
    }
    assert_eq!((matching("search*"), matching("specs/*")), (vec![doc], vec![doc]));
    assert_eq!(find("memory://nothing"), Err(Code::NotFound));
    assert_eq!(matching("*").len(), 2);
    assert_eq!(find("memory://a//b"), Err(Code::InvalidParams));
    let note = snapshot.notes().get(doc).expect("reads").expect("a note");
    assert_eq!(note.permalink.as_deref(), Some("search-implementation"));
    assert_eq!(note.note_type.as_deref(), Some("spec"));
    assert_eq!(note.metadata["count"], "3");
    assert_eq!(note.tags, ["fts", "one"]);
    let facts = snapshot.notes().observations(doc).expect("observations");
    assert_eq!(facts[0].content, "It ranks");
    assert_eq!((facts[0].line, facts[0].context.as_deref()), (7, Some("today")));
}
