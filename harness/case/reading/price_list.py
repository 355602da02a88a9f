"""Prices and limits of models by patterns of their names, from a file that is updated apart from suites."""

from importlib.resources import files
from pathlib import Path
from typing import Final

from harness.case.endpoints.model import ModelSpec, Price
from harness.case.endpoints.tool import RateLimit
from harness.documents import read_document
from harness.values import Frozen

PACKAGED: Final = "packaged"


class PriceList(Frozen):
    """A file of prices and limits."""

    as_of: str
    """When the prices were looked up."""
    models: dict[str, Price] = {}
    """Names and patterns as in `prices` of a suite."""
    rate_limits: dict[str, RateLimit] = {}
    """Names and patterns as in `rate_limits` of a suite."""


def with_price_list(spec: ModelSpec, folder: Path) -> ModelSpec:
    """The section with the prices and limits of its list behind its own; a file stands before the packaged list.

    Raises InvalidDocument for a file that is not there or is not a list.
    """
    if spec.price_list is None:
        return spec
    packaged = Path(str(files("harness.case.endpoints").joinpath("prices.yaml")))
    paths = [packaged] if spec.price_list == PACKAGED else [folder / spec.price_list, packaged]
    lists = [read_document(path, PriceList) for path in paths]
    prices, limits = dict(spec.prices), dict(spec.rate_limits)
    for one in lists:
        prices = {**prices, **{name: price for name, price in one.models.items() if name not in prices}}
        limits = {**limits, **{name: limit for name, limit in one.rate_limits.items() if name not in limits}}
    return spec.model_copy(update={"prices": prices, "rate_limits": limits})
