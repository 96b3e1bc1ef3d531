-- Version 5: a passage names the one that it repeats; there is no print of a paragraph any more.
DROP TABLE kg.prints, kg.copies, kg.alike;
ALTER TABLE kg.chunks DROP COLUMN "own", ADD COLUMN "print" bigint, ADD COLUMN "same_as" bigint;
ALTER TABLE kg.documents ADD COLUMN "depth" bigint;
