//! Hints: what attributes say about an element being content or not.
//!
//! In: an element. Out: whether it is hidden, and a [`Hint`] from its role, class and id.
//! Invariant: a hint is about the element alone; whether it is followed depends on the page (`article.rs`).
//! Not here: what the element's name alone says (`kind.rs`).

use super::kind::Kind;
use super::tree::Element;

/// What an element is called by those who made the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// Nothing that tells.
    None,
    /// Named as content.
    Content,
    /// A note, tip or warning inside content.
    Callout,
    /// What readers wrote below.
    Comments,
    /// Not content, whatever it holds.
    Boilerplate,
    /// Not content if it is mostly links or short.
    Suspect,
}

/// What one word of a class or id says.
fn of_word(word: &str) -> Hint {
    match word {
        "note" | "tip" | "warning" | "admonition" | "callout" | "important" | "example"
        | "info" | "caution" | "alert" | "hint" | "footnotes" | "footnote" | "infobox" => {
            Hint::Callout
        }
        "comments" | "comment" | "commentlist" | "disqus" | "replies" | "respond" => Hint::Comments,
        "nav" | "navbar" | "navbox" | "navigation" | "breadcrumb" | "breadcrumbs" | "sidebar"
        | "sidenav" | "cookie" | "cookies" | "consent" | "gdpr" | "share" | "sharing"
        | "sharebar" | "social" | "related" | "recommended" | "recommendations" | "newsletter"
        | "subscribe" | "subscription" | "signup" | "toc" | "tableofcontents" | "pagination"
        | "pager" | "prevnext" | "skip" | "skiplink" | "popup" | "modal" | "advert"
        | "advertisement" | "ads" | "adsense" | "sponsor" | "sponsored" | "promo" | "masthead"
        | "topbar" | "dropdown" | "toolbar" | "catlinks" | "printfooter" | "jumplinks"
        | "paywall" | "footer" | "colophon" | "trending" | "popular" | "editsection"
        | "noprint" => Hint::Boilerplate,
        "menu" | "menus" | "widget" | "widgets" | "banner" | "header" | "links" | "tags"
        | "tagcloud" | "meta" | "byline" | "author" | "bio" | "rating" | "ratings" | "reviews"
        | "filters" | "actions" | "controls" | "buttons" | "tools" | "languages" | "search"
        | "login" | "copyright" | "legal" | "foot" | "more" | "seealso" => Hint::Suspect,
        "content" | "article" | "body" | "main" | "entry" | "post" | "story" | "text" | "page" => {
            Hint::Content
        }
        _ => Hint::None,
    }
}

/// True for words which say that the element holds a sidebar or the like, not that it is one.
fn is_around(word: &str) -> bool {
    matches!(
        word,
        "has"
            | "with"
            | "no"
            | "without"
            | "layout"
            | "wrapper"
            | "wrap"
            | "container"
            | "open"
            | "is"
            | "left"
            | "right"
            | "enabled"
            | "page"
            | "grid"
            | "row"
    )
}

/// True for a class of what is only for machines or for pointing at.
fn is_invisible_word(class_word: &str) -> bool {
    matches!(
        class_word,
        "sr-only"
            | "visually-hidden"
            | "visuallyhidden"
            | "screen-reader-text"
            | "hidden"
            | "screen-reader-only"
            | "d-none"
            | "headerlink"
            | "header-anchor"
            | "heading-anchor"
            | "anchor-link"
            | "anchorjs-link"
            | "hash-link"
            | "permalink"
            | "mw-editsection"
            | "linenos"
            | "lineno"
            | "line-numbers-rows"
            | "linenumber"
            | "copy-button"
            | "copybtn"
            | "material-icons"
            | "mw-jump-link"
            | "skip-link"
    )
}

/// True when the element is not shown.
pub(super) fn is_hidden(element: &Element) -> bool {
    // A page that hides its body shows it by script.
    let is_page = matches!(&*element.name.local, "html" | "body") || element.kind == Kind::Main;
    if element.attrs.is_empty() || is_page {
        return false;
    }
    let has = |attr: &str, test: fn(&str) -> bool| element.attr(attr).is_some_and(test);
    has("hidden", |value| !value.eq_ignore_ascii_case("until-found"))
        || has("style", |style| style.len() < 2_000 && hides(style))
        || has("class", is_invisible)
        || has("aria-hidden", |value| value == "true") && element.kind != Kind::Article
}

fn is_invisible(class: &str) -> bool {
    // `hidden md:block` is shown where there is room.
    let is_shown_again =
        || class.contains("block") || class.contains("flex") || class.contains("inline");
    class.split_ascii_whitespace().any(is_invisible_word) && !is_shown_again()
}

fn hides(style: &str) -> bool {
    style.split(';').filter_map(|rule| rule.split_once(':')).any(|(property, value)| {
        let (property, value) = (property.trim(), value.trim());
        (property.eq_ignore_ascii_case("display") && value.eq_ignore_ascii_case("none"))
            || (property.eq_ignore_ascii_case("visibility") && value.eq_ignore_ascii_case("hidden"))
    })
}

/// What role, class and id say.
pub(super) fn hint_of(element: &Element) -> Hint {
    if element.attrs.is_empty() {
        return Hint::None;
    }
    let by_role = element.attr("role").map_or(Hint::None, of_role);
    if by_role != Hint::None {
        return by_role;
    }
    if element.attr("itemprop") == Some("articleBody") {
        return Hint::Content;
    }
    let by_class = element
        .attr("class")
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .take(20)
        .map(of_name);
    let by_id = element.attr("id").map(of_name);
    // The most telling name wins; the enum is in no such order on purpose.
    by_class
        .chain(by_id)
        .fold(Hint::None, |best, hint| if weight(hint) > weight(best) { hint } else { best })
}

fn weight(hint: Hint) -> u8 {
    match hint {
        Hint::None => 0,
        Hint::Content => 1,
        Hint::Suspect => 2,
        Hint::Boilerplate => 3,
        Hint::Comments => 4,
        Hint::Callout => 5,
    }
}

fn of_role(role: &str) -> Hint {
    match role {
        "navigation" | "banner" | "contentinfo" | "complementary" | "search" | "dialog"
        | "alertdialog" | "menu" | "menubar" | "toolbar" | "tablist" => Hint::Boilerplate,
        "note" | "doc-footnote" | "doc-endnotes" => Hint::Callout,
        "main" | "article" => Hint::Content,
        _ => Hint::None,
    }
}

/// What one class or id says. The last word counts most: `article-share` is for sharing, `sidebar-layout` is
/// not a sidebar.
fn of_name(name: &str) -> Hint {
    if name.len() > 60 {
        return Hint::None;
    }
    let mut lowered = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && before.is_ascii_lowercase() {
            lowered.push('-');
        }
        lowered.push(letter.to_ascii_lowercase());
        before = letter;
    }
    let mut words =
        lowered.split(|letter: char| !letter.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let Some(first) = words.next() else { return Hint::None };
    let last = words.next_back().unwrap_or(first);
    let (of_first, of_last) = (of_word(first), of_word(last));
    if is_around(first) || is_around(last) {
        let is_content = of_first == Hint::Content || of_last == Hint::Content;
        return if is_content { Hint::Content } else { Hint::None };
    }
    match (of_first, of_last) {
        // `comment-body`, `sidebar-content`: what it is part of counts.
        (Hint::Boilerplate | Hint::Comments, Hint::Content | Hint::None) => of_first,
        (_, hint) => hint,
    }
}

/// True for kinds on which hints are followed: a word in a sentence is content whatever its class.
pub(super) fn may_be_boilerplate(kind: Kind) -> bool {
    kind.is_container()
        && !matches!(kind, Kind::Main | Kind::Article | Kind::Cell | Kind::HeaderCell)
        || matches!(kind, Kind::Paragraph)
}

#[cfg(test)]
mod tests {
    use super::{Hint, hides, of_name};

    #[test]
    fn names_are_read_by_their_last_word() {
        let rows = [
            ("article-share", Hint::Boilerplate),
            ("sidebar", Hint::Boilerplate),
            ("sidebar-layout", Hint::None),
            ("has-sidebar", Hint::None),
            ("comment-body", Hint::Comments),
            ("siteFooter", Hint::Boilerplate),
            ("post-content", Hint::Content),
            ("main-menu", Hint::Suspect),
            ("admonition-note", Hint::Callout),
            ("css-1x2y3z", Hint::None),
            ("", Hint::None),
        ];
        for (name, hint) in rows {
            assert_eq!(of_name(name), hint, "{name}");
        }
    }

    #[test]
    fn styles_that_hide() {
        let rows = [
            ("color:red; DISPLAY : none", true),
            ("visibility:hidden", true),
            ("display:block", false),
        ];
        for (style, expected) in rows {
            assert_eq!(hides(style), expected, "{style}");
        }
    }
}
