"""liblemma.so, loaded once, and its errors made exceptions.

The library is that of the package's lib/ folder; the environment variable LEMMA_LIBRARY names another one.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
from typing import Any, Callable, Iterable, Optional, Union

from . import _abi, errors

PACKAGE = pathlib.Path(__file__).absolute().parent


def _load() -> ctypes.CDLL:
    path = os.environ.get("LEMMA_LIBRARY") or str(PACKAGE / "lib" / "liblemma.so")
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"lemma: cannot load its library: {error}") from error
    _abi.declare(library)
    return library


library: Any = _load()
version: str = library.lemma_version().decode()


def error_of(pointer: Any) -> errors.Error:
    """The exception for a lemma_error that the library returned, which is released."""
    try:
        return error_of_record(pointer[0])
    finally:
        library.lemma_error_release(pointer)


def error_of_record(s: Any) -> errors.Error:
    """The exception for a lemma_error."""
    record = _abi._lemma_error(s)
    made = errors.BY_KIND.get(record.kind, errors.InternalError)
    return made(record.text, record.messages, record.rendered, record.operand)


def check(pointer: Any) -> None:
    """Raises what a function of the library returned, unless that is null."""
    if pointer:
        raise error_of(pointer)


def take(pointer: Any, convert: Callable[[Any], Any], release: Callable[[Any], None]) -> Any:
    """A struct that is the caller's, converted and released."""
    try:
        return convert(pointer[0])
    finally:
        release(pointer)


# What fields are called by those who give their values.
_GIVEN_AS = {"shared_bytes": "smem", "max_memory_bytes": "memory", "most_threads": "most", "schedules": "explore"}


def _check_fits(name: str, value: Any, kept: Any, type: Any) -> None:
    if isinstance(kept, int) and not isinstance(kept, bool) and kept != value:
        bits = 8 * ctypes.sizeof(type)
        least, most = ("0", f"2**{bits}") if type(-1).value > 0 else (f"-2**{bits - 1}", f"2**{bits - 1}")
        raise errors.InvalidArgument(f"{name} is {value}: numbers from {least} to {most} - 1 are legal")


def put(struct: Any, field: str, value: Any) -> None:
    """Sets a field of a struct. Error: InvalidArgument for an integer that the field cannot hold, which ctypes would cut."""
    setattr(struct, field, value)
    _check_fits(_GIVEN_AS.get(field, field), value, getattr(struct, field), dict(struct._fields_)[field])


def put_all(array: Any, values: Iterable[Any], name: str) -> None:
    """Sets the first elements of an array in a struct; as put()."""
    for i, value in enumerate(values):
        array[i] = value
        _check_fits(f"{name}[{i}]", value, array[i], array._type_)


def sized(type: Any, /, **fields: Any) -> Any:
    """A struct of the caller's, with its size, and with the fields that are not None. Error: as put()."""
    made = type()
    made.size = ctypes.sizeof(type)
    for name, value in fields.items():
        if value is not None:
            put(made, name, value)
    return made


def encoded(text: Optional[str]) -> Optional[bytes]:
    return None if text is None else os.fsencode(text)


def read_text(source: Union[str, os.PathLike], name: Optional[str]) -> tuple[bytes, str]:
    """(text, its name for messages) of a path, or of a text: what has a newline is no path."""
    if isinstance(source, str) and "\n" in source:
        return source.encode(), name or getattr(source, "name", "") or "<text>"
    return pathlib.Path(source).read_bytes(), name or os.fspath(source)


def near(word: str, candidates: Iterable[str]) -> str:
    """" (did you mean smem?)": the candidate that is nearest to a word; empty if none is near."""
    text = library.lemma_did_you_mean(word.encode(), *words(tuple(candidates)))
    return take(text, lambda s: s.text.decode(), library.lemma_text_release) if text else ""


def words(names: tuple[str, ...]) -> tuple[Any, int]:
    """`const char* const* words, size_t word_count`"""
    return (ctypes.c_char_p * len(names))(*[n.encode() for n in names]), len(names)
