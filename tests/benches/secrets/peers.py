"""The peers on what the bench wrote: detect-secrets (secrets), presidio-analyzer's patterns without a model (PII).

usage: peers.py OUT [DATA]; both packages from PyPI. Each line is scanned alone, as detect-secrets does; a planted
secret counts as found when its line is reported at all, which is milder than what we ask of ourselves.
"""
import collections
import json
import subprocess
import sys
import time
from pathlib import Path

out, data = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None


def secrets():
    try:
        from detect_secrets.core.scan import scan_line
        from detect_secrets.settings import default_settings
    except ImportError:
        return print("detect-secrets is not installed")
    with default_settings():
        planted = [line.split("\t") for line in (out / "planted.tsv").read_text().splitlines()]
        found = sum(any(scan_line(line.replace("\\n", "\n"))) for _, line, _ in planted)
        print(f"detect-secrets: planted {found} of {len(planted)} lines reported")
        decoys = (out / "decoys.txt").read_text().splitlines()
        print(f"detect-secrets: decoys {sum(any(scan_line(line)) for line in decoys)} of {len(decoys)} lines reported")
        if not data:
            return
        kinds, n_bytes, begin = collections.Counter(), 0, time.time()
        for name in (out / "files.txt").read_text().splitlines():
            text = Path(name).read_text(errors="replace")
            n_bytes += len(text)
            for line in text.splitlines():
                if len(line) < 5000:
                    kinds.update(it.type for it in scan_line(line))
        rate = n_bytes / 1e6 / (time.time() - begin)
        print(f"detect-secrets: nothing planted: {sum(kinds.values())} reports {dict(kinds)}, {rate:.2f} MB/s")


def personal():
    try:
        from presidio_analyzer import predefined_recognizers as known
    except ImportError:
        return print("presidio-analyzer is not installed")
    labels = {
        "EmailRecognizer": "EMAIL_ADDRESS", "PhoneRecognizer": "PHONE_NUMBER", "CreditCardRecognizer": "CREDIT_CARD",
        "IbanRecognizer": "IBAN_CODE", "UsSsnRecognizer": "US_SSN", "IpRecognizer": "IP_ADDRESS", "UrlRecognizer": "DOMAIN_NAME",
    }
    recognizers = [(getattr(known, name)(), label) for name, label in labels.items() if hasattr(known, name)]
    lines = []
    gold = data / "pii_presidio/dev.jsonl"
    for line in gold.read_text().splitlines():
        document = json.loads(line)
        entities = []
        for recognizer, label in recognizers:
            for it in recognizer.analyze(document["text"], recognizer.supported_entities, None) or []:
                if it.score >= 0.4:
                    entities.append({"start": it.start, "end": it.end, "label": label})
        lines.append(json.dumps({"id": document["id"], "entities": entities}))
    (out / "presidio.jsonl").write_text("\n".join(lines) + "\n")
    for only in list(labels.values()) + [",".join(labels.values()) + ",ZIP_CODE"]:
        command = [sys.executable, data / "score/ner_score.py", gold, out / "presidio.jsonl", "--only", only, "--ignore-gold-outside"]
        scores = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        key = "partial_untyped" if "," in only else "partial"
        print(f"presidio patterns: {only} {key} {scores[key]}")


secrets()
if data:
    personal()
