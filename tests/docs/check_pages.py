#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens each page of the built documentation in Chromium, as wide as a phone, light and dark:
nothing is wider than the page, it can be read by ear and used by keys (axe-core), the search finds
names.

usage: check_pages.py BUILD-DOCS
"""

import sys
import tempfile
from contextlib import closing
from importlib import resources
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "simcuda/tests/python"))

import browser  # noqa: E402

WIDTH = 390
SEARCHES = {"cai_use_begin": "reference/c/cai.html", "asarray": "reference/python/libcai.html"}

# What reaches beyond the page, and is in nothing that scrolls.
WIDE = """
(() => {
  const scrolls = element => element.matches('[role=main] *') &&
    (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  return [...document.querySelectorAll('[role=main] *')]
    .filter(element => element.getBoundingClientRect().right > innerWidth + 1 && !scrolls(element))
    .map(element => element.outerHTML.replace(/\\s+/g, ' ').slice(0, 60)).slice(0, 2);
})()
"""

# What breaks the rules of WCAG 2.1, A and AA, as axe-core knows them.
AXE = (resources.files("axe_core_python") / "axe.min.js").read_text()
BREACHES = """
axe.run({runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(found =>
  found.violations.flatMap(({help, nodes}) => nodes.slice(0, 3).map(
    ({html}) => `${help}: ${html.replace(/\\s+/g, ' ').slice(0, 100)}`)))
"""


def go(page, address):
    page._browser.events.clear()
    page.ask("Page.enable")
    page.ask("Runtime.enable")
    page.ask("Page.navigate", url=address)
    page._browser.wait_for("Page.loadEventFired")


def check(page, address):
    go(page, address)
    page.evaluate(f"{AXE}; null")
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.ask("Emulation.setEmulatedMedia", features=features)
        page.drawn()
        yield from (f"{scheme}: too wide: {text}" for text in page.evaluate(WIDE))
        yield from (f"{scheme}: {text}" for text in page.evaluate(BREACHES))
    yield from (f"an error: {event['params']}" for event in page.errors)


def check_search(page, root, name, wanted):
    go(page, (root / "search.html").as_uri() + f"?q={name}")
    found = page.evaluate(
        """new Promise(done => {
          const look = left => {
            const links = [...document.querySelectorAll('#search-results a')].map(a => a.href);
            links.length || !left ? done(links) : setTimeout(look, 100, left - 1);
          };
          look(300);
        })"""
    )
    if not any(f"/{wanted}" in link for link in found):
        yield f"search.html: {name} is not found in {wanted}"


def main():
    root = Path(sys.argv[1]).resolve()
    files = [file for file in sorted(root.rglob("*.html")) if "_static" not in file.parts]
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        closing(browser.Browser(folder)) as chromium,
    ):
        page = chromium.page()
        size = {"width": WIDTH, "height": 844, "deviceScaleFactor": 1, "mobile": False}
        page.ask("Emulation.setDeviceMetricsOverride", **size)
        wrong = [
            f"{file.relative_to(root)}: {text}"
            for file in files
            for text in check(page, file.as_uri())
        ]
        for name, wanted in SEARCHES.items():
            wrong += check_search(page, root, name, wanted)
    print(*wrong, f"{len(files)} pages, {len(wrong)} wrong", sep="\n")
    sys.exit(1 if wrong or len(files) < 50 else 0)


if __name__ == "__main__":
    main()
