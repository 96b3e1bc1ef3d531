#!/usr/bin/env python3
"""Judging relations: sheets for two judges, the committed table of verdicts, and its check. Python 3.10+, nothing else.

  judge.py sheet SAMPLE.jsonl JUDGE > sheet.tsv
      What `cargo bench -p tests --bench relations -- sample …` printed, as a sheet: number, sentence, claim, and an
      empty column `verdict`. The order is another one for each JUDGE (a word), so that two judges share no fatigue.
      Patterns, confidences and the other judge's verdicts are not on it. Verdicts: 1 (the sentence states the claim,
      in this direction) or 0.
  judge.py join SAMPLE.jsonl SHEET1 SHEET2 > verdicts.tsv
      The table to commit: folder, commit, path, span (start-end, bytes of the file), hash of those bytes (xxh3-128),
      predicate, verdict of the first and of the second judge. No text.
  judge.py check verdicts.tsv [FOLDER=VAULT ...]
      Counts a relation right where both judges say so, and prints share, 95 % Wilson interval and how often the judges
      agree (share and Cohen's kappa). With FOLDER=VAULT every span is also looked up and its hash compared, where the
      module `xxhash` is installed.
"""
import csv, hashlib, json, math, sys
from pathlib import Path

COLUMNS = ["folder", "commit", "path", "start", "end", "hash", "predicate", "first", "second"]


def wilson(right, n, z=1.959964):
    """The 95 % interval of a share."""
    if n == 0:
        return (0.0, 1.0)
    share, z2 = right / n, z * z
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return (middle - half, middle + half)


def kappa(pairs):
    """Agreement of two judges beyond chance; 1 when chance leaves nothing to agree on."""
    n = len(pairs)
    seen = sum(a == b for a, b in pairs) / n
    first, second = (sum(pair[i] for pair in pairs) / n for i in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    return 1.0 if chance == 1 else (seen - chance) / (1 - chance)


def sample(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def sheet(path, judge):
    rows = list(enumerate(sample(path)))
    rows.sort(key=lambda row: hashlib.sha256(f"{judge} {row[0]}".encode()).digest())
    out = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    out.writerow(["number", "section", "sentence", "claim", "verdict"])
    for number, row in rows:
        out.writerow([number, row["section"] or "", row["sentence"], row["claim"], ""])


def verdicts(path):
    found = {}
    with open(path, newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if row["verdict"] not in ("0", "1"):
                sys.exit(f"{path}: number {row['number']} has verdict `{row['verdict']}`; 0 or 1 was expected")
            found[int(row["number"])] = int(row["verdict"])
    return found


def join(path, first, second):
    rows, first, second = sample(path), verdicts(first), verdicts(second)
    missing = [n for n in range(len(rows)) if n not in first or n not in second]
    if missing:
        sys.exit(f"without verdict: {missing[:10]}")
    out = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    out.writerow(COLUMNS)
    for n, row in enumerate(rows):
        name = Path(row["folder"]).parent.name if Path(row["folder"]).name == "vault" else Path(row["folder"]).name
        start, end = row["span"]
        out.writerow([name, row["commit"], row["path"], start, end, row["hash"], row["predicate"], first[n], second[n]])


def check(path, folders):
    with open(path, newline="") as file:
        reader = csv.DictReader(file, delimiter="\t")
        if reader.fieldnames != COLUMNS:
            sys.exit(f"{path}: columns are {reader.fieldnames}; {COLUMNS} were expected")
        rows = list(reader)
    keys = {(row["folder"], row["path"], row["start"], row["end"], row["predicate"], n) for n, row in enumerate(rows)}
    if len(keys) != len(rows) or any(row[judge] not in ("0", "1") for row in rows for judge in ("first", "second")):
        sys.exit(f"{path}: a verdict is not 0 or 1")
    same_text(rows, folders)
    pairs = [(int(row["first"]), int(row["second"])) for row in rows]
    right = sum(a and b for a, b in pairs)
    low, high = wilson(right, len(pairs))
    agreed = sum(a == b for a, b in pairs)
    print(f"relations {len(pairs)}, right by both judges {right}: {right / len(pairs):.3f} (95 % Wilson {low:.3f} to {high:.3f})")
    print(f"judges agree on {agreed} of {len(pairs)} ({agreed / len(pairs):.3f}), kappa {kappa(pairs):.3f}")
    for predicate in sorted({row["predicate"] for row in rows}):
        of = [pair for row, pair in zip(rows, pairs) if row["predicate"] == predicate]
        print(f"  {predicate:<12} {sum(a and b for a, b in of):>3} of {len(of)}")


def same_text(rows, folders):
    """Ends when a span of a given folder holds other bytes than those that were judged."""
    if not folders:
        return
    try:
        import xxhash
    except ImportError:
        sys.exit("hashes need the module `xxhash`\nhint: pip install xxhash")
    for row in rows:
        vault = folders.get(row["folder"])
        if vault is None:
            continue
        words = (Path(vault) / row["path"]).read_bytes()[int(row["start"]):int(row["end"])]
        if xxhash.xxh3_128_hexdigest(words) != row["hash"]:
            sys.exit(f"{row['path']} {row['start']}-{row['end']}: other bytes than those that were judged")


def main(arguments):
    match arguments:
        case ["sheet", path, judge]:
            sheet(path, judge)
        case ["join", path, first, second]:
            join(path, first, second)
        case ["check", path, *folders]:
            check(path, dict(folder.split("=", 1) for folder in folders))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
