"""Whether packages are sound: what they carry, what they say of themselves, and what their formats demand.

In: the files of a release. Out: nothing, or an assertion that says what is wrong.
The rules on `server.json`, the bundle's manifest and the plugin are those of their published schemas that our files
could break; `mcpb validate` and `claude plugin validate` check all of them, where these programs are installed.
"""

import base64
import gzip
import hashlib
import io
import json
import lzma
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from archive import File
from notices import ROOT
from packages import PROGRAMS, REGISTRY_NAME

# PyPI takes no more than 100 MB without asking, GitHub 2 GB; 120 MB is what we ask of a wheel ourselves.
MAX_WHEEL_BYTES = 120_000_000

PLUGIN = ROOT / "config/plugin"


def all_of(made, release):
    """Checks every file of a release."""
    for pattern, rule in RULES:
        names = [name for name in made if re.fullmatch(pattern, name)]
        assert len(names) == 1, f"{pattern}: {names}"
        rule(made[names[0]], release)
    sums = dict(reversed(line.split("  ")) for line in made["SHA256SUMS"].decode().splitlines())
    assert sums == {name: sha256(data) for name, data in made.items() if name != "SHA256SUMS"}
    for command, name in ((["mcpb", "validate"], "manifest.json"), (["claude", "plugin", "validate"], None)):
        validate(command, name, made)


def wheel(data, release):
    assert len(data) <= MAX_WHEEL_BYTES, f"{len(data)} bytes"
    files = zip_files(data)
    info = next(path.split("/")[0] for path in files if path.endswith("/RECORD"))
    rows = [line.rsplit(",", 2) for line in files[f"{info}/RECORD"].decode().splitlines()]
    assert [row[0] for row in rows] == list(files), "RECORD lists other files"
    for path, digest, size in rows[:-1]:
        wanted = base64.urlsafe_b64encode(hashlib.sha256(files[path]).digest()).rstrip(b"=").decode()
        assert (digest, size) == (f"sha256={wanted}", str(len(files[path]))), path
    carries(files, f"{info.removesuffix('.dist-info')}.data/scripts", release)
    described = files[f"{info}/METADATA"].decode()
    assert f"\nVersion: {release.version}\n" in described and f"mcp-name: {release.server_name} " in described


def tarball(data, release):
    files = tar_files(gzip.decompress(data))
    top = next(iter(files)).split("/")[0]
    carries(files, f"{top}/bin", release)
    for name in PROGRAMS:
        assert f"{top}/share/man/man1/{name}.1" in files, name
    assert b"ExecStart=:%h/.local/bin/kgd " in files[f"{top}/lib/systemd/user/kgd@.service"]


def npm(data, release):
    files = tar_files(gzip.decompress(data))
    carries(files, "package/bin", release)
    described = json.loads(files["package/package.json"])
    assert (described["version"], described["mcpName"]) == (release.version, release.server_name)
    for path in described["bin"].values():
        assert f"package/{path}" in files, path


def deb(data, release):
    members = ar_members(data)
    assert list(members) == ["debian-binary", "control.tar.xz", "data.tar.gz"] and members["debian-binary"] == b"2.0\n"
    about = tar_files(lzma.decompress(members["control.tar.xz"]))
    assert f"\nVersion: {release.version}\n" in about["./control"].decode()
    files = {path.removeprefix("./"): it for path, it in tar_files(gzip.decompress(members["data.tar.gz"])).items()}
    sums = dict(reversed(line.split("  ")) for line in about["./md5sums"].decode().splitlines())
    assert sums == {path: hashlib.md5(it).hexdigest() for path, it in files.items()}
    carries(files, "usr/bin", release)
    assert b"ExecStart=:/usr/bin/kgd " in files["usr/lib/systemd/user/kgd@.service"]


def image(data, release):
    files = tar_files(data)
    blobs = {path.split("/")[-1]: it for path, it in files.items() if path.startswith("blobs/")}
    assert all(sha256(it) == name for name, it in blobs.items())

    def blob(entry):
        found = blobs[entry["digest"].removeprefix("sha256:")]
        assert len(found) == entry["size"]
        return found

    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(entry))
    config = json.loads(blob(manifest["config"]))
    (layer,) = manifest["layers"]
    unpacked = gzip.decompress(blob(layer))
    assert config["rootfs"]["diff_ids"] == [f"sha256:{sha256(unpacked)}"]
    assert config["config"]["Labels"]["io.modelcontextprotocol.server.name"] == release.server_name
    carries(tar_files(unpacked), "usr/bin", release)


def bundle(data, release):
    files = zip_files(data)
    carries(files, "server", release)
    manifest = json.loads(files["manifest.json"])
    assert manifest["version"] == release.version and manifest["server"]["entry_point"] in files
    asked = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"])))
    assert asked == set(manifest["user_config"]), asked


def registry(data, release):
    server = json.loads(data)
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"]), server["name"]
    assert 1 <= len(server["description"]) <= 100, "a description has 1 to 100 characters"
    kinds = {it["registryType"]: it for it in server["packages"]}
    assert kinds["pypi"]["identifier"] == kinds["npm"]["identifier"] == REGISTRY_NAME
    # An image's version is in its name, and a bundle's in its address.
    assert all(it.get("version", release.version) == release.version for it in kinds.values())
    assert all(release.version in kinds[it]["identifier"] for it in ("oci", "mcpb"))
    assert re.fullmatch(r"https://\S*mcp\S*", kinds["mcpb"]["identifier"])
    assert re.fullmatch(r"[a-f0-9]{64}", kinds["mcpb"]["fileSha256"])


def formula(data, release):
    assert f"/v{release.version}/kgd-{release.version}-{release.target}.tar.gz\"" in data.decode()


def bill(data, release):
    about = json.loads(data)
    refs = {it["bom-ref"] for it in about["components"]} | {about["metadata"]["component"]["bom-ref"]}
    assert len(refs) == len(about["components"]) + 1
    assert all({it["ref"], *it["dependsOn"]} <= refs for it in about["dependencies"])
    assert about["metadata"]["component"]["version"] == release.version


def plugin(data, release):
    files = zip_files(data)
    described = json.loads(files[".claude-plugin/plugin.json"])
    assert described["version"] == release.version, "config/plugin/.claude-plugin/plugin.json has another version"
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", described["name"])
    (listed,) = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text())["plugins"]
    assert listed["name"] == described["name"] and (ROOT / listed["source"]).resolve() == PLUGIN
    for path in (it for it in files if it.endswith("/SKILL.md")):
        head = dict(line.split(": ", 1) for line in files[path].decode().split("---\n")[1].splitlines())
        assert head["name"] == path.split("/")[-2] and 0 < len(head["description"]) <= 1024, path
    # What is started is there, and can be.
    for command in re.findall(r"\$\{CLAUDE_PLUGIN_ROOT\}/([\w./-]+)",
                              (files["hooks/hooks.json"] + files[".mcp.json"]).decode()):
        assert plugin_files()[command].is_program, command


RULES = [
    (r".*\.whl", wheel), (r"kgd-.*-musl\.tar\.gz", tarball), (r".*\.tgz", npm), (r".*\.deb", deb),
    (r".*-oci-.*\.tar", image), (r".*\.mcpb", bundle), (r"server\.json", registry), (r"kgd\.rb", formula),
    (r".*-sbom\.cdx\.json", bill), (r".*-plugin\.zip", plugin),
]


def plugin_files():
    """Returns the plugin, as it is in the repository."""
    found = (it for it in sorted(PLUGIN.rglob("*")) if it.is_file())
    return {str(it.relative_to(PLUGIN)): File(it.read_bytes(), is_program=bool(it.stat().st_mode & 0o100))
            for it in found}


def validate(command, name, made):
    """Asks the program of a format's authors, where it is installed."""
    if not shutil.which(command[0]):
        print(f"SKIPPED {' '.join(command)}: it is not installed", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as scratch:
        place = PLUGIN
        if name:
            place = Path(scratch, name)
            place.write_bytes(zip_files(next(it for key, it in made.items() if key.endswith(".mcpb")))[name])
        done = subprocess.run([*command, str(place)], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


def carries(files, folder, release):
    for name, data in release.programs.items():
        assert files.get(f"{folder}/{name}") == data, f"{folder}/{name} is not the program"


def zip_files(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {it.filename: archive.read(it) for it in archive.infolist()}


def tar_files(data):
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return {it.name: archive.extractfile(it).read() for it in archive if it.isfile()}


def ar_members(data):
    members, at = {}, 8
    while at < len(data):
        size = int(data[at + 48:at + 58])
        members[data[at:at + 16].decode().strip()] = data[at + 60:at + 60 + size]
        at += 60 + size + size % 2
    return members


def sha256(data):
    return hashlib.sha256(data).hexdigest()
