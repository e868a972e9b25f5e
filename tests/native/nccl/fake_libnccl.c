/* A FAKE libnccl.so.2: see fake_nccl.h. A type beyond the twelve that exist is refused with 4. */
#include "fake_nccl.h"
#include <stdlib.h>

struct fake_comm {
    int ranks;
};

static int collective(int type)
{
    spin();
    return type < 0 || type > 11 ? 4 : 0;
}

int ncclCommInitRank(ncclComm_t *made, int ranks, ncclUniqueId identity, int rank)
{
    *made = malloc(sizeof(**made));
    (*made)->ranks = ranks;
    return spin();
}
int ncclCommCount(const ncclComm_t of, int *ranks)
{
    *ranks = of->ranks;
    return spin();
}
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t in, Stream stream)
{
    return collective(type);
}
int ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t in, Stream stream)
{
    return collective(type);
}
int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op, ncclComm_t in, Stream stream)
{
    return collective(type);
}
int ncclBroadcast(const void *from, void *to, size_t count, int type, int root, ncclComm_t in, Stream stream)
{
    return collective(type);
}
/* Goes on to another call of the library: one call all the same. */
int ncclBcast(void *buffer, size_t count, int type, int root, ncclComm_t in, Stream stream)
{
    return ncclBroadcast(buffer, buffer, count, type, root, in, stream) + spin();
}
int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root, ncclComm_t in,
               Stream stream)
{
    return collective(type);
}
int ncclSend(const void *from, size_t count, int type, int peer, ncclComm_t in, Stream stream)
{
    return collective(type);
}
int ncclRecv(void *to, size_t count, int type, int peer, ncclComm_t in, Stream stream)
{
    return collective(type);
}
int ncclGroupStart(void) { return spin(); }
int ncclGroupEnd(void) { return spin(); }
