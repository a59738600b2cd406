"""Open a kept crash image once more: python -m tests.reliability.replay FOLDER."""

import sys
from pathlib import Path

from lsm.verify import verify_on
from tests.reliability.explorer import opened, read_only
from tests.reliability.reading import read_all
from tests.reliability.tiny import RESERVE_BYTES
from tests.support.memfs import MemFS


def main(folder: Path) -> None:
    image = {path.name: path.read_bytes() for path in sorted((folder / "image").iterdir())}
    for name, data in image.items():
        print(f"{name:20} {len(data):6} bytes")
    fs = MemFS.from_image(image, reserve_bytes_max=RESERVE_BYTES)
    print("verify:", verify_on(fs).problems)
    print("read-only:", read_only(image))
    db = opened(fs)
    print("writing:", read_all(db))
    print("recovery did:", *fs.log.ops, sep="\n  ")
    db.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
