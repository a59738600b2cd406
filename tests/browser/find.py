"""Finds a browser to test in; as a program, which the Makefile asks, it ends well if there is one."""

import os
import shutil
import sys

VARIABLE = "LSM_TEST_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_browser() -> str | None:
    """Return the path of a Chromium, or of what the variable LSM_TEST_BROWSER names."""
    wanted = os.environ.get(VARIABLE)
    if wanted:
        return shutil.which(wanted)
    return next((path for name in NAMES if (path := shutil.which(name))), None)


if __name__ == "__main__":
    sys.exit(find_browser() is None)
