"""The files of the page, as they lie in the package."""

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

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


PACKED_ALREADY = ("image/png", "font/woff2")


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


SHOWS = b'data-shows="node" data-base=""'
"""In the first line of the page: what it shows, and where its API lies."""


def index_for(files: dict[str, Asset], *, shows: str, base: str = "") -> Asset:
    """The page, told what it shows; `base` is a path of this server, made of letters that need no quoting."""
    index = files["/"]
    return index._replace(content=index.content.replace(SHOWS, f'data-shows="{shows}" data-base="{base}"'.encode(), 1))


def asset_route(path: str, asset: Asset) -> Route:
    async def handler(request: Request) -> Response:
        return asset_answer(request, asset)

    return Route(path, handler)


def asset_answer(request: Request, asset: Asset) -> Response:
    """A browser may keep it, and asks each time whether it is still the same."""
    headers = {"Cache-Control": "no-cache", "ETag": asset.tag, "Vary": "Accept-Encoding"}
    content = asset.content
    if asset.media_type not in PACKED_ALREADY and takes_gzip(request.headers.get("accept-encoding", "")):
        content = _packed(content)
        headers |= {"ETag": f'{asset.tag[:-1]}-gzip"', "Content-Encoding": "gzip"}
    if request.headers.get("if-none-match") == headers["ETag"]:
        headers.pop("Content-Encoding", None)
        return Response(b"", 304, headers)
    return Response(content, 200, {**headers, "Content-Type": asset.media_type})


def takes_gzip(accepted: str) -> bool:
    """Said by name, and not with a weight of 0."""
    for part in accepted.lower().split(","):
        name, *parameters = (word.strip() for word in part.split(";"))
        if name == "gzip":
            return not any(weight.startswith("q=") and not weight[2:].strip("0.") for weight in parameters)
    return False


@cache
def _packed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _collect(folder: Traversable, path: str, found: dict[str, Asset]) -> None:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        name = f"{path}/{entry.name}"
        if entry.is_dir():
            _collect(entry, name, found)
            continue
        ending = "." + entry.name.rpartition(".")[2]
        if ending in MEDIA_TYPES:
            found[name] = Asset(entry.read_bytes(), MEDIA_TYPES[ending])
