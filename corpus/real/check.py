#!/usr/bin/env python3
"""Checks the tables of gold/ against the pages of docs/. Prints faults and counts; exits with 1 when there are faults."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parent
TYPES = (
    "Person Organization Location Product Technology Service API Project Standard Event Document Concept"
).split()
PREDICATES = (
    "is_a instance_of part_of member_of works_for leads located_in based_in born_in died_in owned_by created_by "
    "maintained_by founded_by uses depends_on requires implements extends configures configured_by produces consumes "
    "stores contains provides supports replaces deprecated_by alternative_to same_as differs_from communicates_with "
    "runs_on written_in documented_in enables prevents causes precedes participates_in awarded decided_by spouse_of "
    "parent_of related_to"
).split()
MARKUP = re.compile(r"[*_`\[\]]|\]\([^)]*\)")

faults = []


def flat(text):
    return re.sub(r"\s+", " ", text).strip()


def rows(name, n_cells):
    lines = (ROOT / "gold" / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines[1:], 2):
        cells = line.split("\t")
        if len(cells) == n_cells:
            yield f"{name}.tsv:{number}", cells
        else:
            faults.append(f"{name}.tsv:{number}: {len(cells)} cells instead of {n_cells}")


def check_quote(place, path, quote):
    if flat(quote) not in texts.get(path, ""):
        faults.append(f"{place}: `{path}` does not have `{quote[:60]}`")


texts, plain, entities, surfaces = {}, {}, {}, {}
for place, (path, half, _, licence) in rows("pages", 4):
    text = (ROOT / "docs" / path).read_text(encoding="utf-8")
    texts[path], plain[path], entities[path] = flat(text), flat(MARKUP.sub("", text)), set()
    if half not in ("tuning", "reporting") or not licence:
        faults.append(f"{place}: a half and a licence are needed")
for place, (path, entity, kind, names) in rows("entities", 4):
    if kind not in TYPES:
        faults.append(f"{place}: no type is called `{kind}`")
    entities[path].add(entity)
    for name in names.split("|"):
        surfaces.setdefault(path.split("/")[0], set()).add(name)
        if name not in texts[path] and name not in plain[path]:
            faults.append(f"{place}: `{path}` does not have the name `{name}`")
for place, (path, entity, quote) in rows("definitions", 3):
    if entity not in entities[path]:
        faults.append(f"{place}: `{entity}` is no entity of `{path}`")
    check_quote(place, path, quote)
n_relations = 0
for place, (path, subject, predicate, end, quote) in rows("relations", 5):
    n_relations += 1
    for entity in (subject, end):
        if entity not in entities[path]:
            faults.append(f"{place}: `{entity}` is no entity of `{path}`")
    if predicate not in PREDICATES:
        faults.append(f"{place}: no predicate is called `{predicate}`")
    check_quote(place, path, quote)
for place, (group, a, b, same, _) in rows("merges", 5):
    for name in (a, b):
        if name not in surfaces[group]:
            faults.append(f"{place}: `{name}` is no name in `{group}`")
    if same not in ("yes", "no"):
        faults.append(f"{place}: `yes` or `no` is needed")
for place, (_, _, steps, _, _, paths, quotes) in rows("questions", 7):
    pairs = list(zip(paths.split(" || "), quotes.split(" || ")))
    if steps not in ("1", "2"):
        faults.append(f"{place}: 1 or 2 steps")
    for path, quote in pairs:
        check_quote(place, path, quote)

for fault in faults:
    print(fault)
n_words = sum(len(text.split()) for text in texts.values())
n_entities = sum(map(len, entities.values()))
print(f"{len(faults)} faults; {len(texts)} pages, {n_words:,} words, {n_entities:,} entities on pages, "
      f"{n_relations:,} relations ({1000 * n_relations / n_words:.1f} a 1,000 words)")
sys.exit(bool(faults))
