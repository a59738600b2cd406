"""A headless Chromium, one for all tests of a process, and pages that note whatever goes wrong in them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.browser.find import VARIABLE, find_browser


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make test does it"
    )
    path = find_browser()
    if path is None:
        pytest.skip(f"no Chromium: `apt-get install chromium`, or name one in {VARIABLE}")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=path)
        yield chromium
        chromium.close()


class Watched:
    """A page with what its console said and what it asked of any network."""

    def __init__(self, page) -> None:
        self.page = page
        self.said: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        page.route("**/*", self._routed)

    def _routed(self, route) -> None:
        self.requests.append(route.request.url)
        if len(self.requests) == 1:  # the page itself
            route.continue_()
        else:
            route.abort()

    def open(self, path) -> None:
        self.page.goto(path.as_uri())


@pytest.fixture
def watch(browser):
    """Return a context that opens a file in a page of some width, light or dark."""

    @contextmanager
    def watched(path, *, width: int = 1280, scheme: str = "light") -> Iterator[Watched]:
        page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        try:
            found = Watched(page)
            found.open(path)
            yield found
        finally:
            page.close()

    return watched
