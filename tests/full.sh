#!/usr/bin/env bash
# Everything that CI runs in a short form, in full: about an hour on two cores. Prints what it measures.
#
#   tests/full.sh DATA     DATA is a folder with the public sets that tests/benches/RESULTS.md names
set -euo pipefail
cd "$(dirname "$0")/.."
data=${1:?which data? hint: tests/full.sh DATA}

# Random changes of all kinds, restarts and kills, each sequence verified against a rebuild.
KG_SEEDS=0..100 cargo test -p tests --test it -- determinism::random --nocapture
# Renames of 5,000 files, 12,000 files in a second; deaths at every point and trouble of the disk as in every run.
KG_FULL=1 cargo test -p tests --test it -- identity events crash trouble --nocapture

cargo bench -p tests --bench crash -- --kills 200
cargo bench -p tests --bench crowd -- --seconds 300
cargo bench -p tests --bench crawl -- 200000
cargo bench -p tests --bench memory -- --files 100000
cargo bench -p tests --bench fresh -- "$data" --bulk 100000
