//! Changes: renders what was added, removed or changed.
//!
//! Invariant: control characters of documents do not reach the terminal.

use std::fmt::Write;

use proto::tool::core::{ChangeView, ChangesReply};

use super::{Style, clean, counted};

/// Renders a page of changes, the latest first.
pub fn page(reply: &ChangesReply, style: Style) -> String {
    let counts = [
        (reply.n_added, "added"),
        (reply.n_changed, "changed"),
        (reply.n_moved, "moved"),
        (reply.n_removed, "removed"),
    ];
    let counts = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
    let counts: Vec<String> = counts.collect();
    let found = if counts.is_empty() { "no changes".to_string() } else { counts.join(", ") };
    let mut text = format!("since {}: {found}\n", clean(&reply.since));
    if let Some(hint) = &reply.hint {
        let _ = writeln!(text, "{}", style.yellow(&clean(hint)));
    }
    reply.changes.iter().for_each(|it| write_change(&mut text, it, style));
    if reply.n_left > 0 {
        let cursor = reply.next_cursor.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{} more: `--cursor {}`", reply.n_left, clean(cursor));
    }
    text
}

fn write_change(text: &mut String, it: &ChangeView, style: Style) {
    let from = it.was_path.as_ref().map(|was| format!("{} → ", clean(was))).unwrap_or_default();
    let path = style.bold(&format!("{from}{}", clean(&it.path)));
    let unwatched = if it.unwatched { ", while nobody watched" } else { "" };
    let when = style.dim(&format!("tick {}, {}{unwatched}", it.tick, clean(&it.at)));
    let _ = writeln!(text, "{} {path}  {when}", it.kind);
    for line in &it.lines {
        let number = line.line.map(|number| format!("{number}: ")).unwrap_or_default();
        let words = format!("{number}{}", clean(&line.text));
        let words = match line.gone {
            true => style.red(&format!("- {words}")),
            false => style.green(&format!("+ {words}")),
        };
        let _ = writeln!(text, "  {words}");
    }
    if it.n_more_lines > 0 {
        let _ = writeln!(text, "  and {} more", counted(it.n_more_lines, "line"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proto::tool::core::ChangedLineView;

    #[test]
    fn each_document_has_a_line_and_its_lines_below() {
        let line = |gone: bool, line: Option<u32>, text: &str| {
            let kind = "text".to_string();
            ChangedLineView { gone, kind, line, text: text.into() }
        };
        let changed = ChangeView {
            kind: "changed".into(),
            path: "new/a.md".into(),
            was_path: Some("a.md".into()),
            tick: 7,
            at: "2026-11-25T14:02:11Z".into(),
            lines: vec![line(true, Some(3), "One"), line(false, None, "Two\u{1b}[31m")],
            n_more_lines: 2,
            unwatched: false,
        };
        let gone = ChangeView {
            kind: "removed".into(),
            unwatched: true,
            lines: vec![],
            ..changed.clone()
        };
        let gone = ChangeView { was_path: None, n_more_lines: 0, ..gone };
        let reply = ChangesReply {
            since: "tick 5".into(),
            n_changed: 1,
            n_removed: 2,
            changes: vec![changed, gone],
            n_left: 1,
            next_cursor: Some("abc".into()),
            ..ChangesReply::default()
        };
        expect![[r#"
            since tick 5: 1 changed, 2 removed
            changed a.md → new/a.md  tick 7, 2026-11-25T14:02:11Z
              - 3: One
              + Two\u{1b}[31m
              and 2 lines more
            removed new/a.md  tick 7, 2026-11-25T14:02:11Z, while nobody watched
            1 more: `--cursor abc`
        "#]]
        .assert_eq(&page(&reply, Style::plain()));
    }
}
