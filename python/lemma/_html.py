"""What notebooks show."""

from __future__ import annotations

import html
from typing import Iterable, Sequence


def preformatted(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    head = "".join(f"<th>{html.escape(c)}</th>" for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(v))}</td>" for v in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
