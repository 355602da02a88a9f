"""A web site that misbehaves by path, on this machine; what it was asked is kept."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.serving import Answering, listening

FORM = """<h1>Wishes</h1><form method=post action=/wish>
<label for=what>What</label><input id=what name=what value=old>
<label for=size>Size</label><select id=size name=size><option>small</option><option>large</option></select>
<button>Send</button></form><p id=later></p>
<script>setTimeout(async () => { later.textContent = await (await fetch("/later")).text(); }, 20)</script>"""

REACHING_OUT = """<h1>Reaching out</h1><link rel=dns-prefetch href="//prefetched.example"><ul id=log></ul>
<img src="http://image.example/a.png"><iframe src="http://frame.example/"></iframe>
<script src="https://script.example/a.js"></script>
<script>
const tell = (what) => { const item = document.createElement("li"); item.textContent = what; log.append(item); };
const ask = async (name, url, options) => {
  try { const answer = await fetch(url, options); tell(name + " " + answer.type + " " + answer.status); }
  catch { tell(name + " failed"); }
};
const socket = (name, url) => new Promise((done) => {
  const made = new WebSocket(url);
  made.onopen = () => { tell(name + " open"); done(); };
  made.onerror = () => { tell(name + " failed"); done(); };
});
(async () => {
  await ask("fetch", "https://fetched.example/", {mode: "no-cors"});
  await ask("reply", "http://127.0.0.1:8700/reply", {method: "POST", mode: "no-cors", body: '{"message": "forged"}'});
  await ask("tools", "http://localhost:8700/tools");
  await ask("proxied", "http://127.0.0.1:8700/tools/browser_read", {method: "POST", mode: "no-cors", body: "{}"});
  await ask("engine", "http://172.17.0.1/");
  await ask("metadata", "http://169.254.169.254/");
  await socket("socket", "wss://socket.example/");
  await socket("own-socket", "ws://" + location.host + "/socket");
  navigator.sendBeacon("http://beacon.example/", "x");
  tell("done");
})();
</script>"""

PAGES = {
    "/": "<h1>Start</h1><a href=/form>form</a> <a href=/popup>popup</a>",
    "/form": FORM,
    "/dialogs": """<h1>Dialogs</h1><button onclick="out.textContent = String(confirm('Sure?'))">Ask</button>
<button onclick="alert('Look out'); out.textContent = 'told'">Tell</button><p id=out></p>""",
    "/popup": "<h1>Popup</h1><a href=/form target=_blank>another window</a>",
    "/download": "<h1>Download</h1><a href=/file>take it</a>",
    "/huge": "<h1>Huge</h1>" + "".join(f"<p>line {number}</p>" for number in range(20_000)),
    "/loop": "<h1>Loop</h1><script>for (;;) {}</script>",
    "/hog": "<h1>Hog</h1><script>const kept = []; for (;;) kept.push(new Uint8Array(5e7).fill(7));</script>",
    "/twins": "<h1>Twins</h1><button>Go</button><button>Go</button>",
    "/reaching-out": REACHING_OUT,
    "/cookie": "<h1 id=cookie></h1><script>cookie.textContent = document.cookie || 'none'</script>",
    "/leave-cookie": """<h1 id=cookie></h1>
<script>document.cookie = 'left=crumb'; cookie.textContent = document.cookie</script>""",
    "/clock": "<h1 id=now></h1><script>now.textContent = new Date().toISOString()</script>",
}


class Site(Answering):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(f"GET {self.path}")
        if self.path == "/never":
            time.sleep(90)
        elif self.path == "/later":
            self._send("text/plain", "came later")
        elif self.path == "/cookies":
            self._send("text/plain", "taken", ("Set-Cookie", "one=1"), ("Set-Cookie", "two=2"))
        elif self.path == "/file":
            self._send("application/octet-stream", "x" * 100, ("Content-Disposition", 'attachment; filename="a.bin"'))
        elif self.path in PAGES:
            self._send("text/html; charset=utf-8", f"<!doctype html><title>{self.path}</title>{PAGES[self.path]}")
        else:
            self._send("text/html", "<h1>No such page</h1>", status=404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        self.asked.append(f"POST {self.path} {body}")
        self._send("text/html", f"<!doctype html><title>wish</title><h1>Heard</h1><p id=heard>{body}</p>")

    def _send(self, kind: str, text: str, *headers: tuple[str, str], status: int = 200) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def running_site() -> Iterator[tuple[str, list[str]]]:
    """Its address, and what it is asked as it comes."""
    asked: list[str] = []
    with listening(type("Site", (Site,), {"asked": asked})) as address:
        yield address, asked
