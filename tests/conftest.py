"""Settings of every test run: Hypothesis profiles, the seed, and no silent skips in CI."""

import os
import secrets
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

SEED_VARIABLE = "LSM_TEST_SEED"
SEED_OF_CI = 1
# Hypothesis has settings of its own where it sees CI; these hold everywhere.
COMMON = {
    "deadline": None,
    "derandomize": False,  # the seed decides, so that the one that is printed means something
    "print_blob": True,
    # Tests that fsync or open many stores are slow to draw from, and that is no fault of theirs.
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
}
# ci: the same examples every time, whatever an earlier run left on disk.
settings.register_profile("ci", database=None, **COMMON)
# dev: fresh examples in every run, failures remembered.
settings.register_profile("dev", **COMMON)
# release: dev, for as long as a release is worth.
settings.register_profile("release", settings.get_profile("dev"), max_examples=2_000)


def in_ci() -> bool:
    return os.environ.get("CI") == "true"


def profile_name() -> str:
    return os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if in_ci() else "dev")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Choose one seed for the whole run: Hypothesis and the `seed` fixture both start from it."""
    settings.load_profile(profile_name())
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started by a shell in the background: programs under test would inherit that, and ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Workers of xdist get the options of the main process, and with them its seed.
    if config.option.hypothesis_seed is None:
        fallback = SEED_OF_CI if profile_name() == "ci" else secrets.randbits(32)
        config.option.hypothesis_seed = int(os.environ.get(SEED_VARIABLE) or fallback)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the seed after every run, since the header is not shown by -q."""
    seed = config.option.hypothesis_seed
    terminalreporter.write_line(f"seed {seed}, profile {profile_name()} (again: {SEED_VARIABLE}={seed})")


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """Where a test's own randomness starts: random.Random(seed), numpy.random.default_rng(seed)."""
    return int(request.config.option.hypothesis_seed)


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Turn a skip into a failure: a machine of CI has everything, so a skip hides a test."""
    if not in_ci() or not report.skipped or hasattr(report, "wasxfail"):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
    report.outcome = "failed"
    report.longrepr = f"skipped in CI, where no test may be: {reason}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Iterator[None]:
    report = yield
    refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Iterator[None]:
    report = yield
    refuse_skip(report)
    return report
