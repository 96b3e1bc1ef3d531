#!/usr/bin/env python3
"""Makes every package of a release, and checks them: `just dist`.

In: a checkout; cargo, or a folder with the three programs. Out: packages, `server.json`, a bill of materials and
checksums in one folder. Invariant: the same programs and time give the same bytes. Nothing is published.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import check  # noqa: E402
import notices  # noqa: E402
import packages  # noqa: E402
from archive import File, text  # noqa: E402

ROOT = notices.ROOT

# Where packages say that they come from, until a forge says where that is: nothing can be published under this name.
NOWHERE = "https://github.com/example/kgd"
NOBODY = "The kgd maintainers <nobody@example.com>"

# Beside completions, a wheel or a deb, what a release has of the repository.
UNITS = ("kgd@.service", "kgd@.socket")
LICENCES = ("LICENSE-MIT", "LICENSE-APACHE")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--target", default="x86_64-unknown-linux-musl", choices=packages.MACHINES)
    parser.add_argument("--programs", type=Path, metavar="DIR", help="take the programs from here, build none")
    parser.add_argument("--out", type=Path, default=ROOT / "target/packages", metavar="DIR")
    parser.add_argument("--repository", default=repository(), metavar="URL")
    parser.add_argument("--maintainer", default=os.environ.get("KG_MAINTAINER", NOBODY), metavar="NAME <MAIL>")
    options = parser.parse_args()
    if options.repository == NOWHERE:
        print(f"note: no forge is known, so packages name {NOWHERE}; they cannot be published", file=sys.stderr)

    graph = notices.metadata(options.target)
    release = gather(options, graph, options.programs or built(options.target))
    made = make(release, graph)
    options.out.mkdir(parents=True, exist_ok=True)
    for name, data in made.items():
        (options.out / name).write_bytes(data)
    check.all_of(made, release)
    for name, data in sorted(made.items()):
        print(f"{len(data):>12,}  {name}")
    print(f"ok: in {options.out}")


def repository():
    """Asks the forge that runs this, then git."""
    server, name = os.environ.get("GITHUB_SERVER_URL"), os.environ.get("GITHUB_REPOSITORY")
    if server and name:
        return f"{server}/{name}"
    asked = subprocess.run(["git", "remote", "get-url", "origin"], cwd=ROOT, capture_output=True, text=True)
    found = re.search(r"([\w.-]+\.\w+)[:/]([^/:\s]+/[^/\s]+?)(?:\.git)?\s*$", asked.stdout)
    return f"https://{found[1]}/{found[2]}" if found else NOWHERE


def built(target):
    """Builds the programs, linked statically, with no path of this machine in them. Returns their folder."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    cargo = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    sysroot = said(["rustc", "--print", "sysroot"]).strip()
    flags = [f"--remap-path-prefix={place}={name}" for place, name in
             ((ROOT, "/kgd"), (cargo, "/cargo"), (sysroot, "/rust"))]
    c_flags = [f"-ffile-prefix-map={place}={name}" for place, name in ((ROOT, "/kgd"), (cargo, "/cargo"))]
    # sqlite-vec uses names of glibc.
    c_flags[:0] = [f"-Du_int{n}_t=uint{n}_t" for n in (8, 16, 64)]
    # Names of functions are a few megabytes, and a panic names its place without them.
    env = {**os.environ, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags), "CARGO_INCREMENTAL": "0",
           "CARGO_PROFILE_RELEASE_STRIP": "symbols",
           f"CFLAGS_{target.replace('-', '_')}": " ".join(c_flags)}
    subprocess.run(["cargo", "build", "--release", "--locked", "--bins", "--target", target], cwd=ROOT, env=env,
                   check=True)
    return folder / target / "release"


def gather(options, graph, programs):
    """Reads what the packages are made from."""
    with tempfile.TemporaryDirectory() as scratch:
        kgctl = programs / "kgctl"
        subprocess.run([kgctl, "man", scratch], check=True, stdout=subprocess.DEVNULL)
        pages = {it.name: it.read_text() for it in sorted(Path(scratch).iterdir())}
    texts = {name: File((ROOT / name).read_bytes()) for name in LICENCES}
    texts["THIRD-PARTY-LICENSES.txt"] = text(notices.licences(graph))
    texts["README.md"] = File((ROOT / "config/dist/PACKAGE.md").read_bytes())
    return packages.Release(
        version=next(it["version"] for it in graph["packages"] if it["name"] == "kgd"),
        target=options.target,
        epoch=int(os.environ.get("SOURCE_DATE_EPOCH") or said(["git", "log", "-1", "--format=%ct"])),
        repository=options.repository,
        maintainer=options.maintainer,
        programs={name: (programs / name).read_bytes() for name in packages.PROGRAMS},
        pages=pages,
        completions={shell: said([kgctl, "completions", shell]) for shell in ("bash", "zsh", "fish")},
        units={name: (ROOT / "systemd" / name).read_text() for name in UNITS},
        texts=texts,
    )


def make(release, graph):
    """Makes all files of a release."""
    made = {}
    for package in (packages.tarball, packages.wheel, packages.npm, packages.deb, packages.oci, packages.mcpb):
        made |= package(release)
    made |= packages.plugin(release, check.plugin_files())
    # These name the others by their checksums.
    made |= packages.formula(release, made) | packages.registry(release, made)
    bill = notices.bill(graph, packages.stamp(release.epoch))
    made[f"kgd-{release.version}-sbom.cdx.json"] = bill.encode()
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(made.items()))
    made["SHA256SUMS"] = sums.encode()
    return made


def said(command):
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    start = time.monotonic()
    main()
    print(f"{time.monotonic() - start:.0f} seconds")
