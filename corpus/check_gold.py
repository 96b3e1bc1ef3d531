#!/usr/bin/env python3
"""Checks the gold tables against the documents and against each other, and counts what there is.

In: the folder of this script. Out: one line for each fault, then counts for each half; exit code 1 with faults.
It says whether a table fits its document, never whether a reader would agree.

    python3 corpus/check_gold.py
    python3 corpus/check_gold.py --show PATH    # a document with its annotations in it
"""

import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent
TYPES = set(
    "Person Organization Location Product Service Technology API Project Concept Standard Version Date Event "
    "Identifier".split()
)
PREDICATES = set(
    "defines refers_to part_of uses depends_on precedes owned_by located_in cites same_as related_to links_to".split()
)
STATUSES = set("stated negated possible past planned".split())
HALVES = ("tuning", "reporting")

faults = []


def fault(place, text):
    faults.append(f"{place}: {text}")


def rows(name, columns):
    """Rows of a table with their place, without its header."""
    path = ROOT / name
    lines = path.read_text(encoding="utf-8").split("\n")
    if lines[0].split("\t") != columns:
        fault(name, f"the header should be {columns}")
    for number, line in enumerate(lines[1:], 2):
        if not line:
            continue
        cells = line.split("\t")
        if len(cells) != len(columns):
            fault(f"{name}:{number}", f"{len(columns)} columns were expected, not {len(cells)}")
            continue
        if cells != [cell.strip() for cell in cells] or "" in cells:
            fault(f"{name}:{number}", "a cell is empty or has spaces around it")
        yield f"{name}:{number}", cells


def nth_span(text, surface, nth):
    """Where the nth appearance stands, counted as the reader of the tables does: left to right, no overlap."""
    start = -1
    for _ in range(nth):
        start = text.find(surface, start + len(surface) if start >= 0 else 0)
        if start < 0:
            return None
    return (start, start + len(surface)) if nth > 0 else None


def norm(name):
    return "".join(c for c in name.lower() if c.isalnum())


def title(text):
    """A document's own name: front-matter title, first heading, or HTML title."""
    for pattern in (r"\A---\n(?:.*\n)*?title: (.*)\n", r"^# (.*)$", r"<title>(.*?)</title>"):
        found = re.search(pattern, text, re.M)
        if found:
            return found.group(1).strip()
    return None


def plain(text):
    """Text without marks of Markdown and line breaks, for names of steps."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[\[(?:[^|\]]*\|)?([^\]]*)\]\]", r"\1", text)
    return " ".join(re.sub(r"[`*]", "", text).split())


def line_span(text, line):
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start


def check_place(place, path, surface, nth, texts):
    if path not in texts:
        fault(place, f"`{path}` is not in pages.txt")
        return None
    span = nth_span(texts[path], surface, int(nth)) if nth.isdigit() else None
    if span is None:
        fault(place, f"`{path}` has no `{surface}` number {nth}")
        return None
    return span


def check_word_edges(place, text, span, surface):
    """A mention ends inside a word only where the word is its plural, possessive or compound."""
    before, after = text[span[0] - 1 : span[0]], text[span[1] : span[1] + 1]
    if (before.isalnum() and surface[0].isalnum()) or (after.isalnum() and surface[-1].isalnum()):
        fault(place, f"`{surface}` is cut out of a word")


def main():
    pages = (ROOT / "gold/pages.txt").read_text(encoding="utf-8").split()
    texts = {}
    for path in pages:
        file = ROOT / "docs" / path
        if file.is_file():
            texts[path] = file.read_text(encoding="utf-8")
        else:
            fault("gold/pages.txt", f"no document `{path}`")
    half = {}
    for place, (path, name) in rows("gold/halves.tsv", ["path", "half"]):
        if name not in HALVES or path in half:
            fault(place, f"`{path}` is there twice, or `{name}` is no half")
        half[path] = name if name in HALVES else "tuning"
    if sorted(half) != sorted(pages):
        fault("gold/halves.tsv", "its paths are not those of pages.txt")

    taken, entities, kinds, surfaces = defaultdict(list), defaultdict(set), defaultdict(set), set()
    counts = {name: Counter() for name in HALVES}
    for place, (path, surface, nth, kind, entity) in rows(
        "gold/mentions.tsv", ["path", "surface", "nth", "type", "entity"]
    ):
        span = check_place(place, path, surface, nth, texts)
        if kind not in TYPES:
            fault(place, f"no type `{kind}`")
        kinds[entity].add(kind)
        entities[path].add(entity)
        surfaces.add((entity, surface))
        counts[half.get(path, "tuning")]["mention " + kind] += 1
        if span:
            check_word_edges(place, texts[path], span, surface)
            taken[path].append((span, place, surface, entity))
    for entity, several in kinds.items():
        if len(several) > 1:
            fault("gold/mentions.tsv", f"`{entity}` has the types {sorted(several)}")

    anaphora = 0
    for place, (path, surface, nth, entity) in rows("gold/anaphora.tsv", ["path", "surface", "nth", "entity"]):
        span = check_place(place, path, surface, nth, texts)
        anaphora += 1
        if entity not in entities[path]:
            fault(place, f"`{entity}` is not mentioned in `{path}`")
        if span:
            check_word_edges(place, texts[path], span, surface)
            taken[path].append((span, place, "(" + surface + ")", entity))
    for path, list_ in taken.items():
        list_.sort()
        for (one, _, surface, _), (two, place, other, _) in zip(list_, list_[1:]):
            if two[0] < one[1]:
                fault(place, f"`{other}` overlaps `{surface}`")

    links = [tuple(cells) for _, cells in rows("gold/links.tsv", ["entity", "surface"])]
    for entity, surface in sorted(surfaces - set(links)):
        fault("gold/links.tsv", f"no row for `{entity}`, `{surface}`")
    for entity, surface in sorted(set(links) - surfaces):
        fault("gold/links.tsv", f"`{entity}`, `{surface}` is nowhere a mention")
    if len(links) != len(set(links)):
        fault("gold/links.tsv", "a row is there twice")
    meanings = defaultdict(set)
    for entity, surface in links:
        meanings[norm(surface)].add(entity)

    named = set(kinds) | {title(text) for text in texts.values()}
    steps = {path: plain(text) for path, text in texts.items()}
    relations = []
    for place, (path, subject, predicate, object_) in rows(
        "gold/relations.tsv", ["path", "subject", "predicate", "object"]
    ):
        if path not in texts:
            fault(place, f"`{path}` is not in pages.txt")
            continue
        if predicate not in PREDICATES:
            fault(place, f"no predicate `{predicate}`")
        for end in (subject, object_):
            is_step = predicate == "precedes" and end in steps[path]
            in_page = end in entities[path] or end == title(texts[path])
            if not (is_step or in_page or (half.get(path) == "tuning" and end in named)):
                fault(place, f"`{end}` is neither mentioned in `{path}` nor its title nor a step")
        relations.append((path, subject, predicate, object_))
        counts[half.get(path, "tuning")]["relation " + predicate] += 1
    if len(relations) != len(set(relations)):
        fault("gold/relations.tsv", "a row is there twice")

    stated, claims = set(), {}
    for place, (path, status, subject, predicate, object_, line, quote) in rows(
        "gold/evidence.tsv", ["path", "status", "subject", "predicate", "object", "line", "quote"]
    ):
        if path not in texts:
            fault(place, f"`{path}` is not in pages.txt")
            continue
        if status not in STATUSES or predicate not in PREDICATES:
            fault(place, f"no status `{status}` or no predicate `{predicate}`")
        pattern = re.compile(r"\s+".join(map(re.escape, quote.split())))
        start = line_span(texts[path], int(line))
        found = pattern.search(texts[path], start)
        if not found or "\n" in texts[path][start : found.start()]:
            fault(place, f"`{path}` does not say this at line {line}: {quote}")
        claim = (path, subject, predicate, object_)
        if claims.setdefault(claim, status) != status:
            fault(place, f"{claim} is {status} and {claims[claim]}")
        if status == "stated":
            stated.add(claim)
        for end in (subject, object_):
            if end not in entities[path] and not (predicate == "precedes" and end in steps[path]):
                fault(place, f"`{end}` is not mentioned in `{path}`")
        counts[half.get(path, "tuning")]["evidence " + status] += 1
    for claim in sorted({it for it in relations if half.get(it[0]) == "reporting"} ^ stated):
        fault("gold/evidence.tsv", f"{claim} is stated in only one of relations.tsv and evidence.tsv")

    questions = list(rows("questions/questions.tsv", ["id", "question", "paths"]))
    for place, (_, _, paths) in questions:
        for path in paths.split(","):
            if path.strip() not in texts:
                fault(place, f"no document `{path}`")
    if len({cells[0] for _, cells in questions}) != len(questions):
        fault("questions/questions.tsv", "an id is there twice")

    if sys.argv[1:2] == ["--show"]:
        for path in sys.argv[2:]:
            show(path, texts[path], sorted(taken[path]))
        return
    for text in faults:
        print(text)
    for name in HALVES:
        own = [path for path in pages if half.get(path) == name]
        words = sum(len(texts[path].split()) for path in own if path in texts)
        print(f"\n{name}: {len(own)} documents, {words} words")
        for group in ("mention", "relation", "evidence"):
            of = {key.split()[1]: n for key, n in counts[name].items() if key.startswith(group)}
            print(f"  {group} {sum(of.values())}:", ", ".join(f"{key} {of[key]}" for key in sorted(of)))
    print(f"\n{len(kinds)} entities, {anaphora} anaphora, {len(questions)} questions, {len(faults)} faults")
    print("names of several entities:", ", ".join(sorted(it for it, of in meanings.items() if len(of) > 1)))
    sys.exit(1 if faults else 0)


def show(path, text, marks):
    out, at = [], 0
    for (start, end), _, surface, entity in marks:
        out += [text[at:start], "[", surface, "" if entity == surface else "=" + entity, "]"]
        at = end
    print(f"===== {path}\n{''.join(out)}{text[at:]}")


main()
