-- Version 4: an outline of each project, from which a front end chooses the projects to ask.
CREATE TABLE kg.outline(project int NOT NULL, generation int NOT NULL, row_key bigint NOT NULL,
  row_sum bigint NOT NULL, block bytea NOT NULL, PRIMARY KEY(project, generation, row_key));
ALTER TABLE kg.outline ENABLE ROW LEVEL SECURITY;
ALTER TABLE kg.outline FORCE ROW LEVEL SECURITY;
GRANT SELECT ON kg.outline TO kg_reader, kg_publisher;
GRANT INSERT, UPDATE, DELETE ON kg.outline TO kg_publisher;
CREATE POLICY see ON kg.outline FOR SELECT USING (project = any
  ((SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g)::int[]));
CREATE POLICY put ON kg.outline FOR INSERT WITH CHECK (project = any
  ((SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g WHERE g.publish)::int[]));
CREATE POLICY change ON kg.outline FOR UPDATE USING (project = any
  ((SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g WHERE g.publish)::int[]));
CREATE POLICY remove ON kg.outline FOR DELETE USING (project = any
  ((SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g WHERE g.publish)::int[]));
