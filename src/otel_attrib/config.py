"""Every setting of the service, in one frozen object: environment, then file, then default.

`OTEL_ATTRIB_<NAME>` in the environment wins over `name` in the TOML file that `OTEL_ATTRIB_CONFIG`
names, which wins over the default. docs/reference/settings.md is made from the fields below:

python -m otel_attrib.config > docs/reference/settings.md
"""

import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import Field, dataclass, field, fields
from ipaddress import ip_network
from pathlib import Path
from typing import Any

from otel_attrib.errors import ConfigError

__all__ = ["PREFIX", "Settings", "load", "page", "size"]

PREFIX = "OTEL_ATTRIB_"
CONFIG = "OTEL_ATTRIB_CONFIG"

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?", re.IGNORECASE)
_TIME = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?")
_SECONDS = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_POWERS = "KMGT"


def size(value: object) -> int:
    """Bytes from a number or from text such as `64MiB` or `1GB`."""
    found = _SIZE.fullmatch(str(value).strip())
    if found is None:
        raise ValueError("give bytes, such as 67108864 or 64MiB")
    number, power, binary = found.groups()
    step = 1024 if binary else 1000
    return int(float(number) * step ** (_POWERS.index(power.upper()) + 1 if power else 0))


def _seconds(value: object) -> float:
    found = _TIME.fullmatch(str(value).strip())
    if found is None:
        raise ValueError("give seconds, or a time such as 250ms, 10s or 5m")
    return float(found[1]) * _SECONDS[found[2] or "s"]


def _interval(value: object) -> float:
    seconds = _seconds(value)
    if not 0.1 <= seconds <= 3600:
        raise ValueError("give a time from 100ms to 1h")
    return seconds


def _port(value: object) -> int:
    number = _whole(value)
    if number > 65535:
        raise ValueError("a port is 0 (any free one) to 65535")
    return number


def _whole(value: object) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"\d+", str(value).strip()):
        raise ValueError("give a whole number")
    return int(str(value))


def _count(value: object) -> int:
    number = _whole(value)
    if number < 1:
        raise ValueError("give a whole number above 0")
    return number


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("give text")
    return value


def _list(value: object) -> tuple[str, ...]:
    words = value.split(",") if isinstance(value, str) else value
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) for word in words):
        raise ValueError("give a list, or words with commas between them")
    return tuple(word.strip() for word in words if word.strip())


def _switch(value: object) -> bool:
    word = str(value).strip().lower()
    if word not in ("on", "off", "true", "false", "1", "0", "yes", "no"):
        raise ValueError("give on or off")
    return word in ("on", "true", "1", "yes")


def _log_format(value: object) -> str:
    if value not in ("text", "json"):
        raise ValueError("give text or json")
    return str(value)


def _number(value: object) -> float:
    """A number; 0, which no setting of these may be, for what is none."""
    try:
        return float(str(value))
    except ValueError:
        return 0.0


def _share(value: object) -> float:
    text = str(value).strip()
    share = _number(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not 0 < share <= 64:
        raise ValueError("give a share of one core above 0, such as 1% or 0.01")
    return share


def _part(value: object) -> float:
    part = _number(value)
    if not 0 < part < 1:
        raise ValueError("give a number between 0 and 1, such as 0.99")
    return part


def _amount(value: object) -> float:
    amount = _number(value)
    if not 0 < amount < 1e6:
        raise ValueError("give a number above 0")
    return amount


def _when(value: object) -> str:
    word = str(value).strip().lower()
    return word if word == "auto" else "on" if _switch(value) else "off"


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    pairs = value.items() if isinstance(value, dict) else (word.partition("=")[::2] for word in _list(value))
    named = tuple((str(name).strip(), str(what).strip()) for name, what in pairs)
    if not all(re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name) and what for name, what in named):
        raise ValueError("give name=value, such as cluster=eu-1")
    return named


def _rates(value: object) -> tuple[tuple[str, float], ...]:
    pairs = value.items() if isinstance(value, dict) else (word.partition("=")[::2] for word in _list(value))
    try:
        rates = tuple((str(name).strip(), _seconds(every)) for name, every in pairs)
    except ValueError:
        rates = (("", 0.0),)
    if not all(name and every >= 0.01 for name, every in rates):
        raise ValueError("give source=time, such as nvml=100ms; 10ms at least")
    return rates


def _networks(value: object) -> tuple[tuple[str, str], ...]:
    pairs = value.items() if isinstance(value, dict) else (word.rpartition("=")[::2] for word in _list(value))
    named = tuple((str(network).strip(), str(name).strip()) for network, name in pairs)
    try:
        for network, _ in named:
            ip_network(network)
    except ValueError:
        named = (("", ""),)
    if not all(name for _, name in named):
        raise ValueError("give network=name, such as 10.1.0.0/16=team-a")
    return named


def _is(
    default: Any, cast: Callable[[object], Any], meaning: str, shown: str = "", secret: bool = False
) -> Any:
    notes = {"cast": cast, "meaning": meaning, "shown": shown}
    return field(default=default, metadata=notes, repr=not secret)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `otel-attrib up` runs with; sizes are bytes, times are seconds."""

    dsn: str = _is("", _text, "store of the service; empty: the default embedded store", secret=True)
    host: str = _is("127.0.0.1", _text, "address that every listener binds")
    otlp_grpc_port: int = _is(4317, _port, "OTLP over gRPC; 0 picks a free port")
    otlp_http_port: int = _is(4318, _port, "OTLP over HTTP; 0 picks a free port")
    clickhouse_port: int = _is(8123, _port, "read-only ClickHouse over HTTP; 0 picks a free port")
    http_port: int = _is(8080, _port, "status, counters and web page; 0 picks a free port")
    clickhouse_password: str = _is("", _text, "password of `clickhouse_port`; empty: none", secret=True)
    spool: str = _is("", _text, "directory of requests not yet in the store; empty: beside the store")
    spool_limit: int = _is(4 << 30, size, "bytes that may wait for the store, then 503", "4GiB")
    otlp_limit: int = _is(64 << 20, size, "bytes of one request, decompressed, then 413", "64MiB")
    otlp_json_limit: int = _is(
        16 << 20, size, "the same of JSON, which takes 20 to 50 times its size", "16MiB"
    )
    otlp_items: int = _is(200_000, _count, "spans, points or log records of one request, then 413")
    otlp_in_flight: int = _is(256 << 20, size, "bytes of unanswered requests, then 503", "256MiB")
    otlp_token: str = _is("", _text, "bearer token asked of exporters; empty: none", secret=True)
    otlp_timeout: float = _is(30.0, _seconds, "time a client has to send one request", "30s")
    tls_cert: str = _is("", _text, "PEM certificate chain; with `tls_key` the OTLP listeners speak TLS")
    tls_key: str = _is("", _text, "PEM key of `tls_cert`")
    cors_origins: tuple[str, ...] = _is((), _list, "origins whose browsers may post OTLP; empty: none", "")
    block_items: int = _is(50_000, _count, "spans, points or log records of one insert")
    block_bytes: int = _is(32 << 20, size, "bytes of one insert", "32MiB")
    block_seconds: float = _is(0.5, _seconds, "longest wait before an insert", "500ms")
    dedup_seconds: float = _is(600.0, _seconds, "time in which a repeated request is stored once", "10m")
    writers: int = _is(1, _count, "inserts of one signal at a time")
    query_threads: int = _is(4, _count, "queries of `clickhouse_port` at a time")
    query_seconds: float = _is(60.0, _seconds, "longest query of `clickhouse_port`", "60s")
    query_memory: int = _is(512 << 20, size, "bytes one query of `clickhouse_port` may use", "512MiB")
    tokens: str = _is("", _text, "TOML file of the API's bearer tokens (`otel-attrib tokens`); empty: none")
    api_open: bool = _is(
        False, _switch, "on: without `tokens`, whoever reaches a `host` beyond loopback is an admin", "off"
    )
    api_hosts: tuple[str, ...] = _is(
        (), _list, "host names by which the HTTP port may be asked, beside its own address and loopback's", ""
    )
    api_seconds: float = _is(30.0, _seconds, "longest statement of one question to the API, then 504", "30s")
    api_rows: int = _is(100_000_000, _count, "rows that one statement of the API may read, then 413")
    api_memory: int = _is(512 << 20, size, "bytes that one statement of the API may use, then 413", "512MiB")
    api_threads: int = _is(4, _count, "questions of the API at a time")
    api_waiting: int = _is(100, _count, "questions of the API that may wait for their turn, then 429")
    api_listeners: int = _is(100, _count, "listeners of `/api/v1/live` at a time, then 429")
    api_traces: str = _is(
        "",
        _text,
        "OTLP endpoint of the API's own traces; empty: OTEL_EXPORTER_OTLP_ENDPOINT, if another's",
    )
    access_log: bool = _is(False, _switch, "on: a line of the log for each request to the HTTP port", "off")
    log_format: str = _is("text", _log_format, "`json`: one object a line, with trace_id and span_id")
    stop_seconds: float = _is(20.0, _seconds, "longest wait for the store when stopping", "20s")
    agent: bool = _is(True, _switch, "off: `up` does not read this machine's counters", "on")
    agent_sources: tuple[str, ...] = _is((), _list, "what the agent reads; empty: all there is", "")
    agent_every: tuple[tuple[str, float], ...] = _is(
        (), _rates, "time between two reads of a source, such as `nvml=100ms`; empty: its own", ""
    )
    agent_budget: float = _is(0.01, _share, "what the agent may take of one core", "1%")
    agent_tenants: tuple[tuple[str, str], ...] = _is(
        (), _networks, "names of networks whose traffic is told apart, such as `10.1.0.0/16=team-a`", ""
    )
    agent_send: float = _is(5.0, _interval, "time between two sendings of readings", "5s")
    scrape: tuple[str, ...] = _is(
        (), _list, "Prometheus pages that the agent reads too, such as `http://127.0.0.1:9400`", ""
    )
    slo: str = _is("", _text, "OpenSLO file, or folder of them, with the service level objectives")
    slo_loop: bool = _is(
        False, _switch, "on: `up` judges the thresholds of `slo` every minute and keeps the decisions", "off"
    )
    metrics_labels: tuple[str, ...] = _is(
        (), _list, "more labels of the histograms on `/metrics`: tenant, sla_class; each makes series", ""
    )
    alerts: str = _is(
        "auto", _when, "on: `up` looks for incidents; off: never; auto: when there is somebody to tell"
    )
    alertmanager: tuple[str, ...] = _is(
        (), _list, "Alertmanagers that are told, such as `http://127.0.0.1:9093`", "", secret=True
    )
    alertmanager_token: str = _is("", _text, "bearer token sent to `alertmanager`; empty: none", secret=True)
    webhooks: tuple[str, ...] = _is((), _list, "URLs that get each change as JSON", "", secret=True)
    webhook_secret: str = _is(
        "", _text, "key of the HMAC that signs what goes to `webhooks`; empty: unsigned", secret=True
    )
    alert_metrics: tuple[str, ...] = _is(("ttft", "tpot"), _list, "latencies that are watched", "ttft,tpot")
    alert_quantile: float = _is(0.99, _part, "quantile that is watched", "0.99")
    alert_interval: float = _is(5.0, _interval, "time between two looks", "5s")
    alert_baseline: float = _is(3600.0, _seconds, "what is normal is learned from so much time before", "1h")
    alert_false_alarms: float = _is(1.0, _amount, "false alarms that a watched latency may give a day", "1")
    alert_severity: str = _is("ticket", _text, "severity of a slower tail; objectives have their own")
    alert_labels: tuple[tuple[str, str], ...] = _is(
        (), _pairs, "more labels of every alert, such as `cluster=eu-1`", ""
    )
    alert_external_url: str = _is("", _text, "where people reach this service's page, for links")
    alert_grafana_url: str = _is("", _text, "where people reach Grafana; empty: no link to it")
    alert_runbooks_url: str = _is(
        "", _text, "folder of the runbooks, for links in alerts; empty: docs/runbooks of this release"
    )
    scrape_token: str = _is("", _text, "bearer token sent to the pages of `scrape`; empty: none", secret=True)

    def __post_init__(self) -> None:
        """Refuse a certificate without its key, and files that cannot be read."""
        if bool(self.tls_cert) != bool(self.tls_key):
            missing, given = ("tls_key", "tls_cert") if self.tls_cert else ("tls_cert", "tls_key")
            raise ConfigError(missing, "", f"is needed with {given}")
        for name in ("tls_cert", "tls_key"):
            _readable(name, getattr(self, name))


def _readable(name: str, path: str) -> None:
    try:
        if path:
            open(path, "rb").close()
    except OSError as fault:
        raise ConfigError(name, path, f"cannot be read: {fault.strerror}") from fault


def load(environ: Mapping[str, str] | None = None, **given: Any) -> Settings:
    """The settings from the environment and the file; `given` (not None) wins over both."""
    surroundings = os.environ if environ is None else environ
    file = _file(surroundings.get(CONFIG, ""))
    values: dict[str, Any] = {}
    for entry in fields(Settings):
        key, raw = _raw(entry.name, given, surroundings, file)
        if raw is not None:
            values[entry.name] = _cast(entry, key, raw)
    return Settings(**values)


def _raw(
    name: str, given: Mapping[str, Any], environ: Mapping[str, str], file: Mapping[str, Any]
) -> tuple[str, Any]:
    variable = PREFIX + name.upper()
    if given.get(name) is not None:
        return name, given[name]
    if variable in environ:
        return variable, environ[variable]
    return name, file.get(name)


def _cast(entry: "Field[Any]", key: str, raw: object) -> Any:
    try:
        return entry.metadata["cast"](raw)
    except ValueError as fault:
        raise ConfigError(key, raw if entry.repr else "…", str(fault)) from fault


def _file(path: str) -> dict[str, Any]:
    if not path:
        return {}
    try:
        values = tomllib.loads(Path(path).read_text())
    except OSError as fault:
        raise ConfigError(CONFIG, path, f"cannot be read: {fault.strerror}") from fault
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as fault:
        raise ConfigError(CONFIG, path, f"is not TOML: {fault}") from fault
    known = {entry.name for entry in fields(Settings)}
    for name in values:
        if name not in known:
            raise ConfigError(name, "…", f"is no setting (in {path}); see docs/reference/settings.md")
    return values


_HEAD = f"""\
# Settings

<!-- Generated from src/otel_attrib/config.py by `make docs`; do not edit. -->

What `otel-attrib up` and, of those that begin with `agent` or `scrape`, `otel-attrib agent` read.
The environment wins over the TOML file that `{CONFIG}` names, and the file over the default;
options of the command line win over all of them.
Sizes take `KiB`, `MiB`, `GiB`; times take `ms`, `s`, `m`, `h`, `d`.

| environment | file | default | meaning |
| --- | --- | --- | --- |
"""


def page() -> str:
    """The reference page as Markdown, one row a setting."""
    return _HEAD + "".join(_page_rows())


def _page_rows() -> Iterator[str]:
    for entry in fields(Settings):
        default = entry.metadata["shown"] or entry.default
        shown = f"`{default}`" if default not in ("", ()) else ""
        variable = PREFIX + entry.name.upper()
        yield f"| `{variable}` | `{entry.name}` | {shown} | {entry.metadata['meaning']} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
