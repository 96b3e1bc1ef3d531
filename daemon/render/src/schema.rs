//! The text form of schemas.

use proto::tool::notes::{
    FieldKind, FieldUse, SchemaDiffReply, SchemaFault, SchemaInferReply, SchemaValidateReply,
};

use super::clean::{as_written, one_line};
use super::count;
use super::sheet::Sheet;

/// `  role (observation, 3 notes, 60 %): Engineer; Manager`.
fn field(it: &FieldUse) -> String {
    let kind = match it.kind {
        FieldKind::Field => "front matter",
        FieldKind::Observation => "observation",
        FieldKind::Relation => "relation",
    };
    let list = if it.is_list { ", several" } else { "" };
    let samples: Vec<_> = it.samples.iter().map(|it| one_line(it)).collect();
    let samples =
        if samples.is_empty() { String::new() } else { format!(": {}", samples.join("; ")) };
    let share = it.share * 100.0;
    let (name, notes) = (one_line(&it.name), count(it.n_notes, "note"));
    format!("  {name} ({kind}{list}, {notes}, {share:.0} %){samples}")
}

fn hint(hint: Option<&String>, sheet: &mut Sheet) {
    if let Some(hint) = hint {
        sheet.line(&format!("hint: {}", one_line(hint)));
    }
}

pub fn inferred(reply: &SchemaInferReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let (notes, note_type) = (count(reply.n_notes, "note"), one_line(&reply.note_type));
    sheet.line(&format!("{notes} of the type {note_type}"));
    hint(reply.hint.as_ref(), sheet);
    sheet.items(reply.fields.iter().map(field));
    if let Some(schema) = &reply.schema {
        sheet.line("a schema note that says so:");
        sheet.line(as_written(schema).trim_end());
    }
    sheet.finish()
}

/// `  Ada (people/ada.md): lacks name; …`.
fn fault(it: &SchemaFault) -> String {
    let mut faults = Vec::new();
    if !it.missing.is_empty() {
        faults.push(format!("lacks {}", it.missing.join(", ")));
    }
    faults.extend(it.differs.iter().cloned());
    if !it.further.is_empty() {
        faults.push(format!("has besides {}", it.further.join(", ")));
    }
    format!("  {} ({}): {}", one_line(&it.title), one_line(&it.path), one_line(&faults.join("; ")))
}

pub fn validated(reply: &SchemaValidateReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let by = match &reply.schema {
        Some(schema) => one_line(schema).into_owned(),
        None => "what nearly all of them state".to_string(),
    };
    sheet.line(&format!("{} of {} fit {by}", reply.n_valid, count(reply.n_notes, "note")));
    sheet.items(reply.faults.iter().map(fault));
    hint(reply.hint.as_ref(), sheet);
    sheet.finish()
}

pub fn moved(reply: &SchemaDiffReply, max_chars: usize) -> String {
    let sheet = &mut Sheet::new(max_chars, &reply.freshness);
    let (notes, schema) = (count(reply.n_notes, "note"), one_line(&reply.schema));
    sheet.line(&format!("{notes} against {schema}"));
    let parts = [
        ("new", &reply.new_fields),
        ("hardly stated any more", &reply.dropped_fields),
        ("one value or several", &reply.cardinality_changes),
    ];
    if parts.iter().all(|(_, fields)| fields.is_empty()) {
        sheet.line("no difference");
    }
    for (what, fields) in parts.into_iter().filter(|(_, fields)| !fields.is_empty()) {
        sheet.line(&format!("{what}:"));
        sheet.items(fields.iter().map(field));
    }
    sheet.finish()
}
