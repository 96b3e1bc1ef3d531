#!/usr/bin/env python3
"""PDF readers side by side: quality against gold, and CPU time, over the same files in one run.

usage: compare.py --data DATA --extract BIN [--candidates DIR] [--peers PYTHON] [--repeat N] [NAME...]

DATA has the folders `pdf_docling` and `pdf_samples` (files/*.pdf, gold.jsonl) and `score/text_score.py`.
BIN is kgd's own reader: `cargo build --release -p tests --example extract`.
DIR has the programs of `candidates/` (`cargo build --release --features NAME` each, in that folder).
PYTHON has `pypdfium2` and `pypdf`; `pdftotext` is taken from the path. What is missing is left out.

Every program reads all files in one process, but pdftotext, which takes one a process. CPU is user and system time,
the least of N runs. Prints a table in Markdown, then word F1 by document.
"""
import argparse
import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile

PEER = '''
import os, sys
kind, folder, *paths = sys.argv[1:]
for path in paths:
    try:
        if kind == "pdfium":
            import pypdfium2
            pages = [page.get_textpage().get_text_range() for page in pypdfium2.PdfDocument(path)]
        else:
            import pypdf
            reader = pypdf.PdfReader(path)
            if reader.is_encrypted:
                reader.decrypt("")
            pages = [page.extract_text() for page in reader.pages]
    except Exception as error:
        print("failed:", os.path.basename(path), type(error).__name__, file=sys.stderr)
        continue
    stem = os.path.splitext(os.path.basename(path))[0]
    with open(os.path.join(folder, stem + ".txt"), "w", encoding="utf-8", errors="replace") as out:
        out.write("\\n".join(pages).replace("\\r\\n", "\\n"))
'''


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--extract")
    parser.add_argument("--candidates")
    parser.add_argument("--peers")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


def programs(args):
    """Name and how to run it: a function of the folder to write to and the files."""
    found = {}
    if args.extract:
        found["kgd"] = "extract"
    for path in sorted(glob.glob(os.path.join(args.candidates or "/nowhere", "*"))):
        if os.path.isfile(path) and os.access(path, os.X_OK):
            found[os.path.basename(path)] = [path]
    if args.peers:
        found["pdfium (C++)"] = [args.peers, "-c", PEER, "pdfium"]
        found["pypdf (Python)"] = [args.peers, "-c", PEER, "pypdf"]
    if shutil.which("pdftotext"):
        found["pdftotext (C++)"] = "pdftotext"
    return {name: run for name, run in found.items() if not args.names or name in args.names}


def run(program, args, folder, files):
    """Runs a program over all files; gives how many it failed on."""
    if program == "pdftotext":
        stem = lambda path: os.path.splitext(os.path.basename(path))[0]
        runs = [subprocess.run(["pdftotext", path, f"{folder}/{stem(path)}.txt"], capture_output=True) for path in files]
        return sum(done.returncode != 0 for done in runs)
    if program == "extract":
        with tempfile.TemporaryDirectory() as links:
            for path in files:
                os.symlink(path, os.path.join(links, os.path.basename(path)))
            done = subprocess.run([args.extract, links], capture_output=True, check=True, text=True)
        docs = [json.loads(line) for line in done.stdout.splitlines()]
        for doc in docs:
            with open(os.path.join(folder, doc["id"] + ".txt"), "w", encoding="utf-8") as out:
                out.write(doc["text"])
        return sum("error" in doc for doc in docs)
    done = subprocess.run(program + [folder] + files, capture_output=True, text=True)
    return len(files) - len(os.listdir(folder)) if done.returncode == 0 else -1


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    args = arguments()
    sys.path.insert(0, os.path.join(args.data, "score"))
    import text_score

    sets = ["pdf_docling", "pdf_samples"]
    files = sorted(path for name in sets for path in glob.glob(os.path.join(args.data, name, "files", "*.pdf")))
    gold = {}
    for name in sets:
        gold.update(text_score.rd(os.path.join(args.data, name, "gold.jsonl")))
    n_mb = sum(os.path.getsize(path) for path in files) / 1e6
    print(f"{len(files)} files, {n_mb:.1f} MB, gold for {len(gold)}\n")
    print("| reader | word F1 | precision | recall | order | shingle F1 | not read | CPU s | MB/s | documents/s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    by_document = {}
    for name, program in programs(args).items():
        best = None
        for _ in range(args.repeat):
            with tempfile.TemporaryDirectory() as folder:
                before = cpu_seconds()
                n_failed = run(program, args, folder, files)
                seconds = cpu_seconds() - before
                best = min(best or seconds, seconds)
                found = text_score.rd(folder)
        out, rows = text_score.score(gold, found)
        by_document[name] = {key: row["word_F1"] for key, row in rows.items()}
        figures = [out[key] for key in ("word_F1", "word_P", "word_R", "order", "shingle_F1")]
        cells = [f"{figure:.1f}" for figure in figures]
        cells += [str(n_failed), f"{best:.2f}", f"{n_mb / best:.0f}", f"{len(files) / best:.0f}"]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print("\nword F1 by document")
    for key in sorted(gold):
        print(f"{key[:24]:24}", *(f"{name} {scores[key] * 100:.1f}" for name, scores in by_document.items()))


if __name__ == "__main__":
    main()
