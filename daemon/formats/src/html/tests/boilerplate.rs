//! Pages of several kinds: what surrounds the content is dropped, the content is kept.

use super::read;

/// Fails unless each of `kept` is in the text and none of `gone` is.
fn check(source: &str, kept: &[&str], gone: &[&str]) {
    let text = read(source).text;
    for snippet in kept {
        assert!(text.contains(snippet), "lost: {snippet}\n---\n{text}");
    }
    for snippet in gone {
        assert!(!text.contains(snippet), "not content: {snippet}\n---\n{text}");
    }
}

#[test]
fn news() {
    check(
        r#"<body><div class="cookie-banner">We use cookies. <button>Accept</button></div>
        <header><a href="/">The Daily Pier</a><nav><a href="/world">World</a> <a href="/sport">Sport</a>
        </nav></header>
        <main><article><header><h1>Harbor reopens</h1><p class="byline">By Ina Veld, 3 May 2024</p></header>
        <p>The harbor of Northmere reopened on Friday after nine days of repairs to its gates.</p>
        <div class="share-buttons"><a href="/f">Share</a><a href="/t">Tweet</a></div>
        <p>Ferries sail again from Monday, said port captain Olm Radek.</p>
        <aside class="related"><h3>Read more</h3><ul><li><a href="/x">Storm breaks gate</a></li></ul></aside>
        <footer><a href="/tag/port">port</a> <a href="/tag/sea">sea</a></footer></article>
        <section id="comments"><h3>2 comments</h3><p>About time.</p><p>First!</p></section></main>
        <aside><h2>Most read</h2><ol><li><a href="/1">Cat found</a></li></ol></aside>
        <footer>Copyright The Daily Pier. <a href="/imprint">Imprint</a></footer></body>"#,
        &["Harbor reopens", "nine days of repairs", "said port captain Olm Radek"],
        &[
            "cookies",
            "World",
            "Tweet",
            "Storm breaks",
            "About time",
            "Cat found",
            "Imprint",
            "port sea",
        ],
    );
}

#[test]
fn documentation() {
    check(
        r##"<body class="with-sidebar"><a class="skip-link" href="#main">Skip to content</a>
        <div class="sidebar"><ul><li><a href="a.html">Install</a></li><li><a href="b.html">Configure</a>
        </li></ul></div>
        <div class="content-wrapper"><div class="breadcrumbs"><a href="/">Docs</a> / <a href="/b">Guide</a>
        </div>
        <div class="toc"><a href="#one">On this page</a></div>
        <div class="main-content"><h1>Configure<a class="headerlink" href="#one">¶</a></h1>
        <p>Write <code>port = 80</code> into the file.</p>
        <div class="admonition note"><p>Ports below 1024 need rights.</p></div>
        <pre><code class="language-toml">port = 80</code></pre>
        <p>See also <a href="c.html">the reference</a>.</p></div>
        <div class="pager"><a href="a.html">Previous</a> <a href="c.html">Next</a></div></div>
        <div class="footer">Built with a generator.</div></body>"##,
        &["Configure", "port = 80", "Ports below 1024", "the reference"],
        &["Skip", "Install", "Guide", "On this page", "¶", "Previous", "generator"],
    );
}

#[test]
fn blog_without_semantic_elements() {
    check(
        r#"<body><div id="top"><a href="/">Home</a> | <a href="/about">About</a> | <a href="/feed">Feed</a>
        </div>
        <div><div><h2>Why stamps fade</h2>
        <p>Ink is a liquid, and liquids want to leave. The first stamps of the port were violet, later ones
        blue.</p>
        <p>Nobody knew that the lamp above the desk was the reason, until <a href="/mira">Mira</a> moved
        it.</p></div>
        <div><a href="/p1">Older</a> <a href="/p2">Newer</a> <a href="/p3">Random</a></div></div>
        <div id="footer">(c) by me <a href="/legal">Legal</a></div></body>"#,
        &["Why stamps fade", "Ink is a liquid", "until Mira moved it"],
        &["Home", "Feed", "Older", "Legal"],
    );
}

#[test]
fn forum_made_of_comments() {
    check(
        r#"<body><div class="navbar"><a href="/">Forum</a><a href="/new">New</a></div>
        <h1>Gate does not close</h1><div class="comments">
        <div class="comment"><a href="/u/ola">ola</a><p>Since the update my gate controller answers
        nothing.</p></div>
        <div class="comment"><a href="/u/per">per</a><p>Set the baud rate to 9600 and restart it twice.</p>
        </div></div>
        <div class="pagination"><a href="?2">2</a><a href="?3">3</a></div></body>"#,
        &["Gate does not close", "answers nothing", "baud rate to 9600"],
        &["Forum", "New"],
    );
}

#[test]
fn wiki() {
    check(
        r##"<body><div id="mw-navigation"><h2>Navigation menu</h2><ul><li><a href="/r">Random</a></li></ul>
        </div>
        <div id="content"><h1>Seal</h1><div id="toc"><ul><li><a href="#h">1 History</a></li></ul></div>
        <table class="infobox"><tr><th>Class</th><td>Mammal</td></tr><tr><th>Order</th><td>Carnivora</td>
        </tr></table>
        <p>A <b>seal</b> is a <a href="/m">marine</a> <a href="/a">animal</a> of cold <a
        href="/s">seas</a>.</p>
        <h2>History<span class="mw-editsection">[<a href="/e">edit</a>]</span></h2>
        <p>Seals were hunted<sup>[1]</sup> until the last century.</p>
        <div class="navbox"><a href="/x">Walrus</a> <a href="/y">Sea lion</a></div>
        <div id="catlinks"><a href="/c">Categories</a>: <a href="/d">Pinnipeds</a></div></div>
        <div id="footer"><ul><li>Last edited yesterday</li></ul></div></body>"##,
        &["Seal", "Class | Mammal", "A seal is a marine animal of cold seas.", "hunted"],
        &["Random", "1 History", "edit", "Walrus", "Pinnipeds", "yesterday"],
    );
}

#[test]
fn shop() {
    check(
        r#"<body><header role="banner"><form><input name=q><button>Search</button></form>
        <nav class="mega-menu"><ul><li><a href="/l">Lamps</a></li><li><a href="/r">Ropes</a></li></ul>
        </nav></header>
        <div role="main"><h1>Brass lamp</h1><p class="price">49 EUR</p>
        <div class="description"><p>A lamp of brass with a glass chimney, made in Tallinn, burns twelve
        hours.</p></div>
        <table><tr><th>Height</th><td>31 cm</td></tr></table>
        <div class="newsletter-signup"><p>Subscribe for ten percent off.</p></div>
        <div class="recommended-products"><a href="/1">Oil</a><a href="/2">Wick</a></div></div>
        <footer role="contentinfo"><p>Returns within 30 days.</p></footer></body>"#,
        &["Brass lamp", "49 EUR", "made in Tallinn", "Height | 31 cm"],
        &["Search", "Ropes", "Subscribe", "Wick", "Returns"],
    );
}

#[test]
fn page_inside_a_form_is_kept() {
    check(
        r#"<body><form action="/p"><div class="menu"><a href="/a">A-Z</a> <a href="/b">Index</a></div>
        <h1>Tides</h1><p>High water at Pier Four comes eleven minutes after the lighthouse.</p></form>
        </body>"#,
        &["Tides", "eleven minutes"],
        &["Index"],
    );
}

#[test]
fn index_of_links_is_kept() {
    check(
        r#"<body><h1>All pages</h1><ul><li><a href="a.html">Anchors</a></li><li><a href="b.html">Buoys</a>
        </li>
        <li><a href="c.html">Cranes</a></li><li><a href="d.html">Docks</a></li></ul></body>"#,
        &["All pages", "Anchors", "Docks"],
        &[],
    );
}

#[test]
fn heading_above_the_article_is_kept() {
    check(
        r#"<body><header><h1>On ropes</h1><nav><a href="/">Start</a></nav></header>
        <article><p>A rope is a promise made of many small ones, twisted until they hold.</p></article>
        </body>"#,
        &["On ropes", "many small ones"],
        &["Start"],
    );
}

#[test]
fn simple_page_is_kept_whole() {
    check(
        "<h1>Log</h1><p>One.</p><p>Two with a <a href=x>link</a>.</p><ul><li>Three</li></ul><hr><p>Four.</p>",
        &["Log", "One.", "Two with a link.", "Three", "Four."],
        &[],
    );
}

/// Two paragraphs, long enough for an article.
const BODY: &str = "<p>The harbor of Northmere reopened on Friday, after nine days of repairs to its gates and \
    locks, which had been damaged by the storm of last month. Ferries sail again from Monday, said the captain of the \
    port, although only by day.</p><p>Nobody had measured the old foundations, as a report had asked years ago, so the \
    work cost twice what was planned; the city council will ask who knew of that report, and since when. A second gate \
    may have to be replaced before winter, which the council has not paid for yet, and the water rises.</p>";

#[test]
fn article_of_the_press_without_what_stands_with_it() {
    let page = format!(
        r#"<html><head><meta property="og:type" content="article"><script type="application/ld+json">{{"@type":
        "NewsArticle","author":{{"name":"Ina Veld"}},"datePublished":"2024-05-03"}}</script></head><body>
        <div class="css-1">This site uses cookies, as all do, to find out what you like. <a href=/p>More</a></div>
        <div class="css-2"><div class="css-3">Local</div><h1>Harbor reopens</h1><div>Ina Veld, Friday</div>
        <figure><img src=g.jpg alt="A gate seen from above"><figcaption>The gate. Photo: Port Office</figcaption></figure>
        {BODY}<p><b>Read also:</b> <a href=/x>Storm breaks the gate of the harbor and floods the lower town</a></p>
        <div class="addtoany_share_container"><a href=/f>Facebook</a></div>
        <h3>More on this story</h3><ul><li><a href=/a>Who pays for the gate</a></li>
        <li><a href=/b>Old maps found</a></ul>
        </div><div class="css-4"><div><h3><a href=/c>Seed bank opens</a></h3><p>It holds what grew here, once.</p></div>
        <div><h3><a href=/d>Train is late</a></h3><p>Snow fell on the line, the first for years.</p></div></div>
        <div class="css-5">© 2024 The Daily Pier. All rights reserved.</div></body></html>"#
    );
    let gone = [
        "cookies",
        "Local",
        "Friday\n",
        "seen from above",
        "Photo",
        "Storm breaks",
        "Facebook",
        "More on",
        "Old maps",
        "Seed bank",
        "Snow fell",
        "All rights",
    ];
    check(&page, &["Harbor reopens", "nine days of repairs", "water rises"], &gone);
    let parsed = read(&page);
    assert_eq!(parsed.meta.author.as_deref(), Some("Ina Veld"));
    assert_eq!(parsed.meta.date.as_deref(), Some("2024-05-03"));
}

#[test]
fn comments_longer_than_the_article_go() {
    let comment = "<div class=comment><p>I have lived here for sixty years, and the gate was never closed.</p></div>";
    let page = format!(
        "<body><h1>Harbor</h1><div>{BODY}{BODY}</div><div class=comments>{}</div>",
        comment.repeat(40)
    );
    check(&page, &["nine days", "water rises"], &["sixty years"]);
}

#[test]
fn columns_of_teasers_without_names_go() {
    let teaser = "<div><a href=/x>The archive moved to the east bank</a><div>It rained, and nobody came.</div></div>";
    let page = format!(
        "<body><div><div><h1>Harbor</h1>{BODY}</div><div><div>Latest</div>{}</div></div>",
        teaser.repeat(6)
    );
    check(&page, &["nine days", "water rises"], &["nobody came", "east bank"]);
}

#[test]
fn body_in_several_parts_is_kept_whole() {
    let page = format!(
        "<body><div><div class=teaser-strip><a href=/1>One</a> <a href=/2>Two</a></div><div class=article-body>{BODY}</div>\
        <div class=promo-unit><p>Download our app and read without end.</p></div><div class=article-body>{}</div></div>",
        BODY.replace("Northmere", "Ostrel")
    );
    check(&page, &["Northmere", "Ostrel"], &["Download our app"]);
}

#[test]
fn reference_with_linked_signatures_is_kept() {
    let method = |name: &str| {
        format!(
            "<details><summary><section><h4>pub fn <a href=#{name}>{name}</a>(&self) -> <a href=/bool>bool</a></h4></section>\
            </summary><div><p>Tells whether the gate is open. <a href=/t>Read more</a></p></div></details>"
        )
    };
    let page = format!(
        "<body><main><h1>Struct Gate</h1><p>A gate.</p><h2>Methods</h2>{}{}{}</main>",
        method("is_open"),
        method("is_shut"),
        method("is_wet")
    );
    check(&page, &["is_open", "is_shut", "is_wet", "Tells whether"], &[]);
}

#[test]
fn pages_of_cards_and_releases_are_kept() {
    let card = |n: u32| {
        format!(
            "<div class=card><h3><a href=/g{n}>Guide {n}</a></h3><p>How to close gate {n}.</p></div>"
        )
    };
    let release = |n: u32| {
        format!("<h2><a href=https://x.org/{n}>Release {n}.0</a></h2><ul><li>Fix {n}.</li></ul>")
    };
    let cards: String = (1..6).map(card).collect();
    let releases: String = (1..6).map(release).collect();
    check(&format!("<body><h1>Docs</h1><div>{cards}</div>"), &["Guide 1", "close gate 5"], &[]);
    check(&format!("<body><h1>Changes</h1>{releases}"), &["Release 1.0", "Fix 5."], &[]);
}

#[test]
fn elements_that_a_site_defined_are_read_by_their_names() {
    let page = format!(
        "<body><site-footer><div><a href=/>Home</a> The Daily Pier, since 1902</div></site-footer><x-story>{BODY}</x-story>\
        <share-bar><p>Tell others about it</p></share-bar></body>"
    );
    check(&page, &["nine days", "water rises"], &["since 1902", "Tell others"]);
}
