//! Links: renders links of notes.
//!
//! Invariant: control characters of documents do not reach the terminal.

use proto::tool::admin::BrokenLinksReply;
use proto::tool::notes::{BacklinksReply, by_place};

use super::{Style, clean, table};

/// Renders the links to a note, each with its line.
pub fn to_note(reply: &BacklinksReply, style: Style) -> String {
    if reply.backlinks.is_empty() {
        return format!("no other note leads to {}\n", clean(&reply.path));
    }
    let rows = by_place(&reply.backlinks).into_iter().map(|it| {
        let place = format!("{}:{}", clean(&it.path), it.line);
        vec![place, clean(&it.relation).into_owned(), clean(&it.said).into_owned()]
    });
    let listed = table(style, &["place", "relation", "line"], rows.collect());
    let more = if reply.next_page.is_some() { "there are more: raise `--limit`\n" } else { "" };
    format!("{listed}{more}")
}

/// Renders broken links.
pub fn broken(reply: &BrokenLinksReply, style: Style) -> String {
    if reply.links.is_empty() {
        return "there are no broken links\n".to_string();
    }
    let rows = reply.links.iter().map(|it| {
        let place = format!("{}:{}", clean(&it.path), it.line);
        let of = it.to_path.as_ref().map(|path| format!(" in {}", clean(path)));
        let missing = format!("{}{}", it.missing, of.unwrap_or_default());
        vec![place, clean(&it.target).into_owned(), missing]
    });
    let listed = table(style, &["place", "target", "missing"], rows.collect());
    let more = if reply.has_more { "there are more: raise `--limit`\n" } else { "" };
    format!("{listed}{more}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proto::tool::admin::BrokenLinkView;

    #[test]
    fn broken_links_are_a_table() {
        let link = BrokenLinkView {
            path: "a\u{1b}.md".into(),
            line: 3,
            target: "Plan#Later".into(),
            missing: "heading".into(),
            to_path: Some("plan.md".into()),
        };
        let reply = BrokenLinksReply { links: vec![link], ..BrokenLinksReply::default() };
        expect![[r#"
            place         target      missing
            a\u{1b}.md:3  Plan#Later  heading in plan.md
        "#]]
        .assert_eq(&broken(&reply, Style::plain()));
    }
}
