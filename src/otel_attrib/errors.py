"""What can go wrong, as one tree.

OtelAttribError
├── UsageError        a value the user typed cannot be used       exit 2
├── ConfigError       a setting has a value that cannot be used   exit 2
├── MissingExtra      an optional part is not installed           exit 1
├── StoreError        the store refused or cannot be reached      exit 1
│   ├── StoreBusy     another process holds the embedded store
│   └── StoreSchema   tables are missing or of another version
├── DataError         a file or a body is not what it claims      exit 1
├── GrafanaError      a Grafana refused or cannot be reached      exit 1
├── InexactError      lines of a report miss their sum: our fault  exit 1
└── NotFound          the store has nothing of that name          exit 1

Every message names what was wrong, where, and what to do.
"""

__all__ = [
    "ConfigError",
    "DataError",
    "GrafanaError",
    "InexactError",
    "MissingExtra",
    "NotFound",
    "OtelAttribError",
    "StoreBusy",
    "StoreError",
    "StoreSchema",
    "UsageError",
]


class OtelAttribError(Exception):
    """A fault whose message is meant for the user, never a traceback."""

    exit_code = 1


class UsageError(OtelAttribError):
    """A value on the command line cannot be used."""

    exit_code = 2


class ConfigError(OtelAttribError):
    """A setting from the environment or the file cannot be used."""

    exit_code = 2

    def __init__(self, key: str, value: object, why: str) -> None:
        """Keep `key` and `value` beside the message."""
        super().__init__(f"setting {key} is {value!r}: {why}")
        self.key = key
        self.value = value


class MissingExtra(OtelAttribError):
    """An optional part is needed and not installed."""

    def __init__(self, needed_for: str, extra: str) -> None:
        """Name the extra that brings it."""
        super().__init__(f"{needed_for} needs an optional part: pip install 'otel-attrib[{extra}]'")
        self.extra = extra


class StoreError(OtelAttribError):
    """The store refused a statement or cannot be reached; `code` is ClickHouse's, if it gave one."""

    def __init__(self, message: str, code: int | None = None) -> None:
        """Keep the code beside the message."""
        super().__init__(message)
        self.code = code


class StoreBusy(StoreError):
    """Another process holds the embedded store's path."""


class StoreSchema(StoreError):
    """The store's tables are missing or of another version."""


class DataError(OtelAttribError):
    """A file or a request body is not what it claims to be."""


class GrafanaError(OtelAttribError):
    """A Grafana refused, cannot be reached or holds what is not ours; `status` is its HTTP status, if any."""

    def __init__(self, message: str, status: int | None = None) -> None:
        """Keep the status beside the message."""
        super().__init__(message)
        self.status = status


class InexactError(OtelAttribError):
    """The lines of a report miss the change by more than 1e-6 ms: such a report is never given."""

    def __init__(self, lines: str, error_ms: float) -> None:
        """Keep the error beside the message."""
        super().__init__(f"{lines} miss the change by {error_ms:.3g} ms; please report this as a bug")
        self.error_ms = error_ms


class NotFound(OtelAttribError):
    """The store holds nothing of the name that was asked for."""
