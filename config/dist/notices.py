"""What the programs are made of: a bill of materials, and the licences that travel with them.

In: the dependency graph as cargo resolved it, `Cargo.lock`. Out: CycloneDX as JSON, and one text of all licences.
"""

import hashlib
import json
import subprocess
import tomllib
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Files of a crate that state its licence.
LICENCE_NAMES = ("license", "licence", "copying", "notice", "unlicense", "copyright")

# What is in the programs beside crates: a name, and the folder or file with its licence.
CARRIED = [
    *((f"model {path.name}", path) for path in sorted((ROOT / "daemon/models").iterdir()) if path.is_dir()),
    ("Cytoscape.js", ROOT / "client/assets/cytoscape"),
    ("musl libc, linked statically", ROOT / "config/dist/LICENSE-musl"),
    ("jemalloc, linked statically", ROOT / "config/dist/LICENSE-jemalloc"),
]


def metadata(target):
    """Asks cargo what the workspace is and what it depends on for `target`."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    return json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)


def linked(graph):
    """Returns the packages that the programs are built of, ours included, and which each of them needs: what only tests
    need is left out."""
    packages = {it["id"]: it for it in graph["packages"]}
    needs = {
        node["id"]: [it["pkg"] for it in node["deps"] if any(kind["kind"] != "dev" for kind in it["dep_kinds"])]
        for node in graph["resolve"]["nodes"]
    }
    start = next(key for key, it in packages.items() if it["name"] == "kgd")
    found, open_ = {start}, [start]
    while open_:
        for key in needs[open_.pop()]:
            if key not in found:
                found.add(key)
                open_.append(key)
    return {key: packages[key] for key in sorted(found)}, needs


def bill(graph, epoch_text):
    """Writes a CycloneDX 1.6 bill of materials."""
    packages, needs = linked(graph)
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    sums = {(it["name"], it["version"]): it.get("checksum") for it in lock}
    components = {key: component(it, sums.get((it["name"], it["version"]))) for key, it in packages.items()}
    top = next(key for key, it in packages.items() if it["name"] == "kgd")
    models = [{"type": "machine-learning-model", "bom-ref": name, "name": name.removeprefix("model ")}
              for name, _ in CARRIED if name.startswith("model ")]
    body = {
        "metadata": {"timestamp": epoch_text, "component": {**components[top], "type": "application"}},
        "components": [it for key, it in components.items() if key != top] + models,
        "dependencies": [
            {"ref": components[key]["bom-ref"],
             "dependsOn": sorted({components[it]["bom-ref"] for it in needs[key] if it in components})}
            for key in packages
        ],
    }
    number = uuid.uuid5(uuid.NAMESPACE_URL, hashlib.sha256(json.dumps(body).encode()).hexdigest())
    head = {"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": f"urn:uuid:{number}", "version": 1}
    return json.dumps({**head, **body}, indent=1) + "\n"


def component(package, checksum):
    name, version = package["name"], package["version"]
    is_ours = package["source"] is None
    entry = {"type": "library", "bom-ref": f"{name}@{version}", "name": name, "version": version}
    if package["license"]:
        # Cargo once wrote `MIT/Apache-2.0`.
        entry["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    if checksum:
        entry["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    if not is_ours:
        entry["purl"] = f"pkg:cargo/{name}@{version}"
    return entry


def licences(graph):
    """Writes the licences of all that is linked or carried, each text once, after the names of those it holds for."""
    packages, _ = linked(graph)
    holders, missing = {}, []
    for package in packages.values():
        if package["source"] is None:
            continue
        name = f"{package['name']} {package['version']} ({package['license']})"
        texts = licence_texts(Path(package["manifest_path"]).parent)
        missing += [] if texts else [f"{name}, by {', '.join(package['authors']) or 'its authors'}"]
        for words in texts:
            holders.setdefault(words, []).append(name)
    for name, place in CARRIED:
        for words in licence_texts(place) if place.is_dir() else [place.read_text().strip()]:
            holders.setdefault(words, []).append(name)
    rule = "=" * 100
    parts = ["kgd contains the works named below, under the licences that follow their names."]
    parts += [f"{rule}\n" + "\n".join(sorted(names)) + f"\n{rule}\n\n{words}" for words, names in
              sorted(holders.items(), key=lambda it: (sorted(it[1]), it[0]))]
    if missing:
        parts.append(f"{rule}\nWithout a text of their own, under the licences named:\n\n" + "\n".join(sorted(missing)))
    return "\n\n".join(parts) + "\n"


def licence_texts(folder):
    files = sorted(it for it in folder.iterdir() if it.is_file() and it.name.lower().startswith(LICENCE_NAMES))
    return [it.read_text(errors="replace").strip() for it in files]
