"""For pytest: a marker, a fixture, and reports of failed tests. pytest finds it by itself once lemma is installed.

    @pytest.mark.lemma(check=True, explore=4)
    def test_add(lemma_device):
        kernel = lemma_device.load("add.ptx")["add"]
        ...

The marker's options are those of launches (lemma.Kernel lists them), for all launches of the test, and kind, arch, ordinal and
memory of the device. explore=N makes N tests of it: each in another legal schedule, whose number is in the test's name.
"""

from __future__ import annotations

from typing import Any, Iterator

import pytest

_DEVICE = ("kind", "arch", "ordinal", "memory")


def pytest_configure(config: Any) -> None:
    config.addinivalue_line(
        "markers",
        "lemma(check=True, explore=N, kind='cpu', arch='sm_90a', ...): options of all launches of a test and of its lemma_device;"
        " with explore, the test runs in N schedules",
    )


def _options(node: Any) -> dict[str, Any]:
    """What the markers of a test say, the nearest last."""
    made: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("lemma"))):
        if marker.args:
            raise pytest.UsageError(f"{node.nodeid}: the marker lemma takes options by name")
        made.update(marker.kwargs)
    return made


def pytest_generate_tests(metafunc: Any) -> None:
    schedules = _options(metafunc.definition).get("explore", 1)
    if schedules > 1:
        metafunc.fixturenames.append("_lemma_schedule")
        metafunc.parametrize("_lemma_schedule", range(schedules), ids=lambda s: f"schedule{s}")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: Any) -> Iterator[None]:
    import lemma

    options = {k: v for k, v in _options(item).items() if k not in (*_DEVICE, "explore")}
    schedule = getattr(item, "callspec", None) and item.callspec.params.get("_lemma_schedule")
    if schedule:
        options["schedule"] = schedule
    with lemma.defaults(**options), lemma.reports() as reports:
        yield
    item.stash[_REPORTS] = reports


_REPORTS: Any = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: Any, call: Any) -> Any:
    outcome = yield
    report = outcome.get_result()
    if not report.failed:
        return
    said = [r.text for r in item.stash.get(_REPORTS, []) if r.text]
    error = call.excinfo.value if call.excinfo else None
    if said and not (len(said) == 1 and str(error) == said[0].rstrip("\n")):
        report.sections.append(("lemma: what the launches reported", "\n".join(said)))


@pytest.fixture
def _lemma_schedule(request: Any) -> int:
    return getattr(request, "param", 0)


@pytest.fixture
def lemma_device(request: Any) -> Iterator[Any]:
    """A fresh lemma.Device; the marker lemma has its options."""
    import lemma

    options = {k: v for k, v in _options(request.node).items() if k in _DEVICE}
    with lemma.Device(options.pop("kind", "cpu"), **options) as device:
        yield device
