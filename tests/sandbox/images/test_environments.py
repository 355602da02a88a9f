"""environment.yaml: what is declared, and what cannot be."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import InvalidDocument, UsageError
from harness.sandbox.environment import environment_names, load_environment

Project = Callable[..., Path]

SHOP = """
services:
  menu: {image: menu, port: 8000, wait: {http: /health}}
  cache: {image: cache, port: 11211, wait: {log: "^ready"}}
states:
  open: {}
"""


def test_an_image_of_a_service_is_the_environments_own_where_there_is_one(project: Project) -> None:
    root = project(**{"shop/environment.yaml": SHOP, "shop/menu/Dockerfile": "", "cache/Dockerfile": ""})
    environment = load_environment(root, "shop")

    assert ("shop/menu", "cache") == (environment.image_of("menu"), environment.image_of("cache"))
    assert ("base", ("/work", "/tmp")) == (environment.image, environment.states["open"].writable)
    assert ("shop",) == environment_names(root)


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("wait: {http: /health}", "wait: {}", r":3: field 'services.menu.wait'.*exactly one of"),
        ("wait: {http: /health}", "wait: {http: /, log: x}", "exactly one of"),
        ("port: 8000", "port: 80000", r":3: field 'services.menu.port'"),
        ("image: menu", "image: ../menu", r"field 'services.menu.image'"),
        ("  open: {}", "  Open Late: {}", "field 'states.Open Late"),
        ("  open: {}", "  open: {services: {menu: a.sql}}", "needs both `restore` and `dump`"),
        ("states:", "state:", "'state': unknown field, did you mean 'states'?"),
        ("  open: {}", "  open: {env: {A=B: c}}", "field 'states.open.env.A=B"),
        ("  cache:", "  menu:", r":4: key 'menu' is given twice"),
    ],
)
def test_a_malformed_environment_is_refused_with_file_line_and_field(
    project: Project, before: str, after: str, problem: str
) -> None:
    root = project(**{"shop/environment.yaml": SHOP.replace(before, after)})

    with pytest.raises(InvalidDocument, match=rf"shop/environment.yaml.*{problem}"):
        load_environment(root, "shop")


def test_an_unknown_environment_lists_what_there_is(project: Project) -> None:
    with pytest.raises(UsageError, match=r"'bar'(.|\n)*shop"):
        load_environment(project(**{"shop/environment.yaml": SHOP}), "bar")
