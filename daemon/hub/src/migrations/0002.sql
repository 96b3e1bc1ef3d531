-- Version 2. A policy for all commands also applied to SELECT, as an alternative to SELECT's own policy. So PostgreSQL
-- read the rows of a hidden project before it filtered them, and the time revealed how many there are. With a single
-- policy for SELECT, the set is a condition of the index, and hidden rows are never read.
DO $$ DECLARE it name; published text := '(project = any ((SELECT coalesce(array_agg(g.project), ''{}'') '
    'FROM kg.grants g WHERE g.publish)::int[]))';
BEGIN
  FOR it IN SELECT tablename FROM pg_tables WHERE schemaname = 'kg' AND tablename NOT IN ('version', 'projects', 'grants')
  LOOP
    EXECUTE format('DROP POLICY publish ON kg.%I', it);
    EXECUTE format('CREATE POLICY put ON kg.%I FOR INSERT WITH CHECK %s', it, published);
    EXECUTE format('CREATE POLICY change ON kg.%I FOR UPDATE USING %s', it, published);
    EXECUTE format('CREATE POLICY remove ON kg.%I FOR DELETE USING %s', it, published);
  END LOOP;
END $$;

-- Statements by people that two entities in different projects are the same thing. Reading one requires the right to
-- read both projects; stating it, to publish both. The project with the smaller id comes first.
CREATE TABLE kg.same_as(project int NOT NULL REFERENCES kg.projects ON DELETE CASCADE, name text NOT NULL,
  other int NOT NULL REFERENCES kg.projects ON DELETE CASCADE, other_name text NOT NULL,
  said_by name NOT NULL DEFAULT session_user, said_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY(project, name, other, other_name), CHECK (project < other));
ALTER TABLE kg.same_as ENABLE ROW LEVEL SECURITY;
ALTER TABLE kg.same_as FORCE ROW LEVEL SECURITY;
GRANT SELECT ON kg.same_as TO kg_reader, kg_publisher;
GRANT INSERT, DELETE ON kg.same_as TO kg_publisher;
CREATE POLICY see ON kg.same_as FOR SELECT USING (array[project, other] <@
  (SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g)::int[]);
CREATE POLICY put ON kg.same_as FOR INSERT WITH CHECK (array[project, other] <@
  (SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g WHERE g.publish)::int[]);
CREATE POLICY remove ON kg.same_as FOR DELETE USING (array[project, other] <@
  (SELECT coalesce(array_agg(g.project), '{}') FROM kg.grants g WHERE g.publish)::int[]);
