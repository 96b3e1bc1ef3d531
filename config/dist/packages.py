"""The packages: each is a function from the same programs and texts to files by name.

In: a `Release`. Out: bytes. Invariant: the same release gives the same bytes.
"""

import base64
import hashlib
import json
import lzma
import time
from dataclasses import dataclass

from archive import File, ar, below, folders_of, squeezed, tar, text, zipped

# `kgd` and `kg-mcp` are taken on PyPI. `uvx NAME` and `npx NAME` run the program of the package's name, so there is
# one: `kg-mcp`, by that name.
REGISTRY_NAME = "kgd-mcp"
PROGRAMS = ("kgd", "kgctl", "kg-mcp")
SUMMARY = "Turns a folder of documents into a knowledge graph that people and agents can query"
LICENCE = "MIT OR Apache-2.0"

# How each ecosystem calls the machine of a Rust target.
MACHINES = {
    "x86_64-unknown-linux-musl": {"wheel": "x86_64", "npm": "x64", "deb": "amd64", "oci": "amd64"},
}


@dataclass(frozen=True)
class Release:
    """What all packages are made from."""

    version: str
    target: str
    epoch: int
    # Where the source is, `https://HOST/OWNER/NAME`.
    repository: str
    maintainer: str
    programs: dict  # by name
    pages: dict  # manual pages by file name
    completions: dict  # by shell
    units: dict  # of systemd, by file name
    texts: dict  # licences and the readme of packages

    @property
    def server_name(self):
        """The name in the MCP registry, which GitHub vouches for."""
        return f"io.github.{self.repository.rstrip('/').split('/')[-2]}/kgd"

    @property
    def downloads(self):
        return f"{self.repository}/releases/download/v{self.version}"

    @property
    def image(self):
        return f"ghcr.io/{'/'.join(self.repository.rstrip('/').split('/')[-2:]).lower()}:{self.version}"

    def machine(self, ecosystem):
        return MACHINES[self.target][ecosystem]

    def bin(self):
        return {name: File(data, is_program=True) for name, data in self.programs.items()}

    def unit_files(self, program):
        return {name: text(words.replace("%h/.cargo/bin/kgd", program)) for name, words in self.units.items()}


def installed(release, program, zsh):
    """What a system gets, below its prefix."""
    shells = release.completions
    return {
        **below("bin", release.bin()),
        **below("share/man/man1", {name: text(words) for name, words in release.pages.items()}),
        "share/bash-completion/completions/kgctl": text(shells["bash"]),
        f"{zsh}/_kgctl": text(shells["zsh"]),
        "share/fish/vendor_completions.d/kgctl.fish": text(shells["fish"]),
        **below("lib/systemd/user", release.unit_files(program)),
        **below("share/doc/kgd", release.texts),
    }


def tarball(release):
    """The static build: unpack it into any prefix."""
    name = f"kgd-{release.version}-{release.target}"
    files = below(name, installed(release, "%h/.local/bin/kgd", "share/zsh/site-functions"))
    return {f"{name}.tar.gz": squeezed(tar(files, release.epoch))}


def wheel(release):
    """A Python wheel whose scripts are the programs."""
    machine = release.machine("wheel")
    tags = [f"manylinux_2_17_{machine}", f"manylinux2014_{machine}", f"musllinux_1_1_{machine}"]
    stem = f"{REGISTRY_NAME.replace('-', '_')}-{release.version}"
    info = f"{stem}.dist-info"
    described = [
        "Metadata-Version: 2.4", f"Name: {REGISTRY_NAME}", f"Version: {release.version}", f"Summary: {SUMMARY}",
        f"Project-URL: Source, {release.repository}", f"License-Expression: {LICENCE}",
        *(f"License-File: {name}" for name in licence_names(release)), "Keywords: mcp,search,knowledge-graph,rag",
        "Requires-Python: >=3.8", "Description-Content-Type: text/markdown", "",
        release.texts["README.md"].data.decode(), f"<!-- mcp-name: {release.server_name} -->", "",
    ]
    described_as = ["Wheel-Version: 1.0", "Generator: kgd", "Root-Is-Purelib: false",
                    *(f"Tag: py3-none-{tag}" for tag in tags), ""]
    shim = '#!/bin/sh\n# `uvx` runs the program that is called as its package.\nexec "${0%/*}/kg-mcp" "$@"\n'
    files = {
        **below(f"{stem}.data/scripts", {**release.bin(), REGISTRY_NAME: File(shim.encode(), is_program=True)}),
        f"{info}/METADATA": text("\n".join(described)),
        f"{info}/WHEEL": text("\n".join(described_as)),
        **below(f"{info}/licenses", {name: release.texts[name] for name in licence_names(release)}),
    }
    record = [f"{path},sha256={urlsafe(file.data)},{len(file.data)}" for path, file in files.items()]
    files[f"{info}/RECORD"] = text("\n".join([*record, f"{info}/RECORD,,", ""]))
    return {f"{stem}-py3-none-{'.'.join(tags)}.whl": zipped(files, release.epoch)}


def npm(release):
    """An npm package whose commands are the programs."""
    described = {
        "name": REGISTRY_NAME, "version": release.version, "description": SUMMARY,
        "keywords": ["mcp", "search", "knowledge-graph", "rag"], "license": LICENCE,
        "repository": {"type": "git", "url": f"git+{release.repository}.git"}, "mcpName": release.server_name,
        "os": ["linux"], "cpu": [release.machine("npm")],
        "bin": {**{name: f"bin/{name}" for name in PROGRAMS}, REGISTRY_NAME: "bin/kg-mcp"},
    }
    files = {"package.json": text(dumped(described)), **below("bin", release.bin()), **release.texts}
    return {f"{REGISTRY_NAME}-{release.version}.tgz": squeezed(tar(below("package", files), release.epoch))}


def deb(release):
    """A Debian package. It depends on nothing: the programs are linked statically."""
    files = below("usr", installed(release, "/usr/bin/kgd", "share/zsh/vendor-completions"))
    # Debian wants manual pages and changelogs compressed as much as can be, and its own names for licences.
    files = {path + ".gz" if "/man/" in path else path: File(squeezed(file.data, 9)) if "/man/" in path else file
             for path, file in files.items() if "/LICENSE-" not in path}
    when = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(release.epoch))
    entry = (f"kgd ({release.version}) unstable; urgency=medium\n\n  * See {release.repository}/releases.\n\n"
             f" -- {release.maintainer}  {when}\n")
    files["usr/share/doc/kgd/changelog.gz"] = File(squeezed(entry.encode(), 9))
    mit = release.texts["LICENSE-MIT"].data.decode().strip().replace("\n\n", "\n.\n").replace("\n", "\n ")
    files["usr/share/doc/kgd/copyright"] = text(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        f"Upstream-Name: kgd\nSource: {release.repository}\n"
        "Comment: What the programs contain of others is in THIRD-PARTY-LICENSES.txt beside this file.\n\n"
        "Files: *\nCopyright: the kgd maintainers\nLicense: Expat or Apache-2.0\n\n"
        f"License: Expat\n {mit}\n\n"
        "License: Apache-2.0\n On Debian systems, its text is in /usr/share/common-licenses/Apache-2.0.\n")
    files["usr/share/lintian/overrides/kgd"] = text("kgd: statically-linked-binary\n")
    control = {
        "Package": "kgd", "Version": release.version, "Architecture": release.machine("deb"),
        "Maintainer": release.maintainer, "Section": "text", "Priority": "optional",
        "Installed-Size": str(sum(len(it.data) for it in files.values()) // 1024 + 1),
        "Recommends": "ca-certificates, tzdata", "Homepage": release.repository,
        "Description": SUMMARY[0].lower() + SUMMARY[1:].replace("knowledge graph that people and agents can query",
                                                                "knowledge graph")
        + "\n A daemon watches a folder, links the names in its documents and keeps all of it\n"
        " in one index. People ask it by kgctl, agents by the MCP server kg-mcp.",
    }
    sums = "".join(f"{hashlib.md5(file.data).hexdigest()}  {path}\n" for path, file in sorted(files.items()))
    about = {"./control": text("".join(f"{key}: {value}\n" for key, value in control.items())), "./md5sums": text(sums)}
    data = below(".", files)
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.xz": lzma.compress(tar(about, release.epoch, {".": 0o755})),
        "data.tar.gz": squeezed(tar(data, release.epoch, folders_of(data))),
    }
    return {f"kgd_{release.version}_{control['Architecture']}.deb": ar(members, release.epoch)}


def oci(release):
    """An image without a base, as an OCI layout in a tar archive: nothing in it but the programs and their licences."""
    files = below("usr", {**below("bin", release.bin()), **below("share/doc/kgd", release.texts)})
    folders = {**folders_of(files), "notes": 0o755, "state": 0o1777, "tmp": 0o1777}
    unpacked = tar(files, release.epoch, folders)
    layer = squeezed(unpacked)
    labels = {
        "org.opencontainers.image.title": "kgd", "org.opencontainers.image.description": SUMMARY,
        "org.opencontainers.image.version": release.version, "org.opencontainers.image.licenses": LICENCE,
        "org.opencontainers.image.source": release.repository,
        "io.modelcontextprotocol.server.name": release.server_name,
    }
    places = ["HOME=/state", "KG_STATE_DIR=/state", "KG_CONFIG_DIR=/state/config", "KG_RUNTIME_DIR=/tmp/kgd"]
    platform = {"architecture": release.machine("oci"), "os": "linux"}
    config = dumped({
        **platform, "created": stamp(release.epoch),
        "config": {"Entrypoint": ["/usr/bin/kg-mcp"], "Cmd": ["--project", "/notes"], "User": "1000:1000",
                   "WorkingDir": "/notes", "Env": ["PATH=/usr/bin", *places], "Volumes": {"/state": {}},
                   "Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [digest(unpacked)]},
    }).encode()
    media = "application/vnd.oci.image"
    manifest = dumped({
        "schemaVersion": 2, "mediaType": f"{media}.manifest.v1+json",
        "config": described_blob(f"{media}.config.v1+json", config),
        "layers": [described_blob(f"{media}.layer.v1.tar+gzip", layer)], "annotations": labels,
    }).encode()
    named = {"platform": platform, "annotations": {"org.opencontainers.image.ref.name": release.version}}
    index = {"schemaVersion": 2, "mediaType": f"{media}.index.v1+json",
             "manifests": [{**described_blob(f"{media}.manifest.v1+json", manifest), **named}]}
    blobs = {digest(it).removeprefix("sha256:"): File(it) for it in (config, manifest, layer)}
    layout = {"oci-layout": text('{"imageLayoutVersion": "1.0.0"}'), "index.json": text(dumped(index)),
              **below("blobs/sha256", blobs)}
    return {f"kgd-{release.version}-oci-{platform['architecture']}.tar": tar(layout, release.epoch)}


def mcpb(release):
    """A bundle that desktop applications install by a click; it asks for the folder."""
    manifest = {
        "manifest_version": "0.3", "name": "kgd", "display_name": "kgd", "version": release.version,
        "description": SUMMARY, "author": {"name": "The kgd maintainers", "url": release.repository},
        "repository": {"type": "git", "url": release.repository}, "license": LICENCE,
        "server": {"type": "binary", "entry_point": "server/kg-mcp", "mcp_config": {
            "command": "${__dirname}/server/kg-mcp", "args": ["--project", "${user_config.folder}"], "env": {}}},
        "user_config": {"folder": {"type": "directory", "title": "Folder", "required": True,
                                   "description": "The folder of documents to search and to write notes into"}},
        "tools_generated": True, "compatibility": {"platforms": ["linux"]},
        "keywords": ["search", "knowledge-graph", "notes", "memory"],
    }
    files = {"manifest.json": text(dumped(manifest)), **below("server", release.bin()), **release.texts}
    return {f"kgd-{release.version}-{release.machine('npm')}.mcpb": zipped(files, release.epoch)}


def plugin(release, files):
    """The plugin for Claude Code, as its folder is in the repository."""
    return {f"kgd-{release.version}-claude-plugin.zip": zipped(dict(sorted(files.items())), release.epoch)}


def formula(release, made):
    """A Homebrew formula that installs the static build."""
    name, data = next((name, data) for name, data in made.items() if name.endswith("-musl.tar.gz"))
    words = f'''\
class Kgd < Formula
  desc "Turns a folder of documents into a knowledge graph"
  homepage "{release.repository}"
  url "{release.downloads}/{name}"
  sha256 "{hashlib.sha256(data).hexdigest()}"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on arch: :{release.machine("wheel")}
  depends_on :linux

  def install
    bin.install Dir["bin/*"]
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/kgctl"
    zsh_completion.install "share/zsh/site-functions/_kgctl"
    fish_completion.install "share/fish/vendor_completions.d/kgctl.fish"
    doc.install Dir["share/doc/kgd/*"]
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/kgctl --version")
  end
end
'''
    return {"kgd.rb": words.encode()}


def registry(release, made):
    """`server.json` for the MCP registry: where the server can be had, and what starts it."""
    bundle, data = next((name, data) for name, data in made.items() if name.endswith(".mcpb"))
    folder = {"description": "The folder of documents", "format": "filepath", "isRequired": True}
    plain = {"transport": {"type": "stdio"},
             "packageArguments": [{"type": "named", "name": "--project", **folder}]}
    mount = {"type": "named", "name": "--volume", "value": "{folder}:/notes", "variables": {"folder": folder}}
    packages = [
        {"registryType": "pypi", "identifier": REGISTRY_NAME, "version": release.version, "runtimeHint": "uvx", **plain},
        {"registryType": "npm", "identifier": REGISTRY_NAME, "version": release.version, "runtimeHint": "npx", **plain},
        {"registryType": "oci", "identifier": release.image, "runtimeHint": "docker", "runtimeArguments": [mount],
         "transport": {"type": "stdio"}},
        {"registryType": "mcpb", "identifier": f"{release.downloads}/{bundle}",
         "fileSha256": hashlib.sha256(data).hexdigest(), "transport": {"type": "stdio"}},
    ]
    server = {
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": release.server_name, "title": "kgd", "description": SUMMARY, "version": release.version,
        "repository": {"url": release.repository, "source": "github"}, "packages": packages,
    }
    return {"server.json": dumped(server).encode()}


def licence_names(release):
    return [name for name in release.texts if "LICENSE" in name]


def described_blob(kind, data):
    return {"mediaType": kind, "digest": digest(data), "size": len(data)}


def digest(data):
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def urlsafe(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def dumped(value):
    return json.dumps(value, indent=2) + "\n"


def stamp(epoch):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(epoch))
