"""The store's faults in one line each: what was wrong, where, what to do."""

import fcntl
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from otel_attrib.errors import StoreBusy, StoreError, StoreSchema
from otel_attrib.schema.dsn import MEMORY, Dsn

__all__ = ["busy", "told", "without_tables"]

_UNKNOWN_TABLE, _UNKNOWN_DATABASE = 60, 81
# What a fresh store lacks, told from a name that somebody mistyped.
_OURS = re.compile(
    r"(?:identifier '|Table )(?:[\w`]+\.)?`?"
    r"(?:requests(?:_10s)?|steps|samples|marks|otel_(?:traces|metrics|logs)\w*|schema_migrations)\b"
)
_FILES = "files of it are missing or damaged"
_TRAILERS = re.compile(r"\s*\((?:for url|version|official build)[^)]*\)\)?|\s*Stack trace:.*", re.DOTALL)


@contextmanager
def told(dsn: Dsn) -> Iterator[None]:
    """Turn the client library's exceptions, and those of its temporary files, into ours."""
    from clickhouse_connect.driver.exceptions import ClickHouseError, OperationalError

    try:
        yield
    except ClickHouseError as fault:
        message, code = _message(fault)
        if code in (_UNKNOWN_TABLE, _UNKNOWN_DATABASE):
            ours = code == _UNKNOWN_DATABASE or _OURS.search(message)
            raise StoreSchema(without_tables(dsn) if ours else message, code) from fault
        if _names_files(dsn, message):
            raise StoreError(f"store {dsn.shown} cannot be read: {_FILES}", code) from fault
        if code is None and isinstance(fault, OperationalError):
            raise StoreError(f"store {dsn.shown} cannot be reached: {_cause(message)}") from fault
        raise StoreError(message, code) from fault
    except OSError as fault:
        raise StoreError(f"store {dsn.shown}: {fault.strerror or fault}") from fault


def _names_files(dsn: Dsn, message: str) -> bool:
    """Whether the engine speaks of what it keeps below an embedded store's path, which no statement names."""
    return dsn.embedded and dsn.path != MEMORY and f"{str(dsn.path).rstrip('/')}/store/" in message


def without_tables(dsn: Dsn) -> str:
    """Say that a store was never migrated, and how it is."""
    return f"store {dsn.shown} has no tables of otel-attrib: run `otel-attrib migrate --dsn {dsn.shown}`"


@contextmanager
def busy(dsn: Dsn) -> Iterator[None]:
    """Say who holds an embedded path that cannot be opened; what the engine itself writes is not shown."""
    from clickhouse_connect.driver.exceptions import ClickHouseError

    written: list[str] = []
    try:
        with _engine_quiet(written):
            yield
    except ClickHouseError as fault:
        if dsn.path != MEMORY and _locked(Path(str(dsn.path)) / "status"):
            raise StoreBusy(_holder(dsn)) from fault
        if "already initialized with path" in str(fault):
            raise StoreError(
                f"this process has another store open than {dsn.shown}: one path a process"
            ) from fault
        why = _FILES if "Load job" in written[0] else _message(fault)[0]
        raise StoreError(f"store {dsn.shown} cannot be opened: {why}") from fault


@contextmanager
def _engine_quiet(written: list[str]) -> Iterator[None]:
    """Keep what is written to the process's standard error; it is let through when nothing fails.

    The engine reports tables that it cannot load there, in pages, before it says that it cannot start.
    """
    with ExitStack() as stack:
        try:
            kept = stack.enter_context(TemporaryFile())
            before = os.dup(2)
        except (
            OSError
        ):  # no room, or no standard error: then there is nothing to keep it in, or nothing to keep
            written.append("")
            yield
            return
        stack.callback(os.close, before)
        os.dup2(kept.fileno(), 2)
        shown = False
        try:
            yield
            shown = True
        finally:
            os.dup2(before, 2)
            kept.seek(0)
            said = kept.read()
            written.append(said.decode(errors="replace"))
            if shown and said:
                os.write(2, said)


def _message(fault: Exception) -> tuple[str, int | None]:
    text = str(fault)
    start = text.find("Code: ")
    text = _TRAILERS.sub("", text[start:] if start >= 0 else text).strip()
    found = re.match(r"Code: (\d+)", text)
    return " ".join(text.split()), int(found[1]) if found else None


def _cause(message: str) -> str:
    """The operating system's own words out of the several layers that wrap them."""
    found = re.search(r"\[Errno -?\d+\] ([^'\")]+)", message)
    return found[1] if found else message


def _locked(status: Path) -> bool:
    """Whether somebody holds the lock that the engine takes on its status file."""
    try:
        with status.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _holder(dsn: Dsn) -> str:
    who = _pid(Path(str(dsn.path)) / "status")
    return f"store {dsn.path} is held by {who}: ask it with --url of that service, or stop it"


def _pid(status: Path) -> str:
    """Name the process that the engine's own `status` file says it is."""
    try:
        found = re.search(r"PID: (\d+)", status.read_text())
        if not found:
            return "another process"
        command = Path(f"/proc/{found[1]}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "another process"
    return f"process {found[1]} ({' '.join(command.split())[:60]})"
