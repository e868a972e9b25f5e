"""A waterfall as lines of text, at most 80 columns, the answer on the first."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from otel_attrib.analytics import log_lines
from otel_attrib.analytics.waterfall import Neighbour, StageBar, StepSummary, Waterfall

__all__ = ["headline", "lines", "milliseconds"]

WIDTH = 80
_BAR = 44
_NEIGHBOURS = 12
_STALLS = 5
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_LEVELS = "▁▂▃▄▅▆▇█"
_ASCII = str.maketrans("▏▎▍▌▋▊▉█░▁▂▃▄▅▆▇–", ".:-=+*##~__.-=+*-")


def milliseconds(us: float) -> str:
    """Microseconds as milliseconds with three significant digits, the unit left to the caller."""
    ms = us / 1e3
    digits = 0 if abs(ms) >= 99.95 else 1 if abs(ms) >= 9.995 else 2
    return f"{ms:,.{digits}f}"


def lines(shown: Waterfall, unicode: bool = True) -> list[str]:
    """Everything about one request; `unicode=False` draws with ASCII only."""
    blocks = (
        [headline(shown)],
        list(_facts(shown)),
        list(_stages(shown)),
        list(_tokens(shown)),
        list(_steps(shown.steps)),
        list(_neighbours(shown)),
        list(log_lines.lines(shown.logs)),
    )
    text = [line for block in blocks if block for line in ["", *block]][1:]
    return [_fit(line if unicode else _plain(line)) for line in text]


def _plain(line: str) -> str:
    return line.translate(_ASCII).encode("ascii", "replace").decode()


def _fit(line: str) -> str:
    line = line.rstrip()
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}>"


def headline(shown: Waterfall) -> str:
    """The answer: TTFT and the stages that made it, the dearest first."""
    parts = sorted((bar for bar in shown.stages if bar.us), key=lambda bar: -(bar.us or 0))
    told = ", ".join(f"{milliseconds(bar.us or 0)} ms {bar.stage}" for bar in parts[:3])
    if shown.ttft_us is None:
        return _without_ttft(shown, told)
    since = "" if shown.measured_from == "arrival" else f" from {shown.measured_from}"
    ended = "" if shown.request["status"] in ("", "ok") else f"; {_ended(shown)}"
    return f"TTFT {milliseconds(shown.ttft_us)} ms{since}: {told or 'no stage observed'}{ended}"


def _ended(shown: Waterfall) -> str:
    """`aborted after 1,200 ms`."""
    e2e = shown.request["e2e_us"]
    return str(shown.request["status"]) + (f" after {milliseconds(e2e)} ms" if e2e is not None else "")


def _without_ttft(shown: Waterfall, told: str) -> str:
    if shown.request["status"] in ("", "ok"):
        return f"TTFT not observed: {told or 'no stage either'}"
    where = f", last stage seen: {shown.last_stage}" if shown.last_stage else ""
    return f"no token written: {_ended(shown)}{where}" + (f" ({told})" if told else "")


def _facts(shown: Waterfall) -> Iterator[str]:
    row = shown.request
    moment = datetime.fromtimestamp(row["time_us"] / 1e6, UTC)
    yield f"trace    {row['trace_id']}  span {row['span_id']}"
    yield f"request  {row['request_id'] or 'id not observed'}"
    yield f"at       {moment:%Y-%m-%d %H:%M:%S}.{row['time_us'] % 1_000_000:06d} UTC, from {row['source']}"
    yield from _wrapped("who      ", _dimensions(row))
    yield from _wrapped("sizes    ", _sizes(row))
    yield from _wrapped("ended    ", _ending(row))


def _dimensions(row: dict[str, Any]) -> list[str]:
    names = ("service", "node", "gpu_set", "engine", "engine_version", "model", "version", "replica")
    more = ("tenant", "sla_class", "stream_id", "partition_id", "operator_id", "parallelism", "operation")
    return [f"{name} {row[name]}" for name in names + more if row.get(name) not in ("", None)]


def _sizes(row: dict[str, Any]) -> list[str]:
    names = ("prompt_tokens", "cached_tokens", "output_tokens", "preemptions", "prefill_chunks")
    told = [f"{name.replace('_', ' ')} {row[name]:,}" for name in names if row[name] is not None]
    weight = row.get("weight") or 1
    return [*told, *([f"stands for {weight:,} requests"] if weight > 1 else [])]


def _ending(row: dict[str, Any]) -> list[str]:
    found = [f"status {row['status'] or 'not observed'}"]
    found += [f"{name} {row[name]}" for name in ("finish_reason", "error_type") if row[name]]
    if row["e2e_us"] is not None:
        found.append(f"E2E {milliseconds(row['e2e_us'])} ms")
    if row["sla_deadline_ms"] is not None:
        found.append(_deadline(row["sla_deadline_ms"], row["ttft_us"]))
    return found


def _deadline(deadline_ms: float, ttft_us: float | None) -> str:
    if ttft_us is None:
        return f"deadline {deadline_ms:,.0f} ms"
    over = ttft_us - deadline_ms * 1e3
    word = "missed by" if over > 0 else "kept with"
    return f"deadline {deadline_ms:,.0f} ms {word} {milliseconds(abs(over))} ms"


def _wrapped(head: str, words: Sequence[str]) -> Iterator[str]:
    line = head
    for word in words:
        if line.strip() and len(line) + len(word) > WIDTH and line != head:
            yield line.rstrip()
            line = " " * len(head)
        line += f"{word}  "
    if words:
        yield line.rstrip()


def _stages(shown: Waterfall) -> Iterator[str]:
    total = shown.ttft_us or sum(bar.us or 0 for bar in shown.stages)
    end = f"{milliseconds(total)} ms" if total else ""
    yield f"{'stage':<9}{'ms':>10}{'share':>9}  |0 ms{end:>{_BAR - 4}}|"
    for bar in shown.stages:
        if bar.us is None:
            yield f"{bar.stage:<9}{'not observed':>19}  |{'':{_BAR}}|"
        else:
            share = f"{bar.share:.1%}" if bar.share is not None else ""
            yield f"{bar.stage:<9}{milliseconds(bar.us):>10}{share:>9}  |{_bar(bar, total)}|"


def _bar(bar: StageBar, total: float) -> str:
    """The stage at its place; `outside` is hatched, for where it lies is not known."""
    if not total or not bar.us:
        return " " * _BAR
    start = round(bar.offset_us / total * _BAR * 8)
    stop = max(start + 1, round((bar.offset_us + bar.us) / total * _BAR * 8))
    cells = "".join(_cell(start, stop, cell * 8) for cell in range(_BAR))
    return cells.translate(str.maketrans(_EIGHTHS[1:], "░" * 8)) if bar.stage == "outside" else cells


def _cell(start: int, stop: int, left: int) -> str:
    filled = min(stop, left + 8) - max(start, left)
    return _EIGHTHS[filled] if filled > 0 else " "


def _tokens(shown: Waterfall) -> Iterator[str]:
    tpot = shown.request["tpot_us"]
    if tpot is not None:
        parts = [f"{stage} {milliseconds(us)}" for stage, us in shown.decode.items()]
        yield from _wrapped("TPOT     ", [f"{milliseconds(tpot)} ms", *(parts or ["stages not observed"])])
    if shown.gaps.get("count"):
        told = [f"{name} {milliseconds(shown.gaps[f'{name}_us'])}" for name in _gap_names(shown.gaps)]
        yield f"gaps     {shown.gaps['count']:,.0f} between tokens: {'  '.join(told)} ms"
    if shown.stalls:
        late = (f"token {stall.token} {milliseconds(stall.gap_us)} ms" for stall in shown.stalls[:_STALLS])
        yield from _wrapped("stalls   ", list(late))
    if shown.timeline_us:
        yield f"timeline {_sparkline(shown.timeline_us)}"


def _gap_names(gaps: dict[str, float]) -> list[str]:
    return [name for name in ("p50", "p99", "max") if f"{name}_us" in gaps]


def _sparkline(gaps: Sequence[float]) -> str:
    """Gaps in order, squeezed to the line's width; of those sharing a cell the longest is shown."""
    room = min(len(gaps), WIDTH - 9)
    edges = [round(cell * len(gaps) / room) for cell in range(room + 1)]
    peaks = [max(gaps[left:right]) for left, right in zip(edges, edges[1:], strict=False)]
    top = max(peaks) or 1.0
    return "".join(_LEVELS[min(7, int(peak / top * 8))] for peak in peaks)


def _steps(steps: Sequence[StepSummary]) -> Iterator[str]:
    if not steps:
        yield "steps    not observed"
        return
    first, last = min(phase.first for phase in steps), max(phase.last for phase in steps)
    yield "steps           count  ms each  batch   max  prefill beside      KV use  waiting"
    for phase in steps:
        each = "?" if phase.mean_us is None else milliseconds(phase.mean_us)
        batch = "?" if phase.batch_mean is None else f"{phase.batch_mean:.1f}"
        usage = "?" if phase.kv_low is None else f"{phase.kv_low:.1%}–{phase.kv_high:.1%}"
        yield (
            f"{phase.phase:<14}{phase.steps:>7,}{each:>9}{batch:>7}{_count(phase.batch_max):>6}"
            f"{phase.prefill_beside:>12,} tok{usage:>12}{_count(phase.waiting_max):>9}"
        )
    preempted = sum(phase.preemptions for phase in steps)
    yield f"engine steps {first}–{last}, in them {preempted:,} preemptions"


def _count(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"


def _neighbours(shown: Waterfall) -> Iterator[str]:
    """Spans that were open while the request was, the others as a count."""
    if not shown.neighbours:
        return
    end = shown.request["e2e_us"] or shown.ttft_us or 0.0
    open_then = [
        span for span in shown.neighbours if span.offset_us <= end and span.offset_us >= -span.duration_us
    ]
    yield "other spans of this trace (from this request's start)"
    for span in open_then[:_NEIGHBOURS]:
        yield _neighbour(span)
    hidden = len(shown.neighbours) - len(open_then[:_NEIGHBOURS])
    if hidden > 0:
        yield f"  and {hidden:,} more (--json has them all)"
    if any(span.other_clock for span in open_then[:_NEIGHBOURS]):
        yield "* another host's clock: the offset carries the difference of the two clocks"


def _neighbour(span: Neighbour) -> str:
    mark = "*" if span.other_clock else " "
    at = f"{milliseconds(span.offset_us)}{mark}"
    return f"  {span.service[:20]:<20}  {span.name[:28]:<28}{at:>12}{milliseconds(span.duration_us):>11} ms"
