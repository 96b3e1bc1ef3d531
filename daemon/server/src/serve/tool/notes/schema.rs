//! `schema_infer`, `schema_validate` and `schema_diff`.

use proto::error::ErrorView;
use proto::tool::notes::{
    SchemaDiff, SchemaDiffReply, SchemaInfer, SchemaInferReply, SchemaValidate, SchemaValidateReply,
};

use super::named;
use crate::project::Project;
use crate::serve::tool::invalid;
use index::store::Snapshot;
use query::notes::schema;

/// Returns the fields that notes of a type usually state.
pub fn schema_infer(
    project: &Project,
    snapshot: &Snapshot,
    request: SchemaInfer,
) -> Result<SchemaInferReply, ErrorView> {
    let threshold = request.threshold.unwrap_or(schema::USUAL);
    if !(0.0..=1.0).contains(&threshold) {
        let hint = "give a number from 0 to 1";
        return Err(invalid(format!("`threshold` is {threshold}"), hint));
    }
    let mut reply = schema::infer(&project.context(snapshot), &request.note_type, threshold)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Returns the notes that lack fields or differ.
pub fn schema_validate(
    project: &Project,
    snapshot: &Snapshot,
    request: SchemaValidate,
) -> Result<SchemaValidateReply, ErrorView> {
    let context = project.context(snapshot);
    let mut reply = match (request.note_type, request.path) {
        (Some(note_type), None) => schema::validate_type(&context, &note_type)?,
        (None, Some(path)) => {
            schema::validate_note(&context, named(project, snapshot, &path)?.doc)?
        }
        _ => {
            let message = "`schema_validate` needs either `type` or `path`".to_string();
            return Err(invalid(message, "give the type of notes, or one note"));
        }
    };
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}

/// Returns how notes differ from their schema.
pub fn schema_diff(
    project: &Project,
    snapshot: &Snapshot,
    request: SchemaDiff,
) -> Result<SchemaDiffReply, ErrorView> {
    let mut reply = schema::diff(&project.context(snapshot), &request.note_type)?;
    reply.freshness = project.freshness(snapshot);
    Ok(reply)
}
