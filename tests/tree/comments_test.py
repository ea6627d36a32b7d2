#!/usr/bin/env python3
"""What a reader finds first, in the files that git knows: every C++ file opens with a comment, and one that says more than
where to look; every folder with sources has a README.md; every README.md names only files that exist, and so does what a source says of its tests.

A name is a relative link, or a word in backquotes that ends like a file of ours. It is looked for beside the README,
from the top, from src/ (as #include has it) and, without a folder, anywhere in the folder; * stands for any name. A word with
a part in capitals (NAME.ptx) is a placeholder.

usage: comments_test.py   77: this is no checkout.
"""

import fnmatch
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = (".cc", ".h")
NAMED = re.compile(r"^[\w*./-]+\.(?:cc|h|inc|def|td|py|sh|cmake|in|json|map|txt|mlir|ptx|cu|cuh|md)$")
PLACEHOLDER = re.compile(r"(?:^|[/.])[A-Z]+(?:[/.]|$)")
KEPT_AS_IT_IS = {"README.md", "CMakeLists.txt", "CONTRIBUTING.md", "CHANGELOG.md"}  # capitals, and no placeholders


def wrong_opening(text):
    """What is wrong with how a C++ file begins; empty if nothing."""
    lines = text.split("\n")
    if not lines[0].startswith(("//", "/*")):
        return "no opening comment"
    comment = []
    for line in lines:
        if not line.startswith(("//", "/*", " *")):
            break
        comment.append(line.strip("/* "))
    said = re.sub(r"\bSee [\w/.]+?(?:\.h|\.cc)?\.?(?=\s|$)", "", " ".join(comment)).strip()
    return "" if said else "the opening comment only points elsewhere"


def folders_of_sources(files):
    """Those that need a README.md: of C++ sources, but for tests, where each folder of tests/ has one for all below it."""
    folders = {"examples", "scripts", "cmake", "tests"}
    for file in files:
        parts = file.split("/")
        if parts[0] == "tests" and len(parts) > 2:
            folders.add("/".join(parts[:2]))
        elif parts[0] != "tests" and len(parts) > 1 and file.endswith(SOURCES):
            folders.add("/".join(parts[:-1]))
    return folders


def names_in(text):
    """The files that a README names: (name, whether it is a link)."""
    for link in re.findall(r"\]\(([^)\s#]*)(?:#[^)]*)?\)", text):
        if link and "://" not in link:
            yield link, True
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    prose = re.sub(r"\[[^\]]*\]\([^)]*\)", "", prose)
    for word in re.findall(r"`([^`\s]+)`", prose):
        base = word.rsplit("/", 1)[-1]
        if NAMED.match(word) and (base in KEPT_AS_IT_IS or not PLACEHOLDER.search(word)):
            yield word, False


def exists(name, is_link, folder, known):
    """`known`: all files and folders that git has."""
    places = [folder + "/" + name] if folder else [name]
    if not is_link:
        places += [name, "src/" + name]
        if "/" not in name:
            places += [folder + "/*/" + name] if folder else []
    for place in places:
        parts = []
        for part in place.split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part not in ("", ".", ".."):
                parts.append(part)
        path = "/".join(parts)
        if path in known or path == "" or ("*" in path and fnmatch.filter(known, path)):
            return True
    return False


def tests_in(text):
    """What "Tests:" in a comment names: paths, of which those without a folder lie beside the one before."""
    for said in re.findall(r"\bTests: ((?:.*\n?)(?:(?://|#) ?\S.*\n?)*)", text):
        folder = ""
        for word in re.findall(r"[\w./*-]+", said):
            word = word.rstrip("./")
            if word.startswith("tests/"):
                folder = word.rpartition("/")[0] if "." in word.rpartition("/")[2] else word
                yield word
            elif folder and re.fullmatch(r"\w+_test\.(?:cc|py)", word):
                yield folder + "/" + word


def faults(files, read):
    """One line for each thing that is wrong; `read` gives a file's text."""
    known = set(files)
    for file in files:
        known.update(str(parent) for parent in pathlib.PurePosixPath(file).parents)
    for file in files:
        if file.endswith(SOURCES) and (why := wrong_opening(read(file))):
            yield f"{file}: {why}"
        if file.endswith((*SOURCES, ".inc", ".def")):
            for name in tests_in(read(file)):
                if not exists(name, True, "", known):
                    yield f"{file}: says that {name} tests it, which there is not"
    for folder in sorted(folders_of_sources(files)):
        if folder + "/README.md" not in known:
            yield f"{folder}: no README.md"
    for file in files:
        if file.split("/")[-1] == "README.md":
            for name, is_link in names_in(read(file)):
                if not exists(name, is_link, file.rpartition("/")[0], known):
                    yield f"{file}: names {name}, which there is not"


def check_itself():
    """Each fault is found, and nothing else."""
    tree = {
        "src/a/good.cc": "// How it is done. Tests: tests/c/x.txt, tests/c/*.txt,\n// tests/c.\n#include <a>\n",
        "src/a/untested.cc": "// How it is done.\n//\n// Tests: tests/c/x.txt,\n// y_test.cc.\n#include <a>\n",
        "src/a/bare.cc": "#include <a>\n",
        "src/a/pointer.cc": "// See a/good.h.\n#include <a>\n",
        "src/a/README.md": "`good.cc`, `a/good.cc`, `*.cc`, [up](..), `NAME.cc`, `word`, [bad](gone), `gone.h`\n",
        "src/b/file.h": "/* What it is. */\n",
        "tests/c/x.txt": "",
        "examples/README.md": "", "scripts/README.md": "", "cmake/README.md": "", "tests/README.md": "",
    }
    found = list(faults(sorted(tree), tree.get))
    wanted = [
        "src/a/bare.cc: no opening comment",
        "src/a/pointer.cc: the opening comment only points elsewhere",
        "src/a/untested.cc: says that tests/c/y_test.cc tests it, which there is not",
        "src/b: no README.md",
        "tests/c: no README.md",
        "src/a/README.md: names gone, which there is not",
        "src/a/README.md: names gone.h, which there is not",
    ]
    assert found == wanted, found


def main():
    check_itself()
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True)
    if listed.returncode != 0:
        print("skipped: no git checkout")
        return 77
    files = [file for file in listed.stdout.splitlines() if (ROOT / file).exists()]
    wrong = list(faults(files, lambda file: (ROOT / file).read_text(errors="replace")))
    for line in wrong:
        print(line)
    print(f"{len(files)} files looked at, {len(wrong)} faults")
    return 1 if wrong or not files else 0


if __name__ == "__main__":
    sys.exit(main())
