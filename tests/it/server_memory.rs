//! Calls of the reference server-memory's own tests (`tests/data/server-memory-tests.json`): what
//! those tests require holds here.
//!
//! A case is one of those tests, with our tool names and parameters. It checks what the test is
//! about: replies have the fields of S1, a batch with one bad item is done except for that item, an
//! existing entity gets the observations it lacks, and a search finds more than exact substrings
//! (`memory_reference.rs`). Tests of the server's own file, lock and schema texts do not apply.

use crate::basic_memory::check;

#[test]
fn the_graph_and_its_tools_hold() {
    check("server-memory-tests.json", &["knowledge-graph", "tools", "parameters"]);
}
