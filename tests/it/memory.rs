//! Memory (S1), as an agent sees it. It runs `kg-mcp --tools core,memory` and types:
//!
//! ```text
//! create_entities  {"entities": [{"name": "Ada Lovelace", "entity_type": "person",
//!                    "observations": ["Wrote the first program", "Lives in London"], "tags": ["history"]}]}
//!   created Ada Lovelace (person, memory/ada-lovelace.md)
//! add_observations {"observations": [{"entity_name": "ada lovelace", "contents": ["Likes poetry"]}]}
//!   Ada Lovelace: ^o3 Likes poetry
//! create_relations {"relations": [{"from_entity": "Ada Lovelace", "to_entity": "Charles Babbage",
//!                    "relation_type": "works_with"}]}
//! open_nodes       {"names": ["Ada Lovelace"]}        everything about her, observations in the order of their numbers
//! search_nodes     {"query": "who enjoys verse"}      the observation that fits best, of each entity
//! ```
//!
//! A person who opens `memory/ada-lovelace.md` sees:
//!
//! ```markdown
//! ---
//! title: Ada Lovelace
//! type: person
//! tags:
//!   - history
//! ---
//!
//! # Ada Lovelace
//!
//! - Wrote the first program ^o1
//! - Lives in London ^o2
//! - Likes poetry ^o3
//!
//! - works_with [[Charles Babbage]]
//! ```
//!
//! and edits it like any note: a line that is added is an observation (it gets the next number, written down by the
//! next tool that writes there), a line that is removed is forgotten, and no number is ever given twice. Two agents
//! that write at once lose nothing. A batch is done entity by entity, each wholly or not at all; what was not done
//! stands in `failed` (or beside the item), with a code and a hint.
