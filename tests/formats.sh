#!/bin/sh
# Scores of what kgd reads of HTML and Markdown, printed: tests/formats.sh [DATA]
# Sample pages with what surrounds an article come from corpus/pages (needs python3); DATA is the folder with the
# development sets (`html_docling`, `commonmark_spec`), left out when not given.
set -eu
cd "$(dirname "$0")/.."
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
extract() { cargo run -q --locked -p tests --example extract -- "$@"; }
python3 corpus/pages/make.py "$pages"
for half in tune held; do
    printf '%s templates: ' "$half"
    extract "$pages/$half/pages" --gold "$pages/$half/gold.jsonl" | tail -1
done
if [ $# -gt 0 ]; then
    printf 'whole pages (html_docling): '
    extract "$1/html_docling/files" --gold "$1/html_docling/gold.jsonl" | tail -1
    printf 'markdown (commonmark_spec): '
    cargo run -q --locked -p tests --example markdown_spec -- "$1/commonmark_spec/examples.jsonl"
fi
