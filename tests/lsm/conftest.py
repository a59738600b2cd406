"""What every test of the store gets: nothing it opened stays open."""

from collections.abc import Iterator

import pytest

from tests.lsm import stores


@pytest.fixture(autouse=True)
def _closed_stores() -> Iterator[None]:
    yield
    stores.close_all()
