-- Version 6: the text of a document's file is a column of its row.
DROP TABLE kg.written;
ALTER TABLE kg.documents ADD COLUMN "written" bytea;
-- What a note states, and its facts, are packed in one row each.
DROP TABLE kg.observations, kg.note_fields, kg.note_places, kg.memory_vectors, kg.memory_facts;
ALTER TABLE kg.memory_nodes RENAME TO memory;
