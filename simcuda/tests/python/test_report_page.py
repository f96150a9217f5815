# SPDX-License-Identifier: BSD-3-Clause
"""The page of a run in a browser: what it draws, and what clicks and keys do."""

import itertools
import sys

import browser
import pytest
from reporting import BEGIN, GRAPH, RACE, run, show

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    assert browser.PROGRAM, "these tests need Chromium: as root on Debian, apt-get install chromium"
    running = browser.Browser(tmp_path_factory.mktemp("browser"))
    yield running
    running.close()


@pytest.fixture
def opened(chromium, tmp_path):
    """Runs a program, and opens its page."""
    page = chromium.page()

    def opened(code):
        page.open(show(tmp_path, code).path)
        return page

    yield opened
    assert page.errors == []
    assert [url.partition(":")[0] for url in page.requests] == ["file"]  # the page itself


def heading(page):
    return page.evaluate("document.querySelector('#details h2')?.textContent")


def middle(page, item):
    """The point that a user would click to hit an item."""
    return page.evaluate(
        f"(() => {{ const box = canvas.getBoundingClientRect(), i = {item}; "
        "return [box.left + toScreen(x[i]) + boxWidth() / 2, box.top + middleOf(i)]; })()"
    )


def item_of(page, number):
    return page.evaluate(f"items.number.indexOf({number})")


def colour(page, left, top):
    """The items that are drawn there."""
    return page.evaluate(
        "(() => { const box = canvas.getBoundingClientRect(), ratio = devicePixelRatio; "
        f"return [...context.getImageData(({left} - box.left) * ratio, ({top} - box.top) * ratio, "
        "1, 1).data].slice(0, 3); })()"
    )


def test_shows_the_race_at_once(opened):
    page = opened(RACE)
    assert heading(page) == "cuMemsetD8Async (operation 2)"
    details = page.evaluate("part('details').innerText")
    assert "record an event after operation 1 and wait for it before operation 2" in details
    assert "program.py:" in details
    red, grey = (colour(page, *middle(page, i)) for i in (item_of(page, 2), 0))
    assert red[0] > red[1] + 60
    assert max(grey) - min(grey) < 60
    # The missing edge is dashed, at the edge of the later operation's row, before it.
    left, top = middle(page, item_of(page, 2))
    begin = middle(page, item_of(page, 1))[0]
    between = [colour(page, at, top - 12) for at in range(round(begin) + 10, round(left) - 60)]
    is_red = [one[0] > one[1] + 60 for one in between]
    assert sum(a != b for a, b in itertools.pairwise(is_red)) >= 4


def test_clicks_and_keys(opened):
    page = opened(GRAPH)
    page.press("0")
    page.click(*middle(page, item_of(page, 8)))
    assert heading(page) == "cuMemsetD8Async (operation 8)"
    page.press("ArrowLeft")
    assert heading(page) == "cuStreamWaitEvent (operation 7)"
    page.press("ArrowUp")
    assert heading(page) == "cuEventRecord (operation 6)"
    page.press("ArrowDown")
    page.press("ArrowRight")
    assert heading(page) == "cuMemsetD8Async (operation 8)"
    page.press("Escape")
    assert heading(page) is None
    page.press("r")
    assert heading(page) == "graph (5)"

    rows = page.evaluate("rows.length")
    page.press("Enter")  # opens it: its second branch has a row
    assert page.evaluate("rows.length") == rows + 1
    assert heading(page) == "memset (operation 11)"
    page.press("Enter")
    assert page.evaluate("rows.length") == rows
    page.click(*middle(page, page.evaluate("chosen")), times=2)
    assert page.evaluate("rows.length") == rows + 1
    page.press("f")
    assert page.evaluate("open.some(Boolean)") is False
    page.press("f")
    assert page.evaluate("open.every(Boolean)") is True
    page.press("Escape")

    scale = page.evaluate("view.scale")
    page.press("+")
    assert page.evaluate("view.scale") > scale
    page.press("-")
    assert page.evaluate("view.scale") == pytest.approx(scale)
    page.press("?")
    assert page.evaluate("!part('keys').hidden")

    # The selected operation names others, which can be selected there.
    page.click(*middle(page, item_of(page, 8)))
    page.evaluate(
        "[...document.querySelectorAll('#details a')].find(a => /11/.test(a.text)).click()"
    )
    assert heading(page) == "memset (operation 11)"


def test_moves_and_zooms_with_the_mouse(opened):
    page = opened(GRAPH)
    page.press("0")
    left, top = middle(page, item_of(page, 8))
    scale = page.evaluate("view.scale")
    page.mouse("mouseWheel", left, top, deltaX=0, deltaY=-300)
    page.drawn()
    assert page.evaluate("view.scale") > scale * 2
    # What is under the mouse stays there, except for the middle of its box.
    assert middle(page, item_of(page, 8))[0] == pytest.approx(left, abs=80)
    before = middle(page, item_of(page, 8))[0]
    page.mouse("mousePressed", left, top, button="left", clickCount=1)
    page.mouse("mouseMoved", left - 100, top, button="left")
    page.mouse("mouseReleased", left - 100, top, button="left", clickCount=1)
    page.drawn()
    assert middle(page, item_of(page, 8))[0] == pytest.approx(before - 100, abs=1)
    rows = page.evaluate("rows.length")
    strip = page.evaluate("rows.find(row => row.device).y + 8 + canvas.getBoundingClientRect().top")
    page.click(60, strip)  # the device: its three streams are folded into one lane
    assert page.evaluate("rows.length") == rows - 3
    page.click(60, strip)
    assert page.evaluate("rows.length") == rows


def test_searches(opened):
    page = opened(GRAPH)
    page.press("/")
    page.type("SAXPY")
    assert page.evaluate("part('found').textContent") == "2 found"
    page.press("Enter")
    assert page.evaluate("part('found').textContent") == "1 of 2 found"
    assert heading(page) == "graph (5)"
    first = page.evaluate("chosen")
    page.press("n")
    assert page.evaluate("chosen") > first
    page.press("n")
    assert page.evaluate("chosen") == first
    page.evaluate("search('program.py')")  # by the file that a call came from
    assert page.evaluate("found.length") > 10
    page.evaluate("search('no such text')")
    assert page.evaluate("part('found').textContent") == "0 found"


def test_is_dark_where_the_user_is(opened):
    page = opened(RACE)

    def back():
        page.drawn()
        return sum(colour(page, 640, 600))

    assert back() > 600
    scheme = {"name": "prefers-color-scheme", "value": "dark"}
    page.ask("Emulation.setEmulatedMedia", features=[scheme])
    assert back() < 200
    page.press("t")
    assert back() > 600
    page.press("t")
    assert back() < 200


@pytest.mark.parametrize("code", ["", GRAPH], ids=["nothing", "all"])
def test_pages_of_any_size(chromium, tmp_path, code):
    """For no selection, and for a window without room."""
    program = [sys.executable, "-c", BEGIN + code] if code else ["true"]
    run("--allow-none", "--report=page.html", *program, cwd=tmp_path)
    page = chromium.page()
    page.open(tmp_path / "page.html")
    size = {"width": 200, "height": 120, "deviceScaleFactor": 2, "mobile": False}
    page.ask("Emulation.setDeviceMetricsOverride", **size)
    for key in ("0", "r", "ArrowRight", "ArrowDown", "f", "+", "-", "n", "Enter", "Escape"):
        page.press(key)
    assert page.errors == []


# In turn on eight streams, with a wait every ten operations.
MANY = """
streams = [new("cuStreamCreate", 1) for _ in range(8)]
for n in range(83_000):
    fill(4096 * (n % 8), streams[n % 8])
    if n % 10 == 9:
        wait(streams[n % 8], streams[(n + 1) % 8])
fill(0, streams[3])
call("cuCtxSynchronize")
"""


def test_many_operations(opened):
    """Only what can be seen is drawn: a mark for each pixel of a row, at any scale."""
    page = opened(MANY)
    assert page.evaluate("items.number.filter(Boolean).length") > 99_000
    page.press("0")
    pixels = page.evaluate("canvas.clientWidth * rows.length + MOST_ARROWS * 2")
    for scale in (0.001, 0.01, 0.1, 1, 2.9, 3, 10, 50):
        page.evaluate(f"view.scale = {scale}, view.x = 50000, draw()")
        assert 0 < page.evaluate("Number(canvas.dataset.marks)") <= pixels
    page.press("r")
    assert heading(page).startswith("cuMemsetD8Async (operation 9")
    page.press("/")
    page.type("cuEventRecord")
    assert page.evaluate("found.length") == 16_600
