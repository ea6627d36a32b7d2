"""Several PTX texts as one."""

from __future__ import annotations

import ctypes
import os
from typing import Iterable, Union

from . import _abi
from ._library import check, encoded, library, read_text, sized, take


class LinkedPtx(str):
    """PTX text. `messages`: warnings about the texts it was made of, in their order."""

    messages: tuple[_abi.Message, ...] = ()


def link(sources: Iterable[Union[str, os.PathLike]]) -> LinkedPtx:
    """.ptx files, or PTX texts, as one text: what nvlink does with the relocatable code of `nvcc -rdc=true -ptx`.

    A name that is .extern in one is what another one defines; one that several have for themselves is renamed in all but the first.
    For messages, text I of `sources` is "<text I>", counted from 0.
    Errors: Rejected, whose messages say what is not legal, or what nothing or two texts define; InvalidArgument: there are none.
    OSError for a file that is not there.
    """
    if isinstance(sources, (str, os.PathLike)):
        raise TypeError("lemma.link() wants a list of files or texts")
    texts = [read_text(source, None) for source in sources]
    each = [
        sized(_abi.lemma_ptx_text, text=text, text_bytes=len(text), name=encoded(name if name != "<text>" else f"<text {i}>"))
        for i, (text, name) in enumerate(texts)
    ]
    made = ctypes.POINTER(_abi.lemma_linked_ptx)()
    check(library.lemma_link_ptx((_abi.lemma_ptx_text * len(each))(*each), len(each), ctypes.byref(made)))
    record = take(made, lambda s: _abi._lemma_linked_ptx(s), library.lemma_linked_ptx_release)
    linked = LinkedPtx(record.text)
    linked.messages = record.messages
    return linked
