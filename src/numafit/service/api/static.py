"""The files of the page, as they lie in the package."""

import hashlib
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

PAGE = "page"
INDEX = "index.html"
ABSENT = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>numafit</title>"
    "<p>The page is not part of this installation; the API is described at <a href=/api/docs>/api/docs</a>.</p></html>"
)
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}


class Asset(NamedTuple):
    content: bytes
    media_type: str

    @property
    def tag(self) -> str:
        """Changes with the content: names stay the same when numafit is replaced by a newer one."""
        return f'"{hashlib.sha256(self.content).hexdigest()[:32]}"'


def assets() -> dict[str, Asset]:
    """Path -> file, all of them read at start: no path of a request ever reaches the file system."""
    found: dict[str, Asset] = {}
    folder = files("numafit.service") / PAGE
    if folder.is_dir():
        _collect(folder, "", found)
    index = found.get(f"/{INDEX}")
    found["/"] = index or Asset(ABSENT.encode(), MEDIA_TYPES[".html"])
    return found


def _collect(folder: Traversable, path: str, found: dict[str, Asset]) -> None:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f"{path}/{entry.name}"
        if entry.is_dir():
            _collect(entry, name, found)
            continue
        ending = "." + entry.name.rpartition(".")[2]
        if ending in MEDIA_TYPES:
            found[name] = Asset(entry.read_bytes(), MEDIA_TYPES[ending])
