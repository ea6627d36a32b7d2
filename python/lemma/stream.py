"""Streams and events: launches and copies that the host does not wait for."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from typing import TYPE_CHECKING, Any, Callable, Optional

import numpy as np

from . import _abi, errors
from ._library import check, error_of, library, sized
from .arguments import Encoder, arrays_in, borrow
from .launch import Callbacks, Options, configuration, encoded_bytes, expanded, report_for, run_in_thread, seen_reports, with_defaults
from .memory import Array, Borrowed, host_array
from .report import Report

if TYPE_CHECKING:
    from .device import Device, Kernel

# What the library calls, by the `user` that it was given; the functions of ctypes themselves stay.
_keys = itertools.count(1)
_ends: dict[int, Callable[[Any, Any], None]] = {}
_functions: dict[int, Callable[[], None]] = {}
_DONE: dict[str, Any] = dict(_abi.lemma_launch_done._fields_)  # type: ignore[arg-type]
_HOST: dict[str, Any] = dict(_abi.lemma_host_function._fields_)  # type: ignore[arg-type]


def _on_end(user: int, report: Any, error: Any) -> None:
    _ends.pop(user)(report, error)


def _on_call(user: int) -> Optional[int]:
    try:
        _functions.pop(user)()
        return None
    except BaseException as problem:
        made = library.lemma_error_create(_abi.LEMMA_ERROR_INVALID_ARGUMENT, repr(problem).encode())
        return ctypes.cast(made, ctypes.c_void_p).value


_end_function = _DONE["call"](_on_end)
# ctypes has no callbacks that return pointers to structs.
_host_function = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(_on_call)


class Work:
    """What the streams of a device still use, and what their launches leave for those who wait."""

    _orphans: list[Any] = []  # of devices that went while they worked

    def __init__(self, checks_streams: bool) -> None:
        self.stop = library.lemma_stop_create()
        # Then whether an event is done is not asked ahead of time: what the host knows to be done comes before what it does next.
        self._checks = checks_streams
        self._lock = threading.RLock()  # what is freed in it may be an Array
        self._running = 0  # launches that have not ended
        self._unused: list[int] = []  # addresses to be freed
        self._kept: list[tuple[Any, Any, Any]] = []  # (stream, event behind an operation, what that uses)
        self._left: list[tuple[Any, Any]] = []  # (stream, a report that is not good or an exception of Python)

    def begin(self) -> None:
        with self._lock:
            self._running += 1

    def end(self) -> None:
        with self._lock:
            self._running -= 1

    def free_later(self, address: int) -> bool:
        """Whether memory that nobody refers to is freed when the launches of streams have ended: to free waits for them, and they may
        wait for this thread."""
        if self._running:
            self._unused.append(address)
        return self._running > 0

    def free(self, handle: Any) -> None:
        while self._unused and not self._running and handle:
            check(library.lemma_free(handle, self._unused.pop()))

    def keep(self, queue: Any, event: Any, used: Any) -> None:
        with self._lock:
            self._kept.append((queue, event, used))
        if not self._checks:
            self.prune(None)

    def prune(self, queue: Any) -> None:
        """Forgets what operations used that have ended; those of one stream, of None: of all."""
        done, kept = [], []
        with self._lock:
            for each in self._kept:
                ended = (queue is None or each[0] == queue) and library.lemma_event_is_done(each[1])
                (done if ended else kept).append(each)
            self._kept = kept
        for _, event, _ in done:
            library.lemma_event_release(event)

    def leave(self, queue: Any, what: Any) -> None:
        with self._lock:
            self._left.append((queue, what))

    def take(self, queue: Any) -> list[Any]:
        """What is left of a stream; of None: of all."""
        with self._lock:
            taken = [what for of, what in self._left if queue is None or of == queue]
            self._left = [each for each in self._left if queue is not None and each[0] != queue]
        return taken

    def wait(self, call: Callable[[], Any], queue: Any) -> None:
        """Calls what waits, and raises what went wrong: an exception of Python, the stream's error, findings. Ctrl-C ends all launches."""
        try:
            error = run_in_thread(call, self.stop)
        except BaseException:
            library.lemma_stop_reset(self.stop)
            raise
        self.prune(queue)
        left = self.take(queue)
        problem = error_of(error) if error else None
        for raised in left:
            if isinstance(raised, BaseException):
                raise raised from problem
        if isinstance(problem, errors.KernelFailed):
            problem.report = next((r for r in left if r.rendered.strip() == problem.text.strip()), None)
        if problem is not None:
            raise problem
        for report in left:
            raise errors.Findings(report)

    def finish(self, handle: Any) -> None:
        """Before the device goes."""
        error = library.lemma_device_synchronize(handle)
        if error:
            library.lemma_error_release(error)
        self.prune(None)
        if self._kept:  # in a callback, which cannot wait
            self._orphans.append(self)
        else:
            library.lemma_stop_release(self.stop)
            self.stop = None


class Event:
    """A point in a stream, made by Stream.record()."""

    def __init__(self, device: Device, handle: Any) -> None:
        self.device, self._handle = device, handle
        weakref.finalize(self, library.lemma_event_release, handle)

    def is_done(self) -> bool:
        """Whether all has ended that its stream was given before."""
        return bool(library.lemma_event_is_done(self._handle))

    def synchronize(self) -> None:
        """Waits for that. Error: that of what failed before it."""
        self.device._work.wait(lambda: library.lemma_event_synchronize(self._handle), self)

    def elapsed_seconds(self, end: Event) -> float:
        """From this one to a later one, of the host's time. Error: InvalidArgument if one of them is not done."""
        seconds = ctypes.c_double()
        check(library.lemma_event_elapsed(self._handle, end._handle, ctypes.byref(seconds)))
        return seconds.value


class Stream:
    """A queue of launches and copies, which run in their order while the host goes on; gpu.stream() makes one.

    Operations of several streams run at the same time. One that fails takes with it what comes after it in its stream;
    synchronize() raises that, once. `with` synchronizes at its end. All is thread-safe.
    """

    def __init__(self, device: Device, create: Callable[[Any, Any], Any], queue: Any = None) -> None:
        self.device = device
        if device._handle is None:
            raise errors.InvalidArgument("the device is closed")
        handle = ctypes.POINTER(_abi.lemma_stream)()
        check(create(device._handle, ctypes.byref(handle)))
        self._opened = handle
        self._queue = queue or object()
        weakref.finalize(self, library.lemma_stream_release, handle)

    @property
    def _handle(self) -> Any:
        if self.device._handle is None:
            raise errors.InvalidArgument("the device is closed")
        return self._opened

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if kind is None:
            self.synchronize()

    def launch(
        self, kernel: Kernel, grid: Any, block: Any, *arguments: Any,
        done: Optional[Callable[[Any], Any]] = None, **options: Any,
    ) -> None:  # fmt: skip
        """Launches a kernel, with the arguments and options of kernel[grid, block](...), but for explore. Arrays are lemma.Arrays,
        which stay alive until the end.

        programmatic=True: it may begin when every CTA of the kernel before it has executed griddepcontrol.launch_dependents.
        done: called at the end, from another thread, with the Report, or with the error that kept it from running. It must not
        wait for the device; what it raises synchronize() raises.
        Errors: InvalidArgument (arguments or options do not fit). What else goes wrong synchronize() raises.
        """
        chosen = with_defaults(self.device.options | Options(options))
        if chosen.get("explore", 1) > 1:
            raise errors.InvalidArgument("a stream's launch runs in one schedule: explore is for kernel[grid, block](...)")
        config = configuration(grid, block, chosen)
        borrowed = Borrowed(self.device)
        given = [borrow(value, borrowed, f"argument {i}") for i, value in enumerate(arguments)]
        if borrowed.arrays:
            raise errors.InvalidArgument(
                f"{borrowed.arrays[0][1]} is an array of the host: a stream's launch takes lemma.Arrays; stream.copy() fills them"
            )
        encoder = Encoder(borrowed)
        data = encoded_bytes(expanded(kernel, given, encoder))
        callbacks = Callbacks()
        callbacks.set_print(config, chosen)
        if chosen.get("progress"):
            callbacks.set(config, "progress", chosen["progress"])
        work = self.device._work
        config.stop = work.stop
        alive = [kernel, callbacks, encoder.kept, [a for value in given for a in arrays_in(value)]]
        key = next(_keys)
        _ends[key] = self._end(chosen, done, callbacks, alive)
        end = sized(_abi.lemma_launch_done, call=_end_function, user=key)
        work.begin()
        try:
            check(
                library.lemma_stream_launch(
                    self._handle, kernel.module._handle, kernel.name.encode(), ctypes.byref(config), data, len(data), ctypes.byref(end)
                )
            )
        except BaseException:
            _ends.pop(key, None)
            work.end()
            raise

    def _end(
        self, options: Options, done: Optional[Callable[[Any], Any]], callbacks: Callbacks, alive: list[Any]
    ) -> Callable[[Any, Any], None]:
        """What takes a launch's report or error; it keeps what the launch uses alive."""
        work, queue, seen, owner = self.device._work, self._queue, seen_reports(), weakref.ref(self.device)

        def end(report: Any, error: Any) -> None:
            try:
                ended: Any = error_of(error) if error else report_for(report, options)
                if isinstance(ended, Report):
                    if seen is not None:
                        seen.append(ended)
                    if ended.outcome != "finished" or ended.errors and options.get("raises", True):
                        work.leave(queue, ended)
                callbacks.raise_()
                if done:
                    done(ended)
            except BaseException as problem:
                work.leave(queue, problem)
            finally:
                work.end()
                alive.clear()
                device = owner()
                if device is not None:
                    work.free(device._handle)
                if report:
                    library.lemma_report_release(report)

        return end

    def copy(self, to: Any, source: Any) -> None:
        """Copies to or from a lemma.Array: the other one is a lemma.Array too, or of the host.

        `to` of the host is a numpy array (or has DLPack) of the same dtype and shape, in C order. A `source` of the host that has the dtype and
        shape of `to` is read when the copy is made: until then it must stay as it is; what else broadcasts and converts to it is
        copied at once. Errors: InvalidArgument.
        """
        if isinstance(to, Array) and isinstance(source, Array):
            if to.nbytes != source.nbytes:
                raise errors.InvalidArgument(f"a copy of {source.nbytes} bytes to {to.nbytes}")
            check(library.lemma_stream_copy(self._handle, to.address, source.address, to.nbytes))
            self._keep(to, source)
        elif isinstance(to, Array):
            values = host_array(source)
            values = np.asarray(source) if values is None else values
            full = np.ascontiguousarray(np.broadcast_to(values.astype(to.dtype, copy=False), to.shape))
            check(library.lemma_stream_write(self._handle, to.address, full.ctypes.data, to.nbytes))
            self._keep(to, full, source)
        else:
            if not isinstance(source, Array):
                raise errors.InvalidArgument("one of the two is a lemma.Array")
            out = host_array(to)
            if out is None or (out.dtype, out.shape) != (source.dtype, source.shape) or not (
                out.flags.c_contiguous and out.flags.writeable
            ):  # fmt: skip
                raise errors.InvalidArgument(
                    f"the copy is to a numpy array of {source.dtype.name}{list(source.shape)} in C order that may be written"
                )
            check(library.lemma_stream_read(self._handle, out.ctypes.data, source.address, source.nbytes))
            self._keep(out, source)

    def fill(self, array: Array, byte: int) -> None:
        """Sets every byte of a lemma.Array."""
        if not 0 <= byte <= 255:
            raise errors.InvalidArgument(f"{byte} is no byte: 0 to 255")
        check(library.lemma_stream_fill(self._handle, array.address, byte, array.nbytes))
        self._keep(array)

    def call(self, function: Callable[[], Any]) -> None:
        """Calls a function of the host, from another thread. It must not wait for the device; what it raises fails the stream, and
        synchronize() raises it."""
        work, queue = self.device._work, self._queue

        def run() -> None:
            try:
                function()
            except BaseException as problem:
                work.leave(queue, problem)
                raise

        key = next(_keys)
        _functions[key] = run
        host = sized(_abi.lemma_host_function, user=key)
        host.call = ctypes.cast(_host_function, _HOST["call"])
        try:
            check(library.lemma_stream_call(self._handle, ctypes.byref(host)))
        except BaseException:
            _functions.pop(key, None)
            raise
        self._keep(_NeverCalled(key))

    def _record(self) -> Any:
        event = ctypes.POINTER(_abi.lemma_event)()
        check(library.lemma_stream_record(self._handle, ctypes.byref(event)))
        return event

    def _keep(self, *used: Any) -> None:
        """Until what the stream was given has ended."""
        self.device._work.keep(self._queue, self._record(), [u._owner or u if isinstance(u, Array) else u for u in used])

    def record(self) -> Event:
        """The point behind all that the stream was given so far."""
        return Event(self.device, self._record())

    def wait(self, event: Event) -> None:
        """What the stream is given from now on waits for the event. Error: InvalidArgument (another device's)."""
        check(library.lemma_stream_wait(self._handle, event._handle))

    def is_done(self) -> bool:
        """Whether all has ended that the stream was given."""
        return bool(library.lemma_stream_is_done(self._handle))

    def synchronize(self) -> None:
        """Waits for that. Errors: of the first operation that failed - KernelFailed, with `report` -; Findings, of check=True; what
        functions of the host raised. Ctrl-C ends the launches of all streams."""
        handle = self._handle
        self.device._work.wait(lambda: library.lemma_stream_synchronize(handle), self._queue)

    def __repr__(self) -> str:
        return f"<lemma.Stream of {self.device!r}>"


class _NeverCalled:
    """Forgets a function that was not called because its stream had failed."""

    def __init__(self, key: int) -> None:
        self._key = key

    def __del__(self) -> None:
        _functions.pop(self._key, None)
