"""One question to the model, by hand."""

import http.client
import json
import os
from urllib.parse import urlsplit

base = urlsplit(os.environ["OPENAI_BASE_URL"])
model = http.client.HTTPConnection("127.0.0.1", base.port or 80, timeout=300)
asked = json.dumps({"model": "bench", "messages": [{"role": "user", "content": "Hello"}]})
model.request("POST", f"{base.path}/chat/completions", asked, {"Content-Type": "application/json"})
assert model.getresponse().status == 200
