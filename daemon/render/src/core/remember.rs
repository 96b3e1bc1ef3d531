//! The text form of `remember`.

use proto::shape::place;
use proto::tool::core::RememberReply;

use crate::clean::{one_line, stored_line};
use crate::sheet::Sheet;

pub fn remembered(reply: &RememberReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let path = place(&reply.path, [reply.line; 2], [None; 2]);
    let path = one_line(&path);
    let home = match (&reply.about, &reply.id) {
        (Some(about), Some(id)) => {
            format!("of {} as entry {} ({path})", stored_line(about), one_line(id))
        }
        (Some(about), None) => format!("of {} ({path})", stored_line(about)),
        (None, Some(id)) => format!("as entry {} ({path})", one_line(id)),
        (None, None) => format!("in {path}"),
    };
    let kind = reply.kind.as_str();
    sheet.line(&match (reply.was_known, reply.is_new) {
        (true, _) => format!("known already, nothing written: {kind} {home}"),
        (false, true) => format!("remembered: {kind} {home}, a new note"),
        (false, false) => format!("remembered: {kind} {home}"),
    });
    if !reply.text.is_empty() {
        sheet.line(&format!("  “{}”", stored_line(&reply.text)));
    }
    reply.warnings.iter().for_each(|it| _ = sheet.line(&format!("warning: {}", one_line(it))));
    sheet.items(reply.contradicts.iter().map(|it| {
        let place = it.source.place();
        let words = stored_line(&it.source.text);
        format!("contradicts: “{words}” ({}; {})", one_line(&place), one_line(&it.why))
    }));
    sheet.items(
        reply
            .similar
            .iter()
            .map(|it| format!("similar: “{}” ({})", stored_line(&it.text), one_line(&it.place()))),
    );
    sheet.finish()
}
