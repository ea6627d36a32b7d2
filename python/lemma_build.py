"""Builds the wheel: CMake makes build/python/lemma, and this zips it. What pyproject.toml names as build backend (PEP 517).

    python3 python/lemma_build.py FOLDER      the wheel, without pip: what `make wheel` runs

The build folder is build-wheel, for which CMake's preset `wheel` is used; the environment variable LEMMA_BUILD names one that is
configured already. JOBS says how many compilers run at a time.
"""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import subprocess
import sys
import zipfile

try:
    import tomllib
except ImportError:  # before Python 3.11
    tomllib = None

ROOT = pathlib.Path(__file__).resolve().parents[1]
TAG = "py3-none-linux_x86_64"


def version() -> str:
    match = re.search(r"^project\(lemma VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)
    assert match, "CMakeLists.txt does not say project(lemma VERSION ...)"
    return match[1]


def project() -> dict:
    """The tables [project] of pyproject.toml, as far as this file writes them into the wheel."""
    text = (ROOT / "pyproject.toml").read_text()
    if tomllib:
        return tomllib.loads(text)["project"]
    # The few forms that it has: tables of strings and of lists of strings.
    tables: dict = {}
    table = tables
    for line in text.split("\n"):
        line = line.split(" # ")[0].strip()
        if header := re.fullmatch(r"\[([\w.-]+)\]", line):
            table = tables
            for part in header[1].split("."):
                table = table.setdefault(part, {})
        elif pair := re.fullmatch(r"([\w-]+) = (.*)", line):
            strings = re.findall(r'"((?:[^"\\]|\\.)*)"', pair[2])
            table[pair[1]] = strings if pair[2].startswith("[") else strings[0] if strings else pair[2]
    return tables["project"]


def metadata(about: dict) -> str:
    lines = [
        "Metadata-Version: 2.1", f"Name: {about['name']}", f"Version: {version()}", f"Summary: {about['description']}",
        f"Requires-Python: {about['requires-python']}", "License: Apache-2.0 WITH LLVM-exception",
        "Description-Content-Type: text/markdown",
    ]  # fmt: skip
    lines += [f"Requires-Dist: {each}" for each in about["dependencies"]]
    for extra, needs in about["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"] + [f'Requires-Dist: {each}; extra == "{extra}"' for each in needs]
    return "\n".join(lines) + "\n\n" + (ROOT / "python" / "README.md").read_text()


def entry_points(about: dict) -> str:
    groups = {"console_scripts": about["scripts"], **about["entry-points"]}
    return "\n".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items()) for group, entries in groups.items()
    )


def build() -> pathlib.Path:
    """Has CMake make the package; returns its folder."""
    folder = os.environ.get("LEMMA_BUILD")
    jobs = os.environ.get("JOBS") or str(os.cpu_count())
    if folder:
        folder = ROOT / folder
    else:
        folder = ROOT / "build-wheel"
        subprocess.run(["cmake", "--preset", "wheel"], cwd=ROOT, check=True, stdout=sys.stderr)
    subprocess.run(["cmake", "--build", folder, "--target", "lemma_python", "-j", jobs], check=True, stdout=sys.stderr)
    return folder / "python" / "lemma"


class Wheel:
    """A zip with a RECORD of what is in it."""

    def __init__(self, path: pathlib.Path) -> None:
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=int(os.environ.get("LEMMA_WHEEL_LEVEL", "6")))
        self.records: list[str] = []

    def add(self, name: str, data: bytes, mode: int = 0o644) -> None:
        info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))  # the same bytes each time
        info.external_attr = (0o100000 | mode) << 16
        info.compress_type = zipfile.ZIP_DEFLATED
        self.zip.writestr(info, data)
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        self.records.append(f"{name},sha256={digest},{len(data)}")

    def close(self, dist_info: str) -> None:
        name = f"{dist_info}/RECORD"
        self.zip.writestr(name, "\n".join([*self.records, f"{name},,"]) + "\n")
        self.zip.close()


def add_information(wheel: Wheel, about: dict, dist_info: str, tag: str) -> None:
    wheel.add(f"{dist_info}/METADATA", metadata(about).encode())
    wheel.add(f"{dist_info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: lemma_build\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    wheel.add(f"{dist_info}/entry_points.txt", entry_points(about).encode())
    wheel.add(f"{dist_info}/LICENSE", (ROOT / "LICENSE").read_bytes())


def write_wheel(folder, add) -> str:
    """Builds, and writes the wheel that add(wheel, folder of the package, name of the distribution) fills; returns its name."""
    package, about = build(), project()
    name = about["name"].replace("-", "_")
    dist_info = f"{name}-{version()}.dist-info"
    file = f"{name}-{version()}-{TAG}.whl"
    wheel = Wheel(pathlib.Path(folder) / file)
    add(wheel, package, name)
    add_information(wheel, about, dist_info, TAG)
    wheel.close(dist_info)
    return file


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    def add(wheel: Wheel, package: pathlib.Path, name: str) -> None:
        for path in sorted(package.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                inside = path.relative_to(package.parent).as_posix()
                wheel.add(inside, path.read_bytes(), 0o755 if os.access(path, os.X_OK) else 0o644)

    return write_wheel(wheel_directory, add)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """A wheel that points to the build folder, where the build makes the package of links to python/lemma."""

    def add(wheel: Wheel, package: pathlib.Path, name: str) -> None:
        wheel.add(f"{name}.pth", f"{package.parent}\n".encode())

    return write_wheel(wheel_directory, add)


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_editable(config_settings=None):
    return []


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: lemma_build.py FOLDER")
    pathlib.Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
    print(pathlib.Path(sys.argv[1]) / build_wheel(sys.argv[1]))
