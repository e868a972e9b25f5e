"""Bounded cost: one answer for all who ask the same, limits on each statement, a line that is not endless."""

import asyncio
import gc
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from otel_attrib.analytics.service.bounded import BoundedStore, Limits
from otel_attrib.analytics.service.meters import Meters
from otel_attrib.analytics.service.problem import OverLimit, TooBusy
from otel_attrib.analytics.service.question_pool import QuestionPool
from otel_attrib.errors import StoreError
from otel_attrib.schema.store import Store

# Not typed: conftest modules cannot be imported.
Api = Any

LIMITS = Limits(seconds=5.0, rows=1_000_000, memory=64 << 20)
LONG = "SELECT count() FROM numbers(100000000000) WHERE cityHash64(number) % 7 = 1"


@pytest.fixture
def meters() -> Meters:
    """Counters of the pool."""
    return Meters()


@pytest.fixture
def make_pool(tables: Store, meters: Meters) -> Iterator[Callable[..., QuestionPool]]:
    """A pool over the store."""
    made: list[QuestionPool] = []

    def make(threads: int = 2, waiting: int = 2, limits: Limits = LIMITS) -> QuestionPool:
        made.append(QuestionPool(lambda: tables, limits, threads, waiting, meters))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


def value(meters: Meters, name: str, **labels: str) -> float:
    """One of the pool's counts."""
    return meters.registry.get_sample_value(f"otel_attrib_api_questions_{name}", labels) or 0.0


async def one(
    pool: QuestionPool, question: Callable[[Store], Any], key: Any = None, kept: float = 0.0
) -> Any:
    """Ask and wait."""
    with pool.asked(lambda store, _: question(store), key, kept) as flight:
        return await flight.landed()


def test_an_answer_is_held_no_longer_than_it_is_given_again(make_pool: Any) -> None:
    """A hundred different questions leave none of their answers in memory but the last."""

    class Big:
        """An answer that can be seen to be held."""

    held: list[weakref.ref[Big]] = []

    def question(_: Store) -> Big:
        answer = Big()
        held.append(weakref.ref(answer))
        return answer

    async def everything() -> int:
        pool = make_pool()
        for number in range(100):
            await one(pool, question, number, 0.0)
        gc.collect()
        return sum(each() is not None for each in held)

    assert asyncio.run(everything()) <= 1


def test_the_same_question_is_asked_once(make_pool: Any, meters: Meters) -> None:
    """Fifty who ask the same at the same time, and one just after, cost one statement; later ones another."""
    asked: list[int] = []

    def question(store: Store) -> int:
        asked.append(1)
        time.sleep(0.05)
        return len(asked)

    async def everybody() -> list[int]:
        pool = make_pool()
        first = await asyncio.gather(*(one(pool, question, "same", 0.2) for _ in range(50)))
        soon = await one(pool, question, "same", 0.2)
        await asyncio.sleep(0.5)
        return [*first, soon, await one(pool, question, "same", 0.2), await one(pool, question, "other")]

    assert [1] * 51 + [2, 3] == asyncio.run(everybody())
    assert (49, 1) == (value(meters, "shared_total", how="joined"), value(meters, "shared_total", how="kept"))


def test_an_answer_is_renewed_beside_those_who_ask(make_pool: Any) -> None:
    """Just after its time the old answer is given at once while it is asked anew, once; then the new one."""
    asked: list[int] = []

    def question(_: Store) -> int:
        asked.append(1)
        time.sleep(0.1)
        return len(asked)

    async def steadily() -> tuple[list[int], float, int]:
        pool = make_pool()
        first = await one(pool, question, "same", 0.3)
        await asyncio.sleep(0.35)
        began = time.perf_counter()
        old = await asyncio.gather(*(one(pool, question, "same", 0.3) for _ in range(20)))
        took = time.perf_counter() - began
        await asyncio.sleep(0.2)
        return [first, *old], took, await one(pool, question, "same", 0.3)

    answers, took, new = asyncio.run(steadily())
    assert ([1] * 21, 2, 2) == (answers, new, len(asked))
    assert took < 0.1  # nobody waited for the new one


def test_a_pool_that_is_closed(make_pool: Any) -> None:
    """A question that comes while the service stops is a fault of the store, not of ours."""

    async def late() -> None:
        pool = make_pool()
        pool.close()
        await one(pool, lambda _: True)

    with pytest.raises(StoreError, match="stopping"):
        asyncio.run(late())


def test_a_failure_is_not_kept(make_pool: Any) -> None:
    """A question that failed is asked anew by the next, not answered with the old fault."""
    answers = iter((StoreError("down"), "up"))

    def question(_: Store) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def twice() -> tuple[str, str]:
        pool = make_pool()
        try:
            first = await one(pool, question, "key", 60)
        except StoreError as fault:
            first = str(fault)
        return first, await one(pool, question, "key", 60)

    assert ("down", "up") == asyncio.run(twice())


def test_the_line_has_an_end(make_pool: Any, meters: Meters) -> None:
    """Of five questions for two threads and a line of two, the fifth is told to come again."""
    free = threading.Event()

    async def crowd() -> list[Any]:
        pool = make_pool(threads=2, waiting=2)
        asked = [asyncio.ensure_future(one(pool, lambda _: free.wait(10))) for _ in range(4)]
        await asyncio.sleep(0.1)
        seen = value(meters, "running"), value(meters, "waiting")
        with pytest.raises(TooBusy, match="4 questions"):
            await one(pool, lambda _: True)
        free.set()
        return [seen, *(await asyncio.gather(*asked)), value(meters, "running"), value(meters, "waiting")]

    assert [(2.0, 2.0), True, True, True, True, 0.0, 0.0] == asyncio.run(crowd())
    assert 1 == value(meters, "refused_total")


def test_who_leaves_frees_the_place(make_pool: Any, meters: Meters) -> None:
    """When the last who waits goes away, the statement ends and its thread is free long before its limit."""

    async def leaves() -> float:
        pool = make_pool(threads=1, limits=Limits(30.0, 10**12, 1 << 30))
        asked = asyncio.ensure_future(one(pool, lambda store: store.rows(LONG), "long"))
        await asyncio.sleep(0.3)
        began = time.perf_counter()
        asked.cancel()
        assert 42 == await one(pool, lambda store: store.rows("SELECT 42 AS n")[0]["n"])
        return time.perf_counter() - began

    assert asyncio.run(leaves()) < 5.0  # of the 30 s that it would have taken
    assert 1 == value(meters, "left_total")


def test_one_who_stays_keeps_the_question(make_pool: Any) -> None:
    """One of two who wait for one answer goes away: the other gets it."""

    async def two() -> Any:
        pool = make_pool()

        def question(_: Store) -> str:
            time.sleep(0.2)
            return "answer"

        leaver = asyncio.ensure_future(one(pool, question, "key"))
        stayer = asyncio.ensure_future(one(pool, question, "key"))
        await asyncio.sleep(0.05)
        leaver.cancel()
        return await stayer

    assert "answer" == asyncio.run(two())


OVER = {
    "time": (LONG, Limits(0.2, 10**12, 1 << 30), 504, "api_seconds (0.2 s)"),
    "rows": ("SELECT sum(number) FROM numbers(2000000)", LIMITS, 413, "api_rows (1,000,000 rows)"),
    "memory": (
        "SELECT groupUniqArray(number) FROM numbers(900000)",
        Limits(5.0, 10**9, 4 << 20),
        413,
        "api_memory (4 MiB)",
    ),
}


@pytest.mark.parametrize("name", OVER)
def test_a_statement_over_its_limit(tables: Store, name: str) -> None:
    """Time, rows and memory of one statement are held by the engine, and the problem says what to narrow."""
    sql, limits, status, words = OVER[name]

    with BoundedStore(tables, limits) as store:
        with pytest.raises(OverLimit) as refused:
            store.rows(sql)
        assert [{"n": 1}] == store.rows("SELECT 1 AS n")

    assert status == refused.value.status
    assert words in str(refused.value) and "take a shorter window" in str(refused.value)


def test_limits_reach_every_kind_of_statement(tables: Store) -> None:
    """rows, arrow and raw run under the same limits, and the store beneath keeps its own."""
    sql = "SELECT value FROM system.settings WHERE name = 'max_rows_to_read'"

    with BoundedStore(tables, LIMITS) as store:
        seen = (
            store.rows(sql)[0]["value"],
            store.arrow(sql)["value"][0].as_py(),
            store.raw(sql, "TSV").decode(),
        )

    assert ("1000000", "1000000", "1000000\n") == seen
    assert "0" == tables.rows(sql)[0]["value"]


def test_limits_over_http(make_api: Any, filled: Store) -> None:
    """A question over a limit is a problem with the setting's name."""
    narrow = make_api(filled, api_rows=100)

    answer = narrow.get("/quantiles?exact=true")

    assert 413 == answer.status_code and "api_rows" in answer.json()["detail"]


def test_a_store_that_is_down(make_api: Any) -> None:
    """Without a store every question is 503 with Retry-After, and /status still answers."""

    def down() -> Store:
        raise StoreError("store clickhouse://db:8123/x cannot be reached: Connection refused")

    api = make_api(down)

    answer = api.get("/quantiles")
    assert (503, "5") == (answer.status_code, answer.headers["retry-after"])
    assert "cannot be reached" in answer.json()["detail"]
    assert 200 == api.get("/status").status_code
