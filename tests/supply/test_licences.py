"""What an installation brings with it may be used by anybody for anything."""

from tests.supply.licences import brought, is_allowed, licences_of


def test_nothing_that_is_brought_has_another_licence() -> None:
    found = {name: licences_of(name) for name in sorted(brought())}
    assert {"aiohttp", "pydantic-core", "pygithub"} < found.keys()
    assert {} == {name: licences for name, licences in found.items() if not is_allowed(licences)}


def test_another_licence_and_none_are_not_allowed() -> None:
    assert not is_allowed(("AGPL-3.0-only",))
    assert not is_allowed(("MIT", "Proprietary"))
    assert not is_allowed(())
