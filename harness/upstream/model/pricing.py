"""The cost of a reply, by the suite's prices."""

from harness.case import Price
from harness.upstream.model.wire.format import Used

_MTOK = 1_000_000
_BYTES_PER_TOKEN = 4


def cost_usd(price: Price | None, used: Used) -> float | None:
    """The cost; None where the model has no price or the provider reported no usage."""
    if price is None or not used.is_known:
        return None
    read, written = used.cache_read or 0, used.cache_write or 0
    fresh = max((used.input or 0) - read - written, 0)
    spent = (
        fresh * price.input_usd_per_mtok
        + read * _or_input(price, price.cached_input_usd_per_mtok)
        + written * _or_input(price, price.cache_write_usd_per_mtok)
        + (used.output or 0) * price.output_usd_per_mtok
    )
    return spent / _MTOK


def _or_input(price: Price, own: float | None) -> float:
    return price.input_usd_per_mtok if own is None else own


def estimated(used: Used, asked_bytes: int, replied_bytes: int) -> Used:
    """The usage for limits where the provider reports none (a stream without usage): one token for every four bytes."""
    if used.is_known:
        return used
    return Used(input=-(-asked_bytes // _BYTES_PER_TOKEN), output=-(-replied_bytes // _BYTES_PER_TOKEN))
