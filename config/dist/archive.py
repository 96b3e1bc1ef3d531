"""Archives whose bytes depend only on what is in them: entries sorted by name, owner root, one time for all.

In: files by path. Out: bytes of a tar, zip or ar archive.
"""

import gzip
import io
import tarfile
import time
import zipfile
from dataclasses import dataclass


@dataclass(frozen=True)
class File:
    """The content of a file, and whether it can be executed."""

    data: bytes
    is_program: bool = False

    @property
    def mode(self):
        return 0o755 if self.is_program else 0o644


def text(words):
    """Returns a text as a file."""
    return File(words.encode())


def below(folder, files):
    """Returns files as they are named from above `folder`."""
    return {f"{folder}/{path}": file for path, file in files.items()}


def squeezed(data, level=6):
    """Compresses by gzip, with no name or time in the header."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, compresslevel=level, mtime=0) as stream:
        stream.write(data)
    return out.getvalue()


def tar(files, epoch, folders=None):
    """Makes a tar archive. `folders` maps the folders that get an entry to their modes."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path, kind in sorted({**(folders or {}), **files}.items()):
            entry = tarfile.TarInfo(path)
            entry.mtime, entry.uname, entry.gname = epoch, "root", "root"
            if isinstance(kind, File):
                entry.mode, entry.size = kind.mode, len(kind.data)
                archive.addfile(entry, io.BytesIO(kind.data))
            else:
                entry.mode, entry.type = kind, tarfile.DIRTYPE
                archive.addfile(entry)
    return out.getvalue()


def folders_of(files):
    """Returns every folder above the files, readable for all."""
    above = set()
    for path in files:
        parts = path.split("/")[:-1]
        above.update("/".join(parts[: n + 1]) for n in range(len(parts)))
    return dict.fromkeys(above, 0o755)


def zipped(files, epoch):
    """Makes a zip archive; the order of `files` is kept, because a wheel's RECORD comes last."""
    out = io.BytesIO()
    # Zip knows no time before 1980.
    when = time.gmtime(max(epoch, 315_532_800))[:6]
    with zipfile.ZipFile(out, "w") as archive:
        for path, file in files.items():
            entry = zipfile.ZipInfo(path, when)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system, entry.external_attr = 3, (0o100000 | file.mode) << 16
            archive.writestr(entry, file.data, compresslevel=6)
    return out.getvalue()


def ar(members, epoch):
    """Makes the archive that a Debian package is; the order of `members` is kept."""
    out = [b"!<arch>\n"]
    for name, data in members.items():
        out.append(f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode())
        out.append(data + b"\n" * (len(data) % 2))
    return b"".join(out)
