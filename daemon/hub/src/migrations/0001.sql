-- Version 1: published tables and access rights. Applied by `kgctl hub migrate`, whose role owns all of it.
CREATE SCHEMA kg;
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'kg_reader') THEN CREATE ROLE kg_reader NOLOGIN; END IF;
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'kg_publisher') THEN CREATE ROLE kg_publisher NOLOGIN; END IF;
END $$;
CREATE TABLE kg.version(version int NOT NULL);

-- `generation` is the visible one (0: none yet); `filling` is being filled next to it. `serial` counts transactions;
-- `mark` is random for each, so that a restore from a backup is noticed. `shape` is the schema version of the index.
CREATE TABLE kg.projects(
  id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE, writer text, epoch bigint NOT NULL DEFAULT 0,
  generation int NOT NULL DEFAULT 0, filling int, filling_of text, serial bigint NOT NULL DEFAULT 0, mark text,
  tick bigint, shape int, made_by text, settings text, predicates text, published_at timestamptz);
-- The right of a role and its members to a project; `publish`: also to write it.
CREATE TABLE kg.grants(project int NOT NULL REFERENCES kg.projects ON DELETE CASCADE, role name NOT NULL,
  publish boolean NOT NULL, PRIMARY KEY(project, role));
-- The keys that the last transactions changed, by table.
CREATE TABLE kg.log(project int NOT NULL, generation int NOT NULL, serial bigint NOT NULL, mark text NOT NULL,
  tick bigint NOT NULL, part text NOT NULL, keys bigint[] NOT NULL, PRIMARY KEY(project, generation, serial, part));

CREATE TABLE kg.documents(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "uid" text, "path" text, "title" text, "is_note" bigint, "format" text, "doc_type" text,
  "language" text, "day" text, "hash" bytea, "mtime_ms" bigint, "n_bytes" bigint, "source_url" text, "meta" text,
  "text" text, "lines" bytea, "pages" bytea, "headings" bytea, "terms" text, "mentions_hash" bigint,
  "gazetteer_version" bigint, "warnings" text, "redactions" text, "pass" bigint, "entity_id" bigint, "sum" bigint,
  PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.chunks(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "doc_id" bigint, "idx" bigint, "start" bigint, "end" bigint, "raw_start" bigint,
  "raw_end" bigint, "line_start" bigint, "line_end" bigint, "n_tokens" bigint, "section" text, "hash" bytea,
  "language" text, "profile" text, "headings" text, "own" bigint, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.windows(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "chunk_id" bigint, "start" bigint, "end" bigint, "aside" bytea, "hash" bytea,
  PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.vectors(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "embedding" halfvec, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.better(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "space" text, "model" text, "hash" bytea, "embedding" halfvec, "floats" bytea,
  PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.postings(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "block" bytea, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.posting_sizes(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "sz" bytea, "origin" bigint, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.chunk_fts_idx(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.entities(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "norm" text, "doc_id" bigint, "name" text, "type" bigint, "status" text,
  PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.names(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, "norm" text, "sense" bigint, "entity_id" bigint, "link" double precision,
  "decision" bigint, "via" bigint, "surface" text, "type" bigint, "n_docs" bigint, "n_mentions" bigint, "homes" text,
  "home_source" bigint, "is_fuzzy" bigint, "is_split" bigint, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.mentions(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.evidence(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.written(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.doc_tags(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.stated(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.doc_names(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.notes(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.observations(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.note_links(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.note_fields(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.note_places(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.memory_nodes(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.memory_vectors(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.memory_facts(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.memory_words(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.prints(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.copies(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.alike(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.proposals(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.name_keys(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.journal(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.journal_begin(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
CREATE TABLE kg.decisions(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, rows bytea NOT NULL, PRIMARY KEY(project, generation, row_key));

GRANT USAGE ON SCHEMA kg TO kg_reader, kg_publisher;
GRANT SELECT ON ALL TABLES IN SCHEMA kg TO kg_reader, kg_publisher;
-- Each policy computes the set of projects in a subquery, which runs once a query and not once a row. The policy of
-- `grants` limits that subquery to the current user's rights.
DO $$ DECLARE it name; BEGIN
  FOR it IN SELECT tablename FROM pg_tables WHERE schemaname = 'kg' AND tablename NOT IN ('version', 'projects', 'grants')
  LOOP
    EXECUTE format('ALTER TABLE kg.%I ENABLE ROW LEVEL SECURITY', it);
    EXECUTE format('ALTER TABLE kg.%I FORCE ROW LEVEL SECURITY', it);
    EXECUTE format('GRANT INSERT, UPDATE, DELETE ON kg.%I TO kg_publisher', it);
    EXECUTE format('CREATE POLICY see ON kg.%I FOR SELECT USING (project = any '
      '((SELECT coalesce(array_agg(g.project), ''{}'') FROM kg.grants g)::int[]))', it);
    EXECUTE format('CREATE POLICY publish ON kg.%I USING (project = any '
      '((SELECT coalesce(array_agg(g.project), ''{}'') FROM kg.grants g WHERE g.publish)::int[]))', it);
  END LOOP;
END $$;
ALTER TABLE kg.grants ENABLE ROW LEVEL SECURITY;
ALTER TABLE kg.grants FORCE ROW LEVEL SECURITY;
CREATE POLICY own ON kg.grants FOR SELECT USING (
  EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role AND pg_has_role(r.oid, 'usage')));
CREATE POLICY administer ON kg.grants TO CURRENT_USER USING (true);
ALTER TABLE kg.projects ENABLE ROW LEVEL SECURITY;
ALTER TABLE kg.projects FORCE ROW LEVEL SECURITY;
GRANT UPDATE(writer, epoch, generation, filling, filling_of, serial, mark, tick, shape, made_by, settings, predicates,
  published_at) ON kg.projects TO kg_publisher;
CREATE POLICY see ON kg.projects FOR SELECT USING (id = any
  ((SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g)::int[]));
CREATE POLICY publish ON kg.projects FOR UPDATE USING (id = any
  ((SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g WHERE g.publish)::int[]));
CREATE POLICY administer ON kg.projects TO CURRENT_USER USING (true);
