"""An engine's API server, compiled: requests on their way in, tokens on their way out.

Imported only where numba is installed, as `kernel`, which hands its functions on.
"""

import numpy as np
from numba import njit

__all__ = ["deliver", "gap_statistics", "ingest"]


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
