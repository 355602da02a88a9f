"""A session of the gateway before a site that misbehaves, and a browser that comes in by it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.sandbox.browser import ActResult, Browser, BrowserSpec, PageQuery
from harness.suite.agents import AgentVersion
from harness.suite.builtin_tools import browser_tools
from harness.suite.cases import Case
from harness.suite.hosts import HostSpec
from harness.suite.models import ToolMode
from harness.suite.suites import Suite, ToolServer
from harness.suite.tool_groups import BrowserTools
from harness.suite.tools import ToolSpec
from tests.sandbox.browser.site import running_site

HOST = "site.test"
ACTS = ("open", "click", "type", "read")


def browsing_suite(folder: Path, upstream: str) -> Suite:
    """Nothing but the browser's tools, and one host for its pages."""
    tools = [ToolSpec.model_validate(tool) for tool in browser_tools(BrowserTools(browser=ACTS))]
    return Suite(
        name="browsing",
        folder=folder,
        agents={"a": AgentVersion(command=("true",), files=".")},
        servers={"browser": ToolServer(browser=True, disposable=True)},
        tools=tuple(tools),
        hosts=(HostSpec(host=HOST, base_url=upstream, disposable=True),),
        cases=(Case(id="c", task="t"),),
        digest="d",
    )


@contextmanager
def opened_session(upstream: str, folder: Path, mode: ToolMode = "live") -> Iterator[TrialSession]:
    suite = browsing_suite(folder, upstream)
    request = SessionRequest(trial_id="t", case=suite.cases[0], attempt=1, agent="a")
    with Gateway(suite, mode, cassettes=folder / "cassettes") as gateway, gateway.open(request) as session:
        yield session


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[str, list[str]]]:
    with running_site() as running:
        yield running


@pytest.fixture
def session(site, tmp_path: Path) -> Iterator[TrialSession]:
    """Of one test alone."""
    with opened_session(site[0], tmp_path) as session:
        yield session


@pytest.fixture(scope="session")
def browser_image(project: Path) -> str:
    """Tag of the image, built where it is not there yet."""
    from harness.sandbox.images.store import ImageStore

    return ImageStore(project).build("browser").tag


@dataclass
class Window:
    """A browser as the tests use it."""

    browser: Browser
    label: str
    _more: dict[str, dict[str, Any]] = field(
        default_factory=lambda: {
            "click": {"dialog": "dismiss"},
            "type": {"submit": False},
            "read": {"target": None, "most_chars": 20_000},
        }
    )

    def __call__(self, do: str, within_s: float = 60.0, **arguments: Any) -> ActResult:
        return self.browser.act(do, self._more.get(do, {}) | arguments, within_s)

    def go(self, path: str) -> ActResult:
        return self("open", url=f"http://{HOST}{path}")

    def text(self, selector: str) -> str:
        acted = self.browser.look(PageQuery(selectors=(selector,)), 60.0)
        return str(acted.said["found"][selector]["elements"][0]["text"])


@contextmanager
def opener(session: TrialSession, image: str) -> Iterator[Callable[..., Window]]:
    from harness.sandbox.providers import open_provider

    with ExitStack() as stack:
        provider = open_provider("docker", run="browser-tests")
        stack.callback(provider.close)

        def open_window(**more: Any) -> Window:
            assert session.pages_socket is not None
            label = f"browser-test-{uuid4().hex}"
            spec = BrowserSpec(trial_id=label, image=image, gateway_socket=session.pages_socket, **more)
            browser = Browser(provider, spec)
            stack.callback(browser.close)
            return Window(browser, label)

        yield open_window


@pytest.fixture
def opened(session: TrialSession, browser_image: str) -> Iterator[Callable[..., Window]]:
    with opener(session, browser_image) as open_window:
        yield open_window


@pytest.fixture
def window(opened: Callable[..., Window]) -> Window:
    """Of one test alone."""
    return opened(url=f"http://{HOST}/")


@pytest.fixture(scope="module")
def shared(site, browser_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Window]:
    """For tests that leave it as good as they found it."""
    folder = tmp_path_factory.mktemp("shared")
    with opened_session(site[0], folder) as session, opener(session, browser_image) as open_window:
        yield open_window(url=f"http://{HOST}/")
