"""One replica's engine as a step loop, compiled: continuous batching as vLLM's scheduler does it.

Each step: running requests first, in the order they were admitted (a decode takes one token, an unfinished
prompt a chunk of the token budget), then waiting ones first come first served. A request that needs a KV
block when none is free preempts the youngest running one, which loses its blocks, computes everything again
and stands first in the queue. Prefixes found in host memory are copied before the request is scheduled.
All chance is drawn before and handed in, so that two runs differ by what differs between them alone.

Imported only where numba is installed; with NUMBA_DISABLE_JIT=1 the same text runs as plain Python.
"""

import numpy as np
from numba import njit

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
# Columns of the step table that `run` fills; seconds.
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
    "own",
)


@njit(cache=True)
def ingest(arrival, read, parse, tokens, extra, handoff, stall, segment_starts, terms, i_cpu, i_tok, i_rq):
    """Return (queued, tokenize) of requests through one API server: one event loop, in order of arrival."""
    n = arrival.size
    queued = np.empty(n)
    tokenize = np.empty(n)
    free = 0.0
    segment = 0
    for i in range(n):
        while segment + 1 < segment_starts.size and arrival[i] >= segment_starts[segment + 1]:
            segment += 1
        cpu = terms[segment, i_cpu]
        begun = max(arrival[i] + read[i] + stall[i], free) + parse[i] * cpu
        begun += terms[segment, i_rq] * extra[i, 0]
        took = tokens[i] * cpu * terms[segment, i_tok] + terms[segment, i_rq] * extra[i, 1]
        free = begun + took
        tokenize[i] = took
        queued[i] = free + handoff[i] * cpu + terms[segment, i_rq] * extra[i, 2]
    return queued, tokenize


@njit(cache=True)
def _blocks(tokens, size):
    return (tokens + size - 1) // size


@njit(cache=True)
def _grown(table):
    bigger = np.empty((table.shape[0] * 2, table.shape[1]))
    bigger[: table.shape[0]] = table
    return bigger


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
    """Serve every request of one replica; return (requests, steps, when each token was done, steps' number).

    `queued` ascending, seconds; `prefix` tokens that the prefix cache may hold; `offsets` where a request's
    tokens stand in the third result. `terms` is (segments, terms): the engine's first. `cost` and `limits`
    are set by `engine.costs`; `noise` (M, 4) multiplies forward, CPU, sample and copy times; `draws` (M, 3)
    are exponential and uniform numbers for run-queue delays and stalls.
    """
    n = queued.size
    budget_all, seats_all, blocks_all, size, ranks, largest = (
        limits[0],
        limits[1],
        limits[2],
        limits[3],
        limits[4],
        limits[5],
    )
    requests = np.zeros((n, 21))
    requests[:, 0] = -1.0
    steps = np.empty((4096, 21))
    tokens_at = np.empty(offsets[n])
    generated = np.zeros(n, dtype=np.int64)
    computed = np.zeros(n, dtype=np.int64)
    target = np.zeros(n, dtype=np.int64)
    have = np.zeros(n, dtype=np.int64)
    chunk = np.zeros(n, dtype=np.int64)
    begun = np.zeros(n, dtype=np.bool_)
    ready_at = np.zeros(n)
    running = np.zeros(seats_all + 1, dtype=np.int64)
    loading = np.zeros(seats_all + 1, dtype=np.int64)
    waiting = np.zeros(2 * n + 2, dtype=np.int64)  # new ones behind, preempted ones in front
    head = n + 1
    tail = n + 1
    n_running = 0
    n_loading = 0
    used = 0
    nxt = 0
    done = 0
    t = 0.0
    step = 0
    segment = 0
    link_free = 0.0
    last_duration = 0.0
    held_back = 0
    while done < n:
        while segment + 1 < starts.size and t >= starts[segment + 1]:
            segment += 1
        now = terms[segment]
        while nxt < n and queued[nxt] <= t:
            waiting[tail] = nxt
            tail += 1
            nxt += 1
        budget = max(int(budget_all * now[7]), 16)
        seats = max(int(seats_all * now[8]), 1)
        blocks = max(int(blocks_all * now[9]), largest)
        left = budget
        preempted = 0
        batch = 0
        prefill_tokens = 0
        decode_tokens = 0
        attention = 0.0
        context = 0.0
        # Running requests, oldest first.
        k = 0
        while k < n_running:
            i = running[k]
            rest = target[i] - computed[i]
            want = min(rest, left)
            if want <= 0:
                chunk[i] = 0
                k += 1
                continue
            need = max(_blocks(computed[i] + want, size) - have[i], 0)
            gone = False
            while used + need > blocks:
                v = running[n_running - 1]
                n_running -= 1
                used -= have[v]
                have[v] = 0
                computed[v] = 0
                chunk[v] = 0
                target[v] = prompt[v] + generated[v]
                requests[v, 8] += 1
                head -= 1
                waiting[head] = v
                preempted += 1
                if v == i:
                    gone = True
                    break
            if gone:
                break
            used += need
            have[i] += need
            chunk[i] = want
            left -= want
            k += 1
        # Prefixes that have arrived from the host, then the queue.
        k = 0
        while k < n_loading:
            i = loading[k]
            if ready_at[i] <= t and left > 0 and n_running < seats_all:
                want = min(target[i] - computed[i], left)
                need = max(_blocks(computed[i] + want, size) - have[i], 0)
                if used + need <= blocks:
                    used += need
                    have[i] += need
                    chunk[i] = want
                    left -= want
                    running[n_running] = i
                    n_running += 1
                    for j in range(k, n_loading - 1):
                        loading[j] = loading[j + 1]
                    n_loading -= 1
                    continue
            k += 1
        held_back += 1
        if preempted == 0 and (held_back >= now[6] or n_running == 0):
            held_back = 0
            while head < tail and left > 0 and n_running + n_loading < seats:
                i = waiting[head]
                target[i] = prompt[i] + generated[i]
                found = 0
                if generated[i] == 0 and requests[i, 8] == 0 and luck[i] < hit_rate * now[10]:
                    found = (min(prefix[i], prompt[i] - 1) // size) * size
                if found > 0 and on_host[i]:
                    need = _blocks(target[i], size)  # all of it: one that waits for its copy cannot give way
                    if used + need > blocks:
                        break
                    head += 1
                    used += need
                    have[i] = need
                    computed[i] = found
                    requests[i, 10] = found
                    moved = found * cost[8]
                    took = cost[9] + now[5] + moved * cost[10] * now[4] * noise[i % noise.shape[0], 3]
                    copy_from = max(t, link_free)
                    link_free = copy_from + took
                    ready_at[i] = link_free
                    requests[i, 1] = t
                    requests[i, 18] = copy_from
                    requests[i, 19] = moved
                    requests[i, 20] = took
                    loading[n_loading] = i
                    n_loading += 1
                    continue
                want = min(target[i] - found, left)
                need = _blocks(found + want, size)
                if used + need > blocks:
                    break
                head += 1
                used += need
                have[i] = need
                computed[i] = found
                if requests[i, 8] == 0:
                    requests[i, 10] = found
                chunk[i] = want
                left -= want
                running[n_running] = i
                n_running += 1
        for k in range(n_running):
            i = running[k]
            want = chunk[i]
            if want == 0:
                continue
            batch += 1
            if generated[i] > 0 and computed[i] + 1 == target[i]:
                decode_tokens += 1
            else:
                prefill_tokens += want
            attention += want * (computed[i] + 0.5 * want)
            context += computed[i] + want
        if batch == 0:
            soonest = np.inf
            if nxt < n:
                soonest = queued[nxt]
            for k in range(n_loading):
                soonest = min(soonest, ready_at[loading[k]])
            if soonest <= t or soonest == np.inf:
                soonest = t + 1e-4
            t = soonest
            continue
        # How long the step takes.
        row = noise[step % noise.shape[0]]
        draw = draws[step % draws.shape[0]]
        cpu = now[11] * row[1]
        delay = now[12] * draw[0]
        if now[13] > 0.0 and draw[2] < now[13] * last_duration:
            delay += now[14] * draw[1]
        schedule = (cost[11] + cost[12] * batch) * cpu + delay
        slowest, compute, memory, collective, moved = _forward(
            cost, now, prefill_tokens + decode_tokens, attention, context, ranks
        )
        copied = (prefill_tokens + decode_tokens) * 16.0 + batch * 256.0
        copy = (cost[9] + now[5]) + copied * cost[10] * now[4]
        body = slowest * row[0]
        forward = body + collective * row[0] + copy
        sample = (cost[13] + cost[14] * batch) * row[2]
        out = (cost[16] + cost[17] * batch) * cpu + now[12] * draw[1] * 0.5
        at = t + schedule + forward + sample
        duration = schedule + forward + sample + out
        if step == steps.shape[0]:
            steps = _grown(steps)
        usage = used / blocks
        line = steps[step]
        line[0] = t
        line[1] = duration
        line[2] = batch
        line[3] = prefill_tokens
        line[4] = decode_tokens
        line[5] = tail - head + n_loading
        line[6] = n_running
        line[7] = preempted
        line[8] = usage
        line[9] = schedule
        line[10] = forward
        line[11] = sample
        line[12] = collective * row[0]
        line[13] = copy
        line[14] = out
        line[15] = compute * row[0]
        line[16] = memory * row[0]
        line[17] = moved
        line[18] = copied
        line[19] = delay + now[12] * draw[1] * 0.5
        line[20] = body
        kept = 0
        for k in range(n_running):
            i = running[k]
            want = chunk[i]
            if want == 0:
                running[kept] = i
                kept += 1
                continue
            chunk[i] = 0
            mine = requests[i]
            if not begun[i]:
                begun[i] = True
                mine[0] = t
                if mine[20] > 0.0:
                    mine[1] = t - mine[1]  # until the step that goes on with it, as the recorder counts
                mine[6] = step
            computed[i] += want
            if generated[i] == 0:
                mine[2] += forward
                mine[9] += 1
            else:
                mine[11] += forward
                mine[12] += sample
                mine[13] += out
                mine[14] += batch
                mine[15] += 1
            if line[5] > mine[16]:
                mine[16] = line[5]
            if usage > mine[17]:
                mine[17] = usage
            if computed[i] == target[i]:
                tokens_at[offsets[i] + generated[i]] = at
                if generated[i] == 0:
                    mine[3] = sample
                    mine[4] = at
                generated[i] += 1
                target[i] = prompt[i] + generated[i]
                if generated[i] == output[i]:
                    mine[5] = at
                    mine[7] = step
                    used -= have[i]
                    have[i] = 0
                    done += 1
                    continue
            running[kept] = i
            kept += 1
        n_running = kept
        t += duration
        last_duration = duration
        step += 1
    return requests, steps[:step], tokens_at, step


@njit(cache=True)
def deliver(tokens_at, offsets, late, slow, jitter):
    """Return when each token was delivered: done, plus the way out; never before the token ahead of it.

    `late` (n,) is a request's own time from token to socket, `slow` (n,) the mean time its reader adds.
    """
    out = np.empty(tokens_at.size)
    m = jitter.shape[0]
    for i in range(late.size):
        before = 0.0
        for k in range(offsets[i], offsets[i + 1]):
            at = tokens_at[k] + late[i] * jitter[k % m, 0] + slow[i] * jitter[k % m, 1]
            before = max(before, at)
            out[k] = before
    return out


@njit(cache=True)
def gap_statistics(delivered, offsets):
    """Return (n, 4): mean, p50, p99 and max of each request's gaps, seconds; NaN where there are none."""
    n = offsets.size - 1
    found = np.full((n, 4), np.nan)
    for i in range(n):
        count = offsets[i + 1] - offsets[i] - 1
        if count < 1:
            continue
        gaps = np.sort(
            delivered[offsets[i] + 1 : offsets[i + 1]] - delivered[offsets[i] : offsets[i + 1] - 1]
        )
        found[i, 0] = (delivered[offsets[i + 1] - 1] - delivered[offsets[i]]) / count
        for column in range(2):
            place = (0.5 if column == 0 else 0.99) * (count - 1)
            low = int(place)
            high = min(low + 1, count - 1)
            found[i, 1 + column] = gaps[low] + (gaps[high] - gaps[low]) * (place - low)
        found[i, 3] = gaps[count - 1]
    return found
