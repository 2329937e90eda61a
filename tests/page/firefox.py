"""Debian's Firefox, driven through its own door: Marionette, JSON in frames over a socket on loopback.

Only what the tests need; the commands are those of WebDriver. Waiting is done here, by asking again.
"""

import contextlib
import json
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

FIREFOX = "/usr/bin/firefox-esr"
PATIENCE = 30.0
"""Seconds until something that should show counts as missing."""
START_SECONDS = 120.0
PREFERENCES = {
    "app.normandy.enabled": False,
    "app.update.enabled": False,
    "browser.aboutwelcome.enabled": False,
    "browser.safebrowsing.malware.enabled": False,
    "browser.safebrowsing.phishing.enabled": False,
    "browser.search.update": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.page": 0,
    "captivedetect.canonicalURL": "",
    "datareporting.policy.dataSubmissionEnabled": False,
    "dom.security.https_first": False,
    "extensions.update.enabled": False,
    "marionette.port": 0,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    # Whatever it is that it still wants to fetch by itself: it gets nothing, and loopback needs no proxy.
    "network.proxy.type": 1,
    "network.proxy.http": "127.0.0.1",
    "network.proxy.http_port": 9,
    "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9,
    "network.proxy.allow_hijacking_localhost": False,
    "services.settings.server": "data:,",
    "toolkit.telemetry.enabled": False,
}


class Missing(AssertionError):
    """What should show does not."""


class Firefox:
    """One browser with a profile of its own. It speaks with one tab at a time."""

    def __init__(self, profile: Path) -> None:
        profile.mkdir(parents=True)
        lines = [f'user_pref("{name}", {json.dumps(value)});\n' for name, value in PREFERENCES.items()]
        (profile / "user.js").write_text("".join(lines))
        # With access to the browser's own console, which tells what failed on a page.
        command = [FIREFOX, "--headless", "--no-remote", "--marionette", "--remote-allow-system-access"]
        self.process = subprocess.Popen(
            [*command, "--profile", str(profile)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.number = 0
        try:
            self.socket = self._connected(profile / "MarionetteActivePort")
            self._frame()
            self.ask("WebDriver:NewSession", capabilities={"alwaysMatch": {}})
        except BaseException:
            self._end()
            raise

    def _connected(self, port: Path) -> socket.socket:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError, ValueError):
                return socket.create_connection(("127.0.0.1", int(port.read_text())), PATIENCE * 2)
            time.sleep(0.1)
        raise Missing(f"{FIREFOX} did not open its door within {START_SECONDS:g} s")

    def _frame(self) -> Any:
        size = b""
        while not size.endswith(b":"):
            size += self._read(1)
        return json.loads(self._read(int(size[:-1])))

    def _read(self, size: int) -> bytes:
        found = bytearray()
        while len(found) < size:
            part = self.socket.recv(size - len(found))
            if not part:
                raise Missing("Firefox has ended")
            found += part
        return bytes(found)

    def ask(self, command: str, **parameters: Any) -> Any:
        self.number += 1
        content = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b"%d:%s" % (len(content), content))
        _, number, error, result = self._frame()
        assert number == self.number
        if error:
            raise Missing(f"{command}: {error['error']}: {error['message']}")
        return result["value"] if isinstance(result, dict) and set(result) == {"value"} else result

    # What a person does

    def go(self, address: str) -> None:
        """Also where only the part behind `#` differs: as a link that was pasted into a tab of its own."""
        self.ask("WebDriver:Navigate", url="about:blank")
        self.ask("WebDriver:Navigate", url=address)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.ask("WebDriver:ExecuteScript", script=script, args=list(arguments), sandbox=None)

    def wait(self, condition: str, *arguments: Any, seconds: float = PATIENCE) -> Any:
        """Until this expression is true; its value."""
        end = time.monotonic() + seconds
        while True:
            found = self.run(f"return {condition}", *arguments)
            if found:
                return found
            if time.monotonic() > end:
                raise Missing(f"{condition} {arguments} did not become true; the page says: {self.text('body')[:2000]}")
            time.sleep(0.05)

    def see(self, selector: str, words: str = "") -> None:
        """Until something there holds these words."""
        found = "[...document.querySelectorAll(arguments[0])].some(e => e.textContent.includes(arguments[1]))"
        self.wait(found, selector, words)

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def value(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).value", selector))

    def click(self, selector: str, words: str = "") -> None:
        """The first that holds these words, with the pointer as a person would; nothing may lie above it."""
        self.see(selector, words)
        found = self.run(
            "const e = [...document.querySelectorAll(arguments[0])].find(e => e.textContent.includes(arguments[1]));"
            "e.scrollIntoView({block: 'nearest'}); return e",
            selector,
            words,
        )
        self.ask("WebDriver:ElementClick", id=next(iter(found.values())))

    def type(self, selector: str, text: str) -> None:
        """In place of what stands there."""
        self.see(selector)
        found = self.ask("WebDriver:FindElement", using="css selector", value=selector)
        own = next(iter(found.values()))
        self.ask("WebDriver:ElementClear", id=own)
        self.ask("WebDriver:ElementSendKeys", id=own, text=text)

    def choose(self, selector: str, option: str) -> None:
        self.see(selector)
        self.run(
            "const e = document.querySelector(arguments[0]); e.value = arguments[1];"
            "e.dispatchEvent(new Event('change', {bubbles: true}))",
            selector,
            option,
        )

    # Tabs and the browser itself

    def new_tab(self) -> str:
        """Opened behind the one that is seen; the answers come from it from now on."""
        handle = str(self.ask("WebDriver:NewWindow", type="tab", focus=False)["handle"])
        self.ask("WebDriver:SwitchToWindow", handle=handle, focus=False)
        return handle

    def tab(self) -> str:
        return str(self.ask("WebDriver:GetWindowHandle"))

    def show(self, handle: str) -> None:
        self.ask("WebDriver:SwitchToWindow", handle=handle, focus=True)

    def close_tab(self, handle: str) -> None:
        self.ask("WebDriver:SwitchToWindow", handle=handle, focus=False)
        self.ask("WebDriver:CloseWindow")

    def colours(self, scheme: str) -> None:
        """What the system of this person prefers: `dark` or `light`."""
        name = "layout.css.prefers-color-scheme.content-override"
        self._inside("Services.prefs.setIntPref(arguments[0], arguments[1])", name, {"dark": 0, "light": 1}[scheme])

    def faults(self) -> list[str]:
        """What failed on pages of loopback since it was asked last, scripts and the content security policy."""
        script = """
            const found = Services.console.getMessageArray().filter(m => m instanceof Ci.nsIScriptError
                && (/127\\.0\\.0\\.1/.test(m.sourceName) || /Content-Security-Policy/.test(m.errorMessage))
                && /^content/.test(m.category) | /CSP/.test(m.category)
                && !(m.flags & Ci.nsIScriptError.warningFlag)).map(m => `${m.category}: ${m.errorMessage}`);
            Services.console.reset();
            return found;
        """
        return [str(one) for one in self._inside(script)]

    def _inside(self, script: str, *arguments: Any) -> Any:
        self.ask("Marionette:SetContext", value="chrome")
        try:
            return self.run(script, *arguments)
        finally:
            self.ask("Marionette:SetContext", value="content")

    def close(self) -> None:
        with contextlib.suppress(Missing, OSError):
            self.ask("Marionette:Quit", flags=["eForceQuit"])
        self._end()

    def _end(self) -> None:
        with contextlib.suppress(AttributeError):
            self.socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(20)
        self.process.kill()
        self.process.wait()
