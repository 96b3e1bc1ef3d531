"""What `secure_delete` costs SQLite: 6,000 documents of 900 words are written and then each is written again."""

import os
import random
import sqlite3
import tempfile
import time

N_DOCS, N_WORDS, BATCH, ROUNDS = 6_000, 900, 50, 3
PRAGMAS = """PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
    PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000;"""
TABLES = """CREATE VIRTUAL TABLE chunk_fts USING fts5(title, headings, body);
    CREATE TABLE docs(id INTEGER PRIMARY KEY, path TEXT UNIQUE, text TEXT);
    CREATE TABLE mentions(doc INTEGER, at INTEGER, name TEXT, PRIMARY KEY(doc, at)) WITHOUT ROWID;
    CREATE INDEX mentions_name ON mentions(name, doc);"""

random.seed(7)
DOCS = [" ".join(f"w{min(int(random.paretovariate(0.9)), 29_999):05}" for _ in range(N_WORDS)) for _ in range(N_DOCS)]


def write(db, doc):
    text = DOCS[doc]
    quarter = len(text) // 4
    db.execute("INSERT INTO docs VALUES(?, ?, ?)", (doc, f"p{doc}", text))
    for i in range(4):
        chunk = text[i * quarter : (i + 1) * quarter]
        db.execute("INSERT INTO chunk_fts(rowid, title, body) VALUES(?, 'title', ?)", (doc * 10 + i, chunk))
    db.executemany("INSERT INTO mentions VALUES(?, ?, ?)", [(doc, i, w) for i, w in enumerate(text.split()[:60])])


def remove(db, doc):
    db.execute("DELETE FROM docs WHERE id = ?", (doc,))
    db.execute("DELETE FROM mentions WHERE doc = ?", (doc,))
    for i in range(4):
        db.execute("DELETE FROM chunk_fts WHERE rowid = ?", (doc * 10 + i,))


def seconds(mode):
    """CPU seconds of writing all, and of writing all again."""
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(os.path.join(folder, "t.sqlite"), isolation_level=None)
        db.executescript(f"{PRAGMAS} PRAGMA secure_delete = {mode}; {TABLES}")
        times = [time.process_time()]
        for again in (False, True):
            for first in range(0, N_DOCS, BATCH):
                db.execute("BEGIN")
                for doc in range(first, min(first + BATCH, N_DOCS)):
                    if again:
                        remove(db, doc)
                    write(db, doc)
                db.execute("COMMIT")
            times.append(time.process_time())
        db.close()
        return times[1] - times[0], times[2] - times[1]


modes = ("OFF", "FAST", "ON")
found = {mode: [] for mode in modes}
for _ in range(ROUNDS):
    for mode in modes:
        found[mode].append(seconds(mode))
for mode in modes:
    first, again = (min(run[i] for run in found[mode]) for i in range(2))
    print(f"{mode:5} first {first:.2f} s, again {again:.2f} s")
