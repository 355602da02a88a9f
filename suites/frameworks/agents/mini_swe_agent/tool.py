"""The menu's tools from a shell: `tool.py NAME JSON` prints the answer, `tool.py` lists what there is."""

import os
import sys
from urllib.error import HTTPError
from urllib.request import Request, urlopen

path = f"/tools/{sys.argv[1]}" if len(sys.argv) > 1 else "/tools"
body = sys.argv[2].encode() if len(sys.argv) > 2 else None
headers = {"Content-Type": "application/json"}
try:
    print(urlopen(Request(os.environ["HARNESS_GATEWAY_URL"] + path, body, headers)).read().decode())
except HTTPError as error:
    print(error.read().decode())
    sys.exit(1)
