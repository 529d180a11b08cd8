"""Drives headless Chromium over its debugging pipe, with the standard library alone: pages, keys, mouse, phones, print."""

import base64
import json
import os
import select
import subprocess
import time

TIMEOUT_S = 120
KEYS = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, " ": 32}


class Chromium:
    """One browser; every page is a tab of it."""

    def __init__(self, executable, folder):
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # The browser reads commands from descriptor 3 and writes answers to descriptor 4.
        script = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--hide-scrollbars",
                 "--no-first-run", "--user-data-dir=" + os.path.join(folder, "profile"), "about:blank"]
        self._process = subprocess.Popen(["/bin/bash", "-c", script, executable, *flags], pass_fds=(to_browser, from_browser),
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._events = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        finally:
            self._process.wait(timeout=30)
            os.close(self._out)
            os.close(self._in)

    def page(self, path, width=1200, height=900, address="", dark=False, touch=False):
        """Opens a file in a new tab, on a screen of this size."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, target, session)
        page.call("Page.enable")
        page.call("Runtime.enable")
        page.call("Log.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        page.emulate(dark=dark)
        page.call("Page.navigate", url="file://" + os.path.abspath(path) + address)
        page.wait_for("Page.loadEventFired")
        return page

    def call(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self._write(message)
        while True:
            answer = self._receive()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._events.append(answer)

    def event(self, session, method):
        """The next event of this name."""
        for place, event in enumerate(self._events):
            if event.get("sessionId") == session and event["method"] == method:
                return self._events.pop(place)["params"]
        while True:
            event = self._receive()
            if event.get("sessionId") == session and event.get("method") == method:
                return event["params"]
            self._events.append(event)

    def events(self, session, methods):
        """All events of these names so far."""
        return [event["params"] for event in self._events if event.get("sessionId") == session and event["method"] in methods]

    def _write(self, message):
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]

    def _receive(self):
        deadline = time.monotonic() + TIMEOUT_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(deadline - time.monotonic(), 0))
            piece = os.read(self._in, 1 << 20) if ready else b""
            if not piece:
                raise RuntimeError("the browser does not answer")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)


class Page:
    def __init__(self, browser, target, session):
        self.browser, self.target, self.session = browser, target, session

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.call("Target.closeTarget", targetId=self.target)

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def wait_for(self, event):
        return self.browser.event(self.session, event)

    def console(self):
        """What the page wrote to the console, and the errors of its scripts."""
        return self.browser.events(self.session, ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"))

    def emulate(self, dark=False, media=""):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def evaluate(self, script):
        """The value of a script's last expression."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True, userGesture=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{answer['exceptionDetails']}")
        return answer["result"].get("value")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def texts(self, selector):
        return self.evaluate(f"[...document.querySelectorAll({json.dumps(selector)})].map((node) => node.textContent)")

    def count(self, selector):
        return self.evaluate(f"document.querySelectorAll({json.dumps(selector)}).length")

    def overflow(self):
        """How many pixels the page is wider than the screen."""
        return self.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def place(self, selector, index=0):
        """The middle of a node, scrolled into view and painted there: the mouse finds what was painted."""
        return self.evaluate(f"""(async () => {{
          const node = document.querySelectorAll({json.dumps(selector)})[{index}];
          if (!node) return null;
          node.scrollIntoView({{ block: "center", behavior: "instant" }});
          await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
          const box = node.getBoundingClientRect();
          return [box.left + box.width / 2, box.top + box.height / 2];
        }})()""")

    def click(self, selector, index=0):
        """Clicks on a node with the mouse."""
        place = self.place(selector, index)
        if place is None:
            raise RuntimeError(f"no {selector}")
        self.mouse("mouseMoved", *place, buttons=0)
        self.mouse("mousePressed", *place)
        self.mouse("mouseReleased", *place)

    def mouse(self, kind, x, y, buttons=1, **more):
        pressed = {"button": "left", "clickCount": 1, "buttons": buttons} if kind != "mouseMoved" or buttons else {}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **{**pressed, **more})

    def wheel(self, selector, delta, modifiers=0):
        x, y = self.place(selector)
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta, modifiers=modifiers)

    def press(self, key, times=1):
        """Presses a key of the keyboard."""
        code = KEYS.get(key, ord(key[0].upper()))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for _ in range(times):
            down = {"text": text} if text else {}
            self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **down)
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, whole=True):
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(image))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
