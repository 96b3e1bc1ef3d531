//! Proposals: pairs of names that may denote the same, or do so inexactly.

use super::{Name, Read};
use crate::store::Snapshot;

/// Reads pairs of names.
#[derive(Clone, Copy)]
pub struct Proposals<'s>(pub(super) &'s Snapshot);

record! {
    /// A name, and another one that it is or may be.
    pub struct Proposal {
        /// Row id of the name.
        pub name: i64 = "a.id",
        /// The entity that it denotes.
        pub entity: Option<i64> = "a.entity_id",
        /// Row id of the other name.
        pub candidate: i64 = "b.id",
        /// The entity that the other name denotes.
        pub candidate_entity: Option<i64> = "b.entity_id",
        /// How alike they are, 0 to 1.
        pub score: f32 = "p.score",
    }
}

impl Proposals<'_> {
    /// Returns the pairs that nobody linked, best first; ties by norm.
    pub fn open(self) -> Read<Vec<Proposal>> {
        self.pairs("SELECT * FROM proposals", "p.score DESC, a.norm, b.norm")
    }

    /// Returns the names that were linked although they differ from the one through which they were, the least alike
    /// first; ties by norm.
    pub fn linked(self) -> Read<Vec<Proposal>> {
        let linked =
            "SELECT id AS name_id, via AS candidate, link AS score FROM names WHERE decision = 3";
        self.pairs(linked, "p.score, a.norm")
    }

    fn pairs(self, pairs: &str, order: &str) -> Read<Vec<Proposal>> {
        let names = "JOIN names a ON a.id = p.name_id JOIN names b ON b.id = p.candidate";
        self.0.select(&format!("FROM ({pairs}) p {names} ORDER BY {order}"), [])
    }

    /// Returns both names of a pair.
    pub fn names(self, pair: &Proposal) -> Read<Option<[Name; 2]>> {
        let names = self.0.names();
        Ok(names.get(pair.name)?.zip(names.get(pair.candidate)?).map(<[Name; 2]>::from))
    }

    /// Returns the entities that the candidates of an undecided name denote.
    pub fn candidates(self, name: i64) -> Read<Vec<i64>> {
        let sql = "SELECT b.entity_id FROM proposals p JOIN names b ON b.id = p.candidate
                   WHERE p.name_id = ?1 AND b.entity_id IS NOT NULL";
        self.0.rows(sql, [name])
    }
}
