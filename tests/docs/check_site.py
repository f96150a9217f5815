#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Looks at the built documentation: links lead to something, names that were to be links are some,
images have a text, and headings are in order.

usage: check_site.py BUILD-DOCS

Links to other sites are not followed.
"""

import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Names of Python's and numba-cuda's, in types of docstrings.
FOREIGN = {
    "MappedMemory",
    "MemoryInfo",
    "MemoryPointer",
    "NotImplementedError",
    "PinnedMemory",
    "object",
}
ROLES = {"c", "cpp", "py-func", "py-class", "py-meth", "py-mod", "py-attr", "doc", "ref"}


class Page(HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.ids, self.links, self.wrong = set(), [], []
        self.anchors, self.headings, self.name = 0, [], None
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.add(given.get("id"))
        if tag == "a":
            self.anchors += 1
            if "href" in given:
                self.links.append(given["href"])
        if tag == "img":
            self.links.append(given["src"])
            if not given.get("alt"):
                self.wrong.append(f"{given['src']} has no alternative text")
        if tag == "html" and not given.get("lang"):
            self.wrong.append("the page names no language")
        if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            self.headings.append(int(tag[1]))
        classes = set((given.get("class") or "").split())
        if tag == "code" and "xref" in classes and classes & ROLES and not self.anchors:
            self.name = ""

    def handle_data(self, data):
        if self.name is not None:
            self.name += data

    def handle_endtag(self, tag):
        if tag == "a":
            self.anchors -= 1
        if tag == "code" and self.name is not None:
            if self.name.removesuffix("()") not in FOREIGN:
                self.wrong.append(f"{self.name} is no link: nothing has that name")
            self.name = None

    def check_headings(self):
        if self.headings.count(1) != 1:
            self.wrong.append(f"it has {self.headings.count(1)} titles")
        for before, after in pairwise(self.headings):
            if after > before + 1:
                self.wrong.append(f"a heading of level {after} comes after one of level {before}")


def main():
    root = Path(sys.argv[1]).resolve()
    pages = {
        file: Page(file) for file in sorted(root.rglob("*.html")) if "_static" not in file.parts
    }
    links = 0
    for file, page in pages.items():
        if file.name not in ("search.html", "genindex.html", "py-modindex.html"):
            page.check_headings()
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            links += 1
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.exists():
                page.wrong.append(f"{link} leads nowhere")
            elif target in pages and unquote(parts.fragment or "") not in pages[target].ids | {""}:
                page.wrong.append(f"{link} leads to no place on that page")
    wrong = [f"{f.relative_to(root)}: {text}" for f, page in pages.items() for text in page.wrong]
    print(*wrong, f"{len(pages)} pages, {links} links, {len(wrong)} wrong", sep="\n")
    sys.exit(1 if wrong or links < 1000 else 0)


if __name__ == "__main__":
    main()
