#!/bin/sh
# Related pairs of Re-DocRED, end to end: redocred.sh DATA [FIRST [LAST]] with kgctl and kgd on the PATH.
#
# Indexes documents FIRST to LAST of DATA/redocred/dev.jsonl (400 to 499, on which nothing was trained or tuned) as text
# files in a folder of their own, waits until everything is read, and prints what DATA/score/pair_score.py says of the dump.
set -eu
data=$1 first=${2:-400} last=${3:-499}
work=$(mktemp -d)
trap 'kgctl stop --project "$work/docs" >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
mkdir -p "$work/docs" "$work/run"
chmod 700 "$work/run"
export XDG_CONFIG_HOME="$work/config" XDG_STATE_HOME="$work/state" XDG_DATA_HOME="$work/data"
export XDG_CACHE_HOME="$work/cache" XDG_RUNTIME_DIR="$work/run"
python3 - "$data/redocred/dev.jsonl" "$first" "$last" "$work" <<'EOF'
import json
import pathlib
import sys

source, first, last, work = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), pathlib.Path(sys.argv[4])
lines = open(source, encoding="utf-8").read().splitlines()[first : last + 1]
(work / "gold.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
for number, line in enumerate(lines):
    (work / "docs" / f"{number:03d}.txt").write_text(json.loads(line)["text"], encoding="utf-8")
EOF
kgctl init "$work/docs" --name redocred >/dev/null
kgctl wait --project "$work/docs" >/dev/null
kgctl dump --project "$work/docs" >"$work/dump.jsonl"
# All relations, then all without one source: words between names, forms of sentences, grammar.
for off in none sentence kind depend; do
  python3 - "$work/dump.jsonl" "$off" >"$work/$off.jsonl" <<'EOF'
import json
import sys

off = sys.argv[2]
for row in map(json.loads, open(sys.argv[1], encoding="utf-8")):
    if row["kind"] == "relation":
        row["evidence"] = [it for it in row["evidence"] if not it["pattern"].startswith(off + ":")]
    print(json.dumps(row))
EOF
  printf 'without %-8s ' "$off"
  python3 "$data/score/pair_score.py" "$work/gold.jsonl" "$work/$off.jsonl"
done
