#!/usr/bin/env python3
"""Installs each package in a scratch folder as a new user would, and asks the server it starts as an agent would.

In: the folder that `build.py` made; `--debian DIR`, a root made by debootstrap, for what needs a whole system.
Out: a line for each way: the size, and the seconds from nothing to the first answer that cites its file.
A way whose tool is missing is named and skipped. Nothing outside the scratch folder is changed.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.dont_write_bytecode = True

from notices import ROOT  # noqa: E402

QUESTION = "how long does the old key stay usable after rotation"
CITED = "decisions/adr-0011.md:"


class Missing(Exception):
    """What a way needs is not here."""


@dataclass
class Installed:
    """How to start what was installed."""

    server: list
    kgctl: list
    # Where the documents are for it.
    notes: str
    env: dict = field(default_factory=dict)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("packages", type=Path, nargs="?", default=ROOT / "target/packages")
    parser.add_argument("--debian", type=Path, metavar="DIR", help="a root of Debian, used through a copy")
    parser.add_argument("--only", metavar="WAY")
    options = parser.parse_args()
    failed = 0
    for way, pattern in WAYS.items():
        if options.only in (None, way.__name__):
            (package,) = options.packages.glob(pattern)
            failed += not tried(way, package.resolve(), options.debian)
    sys.exit(failed)


def tried(way, package, debian):
    """Tries one way, and prints its line. Returns whether nothing failed."""
    # A short path: a socket's has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="kgtry", dir="/tmp") as name:
        scratch = Path(name)
        shutil.copytree(ROOT / "corpus/docs", scratch / "notes")
        start = time.monotonic()
        try:
            installed = way(package, scratch, debian)
            ready = time.monotonic() - start
            answer = asked(installed, scratch)
            took = time.monotonic() - start
        except Missing as missing:
            print(f"{way.__name__:<10} SKIPPED: {missing}", flush=True)
            return True
        except Exception as error:  # whatever one way throws, the others are tried
            print(f"{way.__name__:<10} FAILED: {error}", flush=True)
            return False
        finally:
            unmounted(scratch)
        print(f"{way.__name__:<10} {package.stat().st_size / 1e6:6.1f} MB  installed in {ready:5.1f} s, "
              f"cited after {took:5.1f} s: {answer}", flush=True)
        return CITED in answer


def asked(installed, scratch):
    """Speaks MCP with the server until an answer cites a file; returns the citation."""
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(home), "KG_STATE_DIR": str(scratch / "s"),
           "KG_RUNTIME_DIR": str(scratch / "r"), "KG_CONFIG_DIR": str(scratch / "c"), **installed.env}
    folder = ["--project", installed.notes]
    log = scratch / "log"
    server = subprocess.Popen([*installed.server, *folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=log.open("w"), text=True, env=env, cwd=scratch)

    def call(number, method, params):
        print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}), file=server.stdin,
              flush=True)
        for line in server.stdout:
            reply = json.loads(line)
            if reply.get("id") == number:
                return reply["result"]
        raise RuntimeError(f"{installed.server}: {log.read_text()}")

    try:
        call(1, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {},
                               "clientInfo": {"name": "try", "version": "1"}})
        print('{"jsonrpc": "2.0", "method": "notifications/initialized"}', file=server.stdin, flush=True)
        for number in range(2, 600):
            reply = call(number, "tools/call", {"name": "hybrid_query", "arguments": {"q": QUESTION, "k": 3}})
            found = re.search(re.escape(CITED) + r"\S*", json.dumps(reply))
            if found:
                return found[0]
            time.sleep(0.05)
        return "never"
    finally:
        server.stdin.close()
        server.wait()
        subprocess.run([*installed.kgctl, *folder, "stop"], env=env, cwd=scratch, capture_output=True)


def tarball(package, scratch, _):
    with tarfile.open(package) as archive:
        archive.extractall(scratch, filter="data")
    (unpacked,) = scratch.glob("kgd-*")
    return plain(unpacked / "bin", scratch)


def pip(package, scratch, _):
    run(sys.executable, "-m", "venv", scratch / "venv")
    run(scratch / "venv/bin/pip", "install", "--quiet", "--no-index", "--no-deps", package)
    return plain(scratch / "venv/bin", scratch)


def uvx(package, scratch, _):
    start = [tool("uvx"), "--offline", "--from", str(package)]
    env = {"UV_CACHE_DIR": str(scratch / "uv")}
    return Installed([*start, "kgd-mcp"], [*start, "kgctl"], str(scratch / "notes"), env)


def npx(package, scratch, _):
    start = [tool("npx"), "--offline", "--yes", "--package", str(package)]
    env = {"npm_config_cache": str(scratch / "npm")}
    return Installed([*start, "kgd-mcp"], [*start, "kgctl"], str(scratch / "notes"), env)


def deb(package, scratch, debian):
    if not debian:
        raise Missing("no `--debian DIR`")
    root = scratch / "root"
    run("cp", "-a", "--reflink=auto", debian, root)
    shutil.copy(package, root / "kgd.deb")
    inside = chroot(root, scratch)
    run(*inside, "dpkg", "--install", "/kgd.deb")
    return Installed([*inside, "kg-mcp"], [*inside, "kgctl"], "/notes", INSIDE)


def image(package, scratch, _):
    """Without a container engine: the image's layer becomes a root, and its own command runs in it as its own user."""
    layout, root = scratch / "layout", scratch / "root"
    layout.mkdir()
    run("tar", "-xf", package, "-C", layout)
    blob = lambda entry: layout / "blobs" / entry["digest"].replace(":", "/")  # noqa: E731
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    manifest = json.loads(blob(entry).read_text())
    config = json.loads(blob(manifest["config"]).read_text())["config"]
    root.mkdir()
    run("tar", "-xpf", blob(manifest["layers"][0]), "-C", root)
    env = dict(it.split("=", 1) for it in config["Env"])
    inside = chroot(root, scratch, config["User"])
    return Installed([*inside, *config["Entrypoint"]], [*inside, "kgctl"], config["Cmd"][1],
                     {**env, "PATH": f"{env['PATH']}:{os.environ['PATH']}"})


def bundle(package, scratch, _):
    if shutil.which("mcpb"):
        run("mcpb", "unpack", package, scratch / "bundle")
    else:
        shutil.unpack_archive(package, scratch / "bundle", "zip")
        run("chmod", "-R", "+x", scratch / "bundle/server")
    config = json.loads((scratch / "bundle/manifest.json").read_text())["server"]["mcp_config"]
    command = config["command"].replace("${__dirname}", str(scratch / "bundle"))
    return Installed([command], [str(scratch / "bundle/server/kgctl")], str(scratch / "notes"))


def plugin(package, scratch, _):
    """Claude Code installs the plugin from the repository and starts its server; the programs are those of the
    tarball."""
    claude = tool("claude")
    (archive,) = package.parent.glob("kgd-*-musl.tar.gz")
    with tarfile.open(archive) as programs:
        programs.extractall(scratch, filter="data")
    (unpacked,) = scratch.glob("kgd-*-musl")
    home = scratch / "home"
    home.mkdir()
    env = {**os.environ, "HOME": str(home), "PATH": f"{unpacked / 'bin'}:{os.environ['PATH']}",
           "KG_STATE_DIR": str(scratch / "s"), "KG_RUNTIME_DIR": str(scratch / "r"), "KG_CONFIG_DIR": str(scratch / "c")}
    run(unpacked / "bin/kgctl", "project", "add", scratch / "notes", env=env)
    run(claude, "plugin", "marketplace", "add", ROOT, env=env)
    run(claude, "plugin", "install", "kgd@kgd", env=env)
    listed = run(claude, "mcp", "list", env=env, cwd=scratch / "notes")
    assert re.search(r"kgd.*Connected", listed), listed
    said = run(ROOT / "config/plugin/hooks/session-start.sh", env={**env, "CLAUDE_PROJECT_DIR": str(scratch / "notes")})
    assert "kgd has an index" in said, said
    kgctl = [str(unpacked / "bin/kgctl")]
    return Installed([str(ROOT / "config/plugin/scripts/kg-mcp.sh")], kgctl, str(scratch / "notes"), {"PATH": env["PATH"]})


WAYS = {
    tarball: "kgd-*-musl.tar.gz", pip: "*.whl", uvx: "*.whl", npx: "*.tgz", deb: "*.deb", image: "*-oci-*.tar",
    bundle: "*.mcpb", plugin: "*-plugin.zip",
}

# Where programs in a root of their own keep their files.
INSIDE = {"HOME": "/root", "KG_STATE_DIR": "/root/s", "KG_RUNTIME_DIR": "/root/r", "KG_CONFIG_DIR": "/root/c"}


def plain(folder, scratch):
    return Installed([str(folder / "kg-mcp")], [str(folder / "kgctl")], str(scratch / "notes"))


def chroot(root, scratch, user="0:0"):
    """Returns what runs a command in a root that has the documents at `/notes`."""
    if os.getuid() != 0:
        raise Missing("only root can change its root")
    for name, source in (("proc", "/proc"), ("dev", "/dev"), ("notes", scratch / "notes")):
        (root / name).mkdir(exist_ok=True)
        run("mount", "--bind", source, root / name)
    run("chown", "-R", user, scratch / "notes")
    return ["chroot", f"--userspec={user}", str(root)]


def unmounted(scratch):
    """Takes every mount below a folder away before it is deleted; `os.path.ismount` does not see all of them."""
    places = (line.split(" ")[1] for line in Path("/proc/self/mounts").read_text().splitlines())
    for place in sorted((it for it in places if it.startswith(f"{scratch}/")), reverse=True):
        run("umount", "--lazy", place)


def tool(name):
    found = shutil.which(name)
    if not found:
        raise Missing(f"`{name}` is not installed")
    return found


def run(*command, env=None, cwd=None):
    done = subprocess.run([str(it) for it in command], capture_output=True, text=True, env=env, cwd=cwd)
    if done.returncode != 0:
        raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


if __name__ == "__main__":
    main()
