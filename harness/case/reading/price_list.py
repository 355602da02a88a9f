"""Prices of models by patterns of their names, from a file that is updated apart from suites."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from harness.case.endpoints.model import ModelSpec, Price
from harness.documents import read_document
from harness.values import Frozen

PACKAGED: Final = "packaged"


class PriceList(Frozen):
    """A file of prices."""

    as_of: str
    """When the prices were looked up."""
    models: dict[str, Price]
    """Names and patterns as in `prices` of a suite."""


def with_price_list(spec: ModelSpec, folder: Path) -> ModelSpec:
    """The section with the prices of its list behind its own; those of a file stand before the packaged ones.

    Raises InvalidDocument for a file that is not there or is no list.
    """
    if spec.price_list is None:
        return spec
    packaged = Path(str(files("harness.case.endpoints").joinpath("prices.yaml")))
    paths = [packaged] if spec.price_list == PACKAGED else [folder / spec.price_list, packaged]
    prices = dict(spec.prices)
    for path in paths:
        for name, price in read_document(path, PriceList).models.items():
            prices.setdefault(name, price)
    return spec.model_copy(update={"prices": prices})
