"""One reader by atheris: inputs that reach new code are kept and changed further; in a process of its own.

python -m qa.fuzz.coverage READER --runs 100000 --seed 1
"""

import argparse
import importlib
import sys
import warnings
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import atheris

COVERED = {
    "strict JSON": ("wires", "harness.values"),
    "answers of judges": ("wires", "harness.judging"),
    "rules of checks": ("wires", "harness.scoring.verifiers"),
    "frames of a sandbox": ("wires", "harness.sandbox.inside"),
    "streams of /v1/chat/completions": ("wires", "harness.gateway.models"),
    "OTLP of agents, protobuf": ("foreign", "harness.traces.otlp"),
    "OTLP of agents, JSON": ("foreign", "harness.traces.otlp"),
    "import otel: otel_structured.json": ("foreign", "harness.traces.formats"),
    "end states, tar": ("stores", "harness.sandbox.endstate"),
    "journals of recordings": ("stores", "harness.cassettes"),
    "issues in a folder": ("stores", "harness.drift"),
    "rubrics": ("projects", "harness.suite.documents"),
}
"""The parsers of bytes and text of our own: the part of this package that names them, and the code that is watched."""

_LONGEST = 20_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("reader", choices=COVERED)
    options.add_argument("--runs", type=int, required=True)
    options.add_argument("--seed", type=int, required=True)
    chosen = options.parse_args()
    warnings.simplefilter("ignore")
    part_name, watched = COVERED[chosen.reader]
    with atheris.instrument_imports(include=[watched]):
        part = importlib.import_module(f"qa.fuzz.{part_name}")
    from qa.fuzz.mutation import Mutator
    from qa.fuzz.reader import tried

    reader = next(one for one in part.readers() if one.name == chosen.reader)
    seeds = tuple(reader.seeds())
    mutator = Mutator(reader.syntax, seeds)

    def changed(data: bytes, most: int, number: int) -> bytes:
        """By bytes, or by structure, where the input still has one."""
        chance = Random(number)
        if chance.randrange(2):
            return atheris.Mutate(data, most)
        return mutator.change(data or chance.choice(seeds), chance)[:most]

    with TemporaryDirectory(prefix="fuzz-") as folder:
        corpus, place = Path(folder) / "corpus", Path(folder) / "place"
        corpus.mkdir()
        place.mkdir()
        for number, content in enumerate(seeds):
            (corpus / str(number)).write_bytes(content)
        limits = [
            f"-runs={chosen.runs}",
            f"-seed={chosen.seed}",
            f"-max_len={_LONGEST}",
            "-timeout=60",
            "-rss_limit_mb=2048",
        ]
        atheris.Setup(
            [sys.argv[0], str(corpus), *limits, f"-artifact_prefix={folder}/"],
            lambda data: tried(reader, data, place),
            custom_mutator=changed,
        )
        atheris.Fuzz()


if __name__ == "__main__":
    main()
