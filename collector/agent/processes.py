"""The engine's processes on this machine, found by themselves; server, engine core and workers told apart.

A process belongs to an engine by its title or program (`engine_roles`), by `OTEL_ATTRIB_ENABLED` or
OpenTelemetry's auto-instrumentation in its environment, because its pid was given, or because its parent
belongs. A pid that is used again is another process: start ticks tell. Needs no permission; an environment
that may not be read costs the service's name alone, which is then the parent's.

Cost: a process is looked at when it appears, each time while it is young or an engine's, else every twelfth
time. 100 processes take 7 ms for the first look and 0.5 ms for each of those that follow every 5 s.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final

from otel_attrib.collector.agent.engine_roles import Role, is_python, is_tool, program_of, role_of
from otel_attrib.collector.agent.process_stat import ProcessStat, parse_stat

__all__ = ["EngineProcess", "EngineProcesses", "shared_processes"]

_ROUNDS: Final = 12
_YOUNG_S: Final = 60.0
_LONGEST_COMMAND: Final = 80
_INSTRUMENTED: Final = "opentelemetry/instrumentation/auto_instrumentation"
_YES: Final = frozenset({"1", "true", "yes", "on"})


@dataclass(frozen=True, slots=True)
class EngineProcess:
    """One process of an engine.

    `role` is api_server, engine_core, worker or other; `service` its OTEL_SERVICE_NAME or its parent's, empty
    where none can be read; `command` its title, or program and first word (never options: they hold keys);
    `engine` the pid at which the engine's tree starts, the same for all of one engine.
    """

    pid: int
    role: Role
    service: str
    started_ticks: int
    command: str
    engine: int = 0


@dataclass(frozen=True, slots=True)
class _Seen:
    """What is known of any process of the machine."""

    stat: ProcessStat
    command: tuple[str, ...]
    role: Role | None
    marked: bool
    service: str
    since: float

    def same(self, stat: ProcessStat) -> bool:
        return self.stat.started_ticks == stat.started_ticks


class EngineProcesses:
    """Finds the engines' processes again and again; `current` may be called from any thread.

    With `pids`, those processes and their children belong whatever they are; what is found by itself belongs
    as well unless `only`.
    """

    def __init__(
        self,
        proc: Path = Path("/proc"),
        pids: Iterable[int] | None = None,
        every_s: float = 5.0,
        *,
        only: bool = False,
        own: int | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Look below `proc`, at most every `every_s` seconds by `now`; `own` is this process, no engine's."""
        self.proc = proc
        self.every_s = every_s
        self._given = frozenset(pids or ())
        self._only = only
        self._own = os.getpid() if own is None else own
        self._now = now
        self._lock = Lock()
        self._due = float("-inf")
        self._round = 0
        self._seen: dict[int, _Seen] = {}
        self._found: dict[int, EngineProcess] = {}
        self._current: tuple[EngineProcess, ...] = ()

    def watch(self, pids: Iterable[int], only: bool = False) -> None:
        """Let these processes and their children belong from now on, and with `only` no others."""
        with self._lock:
            self._given = frozenset(pids)
            self._only = only
            self._due = float("-inf")

    def current(self) -> tuple[EngineProcess, ...]:
        """Return the processes of the last look, of a new one when it is due; by engine, then pid."""
        with self._lock:
            if (now := self._now()) >= self._due:
                self._due = now + self.every_s
                self._look_at_all(now)
                self._found = self._belonging()
                order = sorted(self._found.values(), key=lambda process: (process.engine, process.pid))
                self._current = tuple(order)
            return self._current

    def _look_at_all(self, now: float) -> None:
        self._round += 1
        seen: dict[int, _Seen] = {}
        for pid in self._pids():
            known = self._seen.get(pid)
            if known is None or self._again(pid, known, now):
                known = self._look(pid, known, now)
            if known is not None:
                seen[pid] = known
        self._seen = seen

    def _pids(self) -> list[int]:
        return [int(name) for name in os.listdir(self.proc) if name.isdecimal()]

    def _again(self, pid: int, known: _Seen, now: float) -> bool:
        if known.stat.kernel_thread:
            return False
        young = now - known.since < _YOUNG_S
        return young or pid in self._found or (pid + self._round) % _ROUNDS == 0

    def _look(self, pid: int, known: _Seen | None, now: float) -> _Seen | None:
        """Read one process; None when it is gone."""
        folder = self.proc / str(pid)
        try:
            stat = parse_stat((folder / "stat").read_bytes())
            command = () if stat.kernel_thread else _command((folder / "cmdline").read_bytes())
        except (OSError, ValueError, IndexError):
            return None
        if known and known.same(stat) and known.command == command:
            return replace(known, stat=stat)
        environment = {} if stat.kernel_thread else _environment(folder)
        role, marked, service = role_of(command), _marked(command, environment), _service(environment)
        if known and known.same(stat):
            # A title of its own lies over the environment (setproctitle), which the first look still had.
            return _Seen(stat, command, role, marked or known.marked, service or known.service, known.since)
        return _Seen(stat, command, role, marked, service, now)

    def _belonging(self) -> dict[int, EngineProcess]:
        children: dict[int, list[int]] = {}
        for pid, seen in self._seen.items():
            children.setdefault(seen.stat.parent, []).append(pid)
        roots = set(self._roots())
        found: dict[int, EngineProcess] = {}
        for root in sorted(roots):
            if roots.isdisjoint(self._ancestors(root)):
                self._descend(root, children, found)
        return found

    def _ancestors(self, pid: int) -> Iterator[int]:
        """Every process above this one, the nearest first; as many as there are even where pids go round."""
        for _ in self._seen:
            above = self._seen.get(pid)
            if above is None:
                return
            yield (pid := above.stat.parent)

    def _roots(self) -> Iterator[int]:
        """Every process that belongs by itself."""
        for pid, seen in self._seen.items():
            if pid in self._given or (not self._only and self._by_itself(pid, seen)):
                yield pid
                if (
                    not self._only
                    and seen.role in ("engine_core", "worker")
                    and self._serves(seen.stat.parent)
                ):
                    yield seen.stat.parent

    def _by_itself(self, pid: int, seen: _Seen) -> bool:
        if pid == self._own:
            return False
        return seen.role is not None or seen.marked or self._belonged(pid, seen)

    def _belonged(self, pid: int, seen: _Seen) -> bool:
        """Return whether it was an engine's before its parent ended."""
        return self._before(pid) is not None and seen.stat.parent <= 1

    def _before(self, pid: int) -> EngineProcess | None:
        """Return what this very process was at the last look."""
        before = self._found.get(pid)
        same = before is not None and before.started_ticks == self._seen[pid].stat.started_ticks
        return before if same else None

    def _serves(self, pid: int) -> bool:
        """Return whether this parent of an engine core is a Python program with the engine inside."""
        seen = self._seen.get(pid)
        return seen is not None and pid != self._own and is_python(seen.command) and not is_tool(seen.command)

    def _descend(self, root: int, children: dict[int, list[int]], found: dict[int, EngineProcess]) -> None:
        """Take a process and all below it; one that lost its parent keeps the engine that it was of."""
        nobody = EngineProcess(self._seen[root].stat.parent, "other", "", 0, "", root)
        waiting = [(root, self._before(root) or nobody)]
        while waiting:
            pid, parent = waiting.pop()
            if pid in found or pid == self._own:
                continue
            found[pid] = mine = self._process(pid, parent, children)
            waiting.extend((child, mine) for child in children.get(pid, ()))

    def _process(self, pid: int, parent: EngineProcess, children: dict[int, list[int]]) -> EngineProcess:
        seen = self._seen[pid]
        role = seen.role
        if role is None:
            below = (self._seen[child].role for child in children.get(pid, ()))
            serving = is_python(seen.command) and any(child == "engine_core" for child in below)
            role = "api_server" if serving else "other"
        service = seen.service or parent.service
        return EngineProcess(pid, role, service, seen.stat.started_ticks, _shown(seen), parent.engine)


@cache
def shared_processes() -> EngineProcesses:
    """Return the one finder that the sources of this process share, so that the machine is looked at once."""
    return EngineProcesses()


def _command(raw: bytes) -> tuple[str, ...]:
    """Words of a command line; a title that was set is one word with spaces behind it."""
    return tuple(word.rstrip() for word in raw.decode(errors="replace").rstrip("\0 ").split("\0"))


def _environment(folder: Path) -> dict[str, str]:
    try:
        raw = (folder / "environ").read_bytes()
    except OSError:  # another user's process
        return {}
    pairs = (word.decode(errors="replace").partition("=") for word in raw.split(b"\0"))
    return {name: value for name, _, value in pairs}


def _marked(command: tuple[str, ...], environment: dict[str, str]) -> bool:
    """Return whether it is a Python program whose environment asks for telemetry of an engine."""
    if not is_python(command) or is_tool(command):
        return False
    asked = environment.get("OTEL_ATTRIB_ENABLED", "").lower() in _YES
    return asked or _INSTRUMENTED in environment.get("PYTHONPATH", "")


def _service(environment: dict[str, str]) -> str:
    if name := environment.get("OTEL_SERVICE_NAME", "").strip():
        return name
    pairs = (pair.partition("=") for pair in environment.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","))
    return next((value.strip() for name, _, value in pairs if name.strip() == "service.name"), "")


def _shown(seen: _Seen) -> str:
    words = program_of(seen.command)[:2]
    shown = " ".join(word for word in words if not word.startswith("-")) or seen.stat.name
    return shown[:_LONGEST_COMMAND]
