//! Schema: the fields that notes of one type have in common, and the notes that differ.
//!
//! In: a type, or a note. Out: the fields that notes state, with their shares; faults of single
//! notes.
//! A field is a key of the front matter, a category of observations or a type of relations. A
//! schema is a note of the type `schema` (`proto::tool::notes`); a note may state its own under
//! `schema`, or name one there.
//! Invariants: the order of the answer does not depend on the order of rows; rejected statements
//! are ignored; a schema only describes, so no note is refused for it.

use std::collections::{BTreeMap, BTreeSet};

use notes::resolve::fold;
use proto::error::{Code, ErrorView};
use proto::tool::notes::{
    FieldKind, FieldUse, SchemaDiffReply, SchemaFault, SchemaInferReply, SchemaValidateReply,
};
use serde_json::{Map, Value};

use super::stated;
use crate::error::{invalid, quoted};
use crate::{AskError, QueryContext, address};
use index::read::Note;

/// Least share of a field to be suggested, or to be reported as new next to a schema:
/// basic-memory's value.
pub const USUAL: f32 = 0.25;

/// Share from which on a field is required: basic-memory's value.
const REQUIRED: f32 = 0.95;

/// Share below which a field of a schema counts as dropped: basic-memory's value.
const DROPPED: f32 = 0.10;

/// Most notes compared, in the order of their paths.
const MAX_NOTES: usize = 5_000;

/// Most faults and samples in a reply, and characters of a sample.
const MAX_FAULTS: usize = 100;
const MAX_SAMPLES: usize = 3;
const SAMPLE_CHARS: usize = 60;

/// Keys of the front matter that every note may have.
const COMMON: [&str; 8] =
    ["title", "type", "permalink", "tags", "aliases", "created", "modified", "schema"];

/// The type of schema notes.
const SCHEMA: &str = "schema";

/// Hint how to state a schema.
const HOW_TO: &str = "`schema_infer` suggests one; `write_note` it with `note_type: schema`, and `entity` and `schema` \
                      in `metadata`";

/// The values of one field in one note.
#[derive(Debug, Clone, Default)]
struct Stated {
    values: Vec<String>,
    is_list: bool,
}

/// The fields of one note.
type Fields = BTreeMap<(FieldKind, String), Stated>;

/// A field of a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    name: String,
    is_optional: bool,
    is_list: bool,
    /// `string`, `number`, … or the type of a relation's target notes.
    value_type: String,
    /// The values of an enumeration.
    allowed: Vec<String>,
}

/// A schema, and the note that states it.
struct Schema {
    path: String,
    rules: Vec<Rule>,
}

/// Returns the fields that notes of a type usually state.
///
/// # Errors
/// `not_found` if there is no such note; when the index cannot be read.
pub fn infer(
    ctx: &QueryContext<'_>,
    note_type: &str,
    threshold: f32,
) -> Result<SchemaInferReply, ErrorView> {
    let notes = of_type(ctx, note_type)?;
    if notes.is_empty() {
        return Err(no_notes(note_type));
    }
    let fields = uses(&notes);
    let usual: Vec<&FieldUse> = fields.iter().filter(|it| it.share >= threshold).collect();
    let hint = usual.is_empty().then(|| {
        format!(
            "no field is stated by {:.0} % of them: give a lower `threshold`",
            threshold * 100.0
        )
    });
    Ok(SchemaInferReply {
        note_type: note_type.trim().to_string(),
        n_notes: notes.len() as u64,
        schema: (!usual.is_empty()).then(|| suggested(note_type.trim(), &usual)),
        hint,
        fields,
        ..SchemaInferReply::default()
    })
}

/// Returns the notes of a type that differ from its schema, or else from what nearly all of them
/// state.
///
/// # Errors
/// `not_found` if there is no such note; when the index cannot be read.
pub fn validate_type(
    ctx: &QueryContext<'_>,
    note_type: &str,
) -> Result<SchemaValidateReply, ErrorView> {
    let notes = of_type(ctx, note_type)?;
    if notes.is_empty() {
        return Err(no_notes(note_type));
    }
    validate(ctx, &notes, Some(note_type), &notes)
}

/// Returns how one note differs from its schema, or else from what nearly all notes of its type
/// state.
///
/// # Errors
/// `invalid_params` for a document that is not a note; when the index cannot be read.
pub fn validate_note(ctx: &QueryContext<'_>, doc: i64) -> Result<SchemaValidateReply, ErrorView> {
    let row = ctx.snapshot.notes().get(doc).map_err(AskError::from)?;
    let row = row.ok_or_else(|| invalid("that document is no note".into(), "name a note"))?;
    let alike = match row.note_type.as_deref() {
        Some(note_type) => of_type(ctx, note_type)?,
        None => Vec::new(),
    };
    let note_type = row.note_type.clone();
    let one = [(fields_of(ctx, &row)?, row)].map(|(fields, row)| (row, fields));
    validate(ctx, &one, note_type.as_deref(), &alike)
}

/// Returns how the notes of a type differ from its schema.
///
/// # Errors
/// `not_found` if there is no schema; when the index cannot be read.
pub fn diff(ctx: &QueryContext<'_>, note_type: &str) -> Result<SchemaDiffReply, ErrorView> {
    let missing = || {
        let message = format!("no schema note has `entity: {}`", short(note_type));
        ErrorView::hinted(Code::NotFound, message, HOW_TO)
    };
    let schema = schema_of(ctx, note_type)?.ok_or_else(missing)?;
    let notes = of_type(ctx, note_type)?;
    if notes.is_empty() {
        return Err(no_notes(note_type));
    }
    let fields = uses(&notes);
    let rule = |it: &FieldUse| schema.rules.iter().find(|rule| fold(&rule.name) == fold(&it.name));
    let used = |rule: &Rule| {
        let found = fields.iter().filter(|it| fold(&it.name) == fold(&rule.name));
        found.max_by(|a, b| a.share.total_cmp(&b.share)).cloned()
    };
    let none = |rule: &Rule| FieldUse { name: rule.name.clone(), ..FieldUse::default() };
    let declared = schema.rules.iter().map(|rule| used(rule).unwrap_or_else(|| none(rule)));
    Ok(SchemaDiffReply {
        n_notes: notes.len() as u64,
        new_fields: fields
            .iter()
            .filter(|it| it.share >= USUAL && rule(it).is_none())
            .cloned()
            .collect(),
        dropped_fields: declared.filter(|it| it.share < DROPPED).collect(),
        cardinality_changes: fields
            .iter()
            .filter(|it| rule(it).is_some_and(|rule| rule.is_list != it.is_list))
            .cloned()
            .collect(),
        schema: schema.path,
        ..SchemaDiffReply::default()
    })
}

fn validate(
    ctx: &QueryContext<'_>,
    notes: &[(Note, Fields)],
    note_type: Option<&str>,
    alike: &[(Note, Fields)],
) -> Result<SchemaValidateReply, ErrorView> {
    let of_type = note_type.map(|note_type| schema_of(ctx, note_type)).transpose()?.flatten();
    let usual = usual_rules(alike);
    let mut reply =
        SchemaValidateReply { n_notes: notes.len() as u64, ..SchemaValidateReply::default() };
    for (row, fields) in notes {
        let own = own_schema(ctx, row)?;
        let schema = own.as_ref().or(of_type.as_ref());
        let rules = schema.map_or(usual.as_slice(), |schema| schema.rules.as_slice());
        let fault = fault_of(row, fields, rules);
        if fault.missing.is_empty() && fault.differs.is_empty() {
            reply.n_valid += 1;
        } else if reply.faults.len() < MAX_FAULTS {
            reply.faults.push(fault);
        }
        if notes.len() == 1 {
            reply.schema = schema.map(|schema| schema.path.clone());
        }
    }
    reply.schema = reply.schema.or_else(|| of_type.map(|schema| schema.path));
    reply.hint = reply.schema.is_none().then(|| format!("no schema is stated: {HOW_TO}"));
    Ok(reply)
}

/// Returns the notes of a type with their fields, by path.
fn of_type(ctx: &QueryContext<'_>, note_type: &str) -> Result<Vec<(Note, Fields)>, AskError> {
    let notes = ctx.snapshot.notes().of_type(&fold(note_type.trim()), MAX_NOTES)?;
    let fields: Result<Vec<Fields>, AskError> = notes.iter().map(|it| fields_of(ctx, it)).collect();
    Ok(notes.into_iter().zip(fields?).collect())
}

fn fields_of(ctx: &QueryContext<'_>, row: &Note) -> Result<Fields, AskError> {
    let mut fields = Fields::new();
    let mut add = |kind: FieldKind, name: &str, value: String| {
        let stated = fields.entry((kind, name.trim().to_string())).or_default();
        stated.values.push(value);
        stated.is_list = stated.values.len() > 1;
    };
    for it in stated::accepted(ctx, row.doc)? {
        add(FieldKind::Observation, &it.category, it.content);
    }
    for it in stated::relations(ctx, row.doc)?.into_iter().filter(|it| it.is_typed) {
        if let Some(relation) = &it.relation {
            add(FieldKind::Relation, relation, it.target);
        }
    }
    for (key, value) in &row.metadata {
        if COMMON.iter().any(|common| common.eq_ignore_ascii_case(key)) {
            continue;
        }
        let (values, is_list) = match value {
            Value::Array(items) => (items.iter().map(text_of).collect(), true),
            other => (vec![text_of(other)], false),
        };
        fields.insert((FieldKind::Field, key.clone()), Stated { values, is_list });
    }
    Ok(fields)
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Counts how often each field is stated, the most frequent first.
fn uses(notes: &[(Note, Fields)]) -> Vec<FieldUse> {
    #[derive(Default)]
    struct Count {
        n: u64,
        n_lists: u64,
        samples: Vec<String>,
    }
    let mut counts: BTreeMap<&(FieldKind, String), Count> = BTreeMap::new();
    for (key, stated) in notes.iter().flat_map(|(_, fields)| fields) {
        let count = counts.entry(key).or_default();
        count.n += 1;
        count.n_lists += u64::from(stated.is_list);
        for value in &stated.values {
            let sample: String = value.chars().take(SAMPLE_CHARS).collect();
            if count.samples.len() < MAX_SAMPLES && !count.samples.contains(&sample) {
                count.samples.push(sample);
            }
        }
    }
    let mut uses: Vec<FieldUse> = counts
        .into_iter()
        .map(|((kind, name), count)| FieldUse {
            name: name.clone(),
            kind: *kind,
            n_notes: count.n,
            share: count.n as f32 / notes.len() as f32,
            is_list: count.n_lists * 2 > count.n,
            samples: count.samples,
        })
        .collect();
    // Stable: fields with equal shares stay sorted by kind and name.
    uses.sort_by_key(|it| std::cmp::Reverse(it.n_notes));
    uses
}

/// Returns rules for the fields that nearly all notes state.
fn usual_rules(notes: &[(Note, Fields)]) -> Vec<Rule> {
    let usual = uses(notes).into_iter().filter(|it| it.share >= REQUIRED);
    usual
        .map(|it| Rule {
            name: it.name,
            is_optional: false,
            // A note may have more values than the others.
            is_list: true,
            value_type: "any".into(),
            allowed: Vec::new(),
        })
        .collect()
}

/// Returns the schema note of a type.
fn schema_of(ctx: &QueryContext<'_>, note_type: &str) -> Result<Option<Schema>, AskError> {
    let wanted = fold(note_type);
    let schemas = of_type(ctx, SCHEMA)?.into_iter().map(|(row, _)| row);
    let of_entity = |row: &Note| {
        row.metadata.get("entity").and_then(Value::as_str).is_some_and(|it| fold(it) == wanted)
    };
    Ok(schemas.filter(of_entity).find_map(|row| schema_in(&row)))
}

/// Returns the schema that a note states or names for itself.
fn own_schema(ctx: &QueryContext<'_>, row: &Note) -> Result<Option<Schema>, AskError> {
    let is_schema = row.note_type.as_deref().is_some_and(|it| it.eq_ignore_ascii_case(SCHEMA));
    match row.metadata.get(SCHEMA) {
        Some(Value::String(name)) if !is_schema => {
            let Ok(doc) = address::document(ctx.snapshot, name) else { return Ok(None) };
            Ok(ctx.snapshot.notes().get(doc)?.and_then(|row| schema_in(&row)))
        }
        _ => Ok((!is_schema).then(|| schema_in(row)).flatten()),
    }
}

fn schema_in(row: &Note) -> Option<Schema> {
    let rules = rules_of(row.metadata.get(SCHEMA)?.as_object()?);
    Some(Schema { path: row.path.clone(), rules })
}

/// Parses the lines of a schema: `name?(array): string, what it is`.
fn rules_of(schema: &Map<String, Value>) -> Vec<Rule> {
    let rules = schema.iter().map(|(key, value)| {
        let (name, kind) = match key.split_once('(') {
            Some((name, kind)) => (name, kind.split([')', ',']).next().unwrap_or_default()),
            None => (key.as_str(), ""),
        };
        let name = name.trim();
        let text = value.as_str().unwrap_or_default();
        let value_type = text.split(',').next().unwrap_or_default().trim();
        let allowed = match value {
            Value::Array(items) => items.iter().map(text_of).collect(),
            _ => text.split(['[', ']']).nth(1).map(listed).unwrap_or_default(),
        };
        Rule {
            name: name.trim_end_matches('?').trim().to_string(),
            is_optional: name.ends_with('?'),
            is_list: kind == "array" || value_type.ends_with("[]"),
            value_type: value_type.trim_end_matches("[]").to_lowercase(),
            allowed: if kind == "enum" { allowed } else { Vec::new() },
        }
    });
    rules.collect()
}

fn listed(text: &str) -> Vec<String> {
    text.split(',').map(|it| it.trim().trim_matches('"').to_string()).collect()
}

/// Returns what a note lacks and what differs from the rules.
fn fault_of(row: &Note, fields: &Fields, rules: &[Rule]) -> SchemaFault {
    let mut fault =
        SchemaFault { title: row.title.clone(), path: row.path.clone(), ..SchemaFault::default() };
    for rule in rules {
        let stated: Vec<&Stated> = fields
            .iter()
            .filter(|((_, name), _)| fold(name) == fold(&rule.name))
            .map(|(_, stated)| stated)
            .collect();
        if stated.is_empty() && !rule.is_optional {
            fault.missing.push(rule.name.clone());
        }
        for it in stated {
            fault.differs.extend(difference(rule, it));
        }
    }
    let known: BTreeSet<String> = rules.iter().map(|rule| fold(&rule.name)).collect();
    fault.further = fields
        .keys()
        .filter(|(kind, name)| *kind != FieldKind::Field && !known.contains(&fold(name)))
        .map(|(_, name)| name.clone())
        .collect();
    fault
}

/// Describes how a field differs from its rule.
fn difference(rule: &Rule, stated: &Stated) -> Option<String> {
    let (name, n) = (&rule.name, stated.values.len());
    if n > 1 && !rule.is_list {
        return Some(format!("`{name}` is stated {n} times"));
    }
    let is_wrong = |value: &&String| match rule.value_type.as_str() {
        "number" => value.trim().parse::<f64>().is_err(),
        "integer" => value.trim().parse::<i64>().is_err(),
        // Front matter is stored as text: `True` (S0 §3.2).
        "boolean" => !["true", "false"].contains(&value.trim().to_lowercase().as_str()),
        _ => !rule.allowed.is_empty() && !rule.allowed.iter().any(|it| fold(it) == fold(value)),
    };
    let wrong = stated.values.iter().find(is_wrong)?;
    let wanted = match rule.allowed.as_slice() {
        [] => rule.value_type.clone(),
        allowed => format!("one of {}", allowed.join(", ")),
    };
    Some(format!("`{name}` is `{}`, not {wanted}", short(wrong)))
}

/// Renders a schema note with these fields.
fn suggested(note_type: &str, fields: &[&FieldUse]) -> String {
    let title = short(note_type);
    let mut text =
        format!("---\ntitle: {title}\ntype: schema\nentity: {title}\nversion: 1\nschema:\n");
    let mut seen = BTreeSet::new();
    for field in fields.iter().filter(|it| seen.insert(fold(&it.name))) {
        let optional = if field.share >= REQUIRED { "" } else { "?" };
        let list = if field.is_list { "(array)" } else { "" };
        let key = format!("{}{optional}{list}", field.name);
        let is_plain = key.chars().all(|c| c.is_alphanumeric() || "_-?()".contains(c));
        let key = if is_plain { key } else { Value::from(key).to_string() };
        text += &format!("  {key}: string\n");
    }
    text + "---\n"
}

fn no_notes(note_type: &str) -> ErrorView {
    let message = format!("no note has `type: {}`", short(note_type));
    ErrorView::hinted(Code::NotFound, message, "`list_notes` shows the types of notes")
}

fn short(text: &str) -> String {
    quoted(text.trim(), SAMPLE_CHARS)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_schema_is_read_line_by_line() {
        let schema = json!({
            "name": "string, full name", "role?": "string", "works_at?(array)": "Organization",
            "tags": "string[]", "status(enum)": "[open, closed], where it stands", "age?": "number",
        });
        let rules = rules_of(schema.as_object().expect("an object"));
        let shown: Vec<String> = rules
            .iter()
            .map(|it| {
                let mark = if it.is_optional { "?" } else { "" };
                let list = if it.is_list { "*" } else { "" };
                format!("{}{mark}{list}:{} {}", it.name, it.value_type, it.allowed.join("|"))
            })
            .collect();
        let wanted = [
            "name:string ",
            "role?:string ",
            "works_at?*:organization ",
            "tags*:string ",
            "status:[open open|closed",
            "age?:number ",
        ];
        assert_eq!(shown, wanted);
        let of = |at: usize, values: &[&str]| {
            let values: Vec<String> = values.iter().map(ToString::to_string).collect();
            difference(&rules[at], &Stated { is_list: values.len() > 1, values })
        };
        assert_eq!(of(0, &["Ada"]), None);
        assert_eq!(of(0, &["Ada", "Bob"]), Some("`name` is stated 2 times".into()));
        assert_eq!(of(2, &["A", "B"]), None);
        assert_eq!(of(4, &["Open"]), None);
        assert_eq!(of(4, &["lost"]), Some("`status` is `lost`, not one of open, closed".into()));
        assert_eq!(of(5, &["old"]), Some("`age` is `old`, not number".into()));
    }
}
