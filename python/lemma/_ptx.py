"""PTX texts that are made of other things: of several texts, of what nvcc builds."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Iterable, Optional, Union

from . import _abi
from ._library import check, encoded, library, read_text, sized, take


class PtxText(str):
    """PTX text. `name`: for messages, "" for none; `messages`: warnings of linking."""

    name: str = ""
    messages: tuple[_abi.Message, ...] = ()


def _made(text: str, messages: tuple[_abi.Message, ...], name: str = "") -> PtxText:
    made = PtxText(text)
    made.name, made.messages = name, messages
    return made


def is_image(content: bytes) -> bool:
    return library.lemma_is_image(content, len(content))


def modules_of(content: bytes, name: str, arch: Optional[str]) -> tuple[PtxText, ...]:
    """Of a file's bytes."""
    options = sized(_abi.lemma_image_options, arch=encoded(arch), name=encoded(name))
    made = ctypes.POINTER(_abi.lemma_image_modules)()
    check(library.lemma_ptx_of_image(content, len(content), ctypes.byref(options), ctypes.byref(made)))

    def texts(s: Any) -> tuple[PtxText, ...]:
        return tuple(_made(m.text, m.messages, m.name) for m in _abi._lemma_image_modules(s).items)

    return take(made, texts, library.lemma_image_modules_release)


def ptx_of_image(source: Union[str, os.PathLike, bytes], *, arch: Optional[str] = None, name: Optional[str] = None) -> tuple[PtxText, ...]:
    """The PTX in an executable, a library, an object file, a fatbin or a cubin (of -lineinfo) of nvcc, a text a module.

    source: a path, or a file's bytes. arch: the machine that is to run it, "sm_90a"; without one the highest target is taken.
    Relocatable code (-rdc=true) is linked, as link() does, and is the last module.
    Errors: Unsupported (no PTX: says what there is, and which option puts PTX in), InvalidArgument (damaged, or no such arch),
    Rejected (does not link).
    """
    if isinstance(source, bytes):
        return modules_of(source, name or "<image>", arch)
    content, label = read_text(source, name)
    return modules_of(content, label, arch)


def link(sources: Iterable[Union[str, os.PathLike]]) -> PtxText:
    """.ptx files, or PTX texts, as one text: what nvlink does with the relocatable code of `nvcc -rdc=true -ptx`.

    A name that is .extern in one is what another one defines; one that several have for themselves is renamed in all but the first.
    For messages, text I of `sources` is "<text I>", counted from 0. Of object files and fatbins the PTX in them is taken.
    Errors: Rejected, whose messages say what is not legal, or what nothing or two texts define; InvalidArgument: there are none.
    OSError for a file that is not there.
    """
    if isinstance(sources, (str, os.PathLike)):
        raise TypeError("lemma.link() wants a list of files or texts")
    texts: list[tuple[bytes, str]] = []
    for i, source in enumerate(sources):
        content, name = read_text(source, None)
        if is_image(content):
            texts += [(text.encode(), text.name) for text in modules_of(content, name, None)]
        else:
            texts.append((content, f"<text {i}>" if name == "<text>" else name))
    each = [sized(_abi.lemma_ptx_text, text=text, text_bytes=len(text), name=encoded(name)) for text, name in texts]
    made = ctypes.POINTER(_abi.lemma_linked_ptx)()
    check(library.lemma_link_ptx((_abi.lemma_ptx_text * len(each))(*each), len(each), ctypes.byref(made)))
    record: _abi.LinkedPtx = take(made, _abi._lemma_linked_ptx, library.lemma_linked_ptx_release)
    return _made(record.text, record.messages)
