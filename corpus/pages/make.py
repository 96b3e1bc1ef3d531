#!/usr/bin/env python3
"""Writes the sample pages: `corpus/pages/make.py FOLDER` makes FOLDER/tune and FOLDER/held with pages/*.html and gold.jsonl.

Two pages a template, which differ in text and length. The reader may be tuned on `tune`; `held` is only measured."""
import json
import pathlib
import random
import sys

import held
import tune
from parts import Page
from text import Writer


def main(out):
    for name, templates in (("tune", tune.TEMPLATES), ("held", held.TEMPLATES)):
        folder = pathlib.Path(out, name, "pages")
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder.parent / "gold.jsonl", "w", encoding="utf-8") as gold:
            for template, language, n_paragraphs, extras in templates:
                for number, factor in ((1, 1.0), (2, 2.2)):
                    seed = f"{template.__name__}{number}"
                    n = max(1, round(n_paragraphs * factor * random.Random(seed).uniform(.7, 1.2)))
                    page = Page(Writer(seed, language), n, extras)
                    text = template(page)
                    (folder / f"{template.__name__}-{number}.html").write_text(text, encoding="utf-8")
                    gold.write(json.dumps({"id": f"{template.__name__}-{number}", "text": page.gold()}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else ".")
