#!/usr/bin/env python3
"""Make wheels of the checkout's server and of all that it needs, from what is installed here; nothing is downloaded.

    wheels.py FOLDER

The server's wheel is made of its sources and the metadata of its installation; the others, pure Python all of them, of
the files that their installations list. pip can install from FOLDER as it would from the package index.
"""

from __future__ import annotations

import re
import sys
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

SERVER = Path(__file__).parents[2] / "server"


def needed(name: str, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """FOUND, and the distributions that NAME needs, itself included; what is not installed is for other platforms."""
    if name not in found:
        found[name] = distribution(name)
        for requirement in found[name].requires or []:
            other = re.match(r"[\w.-]+", requirement)
            if other and "extra ==" not in requirement and "python_version" not in requirement:
                needed(other[0].lower().replace("_", "-"), found)
    return found


def contents(item: Distribution) -> dict[str, Path]:
    """The files of ITEM by their names in a wheel."""
    files = {str(file): Path(str(item.locate_file(file))) for file in item.files or [] if ".." not in file.parts}
    if item.name == "neuron-council":
        files = {name: path for name, path in files.items() if ".dist-info" in name and "direct_url" not in name}
        files |= {str(path.relative_to(SERVER)): path for path in SERVER.rglob("*") if path.is_file()}
    return {name: path for name, path in files.items() if "__pycache__" not in name and not name.endswith("RECORD")}


def wheel(item: Distribution, folder: Path) -> None:
    """Write the wheel of ITEM into FOLDER."""
    files = contents(item)
    info = next(name for name in files if name.endswith(".dist-info/METADATA")).rpartition("/")[0]
    with zipfile.ZipFile(folder / f"{info.removesuffix('.dist-info')}-py3-none-any.whl", "w") as archive:
        for name, path in files.items():
            archive.write(path, name)
        lines = [f"{name},," for name in [*files, f"{info}/RECORD"]]
        archive.writestr(f"{info}/RECORD", "\n".join(lines) + "\n")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    for each in needed("neuron-council", {}).values():
        wheel(each, target)
