//! Entities: the whole graph in the form of the memory tools.
//!
//! In: entities of the projection. Out: nodes and relations of memory's replies.
//! Invariants: a relation that notes state has the type that its author wrote; an entity without a
//! note has a name and a type, but neither a path nor a date.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use proto::error::{Code, ErrorView};
use proto::tool::memory::{MemoryNode, MemoryRelation};

use super::{node_view, relation_view};
use crate::project::Project;
use crate::serve::tool::unreadable;
use index::read::{Edge, Node};
use index::store::Snapshot;
use model::terms::{EntityType, norm_of};
use query::Projection;
use query::connect::entity_given;
use query::connect::memory::Triple;
use query::memory as rows;

/// The graph of one snapshot, with a cache of its entities.
pub(super) struct EntityGraph<'s> {
    project: &'s Project,
    snapshot: &'s Snapshot,
    pub(super) projection: Arc<Projection>,
    known: HashMap<i64, Known>,
}

/// An entity: its name and type, and its note if it has one.
#[derive(Debug, Default)]
struct Known {
    name: String,
    entity_type: &'static str,
    note: Option<Node>,
    /// The relations that start or end in its note.
    edges: Option<BTreeSet<Edge>>,
}

impl<'s> EntityGraph<'s> {
    pub(super) fn open(project: &'s Project, snapshot: &'s Snapshot) -> Result<Self, ErrorView> {
        let projection = project.projection(snapshot)?;
        Ok(EntityGraph { project, snapshot, projection, known: HashMap::new() })
    }

    /// Resolves a name: to a note with it, else as `explain_entity` does.
    pub(super) fn named(&self, parameter: &str, name: &str) -> Result<i64, ErrorView> {
        let missing = match rows::named(self.snapshot, name) {
            Ok(note) => match self.snapshot.documents().entity(note.doc).map_err(unreadable)? {
                Some(entity) => return Ok(entity),
                None => {
                    return entity_given(&self.project.context(self.snapshot), parameter, name);
                }
            },
            Err(error) => error,
        };
        if missing.code != Code::NotFound {
            return Err(missing);
        }
        let found = entity_given(&self.project.context(self.snapshot), parameter, name);
        found.map_err(|error| if error.code == Code::NotFound { missing } else { error })
    }

    fn known(&mut self, entity: i64) -> Result<&mut Known, ErrorView> {
        if !self.known.contains_key(&entity) {
            let found = self.snapshot.entities().get(entity).map_err(unreadable)?;
            let doc = found.as_ref().and_then(|it| it.doc);
            let note = doc.map(|doc| self.snapshot.memory().get(doc)).transpose();
            let note = note.map_err(unreadable)?.flatten();
            let entity_type = found.as_ref().map_or("", |it| EntityType::shown(it.type_code));
            let name = note.as_ref().map(|it| it.name.clone()).or(found.map(|it| it.name));
            let name = name.unwrap_or_default();
            self.known.insert(entity, Known { name, entity_type, note, edges: None });
        }
        Ok(self.known.entry(entity).or_default())
    }

    pub(super) fn name(&mut self, entity: i64) -> Result<String, ErrorView> {
        Ok(self.known(entity)?.name.clone())
    }

    /// Returns an entity as a node.
    pub(super) fn node_view(&mut self, entity: i64) -> Result<MemoryNode, ErrorView> {
        let Known { name, entity_type, note, .. } = self.known(entity)?;
        Ok(note.as_ref().map(node_view).unwrap_or_else(|| MemoryNode {
            name: name.clone(),
            entity_type: entity_type.to_string(),
            summary: None,
            tags: Vec::new(),
            path: String::new(),
            updated_at: String::new(),
        }))
    }

    /// Returns relations with the names of their ends. A relation that a note states is shown as
    /// written there.
    pub(super) fn relations(
        &mut self,
        found: Vec<Triple>,
    ) -> Result<Vec<MemoryRelation>, ErrorView> {
        let mut views = Vec::new();
        for (subject, predicate, object) in found {
            let stated = self.stated(subject, object)?;
            let same = |it: &&Edge| norm_of(&it.relation_type) == norm_of(&predicate);
            views.push(match stated.iter().find(same) {
                Some(edge) => relation_view(self.snapshot, edge)?,
                None => {
                    let (from, to) = (self.name(subject)?, self.name(object)?);
                    MemoryRelation { from, to, relation_type: predicate }
                }
            });
        }
        views.sort();
        views.dedup();
        Ok(views)
    }

    /// Returns the relations that one entity's note states to another's.
    fn stated(&mut self, subject: i64, object: i64) -> Result<Vec<Edge>, ErrorView> {
        let doc = |known: &Known| known.note.as_ref().map(|note| note.doc);
        let ends = (doc(self.known(subject)?), doc(self.known(object)?));
        let (Some(from), Some(to)) = ends else { return Ok(vec![]) };
        let snapshot = self.snapshot;
        let known = self.known(subject)?;
        let edges = match known.edges.take() {
            Some(edges) => edges,
            None => snapshot.memory().edges(Some(from)).map_err(unreadable)?,
        };
        let between = edges.iter().filter(|it| it.from == from && it.to == Some(to));
        let between = between.cloned().collect();
        known.edges = Some(edges);
        Ok(between)
    }
}
