-- Version 6: the text of a document's file is a column of its row.
DROP TABLE kg.written;
ALTER TABLE kg.documents ADD COLUMN "written" bytea;
