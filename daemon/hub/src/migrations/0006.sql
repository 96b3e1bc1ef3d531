-- Version 6: what a note states, and its facts, are packed in the note's row, proposals in that of their name.
DROP TABLE kg.observations, kg.note_fields, kg.note_places, kg.memory_nodes, kg.memory_vectors, kg.memory_facts,
  kg.proposals;
ALTER TABLE kg.names ADD COLUMN "proposals" text;
-- The text of a document's file is a column of its row.
DROP TABLE kg.written;
ALTER TABLE kg.documents ADD COLUMN "written" bytea;
-- A window's static vector stands in its row.
DROP TABLE kg.vectors;
ALTER TABLE kg.windows DROP COLUMN "aside", ADD COLUMN "is_aside" bigint, ADD COLUMN "vector" halfvec;
-- A row of mentions is a name in a document; a passage states the names that it mentions.
ALTER TABLE kg.chunks ADD COLUMN "names" text;
