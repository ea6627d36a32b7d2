#!/usr/bin/env python3
"""Tables of what building and testing cost, from a build's own logs; where_time_goes.sh makes a build that has all of them.

usage: where_time_goes.py BUILD             everything, as Markdown
       where_time_goes.py --summary BUILD   a few lines: what Ninja and ctest took, and the ten slowest tests
       where_time_goes.py --rebuild BUILD FILE ...   what a change of each file would cost; the build must be up to date
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

import test_results


def ninja_steps(build):
    """[(first output, seconds)] of the last time that each step ran, and the seconds from the first to the last."""
    steps = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, command = line.split("\t")
        steps[command, begin, end] = output, (int(end) - int(begin)) / 1000, int(end) / 1000
    return [step[:2] for step in steps.values()], max((step[2] for step in steps.values()), default=0)


def tests(build):
    """[(name, seconds)], longest first; cases count by themselves."""
    return sorted(((result.name, result.seconds) for result in test_results.read(build)), key=lambda test: -test[1])


def summary(build):
    steps, end = ninja_steps(build)
    print(f"build: {len(steps)} steps, {sum(s for _, s in steps):.0f} s of them together, the last ended after {end:.0f} s")
    found = tests(build)
    print(f"tests: {sum(s for _, s in found):.0f} s together; the longest: " +
          ", ".join(f"{name} {seconds:.0f}" for name, seconds in found[:10]))


# --- From here on what only a measured build has: costs.txt of the compiler's launcher -----------------------------------


class Command:
    """A compiler or linker that ran."""

    def __init__(self, line):
        seconds, user, system, kb, *words = line.split(" ")
        self.cpu_s, self.mb = float(user) + float(system), int(kb) / 1024
        self.output = words[words.index("-o") + 1] if "-o" in words else ""
        self.compiles = "-c" in words
        self.source = words[words.index("-c") + 1] if self.compiles else ""

    @property
    def target(self):
        match = re.search(r"([^/]+)\.dir/", self.output)
        return match[1] if match else pathlib.Path(self.output).name


def commands(build):
    lines = (build / "costs.txt").read_text(errors="replace").splitlines()
    found = (Command(line) for line in lines if re.match(r"[0-9.]+ [0-9.]+ [0-9.]+ [0-9]+ ", line))
    return {command.output: command for command in found if command.output}  # a later one in place of an earlier


def unity_sources(source):
    """The files that a file made by CMake includes; else the file itself."""
    if "/Unity/" not in source or not pathlib.Path(source).exists():
        return [source]
    return re.findall(r'#include "([^"]+)"', pathlib.Path(source).read_text())


def header_costs(build, of_output):
    """{header of this repository: CPU seconds of all that includes it}"""
    deps = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    costs, root, command = collections.Counter(), str(pathlib.Path.cwd()), None
    for line in deps.splitlines():
        if line and not line.startswith(" "):
            command = of_output.get(line.split(":")[0])
        elif command and line.strip().endswith((".h", ".inc", ".def")):
            path = (build / line.strip()).resolve()
            if str(path).startswith(root) and not str(path).startswith(str(build.resolve())):
                costs[path.relative_to(root)] += command.cpu_s
    return costs


def table(title, head, rows):
    print(f"\n## {title}\n\n| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |")


def cost(build, name):
    path = build / f"{name}-cost.txt"
    if path.exists():
        wall, user, system, kb = map(float, path.read_text().split()[-4:])
        return f"{wall:.0f} s by the clock, {user + system:.0f} s of CPU, {kb / 1024:.0f} MB in the largest process"
    return "not measured"


def everything(build):
    of_output = commands(build)
    print(f"- build: {cost(build, 'build')}\n- tests: {cost(build, 'test')}")
    by_target = collections.defaultdict(list)
    for command in of_output.values():
        by_target[command.target].append(command)
    rows = sorted(by_target.items(), key=lambda pair: -sum(c.cpu_s for c in pair[1]))
    table("Build time by target", ("target", "CPU s", "commands", "most MB"),
          [(name, f"{sum(c.cpu_s for c in some):.1f}", len(some), f"{max(c.mb for c in some):.0f}") for name, some in rows[:40]])
    slow = sorted(of_output.values(), key=lambda c: -c.cpu_s)[:30]
    table("The 30 slowest files", ("file", "CPU s", "MB"), [(c.output, f"{c.cpu_s:.1f}", f"{c.mb:.0f}") for c in slow])
    table("The 10 headers whose change costs most", ("header", "CPU s"),
          [(header, f"{s:.0f}") for header, s in header_costs(build, of_output).most_common(10)])
    twice = collections.defaultdict(list)
    for command in of_output.values():
        if command.compiles:
            for source in unity_sources(command.source):
                twice[source].append(command.target)
    pairs = collections.Counter(" and ".join(sorted(set(t))) for s, t in twice.items() if len(set(t)) > 1 and "pch" not in s)
    table("What is compiled twice", ("for", "files"), pairs.most_common(20))
    found = tests(build)
    by_folder = collections.defaultdict(list)
    for name, seconds in found:
        by_folder[name.split(".")[0]].append(seconds)
    table("Test time by folder", ("tests", "s", "cases"),
          [(name, f"{sum(some):.1f}", len(some)) for name, some in sorted(by_folder.items(), key=lambda p: -sum(p[1]))])
    table("The 40 slowest tests", ("test", "s"), [(name, f"{seconds:.1f}") for name, seconds in found[:40]])


def rebuild(build, files):
    """Of each file: the commands that Ninja would run if it had changed, and their CPU seconds when they ran last."""
    of_output, rows = commands(build), []
    copy = build / "rebuild.ninja"  # of another name, which Ninja does not have CMake write anew first
    copy.write_text((build / "build.ninja").read_text())
    for file in files:
        times = file.stat()
        file.touch()
        listed = subprocess.run(["ninja", "-C", build, "-f", copy.name, "-n", "-v"], capture_output=True, text=True, check=True).stdout
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
        ran = [of_output[output] for output in re.findall(r" -o (\S+)", listed) if output in of_output]
        rows.append((file, len(ran), f"{sum(c.cpu_s for c in ran):.0f}"))
    copy.unlink()
    table("A rebuild after a change of one file", ("file", "commands", "CPU s"), rows)


def main():
    if sys.argv[1:2] == ["--rebuild"] and len(sys.argv) > 3:
        return rebuild(pathlib.Path(sys.argv[2]), map(pathlib.Path, sys.argv[3:]))
    if sys.argv[1:2] == ["--summary"] and len(sys.argv) == 3:
        return summary(pathlib.Path(sys.argv[2]))
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    return everything(pathlib.Path(sys.argv[1]))


if __name__ == "__main__":
    sys.exit(main())
