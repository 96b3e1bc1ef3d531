//! Naming: what a class or id says about its element, by its words.
//!
//! In: one class or id. Out: a [`Hint`]. The words are used by themes and content systems of many makers; none is
//! specific to one site.
//! Invariant: a name is read alone; `hints.rs` decides between several.

use super::hints::Hint;

/// Longest name that is read, in bytes; longer ones are generated.
const MAX_NAME_BYTES: usize = 60;
/// Most words of a name that are read.
const MAX_WORDS: usize = 8;

/// Returns the hint of one word.
fn of_word(word: &str) -> Hint {
    match word {
        "note" | "tip" | "warning" | "admonition" | "callout" | "important" | "example"
        | "info" | "caution" | "alert" | "hint" | "footnotes" | "footnote" | "infobox" => {
            Hint::Callout
        }
        "comments" | "comment" | "commentlist" | "disqus" | "replies" | "respond"
        | "kommentare" | "commentaires" | "comentarios" | "komentarze" | "readercomments"
        | "livefyre" | "comentario" => Hint::Comments,
        "menu" | "menus" | "widget" | "widgets" | "banner" | "header" | "links" | "tags"
        | "tag" | "tagcloud" | "taglist" | "meta" | "rating" | "ratings" | "reviews"
        | "filters" | "actions" | "controls" | "buttons" | "tools" | "languages" | "search"
        | "login" | "copyright" | "legal" | "foot" | "more" | "seealso" | "pie" | "stopka"
        | "utility" | "rail" | "aside" | "side" | "secondary" | "complementary" | "categories"
        | "category" | "cats" | "labels" | "topics" | "bottom" | "top" | "crumbs" => Hint::Suspect,
        "byline" | "author" | "authors" | "dateline" | "timestamp" | "pubdate" | "published"
        | "posted" | "postmeta" | "entrymeta" | "postinfo" | "readtime" | "auteur" | "autor"
        | "autorenzeile" => Hint::Byline,
        "caption" | "figcaption" | "credit" | "credits" | "photocredit" | "imagecredit" => {
            Hint::Caption
        }
        "articlebody" | "storybody" | "storytext" | "articletext" | "articlecontent"
        | "postbody" | "posttext" | "bodytext" | "entrytext" | "newstext" => Hint::Body,
        "content" | "article" | "body" | "main" | "entry" | "post" | "story" | "text" | "page" => {
            Hint::Content
        }
        word if is_surround(word) => Hint::Boilerplate,
        _ => Hint::None,
    }
}

/// True for words for what surrounds the content, in any position in a name.
fn is_surround(word: &str) -> bool {
    is_frame(word) || is_promotion(word)
}

/// True for words for the frame of every page of a site.
fn is_frame(word: &str) -> bool {
    matches!(
        word,
        "nav"
            | "navbar"
            | "navbox"
            | "navigation"
            | "navigator"
            | "breadcrumb"
            | "breadcrumbs"
            | "sidebar"
            | "sidenav"
            | "toc"
            | "tableofcontents"
            | "pagination"
            | "pager"
            | "paging"
            | "prevnext"
            | "skip"
            | "skiplink"
            | "masthead"
            | "topbar"
            | "dropdown"
            | "toolbar"
            | "catlinks"
            | "printfooter"
            | "jumplinks"
            | "footer"
            | "colophon"
            | "editsection"
            | "noprint"
            | "blogroll"
            | "shoutbox"
            | "authorbox"
            | "authorbio"
            | "megamenu"
            | "ticker"
            | "rightrail"
            | "leftrail"
            | "rightcol"
            | "rightcolumn"
            | "backtotop"
            | "disclaimer"
            | "whosonline"
    )
}

/// True for words for what leads away from an article, or asks for something.
fn is_promotion(word: &str) -> bool {
    matches!(
        word,
        "cookie"
            | "cookies"
            | "consent"
            | "gdpr"
            | "share"
            | "sharing"
            | "sharebar"
            | "sharedaddy"
            | "shares"
            | "social"
            | "socials"
            | "addthis"
            | "sharethis"
            | "related"
            | "relatedposts"
            | "recommended"
            | "recommendations"
            | "recommendation"
            | "newsletter"
            | "newsletters"
            | "subscribe"
            | "subscription"
            | "signup"
            | "optin"
            | "popup"
            | "modal"
            | "overlay"
            | "advert"
            | "adverts"
            | "advertisement"
            | "advertising"
            | "adbox"
            | "ads"
            | "adsense"
            | "adslot"
            | "sponsor"
            | "sponsored"
            | "promo"
            | "promos"
            | "promotion"
            | "paywall"
            | "trending"
            | "popular"
            | "mostread"
            | "mostpopular"
            | "outbrain"
            | "taboola"
            | "zergnet"
            | "criteo"
            | "relacionadas"
            | "relacionados"
            | "compartir"
            | "partage"
            | "teilen"
            | "donate"
            | "donation"
            | "readmore"
            | "readnext"
            | "morestories"
    )
}

/// True for first words that say that the element contains a sidebar, for example, not that it is one.
fn is_with(word: &str) -> bool {
    matches!(word, "has" | "with" | "no" | "without" | "hide" | "show" | "is" | "layout" | "hidden")
}

/// True for last words that describe a state of the element.
fn is_state(word: &str) -> bool {
    matches!(
        word,
        "layout"
            | "open"
            | "closed"
            | "enabled"
            | "disabled"
            | "active"
            | "visible"
            | "above"
            | "below"
    )
}

/// True for last words that only say that it is a box.
fn is_neutral(word: &str) -> bool {
    matches!(
        word,
        "container"
            | "wrapper"
            | "wrap"
            | "inner"
            | "outer"
            | "row"
            | "grid"
            | "holder"
            | "section"
            | "block"
            | "area"
            | "region"
            | "module"
            | "component"
            | "group"
            | "list"
            | "items"
            | "col"
            | "column"
            | "left"
            | "right"
            | "box"
            | "panel"
            | "zone"
            | "bar"
            | "desktop"
            | "mobile"
    )
}

/// True for words that turn an author or article into a box about one.
fn is_box(word: &str) -> bool {
    matches!(
        word,
        "bio"
            | "box"
            | "about"
            | "card"
            | "description"
            | "profile"
            | "desc"
            | "details"
            | "biography"
            | "avatar"
    )
}

fn is_article(word: &str) -> bool {
    matches!(
        word,
        "article"
            | "post"
            | "entry"
            | "story"
            | "news"
            | "blog"
            | "single"
            | "artikel"
            | "articulo"
    )
}

fn is_body(word: &str) -> bool {
    matches!(
        word,
        "body" | "content" | "text" | "copy" | "contents" | "maintext" | "prose" | "markup"
    )
}

/// Returns the hint of one class or id. The last word has the most weight: `article-share` is for sharing,
/// `sidebar-layout` is not a sidebar.
pub(super) fn of_name(name: &str) -> Hint {
    if name.len() > MAX_NAME_BYTES {
        return Hint::None;
    }
    let lowered = with_words_apart(name);
    let all = lowered.split(|letter: char| !letter.is_ascii_alphabetic());
    let mut words = [""; MAX_WORDS];
    let mut n_words = 0;
    for (place, word) in words.iter_mut().zip(all.filter(|word| !word.is_empty())) {
        *place = word;
        n_words += 1;
    }
    let mut words = &words[..n_words];
    // `sidebar-wrapper` is a sidebar; a name of neutral words alone keeps one.
    while let [rest @ .., last] = words
        && !rest.is_empty()
        && is_neutral(last)
    {
        words = rest;
    }
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return Hint::None };
    // Blogs put a post's subjects into its classes: `category-news`.
    if words.len() > 1 && matches!(*first, "category" | "tag") {
        return Hint::None;
    }
    let (of_first, of_last) = (of_word(first), of_word(last));
    let has = |test: fn(&str) -> bool| words.iter().any(|word| test(word));
    // `has-sidebar`, `nav-open`: about the page, not a name of the element.
    if words.len() > 1 && (is_with(first) || is_state(last)) {
        return Hint::None;
    }
    if has(|word| word == "table") && has(|word| word == "contents") {
        return Hint::Boilerplate;
    }
    if has(|word| word == "caption") {
        return Hint::Caption;
    }
    if has(|word| word.starts_with("author")) && has(is_box) {
        return Hint::Boilerplate;
    }
    match (of_first, of_last) {
        // `comment-body`, `sidebar-content`: the first word says what it is part of.
        (
            Hint::Boilerplate | Hint::Comments,
            Hint::Content | Hint::None | Hint::Byline | Hint::Body,
        ) => of_first,
        // `story__related-links`: a word in the middle decides if the last one says little.
        (_, Hint::None | Hint::Content | Hint::Suspect) if has(is_surround) => Hint::Boilerplate,
        // `post-content`: the body of an article.
        (_, Hint::Content | Hint::Body) if has(is_article) && has(is_body) => Hint::Body,
        // `entry-meta`, `post-info`, `article-date`: the line below a headline.
        (Hint::Content | Hint::None, Hint::Suspect | Hint::None | Hint::Callout)
            if has(is_article)
                && matches!(*last, "meta" | "date" | "info" | "details" | "time") =>
        {
            Hint::Byline
        }
        (_, hint) => hint,
    }
}

/// Returns a name in lowercase, with a `-` where `camelCase` begins a word.
fn with_words_apart(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            out.push('-');
        }
        out.push(letter.to_ascii_lowercase());
        before = letter;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Hint, of_name};

    #[test]
    fn names_are_read_by_their_words() {
        let rows = [
            ("article-share", Hint::Boilerplate),
            ("sidebar", Hint::Boilerplate),
            ("sidebar-layout", Hint::None),
            ("has-sidebar", Hint::None),
            ("addtoany_share_save_container", Hint::Boilerplate),
            ("right-sidebar", Hint::Boilerplate),
            ("nav-open", Hint::None),
            ("content-wrapper", Hint::Content),
            ("comment-body", Hint::Comments),
            ("siteFooter", Hint::Boilerplate),
            ("post-content", Hint::Body),
            ("main-content", Hint::Content),
            ("main-menu", Hint::Suspect),
            ("admonition-note", Hint::Callout),
            ("story__related-links", Hint::Boilerplate),
            ("author-bio", Hint::Boilerplate),
            ("entry-meta", Hint::Byline),
            ("wp-caption-text", Hint::Caption),
            ("css-1x2y3z", Hint::None),
            ("", Hint::None),
        ];
        for (name, hint) in rows {
            assert_eq!(of_name(name), hint, "{name}");
        }
    }
}
