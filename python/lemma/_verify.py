"""Would the assembler take a PTX text?"""

from __future__ import annotations

import ctypes
import os
from typing import Optional, Union

from . import _abi
from ._library import check, encoded, library, read_text, sized, take


class Verification(_abi.Verification):
    """`accepted`, `messages`, `fusions` (what ptxas may make one fma of), `lint`, `repaired`. True if it is accepted."""

    def __bool__(self) -> bool:
        return self.accepted

    def __str__(self) -> str:
        return "".join(m.rendered for m in (*self.messages, *self.lint))


def verify(
    source: Union[str, os.PathLike], *, name: Optional[str] = None, lint: bool = False, repair: bool = False
) -> Verification:
    """Checks a .ptx file, or PTX text, against the PTX ISA. lint: also finds races, missing waits and fences, and misuse, that can be
    told without a run. repair: `repaired` is the text with the repairs that messages offer, and the rest is about that one."""
    text, label = read_text(source, name)
    options = sized(_abi.lemma_verify_options, name=encoded(label), lint=lint, repair=repair)
    made = ctypes.POINTER(_abi.lemma_verification)()
    check(library.lemma_verify(text, len(text), ctypes.byref(options), ctypes.byref(made)))
    return take(made, lambda s: Verification(**vars(_abi._lemma_verification(s))), library.lemma_verification_release)
