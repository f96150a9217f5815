# SPDX-License-Identifier: BSD-3-Clause
"""A headless Chromium, driven by its own protocol over a pipe."""

import base64
import contextlib
import json
import os
import shutil
import subprocess

PROGRAM = shutil.which("chromium")


class Page:
    """A page in a browser, which is controlled as by a user."""

    def __init__(self, browser, session):
        self._browser, self._session = browser, session

    def ask(self, method, **parameters):
        return self._browser.ask(method, self._session, **parameters)

    def evaluate(self, expression):
        """The value of an expression in the page."""
        done = self.ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def open(self, path):
        """Opens a file; everything that the page asked for is in `requests`, by address."""
        self._browser.events.clear()
        self.ask("Network.enable")
        self.ask("Runtime.enable")
        self.ask("Page.enable")
        self.ask("Page.navigate", url=path.resolve().as_uri())
        self._browser.wait_for("Page.loadEventFired")
        assert self.evaluate("document.body.dataset.ready") == "1", self.errors
        self.drawn()

    @property
    def requests(self):
        return [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    @property
    def errors(self):
        kinds = ("Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self._browser.events if event["method"] in kinds]

    def press(self, key):
        """Presses a key, and waits until what came of it is drawn."""
        text = {"text": key} if len(key) == 1 else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key)
        self.drawn()

    def type(self, text):
        self.ask("Input.insertText", text=text)
        self.drawn()

    def mouse(self, kind, x, y, **more):
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, times=1):
        for count in range(1, times + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=count)
            self.mouse("mouseReleased", x, y, button="left", clickCount=count)
        self.drawn()

    def drawn(self):
        self.evaluate("new Promise(d => requestAnimationFrame(() => requestAnimationFrame(d)))")

    def picture(self, path):
        done = self.ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(done["data"]))


class Browser:
    def __init__(self, folder):
        (asked, self._ask), (self._answers, answer) = os.pipe(), os.pipe()
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]
        options += [f"--user-data-dir={folder}", "--window-size=1280,800", "--no-first-run"]
        script = f'exec "$@" 3<&{asked} 4>&{answer}'
        with open(os.devnull, "r+b") as null:
            self._process = subprocess.Popen(
                ["bash", "-c", script, "-", PROGRAM, *options, "about:blank"],
                pass_fds=(asked, answer),
                stdout=null,
                stderr=null,
            )
        os.close(asked)
        os.close(answer)
        self._number, self._rest = 0, b""
        self.events = []

    def ask(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._ask, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def page(self):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session)

    def wait_for(self, method):
        """Returns once there was such an event."""
        while not any(event["method"] == method for event in self.events):
            event = self._next()
            assert "method" in event
            self.events.append(event)

    def _next(self):
        while b"\0" not in self._rest:
            read = os.read(self._answers, 1 << 20)
            if not read:
                raise AssertionError("the browser has ended")
            self._rest += read
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def close(self):
        with contextlib.suppress(AssertionError):
            self.ask("Browser.close")
        self._process.wait()
        os.close(self._ask)
        os.close(self._answers)
