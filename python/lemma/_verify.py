"""Would the assembler take a PTX text? Would it take these?"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Iterable, Optional, Union

from . import _abi
from ._library import check, encoded, error_of_record, library, read_text, sized, take
from .errors import Error


class Verification(_abi.Verification):
    """`accepted`, `messages`, `fusions` (what ptxas may make one fma of), `lint`, `repaired`. True if it is accepted.

    `undecided`: nothing is wrong, but something is not understood, which may be of a later PTX version."""

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


def verify_each(
    sources: Iterable[Union[str, os.PathLike]], *, lint: bool = False, threads: int = 0
) -> list[Union[Verification, Error]]:
    """Checks many .ptx files, or PTX texts, on all cores (or `threads`): the Verifications, in the order of `sources`.

    In place of one whose check has failed is the Error, which is false as a condition. Raises OSError for a file that is not there.
    """
    texts = [read_text(source, None) for source in sources]
    made: list[Union[Verification, Error]] = []

    def read(_: Any, index: int, source: Any) -> Any:
        text, label = texts[index]
        error = library.lemma_verify_source_set(source, text, len(text), encoded(label), lint)
        return ctypes.cast(error, ctypes.c_void_p).value

    def got(_: Any, index: int, found: Any, error: Any) -> None:
        made.append(error_of_record(error[0]) if error else Verification(**vars(_abi._lemma_verification(found[0]))))

    types: dict[str, Any] = dict(_abi.lemma_verify_each_options._fields_)  # type: ignore[arg-type]
    # ctypes has no callbacks that return pointers to structs.
    read_type = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(_abi.lemma_verify_source))
    callback, taken = read_type(read), types["take"](got)
    options = sized(_abi.lemma_verify_each_options, count=len(texts), threads=threads, take=taken)
    options.read = ctypes.cast(callback, types["read"])
    check(library.lemma_verify_each(ctypes.byref(options)))
    return made
