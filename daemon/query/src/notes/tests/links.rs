//! Links: where they lead, what they state in the graph, and which are broken, in every format.

use crate::notes;
use index::store::testing::{Bench, connection};
use model::Item;
use model::terms::{RelPath, norm_of};

/// An index of these files.
fn bench_of(files: &[(&str, &str)]) -> Bench {
    let mut bench = Bench::new();
    files.iter().for_each(|(path, text)| bench.put(path, text));
    bench.settle_all();
    // Names that are linked are read once all documents are known.
    for (path, _) in files {
        let again = bench.again(bench.doc(path));
        bench.commit(&[again]);
    }
    bench.settle_all();
    bench
}

/// Returns rows of text that a query selects.
fn rows(bench: &Bench, sql: &str) -> Vec<String> {
    let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
    let mut statement = connection(&snapshot).prepare(sql).expect("a query");
    let found = statement.query_map([], |row| row.get(0)).expect("rows");
    found.collect::<Result<_, _>>().expect("texts")
}

/// Returns the target of each link of a document, as it is written and the path.
fn led(bench: &Bench, path: &str) -> Vec<String> {
    let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
    let links = snapshot.notes().links(bench.doc(path)).expect("links");
    let shown = |it: &index::read::Link| {
        format!("{} -> {}", it.target, it.to_path.as_deref().unwrap_or("-"))
    };
    links.iter().map(shown).collect()
}

/// Returns the documents to which the graph leads from one.
fn related(bench: &Bench, from: &str) -> Vec<String> {
    let sql = format!(
        "SELECT d.path FROM relations r JOIN docs f ON f.entity_id = r.src_id JOIN docs d ON d.entity_id = r.dst_id
         WHERE f.path = '{from}' AND r.rel = 'links_to' ORDER BY d.path"
    );
    rows(bench, &sql)
}

/// Moves a file with this text.
fn mv(bench: &mut Bench, text: &str, from: &str, to: &str) {
    let mut moved = bench.item(to, text);
    if let Item::Document(ticket, _) = &mut moved {
        ticket.moved_from = Some(RelPath::new(from));
    }
    bench.commit(&[moved]);
    bench.settle_all();
}

/// Returns what is listed of the broken links.
fn broken(bench: &Bench) -> Vec<String> {
    let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
    let found = notes::broken_links(&snapshot, "", 100, |_, _| false).expect("broken links");
    let place = |it: &index::read::Link| it.heading.clone().unwrap_or_default();
    found.iter().map(|(it, _)| format!("{} {}#{}", it.from_path, it.target, place(it))).collect()
}

#[test]
fn a_document_of_any_format_is_one_entity_by_whatever_name_a_link_calls_it() {
    let pages = [
        ("f/zinc.html", "<title>Zinc ledger</title><h1>Zinc totals</h1><p>Quiet.</p>"),
        ("f/two.html", "<h2>Only a part</h2><p>Quiet.</p>"),
        ("f/kite.rst", "Red kite page\n=============\n\nQuiet.\n"),
        ("f/drum.adoc", "= Snare drum page\n\nQuiet.\n"),
        (
            "f/bird.org",
            "#+title: Osprey page\n#+ROAM_ALIASES: \"Sea eagle\" \"Fish hawk\"\n\nQuiet.\n",
        ),
        ("f/mail.eml", "Subject: Harbor dues\nFrom: a@b.org\n\nQuiet.\n"),
        (
            "f/book.ipynb",
            r##"{"cells":[{"cell_type":"markdown","source":["# Tide tables\n"]}],"nbformat":4}"##,
        ),
    ];
    let hub = (
        "hub.md",
        "[[zinc]] [[Zinc totals]] [[two]] [[kite]] [[drum]] [[bird]] [[Sea eagle]] [[mail]] [[f/book]]\n",
    );
    let bench = bench_of(&[&pages[..], &[hub]].concat());
    let mut paths = pages.map(|it| it.0);
    paths.sort();
    assert_eq!(related(&bench, "hub.md"), paths);
    // Nothing but these is called so.
    let words = "zinc, zinc totals, two, kite, drum, bird, sea eagle, fish hawk, mail, f/book";
    let norms: Vec<String> = words.split(", ").map(norm_of).collect();
    let denoted = |norm: &String| {
        let sql = format!(
            "SELECT coalesce((SELECT path FROM docs d WHERE d.entity_id = n.entity_id), '-') FROM names n
             WHERE n.norm = '{norm}'"
        );
        rows(&bench, &sql)
    };
    let found: Vec<String> = norms.iter().flat_map(denoted).collect();
    let files = "zinc.html zinc.html two.html kite.rst drum.adoc bird.org bird.org bird.org mail.eml book.ipynb";
    assert_eq!(found, files.split(' ').map(|it| format!("f/{it}")).collect::<Vec<_>>());
}

#[test]
fn a_page_keeps_its_names_when_its_title_changes_and_shares_them_by_place() {
    let mut bench = bench_of(&[
        ("a/data.html", "<title>First data</title><p>Quiet.</p>"),
        ("a/x.md", "[[data]]\n"),
    ]);
    let named = "SELECT e.name FROM mentions m JOIN names n ON n.id = m.name_id JOIN entities e ON e.id = n.entity_id
        JOIN docs d ON d.id = m.doc_id WHERE d.is_note ORDER BY d.path";
    assert_eq!(rows(&bench, named), ["First data"]);
    bench.put("a/data.html", "<title>Better data</title><p>Quiet.</p>");
    bench.put("b/data.html", "<title>Other data</title><p>Quiet.</p>");
    bench.put("b/y.md", "[[data]]\n");
    bench.settle_all();
    let again = bench.again(bench.doc("b/y.md"));
    bench.commit(&[again]);
    bench.settle_all();
    assert_eq!(rows(&bench, named), ["Better data", "Other data"]);
}

#[test]
fn raw_html_and_pictures_link_as_markdown_does() {
    let text = "See <a href=\"one.md\">the first</a> and <A class=x HREF='d/two.md#part'>two</A>.\n\n\
        <p align=\"center\">\n  <a\n    href=three.md><img src=\"x.png\"></a> •\n\
          <a href=\"four.md\">Four</a>\n</p>\n\n\
        - item <a href=\"five.md?a=1&amp;b=2\">five</a>\n\n[![Badge](b.svg)](six.md) [![](b.svg)](seven.md)\n\n\
        And <!-- <a href=\"gone1.md\">x</a> --> `<a href=\"gone2.md\">` \
        <a href=\"https://x.org\">w</a> <a name=\"n\"></a>\n\n\
        <script>\n\"<a href='gone3.md'>\"\n</script>\n";
    let names =
        ["one", "three", "four", "five", "six", "seven", "d/two"].map(|it| format!("{it}.md"));
    let mut files: Vec<(&str, &str)> = names.iter().map(|it| (it.as_str(), "Quiet.\n")).collect();
    files.push(("from.md", text));
    let bench = bench_of(&files);
    let links: Vec<_> =
        led(&bench, "from.md").into_iter().filter(|it| !it.contains(".svg")).collect();
    let wanted = [
        "one.md -> one.md",
        "d/two.md -> d/two.md",
        "three.md -> three.md",
        "four.md -> four.md",
        "five.md -> five.md",
        "six.md -> six.md",
        "seven.md -> seven.md",
    ];
    assert_eq!(links, wanted);
    let mut all = names.to_vec();
    all.sort();
    assert_eq!(related(&bench, "from.md"), all);
}

#[test]
fn the_root_of_a_site_is_the_index_of_a_folder_above() {
    let mut bench = bench_of(&[
        ("site/docs/a/b.md", "[home](/) [top](/index.html)\n"),
        ("site/docs/a/c.html", "<p>Go <a href=\"/\">home</a> now.</p>"),
    ]);
    assert_eq!(led(&bench, "site/docs/a/b.md"), ["/ -> -", "/index.html -> -"]);
    bench.put("site/docs/index.rst", "Docs\n====\n\nQuiet.\n");
    bench.settle_all();
    let to = "site/docs/index.rst";
    assert_eq!(
        led(&bench, "site/docs/a/b.md"),
        [format!("/ -> {to}"), format!("/index.html -> {to}")]
    );
    bench.put("README.md", "Quiet.\n");
    bench.settle_all();
    assert_eq!(led(&bench, "site/docs/a/b.md")[0], "/ -> README.md");
    assert_eq!(led(&bench, "site/docs/a/c.html")[0], "/ -> README.md");
    bench.drop_file("README.md");
    bench.settle_all();
    assert_eq!(led(&bench, "site/docs/a/c.html")[0], format!("/ -> {to}"));
}

#[test]
fn what_leads_nowhere_is_listed_whatever_its_format() {
    let bench = bench_of(&[
        ("t.md", "# Top\n\n## Part\n"),
        ("t.rst", "Title\n=====\n\nPart\n----\n\nText.\n"),
        ("t.html", "<h1>Title</h1><p>x</p><h2>Part</h2><p>y</p>"),
        ("t.org", "* Title\n\n* Part\n"),
        ("full/a.md", "Quiet.\n"),
        ("t.pdf.md", "Quiet.\n"),
        (
            "g.md",
            "[a](gone.rst) [b](gone.pdf) [c](gone.csv) [d](gone/) [e](/docs/gone/) \
             [[gone.org]] [f](full/) [g](full)\n\n\
          [h](t.rst#part) [i](t.rst#lost) [j](t.html#part) [k](t.html#lost) [l](t.org#lost) [m](x.png) [n](main.rs)\n\n\
          [o](t.md#L10-L12) [p](t.md?plain=1#L3) [q](t.rst#top) [r](t.md#:~:text=foo) [s](t.md#part) [t](#top)\n",
        ),
        ("h.rst", "`a <gone.adoc>`_ `b <t.md>`_\n"),
        ("h.adoc", "link:gone.md[a] link:t.md#lost[b]\n"),
        ("h.org", "[[file:gone.org][a]] [[file:t.md::10]]\n"),
        (
            "h.ipynb",
            r##"{"cells":[{"cell_type":"markdown","source":["# T\n","[a](gone.md)\n"]}],"nbformat":4}"##,
        ),
        ("h.html", "<p>A <a href=\"gone.md\">saved page</a> here.</p>"),
    ]);
    let wanted = [
        "g.md gone.rst#",
        "g.md gone.pdf#",
        "g.md gone.csv#",
        "g.md gone/#",
        "g.md /docs/gone/#",
        "g.md gone.org#",
        "g.md t.rst#lost",
        "g.md t.html#lost",
        "g.md t.org#lost",
        "h.adoc gone.md#",
        "h.adoc t.md#lost",
        "h.ipynb gone.md#",
        "h.org gone.org#",
        "h.rst gone.adoc#",
    ];
    assert_eq!(broken(&bench), wanted);
    assert!(
        notes::has_label("x\n.. _lost:\n", "lost") && notes::has_label("<a id='lost'>", "lost")
    );
    assert!(!notes::has_label("it is lost there", "lost"));
}

#[test]
fn links_follow_files_and_folders_as_often_as_they_move() {
    let mut bench = bench_of(&[
        ("from.md", "[f](d/) [[d]]\n"),
        ("d/README.md", "Index of it.\n"),
        ("d/sib.md", "Next: [t](target.md) [[./target]]\n"),
        ("d/target.md", "Quiet words.\n"),
        ("x/deep/n.md", "Above: [a](../a.md) [[../a]]\n"),
        ("x/a.md", "Another one.\n"),
    ]);
    mv(&mut bench, "Quiet words.\n", "d/target.md", "e/renamed.md");
    let to = ["target.md -> e/renamed.md", "./target -> e/renamed.md"];
    assert_eq!(led(&bench, "d/sib.md"), to);
    mv(&mut bench, "Next: [t](target.md) [[./target]]\n", "d/sib.md", "dd/sib.md");
    mv(&mut bench, "Index of it.\n", "d/README.md", "dd/README.md");
    assert_eq!(led(&bench, "dd/sib.md"), to);
    assert_eq!(led(&bench, "from.md"), ["d/ -> dd/README.md", "d -> dd/README.md"]);
    mv(&mut bench, "Quiet words.\n", "e/renamed.md", "e/again.md");
    assert_eq!(led(&bench, "dd/sib.md")[0], "target.md -> e/again.md");
    mv(&mut bench, "Above: [a](../a.md) [[../a]]\n", "x/deep/n.md", "y/z/q/n.md");
    assert_eq!(led(&bench, "y/z/q/n.md"), ["../a.md -> x/a.md", "../a -> x/a.md"]);
    // What is there now comes first.
    bench.put("y/z/a.md", "A newer one.\n");
    bench.settle_all();
    assert_eq!(led(&bench, "y/z/q/n.md")[0], "../a.md -> y/z/a.md");
}

#[test]
fn a_heading_is_found_with_and_without_its_id_and_tags() {
    let text = "# T\n\n## Custom {#my-id}\n\n## Tagged head #urgent #now\n\n## Use of C#\n";
    let links = "[[t#Custom {#my-id}]] [[t#Custom]] [[t#my-id]] [[t#Tagged head]] [a](t.md#tagged-head) \
        [[t#Tagged head #urgent #now]] [[t#Use of C#]] [[t#Use]] [[t#T#Custom]]\n";
    let bench = bench_of(&[("t.md", text), ("from.md", links)]);
    assert_eq!(broken(&bench), ["from.md t#Use"]);
    let snapshot = bench.writer.readers().snapshot().expect("a snapshot");
    let near =
        notes::nearest_headings(&snapshot, bench.doc("t.md"), "Tagged heads").expect("headings");
    assert_eq!(near[0], "Tagged head #urgent #now");
}

#[test]
fn generators_of_sites_call_files_by_their_conventions() {
    let bench = bench_of(&[
        ("web/docs/alpha.md", "Quiet.\n"),
        ("web/docs/deep/x.md", "[a](@site/docs/alpha.md) [b](@/docs/alpha.md) [[Area/Pumps]]\n"),
        ("blog/_posts/2024-01-03-second.md", "Quiet.\n"),
        ("blog/about/x.md", "[a](/2024/01/03/second.html) [b](/2024/01/03/third/)\n"),
        ("notes/Area___Pumps.md", "Quiet.\n"),
        ("doc/modules/api/pages/endpoints.adoc", "= Endpoints\n\nQuiet.\n"),
        ("doc/modules/ROOT/pages/setup.adoc", "= Setup\n\nQuiet.\n"),
        (
            "doc/modules/ROOT/pages/sub/y.adoc",
            "See xref:api:endpoints.adoc#auth[a], xref:ROOT:setup.adoc[] and xref:setup.adoc[b].\n",
        ),
        ("web/b/page.html", "<p>Quiet.</p>"),
        (
            "saved/far/from.html",
            "<base href=\"/web/b/\"><p>Go to <a href=\"page.html\">the page</a> now.</p>",
        ),
    ]);
    let alpha = "web/docs/alpha.md";
    assert_eq!(
        led(&bench, "web/docs/deep/x.md"),
        [
            format!("@site/docs/alpha.md -> {alpha}"),
            format!("@/docs/alpha.md -> {alpha}"),
            "Area/Pumps -> notes/Area___Pumps.md".to_string()
        ]
    );
    let second = "/2024/01/03/second.html -> blog/_posts/2024-01-03-second.md";
    assert_eq!(led(&bench, "blog/about/x.md"), [second, "/2024/01/03/third/ -> -"]);
    let pages = "doc/modules/ROOT/pages";
    assert_eq!(
        led(&bench, "doc/modules/ROOT/pages/sub/y.adoc"),
        [
            "api:endpoints.adoc -> doc/modules/api/pages/endpoints.adoc".to_string(),
            format!("ROOT:setup.adoc -> {pages}/setup.adoc"),
            format!("setup.adoc -> {pages}/setup.adoc")
        ]
    );
    assert_eq!(led(&bench, "saved/far/from.html"), ["/web/b/page.html -> web/b/page.html"]);
}
