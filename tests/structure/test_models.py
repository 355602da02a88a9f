"""Stored values: their validators are built when they are first needed, so a mistake in a field shows only then."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from harness.values import Frozen

_MODELS = """\
from harness.values import Frozen

def below(model):
    return {model}.union(*map(below, model.__subclasses__()))

models = [model for model in below(Frozen) if model.__module__.startswith("harness.")]
"""
_ALL_MODULES = """\
import importlib, pkgutil, harness

for module in pkgutil.walk_packages(harness.__path__, "harness."):
    if not module.name.startswith("harness.sandbox.browsing."):  # programs of an image, with imports of their own
        importlib.import_module(module.name)
"""
"""In a process of its own: a room that is imported whole shows modules where it has functions of the same name."""


@pytest.mark.slow
def test_every_model_can_be_built() -> None:
    build = "for model in models: model.model_rebuild()\n"  # raises where a field's type has no schema
    models, built = _counted(f"{_ALL_MODULES}{_MODELS}{build}")
    assert models > 300
    assert built == models


def test_a_command_builds_few_of_the_models_that_it_imports() -> None:
    imported, built = _counted(f"import harness.cli.running\n{_MODELS}")
    assert imported > 150
    assert built < imported / 10


def test_threads_may_need_a_model_for_the_first_time_together() -> None:
    class Inner(Frozen):
        numbers: tuple[int, ...]

    for _ in range(20):

        class Outer(Frozen):
            inner: Inner

        together = Barrier(8)

        def made(number: int, model: type[Frozen] = Outer, together: Barrier = together) -> Frozen:
            together.wait()
            return model.model_validate({"inner": {"numbers": [number]}})

        with ThreadPoolExecutor(8) as threads:
            for number, value in enumerate(threads.map(made, range(8))):
                assert value == Outer(inner=Inner(numbers=(number,)))


def _counted(program: str) -> tuple[int, int]:
    """The number of models after the program, and of those that have a validator."""
    program += "print(len(models), sum(model.__pydantic_complete__ for model in models))\n"
    ended = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    models, built = map(int, ended.stdout.split())
    return models, built
