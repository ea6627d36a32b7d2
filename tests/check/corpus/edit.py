"""Edits of PTX, for the bugs of bugs.py: lines are named by what they say and by the source line that they come from.

A selector is text: "@tag words #n". `@tag`: the line was made of a source line that has the comment `// @tag` (by .loc, or by
where it was inlined). `words`: it has this text in it. `#n`: of all such lines the n-th from 1, or from the end if negative.
Each part may be left out. An edit needs a selector that names one line; `every` ones take all of them.
"""

import re


class Wrong(Exception):
    """An edit that cannot be made."""


class Line:
    def __init__(self, text, tags=()):
        self.text, self.tags = text, frozenset(tags)


def tags_of_source(text):
    """Line number -> tags of a .cu. A tag at the end of a statement is of all lines of it."""
    tags, codes = {}, []
    for number, line in enumerate(text.split("\n"), 1):
        code, _, comment = line.partition("//")
        codes.append(code.rstrip())
        found = re.findall(r"@(\w+)", comment)
        while found and number > 0:
            tags.setdefault(number, []).extend(found)
            number -= 1
            if number == 0 or not codes[number - 1] or codes[number - 1][-1] in ";{}:":
                break
    return tags


def lines_of(ptx, source):
    """The lines of a PTX text, each with the tags of the source lines that it comes from. `source`: of the .cu, or None."""
    tags = tags_of_source(source) if source else {}
    main, current, lines, callers = None, (), [], {}
    for file, name in re.findall(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', ptx, re.M):
        if name.endswith(".cu"):
            main = file
    for text in ptx.split("\n"):
        loc = re.match(r"\s*\.loc\s+(\d+)\s+(\d+)", text)
        if loc:
            places = [(loc[1], int(loc[2]))]
            if caller := re.search(r"inlined_at (\d+) (\d+)", text):
                callers[places[0]] = (caller[1], int(caller[2]))
                while places[-1] in callers and callers[places[-1]] not in places:
                    places.append(callers[places[-1]])
            current = [tag for file, n in places if file == main for tag in tags.get(n, ())]
            lines.append(Line(text))
        else:
            lines.append(Line(text, current))
    return lines


def is_instruction(line):
    text = line.text.strip()
    return bool(text) and not re.match(r"//|\.loc\s|\.reg\s|\.pragma\s|[{}]$|\S+:$", text)


def select(lines, selector):
    """Indices of all lines that the selector names."""
    words, nth = re.match(r"(.*?)(?:\s+#(-?\d+))?$", selector).groups()
    tag = None
    if words.startswith("@"):
        tag, _, words = words[1:].partition(" ")
    found = [
        i
        for i, line in enumerate(lines)
        if is_instruction(line) and (tag is None or tag in line.tags) and words.strip() in " ".join(line.text.split())
    ]
    if nth is None:
        return found
    n = int(nth)
    index = n - 1 if n > 0 else n
    return [found[index]] if -len(found) <= index < len(found) else []


def one(lines, selector):
    found = select(lines, selector)
    if len(found) != 1:
        shown = "".join(f"\n    {lines[i].text.strip()}" for i in found[:12])
        raise Wrong(f"{selector!r} names {len(found)} lines{shown}")
    return found[0]


def cut(selector):
    """Takes a line out."""

    def apply(lines):
        del lines[one(lines, selector)]

    return apply


def cut_every(selector):
    def apply(lines):
        found = select(lines, selector)
        if not found:
            raise Wrong(f"{selector!r} names no line")
        for i in reversed(found):
            del lines[i]

    return apply


def put(selector, text):
    """Another line in place of one."""

    def apply(lines):
        i = one(lines, selector)
        lines[i] = Line(text, lines[i].tags | {"new"})

    return apply


def sub(selector, old, new):
    """Other words within a line."""

    def apply(lines):
        i = one(lines, selector)
        if old not in lines[i].text:
            raise Wrong(f"no {old!r} in {lines[i].text.strip()!r}")
        lines[i] = Line(lines[i].text.replace(old, new), lines[i].tags | {"new"})

    return apply


def rewrite(selector, pattern, text):
    """What a regular expression finds in a line, in other words."""

    def apply(lines):
        i = one(lines, selector)
        if not re.search(pattern, lines[i].text):
            raise Wrong(f"no {pattern!r} in {lines[i].text.strip()!r}")
        lines[i] = Line(re.sub(pattern, text, lines[i].text), lines[i].tags | {"new"})

    return apply


def sub_every(selector, old, new):
    def apply(lines):
        found = [i for i in select(lines, selector) if old in lines[i].text]
        if not found:
            raise Wrong(f"{selector!r} names no line with {old!r}")
        for i in found:
            lines[i] = Line(lines[i].text.replace(old, new), lines[i].tags | {"new"})

    return apply


def before(selector, *texts):
    """New lines before one."""

    def apply(lines):
        i = one(lines, selector)
        lines[i:i] = [Line(text, {"new"}) for text in texts]

    return apply


def after(selector, *texts):
    def apply(lines):
        i = one(lines, selector) + 1
        lines[i:i] = [Line(text, {"new"}) for text in texts]

    return apply


def move(selector, to_before=None, to_after=None):
    """A line to another place."""

    def apply(lines):
        line = lines.pop(one(lines, selector))
        i = one(lines, to_before) if to_before else one(lines, to_after) + 1
        lines.insert(i, line)

    return apply


def no_wait(selector):
    """An mbarrier wait that counts as over at once."""

    def apply(lines):
        i = one(lines, selector + " try_wait")
        predicate = re.search(r"\b([%\w]+),\s*\[", lines[i].text)[1]
        lines[i] = Line(f"setp.eq.u32 {predicate}, 0, 0;", lines[i].tags | {"new"})

    return apply


def only(selector, condition):
    """A line that only some threads execute: those with "lane < 16", "tid >= 48" or "warp == 4", say."""
    what, comparison, number = condition.split()
    name = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}[comparison]
    within = {"lane": ["and.b32 who, who, 31;"], "warp": ["shr.u32 who, who, 5;"], "tid": []}[what]

    def apply(lines):
        i = one(lines, selector)
        opening = ["{", ".reg .pred some;", ".reg .b32 who;", "mov.u32 who, %tid.x;", *within]
        opening += [f"setp.{name}.u32 some, who, {number};", "@!some bra OTHERS;"]
        lines[i + 1 : i + 1] = [Line("OTHERS:"), Line("}")]
        lines[i:i] = [Line(text, {"new"}) for text in opening]

    return apply


def last_operand(selector, text):
    """Another last operand: the parity of a wait, the count of an init."""

    def apply(lines):
        i = one(lines, selector)
        lines[i] = Line(re.sub(r",[^,;]*;\s*$", f", {text};", lines[i].text), lines[i].tags | {"new"})

    return apply


def some_wait(selector, condition):
    """An mbarrier wait of some threads; for the others it counts as over at once. `condition` as for only()."""

    def apply(lines):
        i = one(lines, selector + " try_wait")
        predicate = re.search(r"\b([%\w]+),\s*\[", lines[i].text)[1]
        only(selector + " try_wait", condition)(lines)
        i = one(lines, selector + " try_wait")
        while not lines[i].text.strip().endswith("AGAIN:"):
            i -= 1
        lines.insert(i, Line(f"setp.eq.u32 {predicate}, 0, 0;"))

    return apply


def edited(lines, edits):
    """The lines after the edits; the others stay as they are."""
    lines = list(lines)
    for edit in edits:
        edit(lines)
    return lines
