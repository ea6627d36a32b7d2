"""How many CTAs a modelled GPU keeps resident."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Union

from . import _abi, errors
from ._library import check, library, put, sized, take

Occupancy = _abi.Occupancy


def _demand(threads: int, smem: int, registers: int) -> Any:
    return sized(_abi.lemma_cta_demand, threads=threads, shared_bytes=smem, registers=registers)


def occupancy(threads: int, *, smem: int = 0, registers: int = 0, arch: str = "sm_90a") -> Occupancy:
    """How many CTAs of `threads` threads an SM of the machine holds, and what limits them: `ctas_per_sm`, `warps_per_sm`, `limited_by`.

    smem: bytes of shared memory of a CTA, static and dynamic. registers: of a thread, as `ptxas -v` says; 0: no limit, as on the
    virtual GPU. Error: InvalidArgument.
    """
    made = ctypes.POINTER(_abi.lemma_occupancy)()
    check(library.lemma_occupancy_of(ctypes.byref(_demand(threads, smem, registers)), arch.encode(), ctypes.byref(made)))
    return take(made, _abi._lemma_occupancy, library.lemma_occupancy_release)


def active_clusters(threads: int, cluster: int, *, smem: int = 0, registers: int = 0, arch: str = "sm_90a") -> int:
    """Clusters of `cluster` CTAs that are resident at once on the whole GPU; a card, whose clusters keep to a GPC, holds somewhat fewer.
    Error: InvalidArgument."""
    if not 0 <= cluster < 1 << 32:
        raise errors.InvalidArgument(f"a cluster of {cluster} CTAs: there is none")
    found = ctypes.c_uint32()
    check(library.lemma_active_clusters(ctypes.byref(_demand(threads, smem, registers)), cluster, arch.encode(), ctypes.byref(found)))
    return found.value


def best_block_size(
    smem: Union[int, Callable[[int], int]] = 0, *, registers: int = 0, most: int = 1024, arch: str = "sm_90a"
) -> int:
    """The block size with which most threads are resident, the largest of those that are equal, up to `most`; 0: none fits.

    smem: bytes of a CTA, or a function of its threads. Error: InvalidArgument.
    """
    failed: list[BaseException] = []

    def demand(_: Any, threads: int, cta: Any) -> None:
        try:
            put(cta[0], "shared_bytes", smem(threads) if callable(smem) else smem)
            put(cta[0], "registers", registers)
        except BaseException as error:  # which ctypes would print, and go on
            failed.append(error)

    types: dict[str, Any] = dict(_abi.lemma_block_size_options._fields_)  # type: ignore[arg-type]
    options = sized(_abi.lemma_block_size_options, arch=arch.encode(), most_threads=most, demand=types["demand"](demand))
    found = ctypes.c_uint32()
    error = library.lemma_best_block_size(ctypes.byref(options), ctypes.byref(found))
    if failed:
        if error:
            library.lemma_error_release(error)
        raise failed[0]
    check(error)
    return found.value
