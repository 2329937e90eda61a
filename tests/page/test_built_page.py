"""The built page that goes into the package; it needs no browser."""

import gzip
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILT = ROOT / "src/numafit/service/page"
FILES = sorted(path for path in BUILT.rglob("*") if path.is_file())


def test_the_whole_page_is_at_most_150_kb_gzipped() -> None:
    """The budget of the page, all files together."""
    assert sum(len(gzip.compress(path.read_bytes())) for path in FILES) <= 150_000


def test_files_have_fixed_names() -> None:
    """A rebuild is compared byte for byte: names must not change with the content."""
    names = [str(path.relative_to(BUILT)) for path in FILES]
    assert names == ["assets/hub.js", "assets/icon.svg", "assets/page.css", "assets/page.js", "index.html"]


def test_nothing_is_inline_and_nothing_comes_from_elsewhere() -> None:
    """The content security policy allows only files of this server."""
    html = (BUILT / "index.html").read_text()
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\bstyle=|\bon\w+=", html) == []
    assert all(address.startswith("/assets/") for address in re.findall(r'(?:src|href)="([^"]*)"', html))
    for path in FILES:
        # The names of the SVG and MathML languages look like addresses and are none.
        addresses = set(re.findall(rb"https?://[^\s\"'`)]+", path.read_bytes()))
        assert {address for address in addresses if b"www.w3.org" not in address} == set(), path


def test_the_lock_file_names_no_registry() -> None:
    """Whoever builds the page takes packages from where they are used to."""
    assert '"resolved"' not in (ROOT / "page/package-lock.json").read_text()
    assert "omit-lockfile-registry-resolved=true" in (ROOT / "page/.npmrc").read_text().splitlines()
