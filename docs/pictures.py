#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the pictures of docs/learn, each for a light and for a dark page.

usage: pictures.py [--check]

Without --check it writes docs/learn/pictures; with it, it ends with 1 if a file there is otherwise.
"""

import sys
from html import escape
from pathlib import Path

FOLDER = Path(__file__).resolve().parent / "learn/pictures"
WIDTH = 720
INK = {
    "light": {"text": "#1f2328", "faint": "#59636e", "line": "#59636e", "box": "#ffffff"},
    "dark": {"text": "#e6e8ea", "faint": "#a8b0b8", "line": "#a8b0b8", "box": "#22272b"},
}
THEIRS = {"light": "#0a5fb4", "dark": "#6cb2ff"}
OURS = {"light": "#a0440a", "dark": "#ffa561"}


class Picture:
    """Shapes in the colours of one kind of page."""

    def __init__(self, page, height, title):
        self.colours = {**INK[page], "theirs": THEIRS[page], "ours": OURS[page]}
        self.page, self.height, self.title, self.parts = page, height, title, []

    def text(self, x, y, words, colour="text", anchor="start", mono=False, size=15):
        family = "ui-monospace, Consolas, monospace" if mono else "system-ui, sans-serif"
        self.parts.append(
            f'<text x="{x}" y="{y}" fill="{self.colours[colour]}" font-family="{family}" '
            f'font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'
        )

    def box(self, x, y, width, height, colour="line"):
        self.parts.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" '
            f'fill="{self.colours["box"]}" stroke="{self.colours[colour]}" stroke-width="1.5"/>'
        )

    def named(self, x, y, width, height, words, colour="line", mono=False):
        self.box(x, y, width, height, colour)
        ink = "text" if colour == "line" else colour
        self.text(x + width / 2, y + height / 2 + 5, words, ink, "middle", mono)

    def arrow(self, points, colour="line", dashed=False):
        path = " ".join(f"{x},{y}" for x, y in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{self.colours[colour]}" '
            f'stroke-width="1.8"{dash} marker-end="url(#{colour})"/>'
        )

    def svg(self):
        heads = "".join(
            f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" '
            f'markerHeight="8" orient="auto"><path d="M0 0 10 5 0 10z" fill="{colour}"/></marker>'
            for name, colour in self.colours.items()
            if name in ("line", "theirs", "ours")
        )
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height}" '
                f'width="{WIDTH}" height="{self.height}" role="img">',
                f"<title>{escape(self.title)}</title>",
                f"<defs>{heads}</defs>",
                *self.parts,
                "</svg>",
                "",
            ]
        )


def array(page):
    picture = Picture(
        page, 250, "A cai_array describes a view of memory by address, shape, strides"
    )
    picture.box(20, 30, 250, 195)
    picture.text(35, 55, "cai_array", mono=True)
    fields = {"data": "0x7f00", "shape": "(2, 2)", "strides": "(16, 8)", "dtype": "<f4"}
    fields |= {"stream": "3", "owner": "..."}
    for i, (name, value) in enumerate(fields.items()):
        picture.text(35, 84 + 25 * i, name, "faint", mono=True, size=14)
        picture.text(135, 84 + 25 * i, value, mono=True, size=14)
    picture.text(330, 48, "memory: 2 rows of 4 elements, 4 bytes each", "faint", size=14)
    for i in range(8):
        x, y = 330 + 90 * (i % 4), 66 + 74 * (i // 4)
        seen = i % 4 in (0, 2)
        picture.named(x, y, 82, 40, f"0x7f{4 * i:02x}", "theirs" if seen else "line", mono=True)
    picture.arrow([(200, 79), (326, 84)], "ours")
    picture.text(
        330, 212, "x[:, ::2] has shape (2, 2): 16 bytes from row to row,", "faint", size=14
    )
    picture.text(330, 231, "8 bytes from one element to the next", "faint", size=14)
    return picture


def owner(page):
    picture = Picture(
        page, 210, "Arrays and views hold a reference to the owner, and it frees memory"
    )
    picture.named(20, 20, 190, 44, "array of the producer")
    picture.named(20, 83, 190, 44, "array in library A")
    picture.named(20, 146, 190, 44, "view in library B")
    picture.named(320, 70, 170, 70, "owner: 3 references", "theirs")
    picture.named(580, 83, 120, 44, "memory")
    for y, end in ((42, 85), (105, 105), (168, 125)):
        picture.arrow([(212, y), (316, end)])
    picture.arrow([(492, 105), (576, 105)], "theirs")
    picture.text(590, 154, "frees it after the last", "faint", "middle", size=14)
    picture.text(590, 173, "release, when", "faint", "middle", size=14)
    picture.text(590, 192, "all work is complete", "faint", "middle", size=14)
    return picture


def order(page):
    picture = Picture(
        page, 240, "The consumer's stream waits for the producer's, and then the reverse"
    )
    for y, name, colour in ((70, "producer's stream", "theirs"), (180, "your stream", "ours")):
        picture.text(20, y - 30, name, colour)
        picture.arrow([(20, y), (700, y)], colour)
    picture.named(60, 50, 130, 40, "writes x", "theirs")
    picture.named(290, 160, 150, 40, "kernel reads x", "ours")
    picture.named(540, 50, 140, 40, "writes x again", "theirs")
    picture.arrow([(200, 72), (280, 172)])
    picture.arrow([(450, 172), (530, 78)])
    picture.text(252, 116, "begin: yours waits", size=14)
    picture.text(506, 146, "end: theirs waits", size=14)
    picture.text(360, 228, "The host waits for neither.", "faint", "middle", size=14)
    return picture


def main():
    stale = []
    FOLDER.mkdir(exist_ok=True)
    for draw in (array, owner, order):
        for page in INK:
            file, text = FOLDER / f"{draw.__name__}-{page}.svg", draw(page).svg()
            if "--check" not in sys.argv:
                file.write_text(text, encoding="utf-8")
            elif not file.exists() or file.read_text(encoding="utf-8") != text:
                stale.append(file.name)
    sys.exit(f"docs/pictures.py has not drawn {', '.join(stale)}" if stale else 0)


if __name__ == "__main__":
    main()
