#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Opens each page of the built documentation in Chromium, as wide as a phone, light and dark:
nothing is wider than the page, all text can be told from its background, the search finds names.

usage: check_pages.py BUILD-DOCS
"""

import sys
import tempfile
from contextlib import closing
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

# Text whose contrast with what is behind it is below 4.5, or 3 where it is large (WCAG 2, AA).
FAINT = """
(() => {
  const channels = color => color.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const color = channels(getComputedStyle(element).backgroundColor);
      if (color.length < 4 || color[3] > 0.5) return color;
    }
    return [255, 255, 255];
  };
  const faint = new Set();
  const main = document.querySelector('[role=main]');
  const walker = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
  const seen = {visibilityProperty: true, opacityProperty: true};
  for (let node; (node = walker.nextNode());) {
    const element = node.parentElement, style = getComputedStyle(element);
    if (!node.data.trim() || !element.checkVisibility(seen)) continue;
    const [a, b] = [light(channels(style.color)), light(behind(element))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
    const wanted = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
    if ((a + 0.05) / (b + 0.05) < wanted)
      faint.add(`${style.color} on ${behind(element)}: ${node.data.trim().split('\\n')[0]}`);
  }
  return [...faint].slice(0, 3);
})()
"""


def go(page, address):
    page._browser.events.clear()
    page.ask("Page.enable")
    page.ask("Runtime.enable")
    page.ask("Page.navigate", url=address)
    page._browser.wait_for("Page.loadEventFired")


def check(page, address):
    go(page, address)
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.ask("Emulation.setEmulatedMedia", features=features)
        page.drawn()
        yield from (f"{scheme}: too wide: {text}" for text in page.evaluate(WIDE))
        for text in page.evaluate(FAINT):
            yield f"{scheme}: faint: {text}"
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
