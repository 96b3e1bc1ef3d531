#!/usr/bin/env bash
# Compares readers of Word documents: run.sh FOLDER_WITH_files_AND_gold.jsonl SCORER [OUT]
# (for example: run.sh DATA/docx_docling DATA/score/text_score.py). Prints, for each, processor time and scores.
# The peers outside Rust need `pip install python-docx docx2txt mammoth pypandoc_binary docx2python`; $PYTHON says which one.
set -eu
cd "$(dirname "$0")"
data=$1 scorer=$2 out=${3:-$(mktemp -d)} python=${PYTHON:-python3}
mkdir -p "$out"
cargo build --release --quiet
score() {
    python3 "$scorer" "$data/gold.jsonl" "$out/$1.jsonl" --per-doc "$out/$1.tsv" | tr -d '\n ' |
        sed -E 's/.*"missing":([0-9]+).*"word_F1":([0-9.]+),"shingle_F1":([0-9.]+),"order":([0-9.]+).*/    missing \1  word F1 \2  shingle F1 \3  order \4\n/'
}
for engine in bare docx-rs docx-rust docx-lite undoc anytomd; do
    ./target/release/compare-docx "$engine" "$data/files" "$out/$engine.jsonl" 10
    score "$engine"
done
for engine in python-docx docx2txt docx2python mammoth pandoc; do
    "$python" peers.py "$engine" "$data/files" "$out/$engine.jsonl" || continue
    score "$engine"
done
