"""The service and the store: reachable, of this version's schema, and with sane times in it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from otel_attrib import __version__
from otel_attrib.doctor.check import Finding, Surroundings, check, fail, ok, warn
from otel_attrib.doctor.paths import store_path
from otel_attrib.doctor.ports import running
from otel_attrib.errors import OtelAttribError, StoreBusy
from otel_attrib.schema.dsn import default_dsn, parse_dsn
from otel_attrib.schema.migrate import status
from otel_attrib.schema.service import DEFAULT_URL, store_address
from otel_attrib.schema.store import Store, open_store

_SKEW = timedelta(seconds=5)


@check("service")
def service(around: Surroundings) -> Iterator[Finding]:
    """A service that is asked for answers, and is of this version."""
    found, url = running(around), around.service_url() or DEFAULT_URL
    if found is None and around.service_url():
        yield fail("service", f"nobody answers at {url}", "start `otel-attrib up`, or correct --url")
    elif found is None:
        yield ok("service", f"none runs at {url} (otel-attrib up starts one)")
    elif found.get("version") != __version__:
        text = f"{url} is version {found.get('version')}, this command is {__version__}"
        yield warn("service", text, "restart `otel-attrib up` after an update")
    else:
        yield ok("service", f"{url} runs, version {__version__}")


@check("store")
def store(around: Surroundings) -> Iterator[Finding]:
    """The store can be opened; its tables are complete; its newest row is not from the future."""
    try:
        dsn = _address(around)
        if dsn is None:
            yield ok("store", f"{store_path(around)} is not there yet: `up`, `migrate` or `import` makes it")
            return
        with open_store(dsn) as opened:
            yield ok("store", f"{opened.dsn.shown} answers, ClickHouse {_version(opened)}")
            yield from _schema(opened)
    except StoreBusy as fault:
        yield warn("store", str(fault), "let it go on and ask it with --url, or stop it")
    except OtelAttribError as fault:
        yield fail("store", str(fault), "correct --dsn or OTEL_ATTRIB_DSN, or start the server")


def _address(around: Surroundings) -> str | None:
    """DSN of the store to look at; None for an embedded one that nobody has made yet."""
    if around.dsn is None and running(around) is not None:
        return store_address(around.service_url() or DEFAULT_URL)
    text = around.dsn or around.settings().dsn or default_dsn()
    parse_dsn(text)
    path = store_path(around)
    return None if path is not None and not path.exists() else text


def _version(opened: Store) -> str:
    return str(opened.rows("SELECT version() AS version")[0]["version"])


def _schema(opened: Store) -> Iterator[Finding]:
    steps = status(opened)
    pending = [step for step in steps if step.state == "pending"]
    foreign = [step for step in steps if step.state in ("changed", "unknown")]
    mend = f"otel-attrib migrate --dsn {opened.dsn.shown}"
    if foreign:
        names = ", ".join(f"{step.version:04d}_{step.name}" for step in foreign)
        yield fail("schema", f"made by another version: {names}", "update otel-attrib, or use a new database")
    elif len(pending) == len(steps):
        yield fail("schema", "the database has no tables of ours", mend)
    elif pending:
        yield fail("schema", f"{len(pending)} of {len(steps)} migrations are not applied", mend)
    else:
        yield ok("schema", f"{len(steps)} of {len(steps)} migrations applied")
        yield from _rows(opened)


def _rows(opened: Store) -> Iterator[Finding]:
    (row,) = opened.rows("SELECT count() AS n, max(time) AS newest FROM requests")
    if not row["n"]:
        yield ok("rows", "no request yet: otel-attrib run -- vllm serve MODEL, or otel-attrib import")
    elif row["newest"] > datetime.now(UTC) + _SKEW:
        text = f"the newest request is from the future: {row['newest']:%Y-%m-%d %H:%M:%S} UTC"
        yield warn("rows", text, "set the clock of the host that sent it; --at newest still finds it")
    else:
        yield ok("rows", f"{row['n']:,} requests, the newest of {row['newest']:%Y-%m-%d %H:%M:%S} UTC")
