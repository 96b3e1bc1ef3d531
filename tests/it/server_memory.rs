//! Calls of the reference server-memory's own tests (`tests/data/server-memory-tests.json`): what they need holds here.
//!
//! A case is one test there, in calls and names of ours. What must hold is what the test is about: replies have the
//! fields of S1, a batch with one bad item is done but for that item, an entity that is there gets the observations
//! that it lacks, and a search finds more than what holds the very letters (`memory_reference.rs`). Tests of the
//! server's own file, lock and schema texts have nothing to hold here.

use crate::basic_memory::check;

#[test]
fn the_graph_and_its_tools_hold() {
    check("server-memory-tests.json", &["knowledge-graph", "tools"]);
}
