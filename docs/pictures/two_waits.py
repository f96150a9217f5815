#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Draws the README's picture: an array goes from one stream to another and back.

usage: python3 docs/pictures/two_waits.py > docs/pictures/two_waits.svg
"""

WIDTH, HEIGHT = 880, 312
PRODUCER, LIBCAI, CONSUMER = 70, 156, 242  # the middle of each row
FIRST_LINE, LAST_LINE = 196, WIDTH - 24  # where the streams' lines begin and end
BEGIN, END = 404, 696  # where the waits are: between the boxes of the streams

STYLE = """
  svg { --ground: #ffffff; --ink: #1f2328; --soft: #59636e; --box: #eef1f4; --line: #8c959f;
        --ours: #ddf4e4; --wait: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    svg { --ground: #151b23; --ink: #f0f6fc; --soft: #9198a1; --box: #2a313c; --line: #656c76;
          --ours: #12361f; --wait: #3fb950; }
  }
  text { font: 15px system-ui, sans-serif; fill: var(--ink); text-anchor: middle; }
  .name { font-weight: 600; }
  .code { font-family: ui-monospace, monospace; font-size: 14px; }
  .small { font-size: 13px; fill: var(--soft); }
  .wait { font-size: 13px; fill: var(--wait); font-weight: 600; }
  .start { text-anchor: start; }
  .end { text-anchor: end; }
  .ground { fill: var(--ground); }
  .box { fill: var(--box); stroke: var(--line); }
  .ours { fill: var(--ours); stroke: var(--wait); }
  .stream { stroke: var(--line); stroke-width: 2; fill: none; }
  .head { fill: var(--line); }
  .edge { stroke: var(--wait); stroke-width: 2.5; fill: none; }
  .edge-head { fill: var(--wait); }
"""

parts = []


def text(x, y, words, kind=""):
    parts.append(f'<text x="{x}" y="{y}" class="{kind}">{words}</text>')


def box(left, right, middle, words, kind="box", text_kind=""):
    parts.append(
        f'<rect x="{left}" y="{middle - 19}" width="{right - left}" height="38" rx="6" '
        f'class="{kind}"/>'
    )
    text((left + right) // 2, middle + 5, words, text_kind)


def stream(middle):
    parts.append(f'<path d="M{FIRST_LINE} {middle}H{LAST_LINE - 8}" class="stream"/>')
    parts.append(
        f'<path d="M{LAST_LINE} {middle}l-11 -5.5v11z" class="head"/>'  # time goes right
    )


def wait(x, start, end):
    """An event recorded on one stream, and the other stream's wait for it."""
    step = 1 if end > start else -1
    parts.append(f'<circle cx="{x}" cy="{start}" r="5" class="edge-head"/>')
    parts.append(f'<path d="M{x} {start}V{end - 10 * step}" class="edge"/>')
    parts.append(f'<path d="M{x} {end}l-6 {-12 * step}h12z" class="edge-head"/>')


def draw():
    for middle, name in ((PRODUCER, "producer"), (CONSUMER, "consumer")):
        box(24, 134, middle, name, text_kind="name")
        text(166, middle - 6, "its", "small")
        text(166, middle + 11, "stream", "small")
        stream(middle)
    text(24, PRODUCER - 32, "CuPy, PyTorch, numba-cuda, ...", "small start")
    text(24, CONSUMER + 40, "your library", "small start")
    box(222, 380, PRODUCER, "writes x")
    box(714, 844, PRODUCER, "writes x again")
    box(428, 672, CONSUMER, "kernels that read x")

    wait(BEGIN, PRODUCER, CONSUMER)
    wait(END, CONSUMER, PRODUCER)
    box(24, 134, LIBCAI, "libcai", "ours", "name")
    box(BEGIN - 62, BEGIN + 62, LIBCAI, "use begins", "ours")
    box(END - 62, END + 62, LIBCAI, "use ends", "ours")
    parts.append(f'<path d="M134 {LIBCAI}H{BEGIN - 62}" class="stream"/>')
    parts.append(f'<path d="M{BEGIN + 62} {LIBCAI}H{END - 62}" class="stream"/>')
    text(550, LIBCAI - 10, "x, held by its owner", "small")
    text(BEGIN, CONSUMER + 40, "1. your stream waits for the producer's", "wait")
    text(END, PRODUCER - 32, "2. the producer's stream waits for yours", "wait")
    text(LAST_LINE, CONSUMER + 40, "the host waits for nobody", "small end")


def main():
    draw()
    print(
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img">'
    )
    print("<!-- SPDX-License-Identifier: BSD-3-Clause -->")
    print("<!-- Written by two_waits.py -->")
    print(
        "<title>Two waits: the consumer's stream waits for the producer's before it uses the "
        "array x, and the producer's stream waits for the consumer's afterwards</title>"
    )
    print(f"<style>{STYLE}</style>")
    print(f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" class="ground"/>')
    print("\n".join(parts))
    print("</svg>")


if __name__ == "__main__":
    main()
