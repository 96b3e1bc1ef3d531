-- Version 3: the words of facts are those of their passages.
DROP TABLE kg.memory_words;
