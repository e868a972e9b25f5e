"""One replica's engine as a step loop, compiled: continuous batching as vLLM's scheduler does it.

Each step: running requests first, in the order they were admitted (a decode takes one token, an unfinished
prompt a chunk of the token budget), then waiting ones first come first served. A request that needs a KV
block when none is free preempts the youngest running one, which loses its blocks, computes everything again
and stands first in the queue. Prefixes found in host memory are copied before the request is scheduled.
All chance is drawn before and handed in, so that two runs differ by what differs between them alone.

Imported only where numba is installed; with NUMBA_DISABLE_JIT=1 the same text runs as plain Python.
"""

from collections import namedtuple

import numpy as np
from numba import njit

from otel_attrib.fleet.front import deliver, gap_statistics, ingest

__all__ = ["REQUEST", "STEP", "deliver", "gap_statistics", "ingest", "run"]

# Columns of the request table that `run` fills.
REQUEST = (
    "scheduled",
    "kv",
    "prefill",
    "sample",
    "first",
    "last",
    "first_step",
    "last_step",
    "preemptions",
    "chunks",
    "cached",
    "forward_sum",
    "sample_sum",
    "output_sum",
    "batch_sum",
    "batch_steps",
    "waiting_max",
    "kv_max",
    "copy_start",
    "copy_bytes",
    "copy_took",
)
# Columns of the step table; seconds. `run` fills all but the last, which `engine` sets by the ranks' states.
STEP = (
    "start",
    "duration",
    "batch",
    "prefill_tokens",
    "decode_tokens",
    "waiting",
    "running",
    "preemptions",
    "kv_usage",
    "schedule",
    "forward",
    "sample",
    "collective",
    "copy",
    "output",
    "compute",
    "memory",
    "collective_bytes",
    "copy_bytes",
    "run_queue",
    "body",
    "rank_wait",
)


# Indices of `Desk.count`.
_RUNNING, _LOADING, _HEAD, _TAIL, _USED, _NEXT, _DONE, _LEFT, _PREEMPTED, _HELD = range(10)

# What is to be served; see `run`.
Work = namedtuple("Work", "queued prompt output prefix on_host luck offsets hit_rate cost limits noise draws")
# What the scheduler knows: by request, then the lists and how long they are; `link` is when the copies end.
Desk = namedtuple(
    "Desk", "generated computed target have chunk begun ready running loading waiting count link requests"
)


@njit(cache=True)
def _desk(n, seats):
    count = np.zeros(10, dtype=np.int64)
    count[_HEAD] = count[_TAIL] = n + 1  # new ones are added behind, preempted ones in front
    requests = np.zeros((n, 21))
    requests[:, 0] = -1.0
    return Desk(
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.bool_),
        np.zeros(n),
        np.zeros(seats + 1, dtype=np.int64),
        np.zeros(seats + 1, dtype=np.int64),
        np.zeros(2 * n + 2, dtype=np.int64),
        count,
        np.zeros(1),
        requests,
    )


@njit(cache=True)
def _blocks(tokens, size):
    return (tokens + size - 1) // size


@njit(cache=True)
def _grown(table):
    bigger = np.zeros((table.shape[0] * 2, table.shape[1]))
    bigger[: table.shape[0]] = table
    return bigger


@njit(cache=True)
def _arrive(work, desk, t):
    """Put into the queue what has come."""
    count = desk.count
    while count[_NEXT] < work.queued.size and work.queued[count[_NEXT]] <= t:
        desk.waiting[count[_TAIL]] = count[_NEXT]
        count[_TAIL] += 1
        count[_NEXT] += 1


@njit(cache=True)
def _preempt(work, desk):
    """Take the youngest running request's blocks; it stands first in the queue again. Return its number."""
    count = desk.count
    count[_RUNNING] -= 1
    v = desk.running[count[_RUNNING]]
    count[_USED] -= desk.have[v]
    desk.have[v] = 0
    desk.computed[v] = 0
    desk.chunk[v] = 0
    desk.target[v] = work.prompt[v] + desk.generated[v]
    desk.requests[v, 8] += 1
    count[_HEAD] -= 1
    desk.waiting[count[_HEAD]] = v
    count[_PREEMPTED] += 1
    return v


@njit(cache=True)
def _give(work, desk, i, want):
    """Let a request compute `want` tokens in this step, with the blocks that they take."""
    need = max(_blocks(desk.computed[i] + want, work.limits[3]) - desk.have[i], 0)
    desk.count[_USED] += need
    desk.have[i] += need
    desk.chunk[i] = want
    desk.count[_LEFT] -= want


@njit(cache=True)
def _schedule_running(work, desk, blocks):
    """Give each running request its next tokens, oldest first."""
    count = desk.count
    k = 0
    while k < count[_RUNNING]:
        i = desk.running[k]
        want = min(desk.target[i] - desk.computed[i], count[_LEFT])
        k += 1
        if want <= 0:
            desk.chunk[i] = 0
            continue
        need = _blocks(desk.computed[i] + want, work.limits[3]) - desk.have[i]
        while count[_USED] + need > blocks:
            if _preempt(work, desk) == i:
                return
        _give(work, desk, i, want)


@njit(cache=True)
def _schedule_loaded(work, desk, t, blocks):
    """Go on with requests whose prefix has arrived from the host."""
    count = desk.count
    k = 0
    while k < count[_LOADING]:
        i = desk.loading[k]
        want = min(desk.target[i] - desk.computed[i], count[_LEFT])
        if desk.ready[i] > t or want <= 0 or count[_RUNNING] >= work.limits[1]:
            k += 1
            continue
        _give(work, desk, i, want)
        _seat(desk, i)
        for j in range(k, count[_LOADING] - 1):
            desk.loading[j] = desk.loading[j + 1]
        count[_LOADING] -= 1


@njit(cache=True)
def _seat(desk, i):
    desk.running[desk.count[_RUNNING]] = i
    desk.count[_RUNNING] += 1


@njit(cache=True)
def _found(work, desk, now, i):
    """Return how many tokens of a request the prefix cache holds; one that was preempted starts over."""
    if desk.generated[i] > 0 or desk.requests[i, 8] > 0 or work.luck[i] >= work.hit_rate * now[10]:
        return 0
    size = work.limits[3]
    return (min(work.prefix[i], work.prompt[i] - 1) // size) * size


@njit(cache=True)
def _admit(work, desk, now, t, seats, blocks):
    """Take waiting requests, first come first served, until tokens, seats or blocks run out."""
    count, size = desk.count, work.limits[3]
    while count[_HEAD] < count[_TAIL] and count[_LEFT] > 0 and count[_RUNNING] + count[_LOADING] < seats:
        i = desk.waiting[count[_HEAD]]
        desk.target[i] = work.prompt[i] + desk.generated[i]
        found = _found(work, desk, now, i)
        load = found > 0 and work.on_host[i]
        want = min(desk.target[i] - found, count[_LEFT])
        # One that waits for its copy cannot give way, so it takes the blocks of its whole prompt.
        need = _blocks(desk.target[i] if load else found + want, size)
        if count[_USED] + need > blocks:
            return
        count[_HEAD] += 1
        desk.computed[i] = found
        if desk.requests[i, 8] == 0:
            desk.requests[i, 10] = found
        if load:
            count[_USED] += need
            desk.have[i] = need
            _copy(work, desk, now, t, i, found)
        else:
            desk.have[i] = 0
            _give(work, desk, i, want)
            _seat(desk, i)


@njit(cache=True)
def _copy(work, desk, now, t, i, found):
    """Start to copy a prefix from the host; one card's copies follow each other."""
    moved = found * work.cost[8]
    took = work.cost[9] + now[5] + moved * work.cost[10] * now[4] * work.noise[i % work.noise.shape[0], 3]
    start = max(t, desk.link[0])
    desk.link[0] = desk.ready[i] = start + took
    mine = desk.requests[i]
    mine[1] = t
    mine[18] = start
    mine[19] = moved
    mine[20] = took
    desk.loading[desk.count[_LOADING]] = i
    desk.count[_LOADING] += 1


@njit(cache=True)
def _batch(desk):
    """Return (requests, prompt tokens, output tokens, pairs of attention, tokens of context) of the step."""
    batch = prefill = decode = 0
    attention = context = 0.0
    for k in range(desk.count[_RUNNING]):
        i = desk.running[k]
        want = desk.chunk[i]
        if want == 0:
            continue
        batch += 1
        if desk.generated[i] > 0 and desk.computed[i] + 1 == desk.target[i]:
            decode += 1
        else:
            prefill += want
        attention += want * (desk.computed[i] + 0.5 * want)
        context += desk.computed[i] + want
    return batch, prefill, decode, attention, context


@njit(cache=True)
def _next_event(work, desk, t):
    """Return when there may be something to do again."""
    soonest = np.inf
    if desk.count[_NEXT] < work.queued.size:
        soonest = work.queued[desk.count[_NEXT]]
    for k in range(desk.count[_LOADING]):
        soonest = min(soonest, desk.ready[desk.loading[k]])
    return t + 1e-4 if soonest <= t or soonest == np.inf else soonest


@njit(cache=True)
def _forward(cost, terms, tokens, attention, context, ranks):
    """Return (slowest rank's time, compute, memory, collective, bytes) of one pass; terms of the replica."""
    compute = (tokens * cost[0] + attention * cost[1]) * terms[0]
    memory = (cost[2] + context * cost[3]) * terms[1]
    moved = 0.0
    collective = 0.0
    if ranks > 1:
        moved = tokens * cost[6]
        collective = cost[4] * (cost[5] * terms[3] + moved * cost[7] * terms[2])
    return max(compute, memory) + cost[15], compute, memory, collective, moved * cost[4]


@njit(cache=True)
def _time(work, now, sizes, step, before, line):
    """Write a step's times into its line: what its sizes cost under the present terms, with its chance."""
    batch, prefill, decode, attention, context = sizes
    cost = work.cost
    row = work.noise[step % work.noise.shape[0]]
    draw = work.draws[step % work.draws.shape[0]]
    cpu = now[11] * row[1]
    delay = now[12] * draw[0]
    if now[13] > 0.0 and draw[2] < now[13] * before:
        delay += now[14] * draw[1]
    after = now[12] * draw[1] * 0.5
    slowest, compute, memory, collective, moved = _forward(
        cost, now, prefill + decode, attention, context, work.limits[4]
    )
    copied = (prefill + decode) * 16.0 + batch * 256.0
    line[9] = (cost[11] + cost[12] * batch) * cpu + delay
    line[12] = collective * row[0]
    line[13] = (cost[9] + now[5]) + copied * cost[10] * now[4]
    line[20] = slowest * row[0]
    line[10] = line[20] + line[12] + line[13]
    line[11] = (cost[13] + cost[14] * batch) * row[2]
    line[14] = (cost[16] + cost[17] * batch) * cpu + after
    line[1] = line[9] + line[10] + line[11] + line[14]
    line[15] = compute * row[0]
    line[16] = memory * row[0]
    line[17] = moved
    line[18] = copied
    line[19] = delay + after


@njit(cache=True)
def _describe(desk, sizes, t, blocks, line):
    count = desk.count
    line[0] = t
    line[2] = sizes[0]
    line[3] = sizes[1]
    line[4] = sizes[2]
    line[5] = count[_TAIL] - count[_HEAD] + count[_LOADING]
    line[6] = count[_RUNNING]
    line[7] = count[_PREEMPTED]
    line[8] = count[_USED] / blocks


@njit(cache=True)
def _account(desk, i, step, line):
    """Write into a request's row what this step was to it."""
    mine = desk.requests[i]
    if not desk.begun[i]:
        desk.begun[i] = True
        mine[0] = line[0]
        mine[6] = step
        if mine[20] > 0.0:
            mine[1] = line[0] - mine[1]  # until the step that goes on with it, as the recorder counts
    if desk.generated[i] == 0:
        mine[2] += line[10]
        mine[9] += 1
    else:
        mine[11] += line[10]
        mine[12] += line[11]
        mine[13] += line[14]
        mine[14] += line[2]
        mine[15] += 1
    mine[16] = max(mine[16], line[5])
    mine[17] = max(mine[17], line[8])


@njit(cache=True)
def _token(work, desk, i, step, at, line, tokens_at):
    """A request has one token more at `at`; return whether it was its last."""
    mine = desk.requests[i]
    tokens_at[work.offsets[i] + desk.generated[i]] = at
    if desk.generated[i] == 0:
        mine[3] = line[11]
        mine[4] = at
    desk.generated[i] += 1
    desk.target[i] = work.prompt[i] + desk.generated[i]
    if desk.generated[i] < work.output[i]:
        return False
    mine[5] = at
    mine[7] = step
    desk.count[_USED] -= desk.have[i]
    desk.have[i] = 0
    desk.count[_DONE] += 1
    return True


@njit(cache=True)
def _finish_step(work, desk, step, line, tokens_at):
    """Hand out what the step has computed, and keep in their order who goes on."""
    at = line[0] + line[9] + line[10] + line[11]
    kept = 0
    for k in range(desk.count[_RUNNING]):
        i = desk.running[k]
        want = desk.chunk[i]
        ended = False
        if want > 0:
            desk.chunk[i] = 0
            _account(desk, i, step, line)
            desk.computed[i] += want
            if desk.computed[i] == desk.target[i]:
                ended = _token(work, desk, i, step, at, line, tokens_at)
        if not ended:
            desk.running[kept] = i
            kept += 1
    desk.count[_RUNNING] = kept


@njit(cache=True)
def _schedule(work, desk, now, t, blocks):
    """Choose what the next step computes."""
    count, limits = desk.count, work.limits
    count[_LEFT] = max(int(limits[0] * now[7]), 16)
    count[_PREEMPTED] = 0
    _schedule_running(work, desk, blocks)
    _schedule_loaded(work, desk, t, blocks)
    count[_HELD] += 1
    if count[_PREEMPTED] == 0 and (count[_HELD] >= now[6] or count[_RUNNING] == 0):
        count[_HELD] = 0
        _admit(work, desk, now, t, max(int(limits[1] * now[8]), 1), blocks)


@njit(cache=True)
def run(
    queued,
    prompt,
    output,
    prefix,
    on_host,
    luck,
    offsets,
    starts,
    terms,
    hit_rate,
    cost,
    limits,
    noise,
    draws,
):
    """Serve every request of one replica; return (requests, steps, when each token was done).

    `queued` ascending, seconds; `prefix` tokens that the prefix cache may hold; `offsets` where a request's
    tokens stand in the third result. `terms` is (segments, terms): the engine's first. `cost` and `limits`
    are set by `costs.costs`; `noise` (M, 4) multiplies forward, CPU, sample and copy times; `draws` (M, 3)
    are exponential and uniform numbers for run-queue delays and stalls.
    """
    work = Work(queued, prompt, output, prefix, on_host, luck, offsets, hit_rate, cost, limits, noise, draws)
    desk = _desk(queued.size, limits[1])
    steps = np.zeros((4096, len(STEP)))
    tokens_at = np.empty(offsets[queued.size])
    t = before = 0.0
    step = segment = 0
    while desk.count[_DONE] < queued.size:
        while segment + 1 < starts.size and t >= starts[segment + 1]:
            segment += 1
        now = terms[segment]
        blocks = max(int(limits[2] * now[9]), limits[5])
        _arrive(work, desk, t)
        _schedule(work, desk, now, t, blocks)
        sizes = _batch(desk)
        if sizes[0] == 0:
            t = _next_event(work, desk, t)
            continue
        if step == steps.shape[0]:
            steps = _grown(steps)
        line = steps[step]
        _time(work, now, sizes, step, before, line)
        _describe(desk, sizes, t, blocks, line)
        _finish_step(work, desk, step, line, tokens_at)
        before = line[1]
        t += before
        step += 1
    return desk.requests, steps[:step], tokens_at
