"""`python -m qa.judge_eval.local_model`: a real model of 135 million parameters judges, on this machine.

It proves the wire (requests, JSON Schema, answers read strictly), live and with a real server. Its verdicts are near
chance and mean nothing: they are counted by form, and never by what they say.
"""

import json
import subprocess
import sys
import tempfile

from tests.frameworks.local_model.__main__ import installed, serving_llama

_ASKED = (
    ("The answer names a price.", "How much is the tea?", "The tea is 2.19."),
    ("The answer names a price.", "How much is the tea?", "I do not know."),
    ("The answer is polite.", "Good morning!", "Go away."),
)


def main() -> int:
    read = 0
    with serving_llama(installed()) as address, tempfile.TemporaryDirectory() as project:
        for statement, question, answer in _ASKED:
            line = [sys.executable, "-m", "harness", "--project", project, "judge", "ask", "--criterion", statement]
            line += ["--question", question, "--answer", answer, "--model", "smollm2", "--base-url", f"{address}/v1"]
            done = subprocess.run([*line, "--json"], capture_output=True, text=True, timeout=900)
            told = json.loads(done.stdout) if done.stdout.strip() else {"failure": done.stderr.strip()}
            failure = told.get("failure")
            read += failure is None
            print(f"{statement} {answer!r}: {'an answer in the form asked for' if failure is None else failure}")
    print(f"{read} of {len(_ASKED)} answers were in the form asked for; what they say is not a measure of anything")
    return 0 if read else 1


if __name__ == "__main__":
    sys.exit(main())
