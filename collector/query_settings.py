"""Which settings a client may send with a statement, and the limits that no client passes."""

import re
from collections.abc import Mapping

from otel_attrib.collector.query_fault import QueryFault

__all__ = ["TRANSPORT", "session"]

# Read by the HTTP side, or of no meaning without a server's sessions.
TRANSPORT = frozenset(
    ("query", "query_id", "database", "default_format", "user", "password", "quota_key", "role")
    + ("session_id", "session_timeout", "session_check", "stacktrace", "client_protocol_version")
    + ("compress", "decompress", "enable_http_compression", "http_zlib_compression_level")
    + ("wait_end_of_query", "buffer_size", "send_progress_in_http_headers", "add_http_cors_header")
    + ("http_headers_progress_interval_ms", "http_write_exception_in_output_format", "async_insert")
    + ("wait_for_async_insert", "cancel_http_readonly_queries_on_client_close", "log_comment")
)

# None of these names a file, an address, another dialect or a way around `readonly`.
_ALLOWED = re.compile(
    r"output_format_(?!.*(?:schema|path|source|template)).+"
    r"|date_time_(?:in|out)put_format|session_timezone|cast_\w+|input_format_\w+"
    r"|max_(?:result|rows|bytes|columns|block_size|final_threads|threads|execution_time|memory_usage|query_size"
    r"|expanded_ast|ast|subquery|distributed)\w*"
    r"|limit|offset|extremes|final|totals_mode|join_\w+|group_by_\w+|\w+_overflow_mode"
    r"|optimize_\w+|query_plan_\w+|enable_(?!http)\w+|use_(?!hive|environment)\w+|prefer_\w+|force_\w+"
    r"|allow_experimental_(?:analyzer|variant_type|dynamic_type|json_type|object_type)"
    r"|transform_null_in|any_join_distinct_right_table_keys|parallel_replicas_\w+"
    r"|aggregate_functions_null_for_empty|empty_result_for_aggregation_by_\w+|log_queries|priority"
)
_HELD_ANYWAY = (("readonly", "1"), ("readonly", "2"))
_NAME = re.compile(r"[a-z][a-z0-9_]*", re.IGNORECASE)


def session(asked: Mapping[str, str], seconds: float, memory: int) -> str:
    """The SET statement for what was asked, with our limits where it asks for more or for nothing."""
    # Asking for what holds anyway is no fault.
    wanted = {name: value for name, value in asked.items() if (name, value) not in _HELD_ANYWAY}
    values = {name: _allowed(name, value) for name, value in wanted.items()}
    values["max_execution_time"] = _capped(values.get("max_execution_time"), seconds)
    values["max_memory_usage"] = _capped(values.get("max_memory_usage"), memory)
    return "SET " + ", ".join(f"{name} = {_quoted(value)}" for name, value in values.items())


def _allowed(name: str, value: str) -> str:
    if not _NAME.fullmatch(name):
        raise QueryFault(115, "UNKNOWN_SETTING", f"Unknown setting {name!r}")
    if not _ALLOWED.fullmatch(name):
        raise QueryFault(452, "SETTING_CONSTRAINT_VIOLATION", f"Setting {name} should not be changed")
    return value


def _capped(asked: str | None, limit: float) -> str:
    try:
        number = float(asked or 0)
    except ValueError:
        raise QueryFault(72, "CANNOT_PARSE_NUMBER", f"Cannot parse number {asked!r}") from None
    return f"{min(number, limit) if number > 0 else limit:.15g}"


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
