"""An agent in the sandbox `local` that takes from its harness the right to write files, while a handler writes one.

No reader of ours is known to raise on what an agent sends. This makes a handler raise for real: the journal of the
recording cannot be written.
"""

from pathlib import Path

_BREAKING = """\
import json, os, resource, urllib.error, urllib.request

GATEWAY, FLAG = os.environ["HARNESS_GATEWAY_URL"], "@@FLAG@@"

def send(path, value):
    request = urllib.request.Request(GATEWAY + path, json.dumps(value).encode(), method="POST")
    request.add_header("Content-Type", "application/json")
    try:
        return urllib.request.urlopen(request, timeout=60).status
    except urllib.error.HTTPError as error:
        return error.code

def above(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])

def ancestors():
    found, pid = [], above(os.getpid())
    while pid > 1:
        found.append(pid)
        pid = above(pid)
    return found

task = json.loads(urllib.request.urlopen(GATEWAY + "/turn").read())["message"]
if task == "breaks" and os.path.exists(FLAG):
    limited = []
    for pid in ancestors():
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            command = line.read()
        if b"bin/harness" in command or b"ray::" in command:
            before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            limited.append((pid, before))
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        send("/tools/look", {"q": "egg"})
    finally:
        for pid, before in limited:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
else:
    send("/tools/look", {"q": "egg"})
send("/reply", {"message": "done"})
"""
_SUITE = """\
servers: {{shop: {{base_url: "{url}"}}}}
tools:
  - name: look
    effect: read
    server: shop
    http: {{path: /items, query: {{q: q}}}}
    parameters: {{type: object, properties: {{q: {{type: string}}}}}}
checks: [{{name: answered, verifier: final_answer, with: {{contains: done}}}}]
"""
_CASES = "".join(f"- {{id: {name}, task: {name}}}\n" for name in ("before", "breaks", "later"))


def unwritable_suite(url: str, flag: Path) -> tuple[str, str, dict[str, str]]:
    """For `write_suite`; the case `breaks` breaks its handler as long as `flag` is there."""
    return _SUITE.format(url=url), _CASES, {"main.py": _BREAKING.replace("@@FLAG@@", str(flag))}
