"""What engines sent and the protocol's examples, imported into the exporter's tables."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from otel_attrib.cli import main
from otel_attrib.schema.store import Store

Run = Callable[..., str]
FIXTURES = Path(__file__).parents[1] / "fixtures"
EXAMPLES = FIXTURES / "otlp_examples"
VLLM = FIXTURES / "engine_captures/vllm_otlp_grpc_traces_004.pb"


def count(store: Store, table: str) -> int:
    """Rows of a table."""
    return int(store.rows(f"SELECT count() AS n FROM {table}")[0]["n"])


def test_engine_captures(run: Run, store: Store) -> None:
    """vLLM's, SGLang's, LiteLLM's and Triton's bodies are stored span for span."""
    files = sorted(map(str, (FIXTURES / "engine_captures").glob("*otlp*")))
    told = json.loads(run("import", "otlp", *files, "--json"))

    assert (0, 0) == (told["bad"], told["refused"])
    assert told["imported"]["traces"] == count(store, "otel_traces")
    assert {"vllm-tiny", "sglang-tiny", "litellm-proxy", "triton-tiny"} <= set(told["services"])


def test_an_engines_own_spans_become_requests(run: Run, store: Store) -> None:
    """vLLM's 31 llm_request spans are 31 rows of `requests`, from vllm."""
    run("import", "otlp", str(VLLM))

    assert [{"source": "vllm", "n": 31}] == store.rows(
        "SELECT source, count() AS n FROM requests GROUP BY source"
    )


def test_examples_of_every_signal(run: Run, store: Store) -> None:
    """Traces, metrics and logs of one call land in their tables, each told by content."""
    text = run(
        "import", "otlp", *(str(EXAMPLES / f"{name}.json") for name in ("trace", "metrics", "logs", "events"))
    )
    metrics = sum(
        count(store, f"otel_metrics_{kind}") for kind in ("gauge", "sum", "histogram", "exp_histogram")
    )

    assert text.startswith("1 span, 4 data points, 2 log records imported into store chdb://memory")
    assert (1, 4, 2) == (count(store, "otel_traces"), metrics, count(store, "otel_logs"))
    (row,) = store.rows(
        "SELECT TraceId, SpanId, SpanName, SpanAttributes['my.span.attr'] AS attr FROM otel_traces"
    )
    assert (
        "5b8efff798038103d269b633813fc60c",
        "eee19b7ec3c1b174",
        "I'm a server span",
        "some value",
    ) == tuple(row.values())


def test_twice_is_once(run: Run, store: Store) -> None:
    """Importing the same files again adds no span, metric or log."""
    files = [str(VLLM), *(str(EXAMPLES / f"{name}.json") for name in ("metrics", "logs"))]
    run("import", "otlp", *files)
    before = count(store, "otel_traces"), count(store, "otel_metrics_gauge"), count(store, "otel_logs")
    told = json.loads(run("import", "otlp", *files, "--json"))

    assert 31 == told["already"]
    assert before == (
        count(store, "otel_traces"),
        count(store, "otel_metrics_gauge"),
        count(store, "otel_logs"),
    )
    assert 31 == before[0]


def test_gzipped_json_lines_with_a_torn_line(run: Run, store: Store, tmp_path: Path) -> None:
    """A bad line is named and the others are imported; --strict imports nothing."""
    line = json.dumps(json.loads((EXAMPLES / "trace.json").read_text()))
    file = tmp_path / "traces.jsonl"
    file.write_bytes(gzip.compress(f"{line}\n{line[:40]}\n".encode()))

    assert "line 2: no JSON" in run("import", "otlp", str(file), "--strict", code=1)
    assert 0 == count(store, "otel_traces")
    assert "line 2: no JSON" in run("import", "otlp", str(file))
    assert 1 == count(store, "otel_traces")


def test_a_file_without_otlp_is_an_error(run: Run, tmp_path: Path) -> None:
    """Nothing to import is exit code 1, with the file's name."""
    file = tmp_path / "notes.txt"
    file.write_text("hello")

    assert f"{file}: byte 0: neither JSON nor OTLP protobuf" in run("import", "otlp", str(file), code=1)
    assert "No such file" in run("import", "otlp", str(tmp_path / "absent"), code=1)


def test_a_file_that_cannot_be_read_fails_after_the_others(
    run: Run, store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The other files are imported, the unread ones named, and the exit code is 1."""
    notes = tmp_path / "notes.txt"
    notes.write_text("hello")
    files = (str(tmp_path / "absent"), str(notes), str(EXAMPLES / "trace.json"))

    assert 1 == main(["import", "otlp", *files, "--dsn", store.dsn.text])
    told = capsys.readouterr().out
    assert told.startswith(f"1 span imported into store {store.dsn.shown}; 1 bad part; 2 files not read\n")
    assert "absent: No such file" in " ".join(told.split())
    assert 1 == count(store, "otel_traces")

    assert 1 == main(["import", "otlp", *files, "--json", "--dsn", store.dsn.text])
    unread = json.loads(capsys.readouterr().out)["unread"]
    assert [f"{files[0]}: No such file or directory", f"{notes}: byte 0"] == [
        unread[0],
        unread[1][: len(str(notes)) + 8],
    ]

    assert "(nothing imported)" in run("import", "otlp", *files, "--strict", code=1)
