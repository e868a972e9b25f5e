"""A real run's table, imported: every number against one computed here from the file alone."""

import json
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.schema.store import Store

Run = Callable[..., str]
FILE = Path(__file__).parents[1] / "fixtures/llmservingsim/requests.jsonl"
MAP = [
    "--map", "prompt_tokens=input_toks", "output_tokens=output_toks", "arrival=arrival_time",
    "--map", "queued=queued_ts", "scheduled=scheduled_ts",
    "--map", "first_token=first_token_ts", "last_token=last_token_ts",
    "--set", "model=llama-3.1-8b", "service=chat",
]  # fmt: skip


def table() -> list[dict[str, Any]]:
    """The rows of the file."""
    return [json.loads(line) for line in FILE.read_text().splitlines()]


def imported(run: Run, *words: str) -> dict[str, Any]:
    """Import the file and return the account."""
    found: dict[str, Any] = json.loads(run("import", "requests", str(FILE), *MAP, *words, "--json"))
    return found


def test_durations_are_those_of_the_file(run: Run, store: Store) -> None:
    """Queue, prefill and TPOT equal what the engine's own stamps say; nothing crosses to the wall clock."""
    imported(run)
    rows = {row["request_id"]: row for row in store.rows("SELECT * FROM requests")}

    assert 60 == len(rows)
    for line in table():
        row = rows[line["request_id"]]
        decode_s = line["last_token_ts"] - line["first_token_ts"]
        assert pytest.approx((line["scheduled_ts"] - line["queued_ts"]) * 1e6, abs=1e-3) == row["queue_us"]
        assert (
            pytest.approx((line["first_token_ts"] - line["scheduled_ts"]) * 1e6, abs=1e-3)
            == row["prefill_us"]
        )
        assert pytest.approx(decode_s * 1e6 / (line["output_toks"] - 1), abs=1e-3) == row["tpot_us"]
        assert pytest.approx((line["first_token_ts"] - line["queued_ts"]) * 1e6, abs=1e-3) == row["ttft_us"]
        assert pytest.approx((line["last_token_ts"] - line["queued_ts"]) * 1e6, abs=1e-3) == row["e2e_us"]
        assert row["ttft_us"] == pytest.approx(row["queue_us"] + row["prefill_us"])
        assert (None, None, 0.0) == (row["ingress_us"], row["tokenize_us"], row["outside_us"])
        assert (line["input_toks"], line["output_toks"]) == (row["prompt_tokens"], row["output_tokens"])
        assert pytest.approx(line["arrival_time"], abs=2e-6) == row["time"].timestamp()
    assert {("import", "ok", "llama-3.1-8b", "chat", None)} == {
        (row["source"], row["status"], row["model"], row["service"], row["cached_tokens"])
        for row in rows.values()
    }


def test_aggregates(run: Run, store: Store) -> None:
    """The mean queue, the median prefill and the mean TPOT that SQL gives are those of the file."""
    imported(run)
    (row,) = store.rows(
        "SELECT avg(queue_us) AS queue, quantileExactInclusive(0.5)(prefill_us) AS prefill, "
        "avg(tpot_us) AS tpot FROM requests"
    )
    lines = table()
    queue = statistics.mean(line["scheduled_ts"] - line["queued_ts"] for line in lines) * 1e6
    prefill = statistics.median(line["first_token_ts"] - line["scheduled_ts"] for line in lines) * 1e6
    tpot = statistics.mean(
        (line["last_token_ts"] - line["first_token_ts"]) / (line["output_toks"] - 1) for line in lines
    )

    assert pytest.approx(queue, rel=1e-6) == row["queue"]
    assert pytest.approx(prefill, rel=1e-6) == row["prefill"]
    assert pytest.approx(tpot * 1e6, rel=1e-6) == row["tpot"]


def test_the_account(run: Run) -> None:
    """Rows, clocks, what was measured and from where, and what stays NULL are told."""
    told = imported(run)

    assert (60, 60, 0, 0, 0) == tuple(
        told[name] for name in ("rows", "imported", "already", "refused", "bad")
    )
    assert [
        ("wall", ["arrival"], True),
        ("engine", ["queued", "scheduled", "first_token", "last_token"], False),
    ] == [(clock["name"], clock["stamps"], clock["wall"]) for clock in told["clocks"]]
    assert "queued" == told["measured_from"]
    assert {"ttft": 60, "queue": 60, "prefill": 60, "ingress": 0}.items() <= told["observed"].items()
    assert {"ok": 60} == told["statuses"]
    assert "2026-04-25T18:47:18.338653Z" == told["first"]


def test_ttft_from_the_arrival_is_null_across_clocks(run: Run, store: Store) -> None:
    """Asked to start at the arrival, TTFT and E2E are NULL rather than taken across two clocks."""
    told = imported(run, "--ttft-from", "arrival")
    (row,) = store.rows(
        "SELECT count(ttft_us) AS ttft, count(e2e_us) AS e2e, count(queue_us) AS queue FROM requests"
    )

    assert (0, 0, 60) == (row["ttft"], row["e2e"], row["queue"])
    assert told["measured_from"] is None


def test_declared_clocks(run: Run) -> None:
    """Clocks may be declared, and keep their names."""
    told = imported(run, "--clock", "gateway=arrival", "vllm=queued,scheduled,first_token,last_token")

    assert ["gateway", "vllm"] == [clock["name"] for clock in told["clocks"]]


def test_twice_is_once(run: Run, store: Store) -> None:
    """A second import adds nothing, in the raw spans and in the rollup too, and says so."""
    imported(run)
    told = imported(run)
    counts = (
        "SELECT (SELECT count() FROM requests) AS r, (SELECT count() FROM otel_traces) AS s, "
        "sum(requests) AS u FROM requests_10s"
    )

    assert (0, 60) == (told["imported"], told["already"])
    assert [{"r": 60, "s": 60, "u": 60}] == store.rows(counts)


def test_only_what_is_missing_is_added(run: Run, store: Store, tmp_path: Path) -> None:
    """A file that grew adds its new rows."""
    part = tmp_path / "requests.jsonl"
    part.write_text("".join(FILE.read_text().splitlines(keepends=True)[:25]))
    run("import", "requests", str(part), *MAP)
    told = imported(run)

    assert (35, 25) == (told["imported"], told["already"])


def test_bad_rows_are_named_and_the_rest_is_kept(run: Run, store: Store, tmp_path: Path) -> None:
    """Rows that cannot be used are counted and named with their lines; --strict imports nothing."""
    lines = FILE.read_text().splitlines()
    late = json.loads(lines[3])
    late["first_token_ts"] = late["scheduled_ts"] - 0.5
    lines[3], lines[9] = json.dumps(late), "{"
    file = tmp_path / "bad.jsonl"
    file.write_text("\n".join(lines))
    fault = run("import", "requests", str(file), *MAP, "--strict", code=1)
    assert "line 4: first_token is 500.000 ms before scheduled (2 bad of 60 rows; nothing imported)" in fault
    assert [{"n": 0}] == store.rows("SELECT count() AS n FROM requests")

    text = run("import", "requests", str(file), *MAP)

    assert text.startswith("58 requests imported into store chdb://memory; 2 bad")
    assert "  bad       line 4: first_token is 500.000 ms before scheduled" in text
    assert "  bad       line 10: no JSON" in text
    assert [{"n": 58}] == store.rows("SELECT count() AS n FROM requests")


def test_dry_run_writes_nothing(run: Run, store: Store) -> None:
    """The mapping, the clocks and the first rows are shown."""
    text = run("import", "requests", str(FILE), *MAP, "--dry-run")

    assert "nothing written (dry run)" in text.splitlines()[0]
    assert "  line 1    ok  prompt_tokens 2,358  output_tokens 531  ttft 169.525 ms" in text
    assert [] == [line for line in text.splitlines() if len(line) > 80]
    assert [{"n": 0}] == store.rows("SELECT count() AS n FROM requests")


def test_the_file_may_stand_last(run: Run) -> None:
    """A file behind the last --map is the file, not a pair."""
    assert "60 requests imported" in run("import", "requests", *MAP, str(FILE))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([str(FILE), "--map", "arrival=when"], "no column when; the table has request_id, input_toks"),
        ([str(FILE), "--map", "when=arrival_time"], "no such name"),
        ([str(FILE), *MAP, "--unit", "h"], "--unit 'h'"),
        ([str(FILE), *MAP, "--start", "2026-01-01T00:00:00Z"], "has a wall clock already"),
        (["--map", "arrival=arrival_time"], "no FILE is given"),
    ],
)
def test_usage_errors(run: Run, words: list[str], message: str) -> None:
    """What cannot be used is refused with exit code 2 and what could be written instead."""
    assert message in run("import", "requests", *words, code=2)


def test_csv_of_another_trace(run: Run, store: Store, tmp_path: Path) -> None:
    """A CSV with dates and sizes alone gives rows with time and sizes, and NULL durations."""
    file = tmp_path / "trace.csv"
    file.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,4808,10\n")
    run("import", "requests", str(file), "--map", "arrival=TIMESTAMP", "prompt_tokens=ContextTokens",
        "output_tokens=GeneratedTokens")  # fmt: skip
    (row,) = store.rows("SELECT * FROM requests")

    assert "2023-11-16T18:17:03.979960+00:00" == row["time"].isoformat()
    assert (4808, 10, None, None, None) == (
        row["prompt_tokens"], row["output_tokens"], row["ttft_us"], row["e2e_us"], row["outside_us"],
    )  # fmt: skip


def test_a_row_may_stand_for_others(run: Run, store: Store, tmp_path: Path) -> None:
    """A column `weight` is how many requests a row counts for; what is no such number is told as bad."""
    lines = ["arrival,ttft_ms,weight,request_id"]
    lines += [f"2026-05-01T12:00:0{n}Z,100,{weight},r{n}" for n, weight in enumerate(["7", "", "0", "1e9"])]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    account = json.loads(run("import", "requests", str(tmp_path / "t.csv"), "--json"))

    assert {"r0": 7, "r1": 1} == {
        row["request_id"]: row["weight"] for row in store.rows("SELECT request_id, weight FROM requests")
    }
    assert 8 == store.rows("SELECT sum(requests) AS n FROM requests_10s")[0]["n"]
    assert 2 == json.dumps(account).count("a row stands for 1 to 1000 requests")
