"""MkDocs hook: pages of the site that live elsewhere in the repository, and links between them all.

Sources link to each other as a code host wants it. What they link to may have another place on the
site, or none: then the text stays and the link goes.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
# Page of the site -> file of the repository.
OUTSIDE = {
    "world.md": "datasets/README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
}
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]+)\]\((?P<path>[^)#\s:]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from outside the folder of pages."""
    for name, path in OUTSIDE.items():
        content = (ROOT / path).read_text(encoding="utf-8")
        files.append(File.generated(config, name, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    name = page.file.src_uri
    source = OUTSIDE.get(name, f"docs/{name}")
    return _LINK.sub(lambda link: _moved(link, source, name), markdown)


def _moved(link: re.Match[str], source: str, name: str) -> str:
    target = posixpath.normpath(posixpath.join(posixpath.dirname(source), link["path"]))
    places = {path: page for page, path in OUTSIDE.items()} | {"README.md": "index.md"}
    place = places.get(target, target.removeprefix("docs/"))
    if target in places or target.startswith("docs/"):
        relative = posixpath.relpath(place, posixpath.dirname(name) or ".")
        return f"[{link['text']}]({relative}{link['anchor'] or ''})"
    if not (ROOT / target).exists():
        return link[0]  # MkDocs says that the target is missing.
    return link["text"]
