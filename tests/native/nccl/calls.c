/* Makes a prime number of calls of every kind to the FAKE NCCL and prints what it did.
 *
 * One communicator of 5 ranks is made before the first line is awaited (its size is then asked for, if an
 * argument is given), one of 3 ranks after it. Prints per kind: the call, how often, the bytes that this rank
 * handed in, those of all ranks' buffer where the number of ranks could be known, and the nanoseconds by its
 * own clock. Waits for a second line before it ends.
 */
#include "fake_nccl.h"
#include <stdio.h>

#define TIMES(times, call, moved, ranks, expression)                                          \
    do {                                                                                      \
        long ns = 0;                                                                          \
        for (int n = 0; n < (times); n++) {                                                   \
            long from = now_ns();                                                             \
            (void)(expression);                                                               \
            ns += now_ns() - from;                                                            \
        }                                                                                     \
        printf("%s %d %ld %ld %ld\n", call, times, (long)(moved) * (times),                   \
               (long)(moved) * (times) * (ranks), ns);                                        \
    } while (0)

static char a[1], b[1];

int main(int count, char **arguments)
{
    ncclUniqueId identity = {{0}};
    ncclComm_t early, late;
    int asked;

    ncclCommInitRank(&early, 5, identity, 0);
    printf("ready\n");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    ncclCommInitRank(&late, 3, identity, 0);
    if (count > 1)
        ncclCommCount(early, &asked);
    TIMES(17, "all_reduce", 1009 * 2, 1, ncclAllReduce(a, b, 1009, 6, 0, early, 0));  /* float16 */
    TIMES(13, "all_reduce", 1013 * 4, 1, ncclAllReduce(a, b, 1013, 7, 0, late, 0));   /* float32 */
    TIMES(3, "all_reduce", 0, 1, ncclAllReduce(a, b, 1013, 99, 0, late, 0));          /* refused */
    TIMES(11, "all_gather", 1019 * 2, 3, ncclAllGather(a, b, 1019, 9, late, 0));      /* bfloat16 */
    TIMES(7, "reduce_scatter", 1021 * 8, 3, ncclReduceScatter(a, b, 1021, 4, 0, late, 0)); /* int64 */
    if (count > 1)
        TIMES(19, "all_gather", 1031 * 1, 5, ncclAllGather(a, b, 1031, 10, early, 0)); /* float8 */
    else
        TIMES(19, "reduce_scatter", 1031 * 1, 0, ncclReduceScatter(a, b, 1031, 1, 0, early, 0));
    TIMES(23, "broadcast", 1033 * 4, 1, ncclBroadcast(a, b, 1033, 2, 0, late, 0));
    TIMES(29, "broadcast", 1039 * 4, 1, ncclBcast(a, 1039, 3, 0, late, 0));
    TIMES(31, "reduce", 1049 * 8, 1, ncclReduce(a, b, 1049, 8, 0, 0, late, 0));
    TIMES(37, "send", 1051 * 1, 1, ncclSend(a, 1051, 0, 1, late, 0));
    TIMES(41, "recv", 1061 * 1, 1, ncclRecv(b, 1061, 11, 1, late, 0));
    TIMES(43, "group_start", 0, 1, ncclGroupStart());
    TIMES(47, "group_end", 0, 1, ncclGroupEnd());
    printf("done\n");
    fflush(stdout);
    return getchar() == EOF;
}
