"""Hostile inputs: each file of inputs/ says in its first lines how the lemma tool is called with it (%s: the file), how
that ends, and what is said then. Whatever is said has no control characters, and comes within a minute and 4 GB.

usage: hostile_test.py --list | --lemma PATH NAME
"""

import pathlib
import re
import resource
import subprocess
import sys

INPUTS = pathlib.Path(__file__).resolve().parent / "inputs"
TIMEOUT_S = 60
MEMORY_BYTES = 4 << 30


def field(text, name):
    return re.search(rf"^// {name}:[ ]?(.*)$", text, re.MULTILINE).group(1)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES))


def fault_of(lemma, path):
    text = path.read_text(errors="replace")
    words = [word.replace("%s", str(path)) for word in field(text, "args").split()]
    try:
        done = subprocess.run([lemma, *words], capture_output=True, timeout=TIMEOUT_S, preexec_fn=limit_memory)
    except subprocess.TimeoutExpired:
        return f"it ran for more than {TIMEOUT_S} s"
    said = (done.stdout + done.stderr).decode(errors="replace")
    if done.returncode < 0:
        return f"signal {-done.returncode}\n{said}"
    wanted = field(text, "exit")
    if (wanted == "nonzero" and done.returncode == 0) or (wanted.isdigit() and done.returncode != int(wanted)):
        return f"it ended with {done.returncode}, not {wanted}\n{said}"
    if not re.search(field(text, "says"), said):
        return f"it does not say {field(text, 'says')!r}:\n{said}"
    if re.search("[\x00-\x08\x0b-\x1f\x7f]", said):
        return f"control characters in {said!r}"
    return "" if len(said) < 100_000 else f"{len(said)} characters of messages"


def main():
    if sys.argv[1:] == ["--list"]:
        print("\n".join(sorted(path.stem for path in INPUTS.iterdir())))
        return 0
    _, lemma, name = sys.argv[1:]
    fault = fault_of(lemma, next(INPUTS.glob(name + ".*")))
    if fault:
        print(f"{name}: {fault}")
    return 1 if fault else 0


if __name__ == "__main__":
    sys.exit(main())
