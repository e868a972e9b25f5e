"""A diff of two profiles as lines of text of at most 80 columns, the answer on the first."""

import re
from collections.abc import Iterator, Sequence

from otel_attrib.analytics.profiles.diff import ALIKE, UNTOLD, Diff, Moved, Side
from otel_attrib.analytics.profiles.missing_text import missing_lines
from otel_attrib.analytics.profiles.steps import WHOLE
from otel_attrib.analytics.wording import digits, percent, wrapped

__all__ = ["answer", "diff_lines", "short_name"]

_ROWS = 10
_NAME = 30
_DOES = re.compile(
    r"CUDAFunctor(?:OnSelf)?_(\w+)|(\w+?)(?:_kernel_cuda|_kernel_impl|CUDAKernelImpl|Functor)\b"
)
_FRAMES = ("gpu", "Binary")


def answer(found: Diff) -> str:
    """Return what moved and whether the step did, in one sentence."""
    gpu = f"GPU time {_ms(found.gpu_delta_ns)}"
    step = f"step {'' if found.step_moved else 'unchanged '}"
    step += f"({_percent(found.step_change)})" if not found.step_moved else _step(found)
    return f"{gpu}, {step}: {_meaning(found)}"


def _step(found: Diff) -> str:
    return f"{_ms(found.step_delta_ns)} ({_percent(found.step_change)})"


def _meaning(found: Diff) -> str:
    if found.shared < ALIKE:
        return f"different programs, {percent(found.shared)} of the time in kernels of both"
    if cut := [letter for letter, side in (("A", found.a), ("B", found.b)) if side.cut]:
        return f"nothing is said of it, as {' and '.join(cut)} {'are' if len(cut) > 1 else 'is'} cut"
    if found.a.marks != found.b.marks:
        return f"not the same kind of step ({found.a.marks} in A, {found.b.marks} in B)"
    if found.a.devices != found.b.devices:
        return f"not as many devices ({found.a.devices} in A, {found.b.devices} in B)"
    if found.uneven_work and found.work is not None:
        return _amount(found.work)
    if not found.gpu_moved:
        return "the change is outside the kernels" if found.step_moved else "nothing moved"
    saved = found.gpu_delta_ns < 0
    if not found.step_moved:
        what = "saving" if saved else "extra time"
        if not found.step_would_tell:
            return f"the {what} is too small to show in the step"
        return f"the {what} is not on the critical path"
    if saved == (found.step_delta_ns < 0):
        return "the step followed the GPU"
    return "the step went the other way than the GPU: look at idle and communication"


def _amount(work: float) -> str:
    if work >= 2:
        return f"B holds {work:,.1f} times the same work"
    return f"B holds {percent(abs(work - 1))} {'more' if work > 1 else 'less'} of the same work"


def diff_lines(found: Diff) -> Iterator[str]:
    """Yield everything about the two."""
    yield from wrapped(answer(found))
    yield ""
    yield from _side("A", found.a)
    yield from _side("B", found.b)
    yield ""
    yield from _accounts(found)
    yield ""
    yield from _table("class of kernels", found.classes)
    yield ""
    yield from _table("kernel", found.names)
    yield ""
    yield from _notes(found)
    yield from missing_lines([(side.path, text) for side in (found.a, found.b) for text in side.missing])


def _side(letter: str, side: Side) -> Iterator[str]:
    steps = f"{side.steps} {'step' if side.steps == 1 else 'steps'}"
    devices = "device" if side.devices == 1 else "devices"
    file = side.path.rsplit("/", 1)[-1]
    told = f"{side.devices} {devices}, {steps} ({side.marks or 'nothing ran'})"
    yield f"{letter}  {file[: 74 - len(told)]}  {told}"[:80]


def _accounts(found: Diff) -> Iterator[str]:
    """The step, and what the devices did in it, summed over them."""
    yield f"{'ms a step':30}{'A':>12}{'B':>12}{'change':>12}"
    rows = [
        ("step", found.a.step_ns, found.b.step_ns),
        ("GPU time, all kernels", found.a.gpu_ns, found.b.gpu_ns),
    ]
    rows += [(f"  {name}", ns, found.b.parts_ns.get(name, 0.0)) for name, ns in found.a.parts_ns.items()]
    for name, a, b in rows:
        yield f"{name:30}{a / 1e6:>12,.3f}{b / 1e6:>12,.3f}{(b - a) / 1e6:>+12,.3f}"


def _table(head: str, rows: Sequence[Moved]) -> Iterator[str]:
    yield f"{head:{_NAME}}{'A ms':>10}{'B ms':>10}{'change':>10}{'launches':>13}{'each':>7}"
    for row in rows[:_ROWS]:
        name = short_name(row.name).replace("_", " ") if head != "kernel" else short_name(row.name)
        launches = f"{_count(row.count_a)}→{_count(row.count_b)}"
        yield (
            f"{name[: _NAME - 1]:{_NAME}}{row.ns_a / 1e6:>10,.2f}{row.ns_b / 1e6:>10,.2f}"
            f"{row.delta_ns / 1e6:>+10,.2f}{launches:>13}{_each(row):>7}"
        )
    if len(rows) > _ROWS:
        rest = sum(row.delta_ns for row in rows[_ROWS:])
        yield f"{f'… {len(rows) - _ROWS} more':{_NAME}}{'':>20}{rest / 1e6:>+10,.2f}"


def _each(row: Moved) -> str:
    if not row.count_a:
        return "new"
    if not row.count_b:
        return "gone"
    ratio = (row.ns_b / row.count_b) / (row.ns_a / row.count_a) if row.ns_a else 1.0
    return f"{100 * (ratio - 1):+.0f}%" if ratio < 10 else f"×{ratio:.0f}"


def _notes(found: Diff) -> Iterator[str]:
    yield from wrapped(
        f"Of the change of GPU time, {_ms(found.by_launches_ns)} is the number of launches and"
        f" {_ms(found.by_duration_ns)} how long each took."
    )
    if found.uneven_work and found.work is not None:
        yield from wrapped(
            f"B launched nearly every kernel {found.work:.3f} times as often as A, so the two hold different"
            f" amounts of the same work. For the same work, B's GPU time is"
            f" {_percent(found.b.gpu_ns / found.work / found.a.gpu_ns - 1)} and its step"
            f" {_percent(found.b.step_ns / found.work / found.a.step_ns - 1)}."
        )
    unmarked = [letter for letter, side in (("A", found.a), ("B", found.b)) if side.marks == WHOLE]
    if unmarked:
        yield from wrapped(
            f"No steps are marked in {' and '.join(unmarked)}, so each such profile counts as one: its length"
            " is that of the recording, which says nothing of the program where both were cut to the same"
            " length."
        )
    elif found.a.step_error_ns is None or found.b.step_error_ns is None:
        yield from wrapped(f"Too few steps to tell a change below {percent(UNTOLD)} from chance.")


def short_name(name: str) -> str:
    """Return a kernel's name without types, arguments and namespaces, and with what an ATen template does."""
    plain = re.sub(r"^void ", "", name)
    while (less := re.sub(r"<[^<>]*>", "", plain)) != plain:
        plain = less
    plain = re.sub(r"[(<].*$", "", plain.replace("(anonymous namespace)::", ""))
    base = plain.rsplit("::", 1)[-1].strip() or name
    found = ("".join(words) for words in _DOES.findall(name.partition("<")[2]))
    does = [word for word in found if word not in _FRAMES]
    return f"{base.removesuffix('_kernel')} {does[-1]}" if does else base


def _ms(ns: float) -> str:
    told = f"{ns / 1e6:+,.1f} ms" if abs(ns) >= 1e5 else f"{ns / 1e3:+,.1f} µs"
    return told.replace("-", "−")


def _percent(share: float) -> str:
    if share >= 9.995:
        return f"×{digits(1 + share)}"
    return f"{100 * share:+.2f} %".replace("-", "−")


def _count(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 or number == int(number) else f"{number:.1f}"
