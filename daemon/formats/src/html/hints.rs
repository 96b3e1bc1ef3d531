//! Hints: signs in attributes that an element is content or not.
//!
//! In: an element. Out: whether it is hidden, and a [`Hint`] from its role, class and id.
//! Invariant: a hint depends on the element alone; whether it is followed depends on the page (`article.rs`).

use super::kind::Kind;
use super::naming::of_name;
use super::tree::Element;

/// What the names in an element's attributes say about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hint {
    /// No hint.
    None,
    /// Named as content.
    Content,
    /// Named as the body of an article.
    Body,
    /// The line with author and date.
    Byline,
    /// A description or credit of a picture.
    Caption,
    /// A note, tip or warning inside content.
    Callout,
    /// Comments of readers.
    Comments,
    /// Not content, whatever it contains.
    Boilerplate,
    /// Not content if it is mostly links or short.
    Suspect,
}

/// True for classes of elements that are only for machines, screen readers or linking.
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

/// True when the element is not visible.
pub(super) fn is_hidden(element: &Element) -> bool {
    // A page that hides its body shows it later by a script.
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
    // `hidden md:block` is visible on larger screens.
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

/// Returns the hint from tag, role, class and id.
pub(super) fn hint_of(element: &Element) -> Hint {
    if matches!(&*element.name.local, "figcaption" | "figure") {
        return Hint::Caption;
    }
    let by_tag = if is_custom(element) { of_name(&element.name.local) } else { Hint::None };
    if element.attrs.is_empty() {
        return by_tag;
    }
    let by_role = element.attr("role").map_or(Hint::None, of_role);
    if by_role != Hint::None {
        return by_role;
    }
    if element.attr("itemprop") == Some("articleBody") {
        return Hint::Body;
    }
    if element.attr("rel") == Some("author") || element.attr("itemprop") == Some("author") {
        return Hint::Byline;
    }
    let by_class = element
        .attr("class")
        .into_iter()
        .flat_map(str::split_ascii_whitespace)
        .take(20)
        .map(of_name);
    let by_id = element.attr("id").map(of_name);
    // The strongest hint wins; `weight` orders them, not the enum.
    by_class
        .chain(by_id)
        .fold(by_tag, |best, hint| if weight(hint) > weight(best) { hint } else { best })
}

fn weight(hint: Hint) -> u8 {
    match hint {
        Hint::None => 0,
        Hint::Content => 1,
        Hint::Suspect => 2,
        Hint::Caption => 3,
        Hint::Byline => 4,
        Hint::Body => 5,
        Hint::Boilerplate => 6,
        Hint::Comments => 7,
        Hint::Callout => 8,
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

/// True for a custom element, whose name is as good as a class.
pub(super) fn is_custom(element: &Element) -> bool {
    element.kind == Kind::Inline && element.name.local.contains('-')
}

/// True for kinds on which hints are followed: a word in a sentence is content, whatever its class.
pub(super) fn may_be_boilerplate(kind: Kind) -> bool {
    kind.is_container()
        && !matches!(kind, Kind::Main | Kind::Article | Kind::Cell | Kind::HeaderCell)
        || matches!(kind, Kind::Paragraph)
}

#[cfg(test)]
mod tests {
    use super::hides;

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
