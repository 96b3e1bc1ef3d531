//! Schema: the index's tables, each with the reasons for its form.
//!
//! The index is derived from the files. A new [`SCHEMA_VERSION`] rebuilds it; nothing is migrated.

/// Must be raised with every change of the tables below, or of the meaning of their rows.
pub const SCHEMA_VERSION: u32 = 36;

/// Values of `docs.pass`: read by the swift pass; to be read by the deep pass; read by the deep pass. SQLite stores
/// each of them in one byte (0 and 1 in none): a row that keeps its length is not written again with its texts.
pub const PASS_SWIFT: i64 = 2;
/// See [`PASS_SWIFT`].
pub(crate) const PASS_ASKED: i64 = 3;
/// See [`PASS_SWIFT`].
pub(crate) const PASS_DEEP: i64 = 4;

/// Creates all tables; runs once on an empty database.
pub(super) const INDEX: &str = r#"
CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;

-- One row a file. Ids are never reused, because evidence names documents by id. `text` is the normalized, redacted
-- text; chunks are spans of it, so nothing is stored twice. `lines` maps places of `text` to lines of the file; `pages`
-- and `headings` hold where those begin (see `store/lines.rs`). `pass`: see [`PASS_SWIFT`].
-- `outline`: what the recognizers read besides the text (`store/record.rs`).
-- `sum`: checksum of the columns that are derived from the file (`store/scrub.rs`).
-- What is read by itself stands before the texts, which go on in other pages. `depth` and `path` are the order of
-- documents in which the first of equal passages is found; `is_open`: its passages are not settled
-- (`store/duplicates.rs`). `written`: the readable text as the file has it, compressed (`store/written.rs`).
CREATE TABLE docs(
  id INTEGER PRIMARY KEY AUTOINCREMENT, entity_id INTEGER, uid TEXT NOT NULL UNIQUE, path TEXT NOT NULL UNIQUE,
  title TEXT NOT NULL, is_note INTEGER NOT NULL, format TEXT NOT NULL, doc_type TEXT, language TEXT NOT NULL,
  day TEXT NOT NULL, hash BLOB NOT NULL, mtime_ms INTEGER NOT NULL, n_bytes INTEGER NOT NULL, source_url TEXT,
  depth INTEGER NOT NULL, is_open INTEGER NOT NULL DEFAULT 0,
  meta TEXT NOT NULL, text TEXT NOT NULL, lines BLOB NOT NULL, pages BLOB, headings BLOB, terms TEXT NOT NULL,
  mentions_hash INTEGER NOT NULL, gazetteer_version INTEGER NOT NULL, warnings TEXT, redactions TEXT,
  pass INTEGER NOT NULL, sum INTEGER NOT NULL, outline BLOB NOT NULL DEFAULT x'', written BLOB);
CREATE INDEX docs_entity ON docs(entity_id);
CREATE INDEX docs_hash ON docs(hash);
CREATE INDEX docs_pass ON docs(id, n_bytes) WHERE pass < 4;
CREATE INDEX docs_open ON docs(depth, path) WHERE is_open = 1;
CREATE TABLE doc_tags(doc_id INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY(doc_id, tag)) WITHOUT ROWID;
CREATE INDEX doc_tags_tag ON doc_tags(tag);

-- Spans are bytes of `docs.text`; raw spans are bytes of the file. `section`: the two innermost headings above it, as
-- answers show them (` › ` between); `headings`: all of them (` / ` between), if there are more. For the place of each
-- heading see `docs.headings`, for the one that names a document the table `headings`. `print` and `keys`: by which it
-- is compared with others; null if it is not. `same_as`: itself, or the chunk that it repeats: then only its own words
-- are in the text index, and its vectors are aside. Null: not decided; -1: indexed as the copy that it was, and to be
-- decided again (`store/duplicates.rs`). `names`: those that it mentions, as in `mentions`, a JSON array.
CREATE TABLE chunks(
  id INTEGER PRIMARY KEY, doc_id INTEGER NOT NULL, idx INTEGER NOT NULL, start INTEGER NOT NULL,
  end INTEGER NOT NULL, raw_start INTEGER NOT NULL, raw_end INTEGER NOT NULL, line_start INTEGER NOT NULL,
  line_end INTEGER NOT NULL, n_tokens INTEGER NOT NULL, section TEXT NOT NULL, hash BLOB NOT NULL,
  language TEXT NOT NULL, profile TEXT NOT NULL, headings TEXT, print INTEGER, keys BLOB, same_as INTEGER,
  names TEXT NOT NULL);
CREATE INDEX chunks_doc ON chunks(doc_id, idx);
CREATE INDEX chunks_same ON chunks(same_as) WHERE same_as <> id;
-- The decided chunks by their keys, those that repeat none first.
CREATE TABLE chunk_keys(key INTEGER NOT NULL, is_repeat INTEGER NOT NULL, chunk_id INTEGER NOT NULL,
  PRIMARY KEY(key, is_repeat, chunk_id)) WITHOUT ROWID;
-- Holds the output of `words::Indexer` for title, headings and body, not these themselves. So the tokenizer, which is
-- `words::TOKENIZER`, only splits at blanks.
CREATE VIRTUAL TABLE chunk_fts USING fts5(
  title, headings, body, content='', contentless_delete=1, tokenize="ascii tokenchars '+#.'");
-- A part of a chunk that has a vector. `is_aside`: its chunk repeats another, so it is not searched. `hash`: of the
-- text that the better model reads (`embed`); its vector is stored under this hash (`store/spaces.rs`). `vector`: the
-- static one, int8; null if it has none, since only better models read other languages than English. Questions are
-- answered from a copy in memory (`vectors/`). Not a `vec0` table of sqlite-vec: a row of that costs the writer two
-- to four times as much, and only whole blocks can be read; its functions read these vectors as well.
CREATE TABLE windows(id INTEGER PRIMARY KEY, chunk_id INTEGER NOT NULL, start INTEGER NOT NULL, end INTEGER NOT NULL,
  is_aside INTEGER NOT NULL, hash BLOB NOT NULL, vector BLOB);
CREATE INDEX windows_chunk ON windows(chunk_id);

-- Canonical entities: of a note (`doc_id`), or of a norm. An entity's id is derived from what it is (`store/ids.rs`),
-- so a name that is still to be resolved and holds the id of a deleted entity can never denote another one. `type`,
-- here and in `names`, is negative (`-1 - code`) if it is too unsure to be shown, and 100 less if the entity is hidden.
CREATE TABLE entities(
  id INTEGER PRIMARY KEY, norm TEXT NOT NULL, doc_id INTEGER UNIQUE, name TEXT NOT NULL,
  type INTEGER NOT NULL,
  status TEXT NOT NULL DEFAULT 'active');
CREATE UNIQUE INDEX entities_norm ON entities(norm) WHERE doc_id IS NULL;

-- A name, by its norm. `sense` is 0; or the id of the document that an ambiguous norm was decided to denote; or the id
-- of the first document of a group that means another thing by it (`is_split`); or minus the row of the name that some
-- documents use it for. `via` is the name through which an inexact name was linked. The other columns are gathered from
-- the mentions, so that Resolve never has to read the mentions of a neighbor again. `proposals`: candidates for an
-- undecided name, with their scores, JSON.
CREATE TABLE names(
  id INTEGER PRIMARY KEY, norm TEXT NOT NULL, sense INTEGER NOT NULL, entity_id INTEGER, link REAL NOT NULL,
  decision INTEGER NOT NULL, via INTEGER, surface TEXT NOT NULL, type INTEGER NOT NULL, n_docs INTEGER NOT NULL,
  n_mentions INTEGER NOT NULL, homes TEXT, home_source INTEGER, is_fuzzy INTEGER NOT NULL,
  is_split INTEGER NOT NULL DEFAULT 0, proposals TEXT, UNIQUE(norm, sense));
CREATE VIEW proposals AS
  SELECT n.id AS name_id, p.value ->> 0 AS candidate, p.value ->> 1 AS score FROM names n, json_each(n.proposals) p;
CREATE INDEX names_entity ON names(entity_id);
CREATE INDEX names_via ON names(via) WHERE via IS NOT NULL;
CREATE TABLE name_keys(key INTEGER NOT NULL, name_id INTEGER NOT NULL, PRIMARY KEY(key, name_id)) WITHOUT ROWID;
CREATE TABLE stated(doc_id INTEGER NOT NULL, name_id INTEGER NOT NULL, source INTEGER NOT NULL,
  surface TEXT NOT NULL, PRIMARY KEY(doc_id, name_id)) WITHOUT ROWID;
CREATE INDEX stated_name ON stated(name_id);
-- The heading of a document without a stated title, which is its name if no other document has the same heading;
-- `otherwise` is its name if one has.
CREATE TABLE headings(doc_id INTEGER PRIMARY KEY, norm TEXT NOT NULL, surface TEXT NOT NULL, otherwise TEXT NOT NULL);
CREATE INDEX headings_norm ON headings(norm);
-- The documents that use a name for another one, by norm; the target is a name of the same document.
CREATE TABLE aliases(norm TEXT NOT NULL, target TEXT NOT NULL, doc_id INTEGER NOT NULL, source INTEGER NOT NULL,
  PRIMARY KEY(norm, target, doc_id)) WITHOUT ROWID;
CREATE INDEX aliases_target ON aliases(target);
CREATE INDEX aliases_doc ON aliases(doc_id);

-- The names that a document mentions. A mention denotes its name's entity; a document uses one sense of a name.
-- `positions`: where, by place, packed (`store/positions.rs`); `n` of them, the first at byte `at` of `docs.text`. The
-- index answers where a name occurs without a look at the rows.
CREATE TABLE mentions(
  doc_id INTEGER NOT NULL, name_id INTEGER NOT NULL, n INTEGER NOT NULL, at INTEGER NOT NULL,
  positions TEXT NOT NULL, PRIMARY KEY(doc_id, name_id)) WITHOUT ROWID;
CREATE INDEX mentions_name ON mentions(name_id, doc_id, at, n);

-- One row for each statement of a relation, or (predicate `not …`) of its absence. A party is a name (positive) or a
-- document's own entity (minus its id); 0 is none. If a party is a link of a note, `subject_link` or `object_link` is
-- its `seq` in `note_links`, and the party is the document that the link resolves to (`store/links.rs`). For an
-- unresolved link it is the link's name, which then belongs to no note. `relations` is an aggregate over this table, so
-- a relation disappears with its last evidence.
CREATE TABLE evidence(
  doc_id INTEGER NOT NULL, seq INTEGER NOT NULL, subject INTEGER NOT NULL, predicate TEXT NOT NULL,
  object INTEGER NOT NULL, subject_at INTEGER NOT NULL, object_at INTEGER NOT NULL, start INTEGER NOT NULL,
  end INTEGER NOT NULL, raw_start INTEGER NOT NULL, raw_end INTEGER NOT NULL, line INTEGER NOT NULL,
  pattern TEXT NOT NULL, confidence REAL NOT NULL, subject_link INTEGER, object_link INTEGER,
  PRIMARY KEY(doc_id, seq)) WITHOUT ROWID;
CREATE INDEX evidence_subject ON evidence(subject);
CREATE INDEX evidence_object ON evidence(object);
CREATE INDEX evidence_heading ON evidence(subject, doc_id) WHERE pattern = 'title:heading';
-- Evidence with the entities that its parties denote, and the confidence of the links to them.
CREATE VIEW joined AS
  SELECT e.*, coalesce(sn.entity_id, sd.entity_id) AS src_id, coalesce(bn.entity_id, bd.entity_id) AS dst_id,
         coalesce(sn.link, 1.0) AS src_link, coalesce(bn.link, 1.0) AS dst_link,
         so.type AS src_type, so.doc_id AS src_doc, bo.type AS dst_type, bo.doc_id AS dst_doc
  FROM evidence e LEFT JOIN names sn ON sn.id = e.subject LEFT JOIN docs sd ON sd.id = -e.subject
                  LEFT JOIN names bn ON bn.id = e.object LEFT JOIN docs bd ON bd.id = -e.object
                  LEFT JOIN entities so ON so.id = sn.entity_id LEFT JOIN entities bo ON bo.id = bn.entity_id;
-- What may be shown of it. An unresolved link of a note states nothing of a note that happens to have its name. Of
-- words of general meaning (types below -100, `EntityType::is_named`) nothing is stated, except that a thing is of
-- that kind. A note documents itself, a heading elsewhere does not; and a heading of more than two documents is one
-- of their template.
CREATE VIEW shown AS
  SELECT * FROM joined s
  WHERE (subject_link IS NULL OR src_doc IS NULL) AND (object_link IS NULL OR dst_doc IS NULL)
    AND coalesce(src_type, 0) >= -100 AND (predicate IN ('is_a', 'not is_a') OR coalesce(dst_type, 0) >= -100)
    AND (pattern <> 'title:heading' OR src_doc IS NULL AND (SELECT count(*) FROM (SELECT DISTINCT t.doc_id
         FROM evidence t WHERE t.subject = s.subject AND t.pattern = 'title:heading' LIMIT 3)) < 3);
CREATE VIEW relations AS
  SELECT DISTINCT src_id, dst_id, predicate AS rel FROM shown
  WHERE predicate NOT LIKE 'not %' AND src_id IS NOT NULL AND dst_id IS NOT NULL AND src_id <> dst_id;
CREATE VIEW denials AS
  SELECT DISTINCT src_id, dst_id, substr(predicate, 5) AS rel FROM joined
  WHERE predicate LIKE 'not %' AND src_id IS NOT NULL AND dst_id IS NOT NULL AND src_id <> dst_id;

-- Mined terms, with counts by surface, so that the numbers do not depend on how often a file was indexed.
CREATE TABLE terms(surface TEXT PRIMARY KEY, norm TEXT NOT NULL, n_docs INTEGER NOT NULL,
  n_plain INTEGER NOT NULL, n_marked INTEGER NOT NULL, n_headed INTEGER NOT NULL, n_defined INTEGER NOT NULL)
  WITHOUT ROWID;
CREATE INDEX terms_defined ON terms(norm) WHERE n_defined > 0;
CREATE INDEX terms_norm ON terms(norm);
-- `is_mined`: among the selected mined terms, even if a note states it as well.
CREATE TABLE gazetteer(norm TEXT PRIMARY KEY, surface TEXT NOT NULL, type INTEGER NOT NULL,
  is_mined INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX gazetteer_mined ON gazetteer(norm) WHERE is_mined;

-- Contents of notes (`formats/src/note.rs`) as their authors wrote them; `start` and `end` are bytes of the file.
-- `doc_names`: the folded names by which a document is found; `kind` is `notes::resolve::By`. `notes.permalink` is
-- numbered if several notes have the same `base`: the permalink that the note states, if it is granted (`is_stated`),
-- else the slug of its title. `gone_names`: the addresses of files that were deleted or moved within 30 days, from the
-- ledger (`store/permalinks.rs`).
--
-- A note is also an entity with facts (`notes::memory`). `key` is the form of its name that is compared; `is_node`: it
-- has a type or lies in the memory folder. `mean`: the mean of the vectors of its facts, of length 1, without the facts
-- that have none; null if no fact has a vector. `record`: what the note states besides links, and `facts`: JSON arrays,
-- which are written faster than a row for each; the views below name the values. `vectors`: those of the facts,
-- concatenated. What is read of one note alone stands last.
CREATE TABLE doc_names(key TEXT NOT NULL, kind INTEGER NOT NULL, doc_id INTEGER NOT NULL,
  PRIMARY KEY(key, kind, doc_id)) WITHOUT ROWID;
CREATE INDEX doc_names_doc ON doc_names(doc_id);
CREATE TABLE notes(doc_id INTEGER PRIMARY KEY, base TEXT NOT NULL, is_stated INTEGER NOT NULL, permalink TEXT,
  metadata TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, type TEXT, is_node INTEGER NOT NULL,
  in_folder INTEGER NOT NULL, summary TEXT, tags TEXT NOT NULL, last_ordinal INTEGER NOT NULL,
  n_facts INTEGER NOT NULL, n_vectors INTEGER NOT NULL, mean BLOB, record TEXT NOT NULL, facts TEXT NOT NULL,
  vectors BLOB);
CREATE INDEX notes_base ON notes(base);
CREATE INDEX notes_permalink ON notes(permalink);
CREATE INDEX notes_key ON notes(key);
CREATE INDEX notes_type ON notes(type) WHERE is_node;
CREATE TABLE gone_names(key TEXT NOT NULL, path TEXT NOT NULL, uid TEXT NOT NULL, gone_ms INTEGER NOT NULL,
  PRIMARY KEY(key, path)) WITHOUT ROWID;
CREATE INDEX gone_names_path ON gone_names(path);
CREATE INDEX gone_names_uid ON gone_names(uid);
CREATE VIEW observations AS
  SELECT n.doc_id, it.key AS seq, it.value ->> 0 AS category, it.value ->> 1 AS content, it.value -> 2 AS tags,
         it.value ->> 3 AS context, it.value ->> 4 AS block, it.value ->> 5 AS start, it.value ->> 6 AS end,
         it.value ->> 7 AS line
  FROM notes n, json_each(n.record, '$.observations') it;
CREATE VIEW note_fields AS
  SELECT n.doc_id, it.key AS seq, it.value ->> 0 AS key, it.value ->> 1 AS value, it.value ->> 2 AS is_inline,
         it.value ->> 3 AS start, it.value ->> 4 AS end, it.value ->> 5 AS line
  FROM notes n, json_each(n.record, '$.fields') it;
-- Possible targets of links into a note: headings (kind 0), blocks (1), anchors (2); `key` is the name that links are
-- compared with.
CREATE VIEW note_places AS
  SELECT n.doc_id, it.key AS seq, it.value ->> 0 AS kind, it.value ->> 1 AS level, it.value ->> 2 AS name,
         it.value ->> 3 AS key, it.value ->> 4 AS start, it.value ->> 5 AS end, it.value ->> 6 AS line
  FROM notes n, json_each(n.record, '$.places') it;
-- Every link. `rel` is null for an embed; `is_typed`: whether the author gave the relation. `said`: the line of the
-- link. The keys find its target; a key is null if it equals another one. `dst`: the document that the link resolves
-- to; null if there is none.
CREATE TABLE note_links(
  doc_id INTEGER NOT NULL, seq INTEGER NOT NULL, kind INTEGER NOT NULL, rel TEXT, is_typed INTEGER NOT NULL,
  target TEXT NOT NULL, heading TEXT, block TEXT, display TEXT, context TEXT, own_block TEXT, start INTEGER NOT NULL,
  end INTEGER NOT NULL, target_start INTEGER NOT NULL, target_end INTEGER NOT NULL, line INTEGER NOT NULL,
  said TEXT NOT NULL, file_key TEXT, name_key TEXT, permalink_key TEXT, dst INTEGER,
  PRIMARY KEY(doc_id, seq)) WITHOUT ROWID;
CREATE INDEX note_links_dst ON note_links(dst) WHERE dst IS NOT NULL;
CREATE INDEX note_links_file ON note_links(file_key) WHERE file_key IS NOT NULL;
CREATE INDEX note_links_name ON note_links(name_key) WHERE name_key IS NOT NULL;
CREATE INDEX note_links_permalink ON note_links(permalink_key) WHERE permalink_key IS NOT NULL;

-- A view of the facts: `ordinal` is null while the file has none. The fact's passage is the chunk on its lines.
-- `speaker` and `day`: of `notes::turn`; without a day, that of its document applies.
CREATE VIEW memory_facts AS
  SELECT m.doc_id, f.key AS seq, f.value ->> 0 AS ordinal, f.value ->> 1 AS content, f.value ->> 2 AS line_start,
         f.value ->> 3 AS line_end, f.value ->> 4 AS speaker, f.value ->> 5 AS day
  FROM notes m, json_each(m.facts) f;

-- What commits left to do (`store/work.rs`): `key` is an id or a text, depending on the kind.
CREATE TABLE work(kind INTEGER NOT NULL, key NOT NULL, value INTEGER NOT NULL, PRIMARY KEY(kind, key))
  WITHOUT ROWID;

-- Failures are counted until the file changes. `hash` is null if the file cannot even be read.
CREATE TABLE quarantine(path TEXT PRIMARY KEY, stage TEXT NOT NULL, reason TEXT NOT NULL,
  is_transient INTEGER NOT NULL, tick INTEGER NOT NULL, hash BLOB, mtime_ms INTEGER NOT NULL,
  n_bytes INTEGER NOT NULL, n_failures INTEGER NOT NULL, last_ms INTEGER NOT NULL) WITHOUT ROWID;
"#;
