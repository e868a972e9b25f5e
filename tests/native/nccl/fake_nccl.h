/* A FAKE of NCCL: the symbols and argument lists, none of the work; for tests of the probes alone.
 *
 * Written from the public argument lists. Every call spins for SPIN_NS, so that its time can be told.
 */
#pragma once
#include <stddef.h>
#include <time.h>

#ifndef SPIN_NS
#define SPIN_NS 400000L
#endif

typedef struct fake_comm *ncclComm_t;
typedef struct {
    char bytes[128];
} ncclUniqueId;
typedef void *Stream;

static inline long now_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * 1000000000L + at.tv_nsec;
}

static inline int spin(void)
{
    if (SPIN_NS)
        for (long until = now_ns() + SPIN_NS; now_ns() < until;)
            ;
    return 0;
}

int ncclCommInitRank(ncclComm_t *made, int ranks, ncclUniqueId identity, int rank);
int ncclCommCount(const ncclComm_t of, int *ranks);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t in, Stream stream);
int ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t in, Stream stream);
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, ncclComm_t in, Stream stream);
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, ncclComm_t in, Stream stream);
int ncclBcast(void *buffer, size_t count, int type, int root, ncclComm_t in, Stream stream);
int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, ncclComm_t in,
               Stream stream);
int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t in, Stream stream);
int ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t in, Stream stream);
int ncclGroupStart(void);
int ncclGroupEnd(void);
