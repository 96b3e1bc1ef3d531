-- Version 3: facts use the words of their passages.
DROP TABLE kg.memory_words;
