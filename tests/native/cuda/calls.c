/* Makes a prime number of calls of every kind to the FAKE CUDA libraries and prints what it did.
 *
 * Waits for a line first, so that probes can be placed; then runs a thread of runtime calls and one of driver
 * calls at once, and prints per kind: the call, the direction, how often, how many bytes were copied, and the
 * nanoseconds by its own clock. One more call never returns, and is not told. Waits for a second line before it
 * ends.
 */
#include "fake_cuda.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

#define TIMES(count, call, way, moved, expression)                        \
    do {                                                                  \
        long ns = 0;                                                      \
        for (int n = 0; n < (count); n++) {                               \
            long from = now_ns();                                         \
            (void)(expression);                                           \
            ns += now_ns() - from;                                        \
        }                                                                 \
        fprintf(out, "%s %s %d %lld %ld\n", call, way, count, (long long)(moved) * (count), ns); \
    } while (0)

static char here[1], there[1];
static const CUdeviceptr device = 4096;

/* Leaves a call without its return, from deeper in the stack than what follows. */
static void __attribute__((noinline)) unwound(void)
{
    volatile char deep[512];
    jmp_buf back;
    deep[0] = 0;
    if (!setjmp(back))
        cuGraphLaunch(back, 0);
}

static void *runtime(void *file)
{
    FILE *out = file;
    dim3 one = {1, 1, 1};
    TIMES(17, "memcpy", "h2d", 1009, cudaMemcpy(there, here, 1009, 1));
    TIMES(13, "memcpy", "d2h", 2003, cudaMemcpy(there, here, 2003, 2));
    TIMES(11, "memcpy", "d2d", 3001, cudaMemcpy(there, here, 3001, 3));
    TIMES(7, "memcpy", "h2h", 4001, cudaMemcpy(there, here, 4001, 0));
    TIMES(5, "memcpy", "unknown", 5003, cudaMemcpy(there, here, 5003, 4));
    TIMES(3, "memcpy", "h2d", 0, cudaMemcpy(NULL, here, 7001, 1));
    TIMES(19, "memcpy_async", "h2d", 6007, cudaMemcpyAsync(there, here, 6007, 1, 0));
    TIMES(23, "memcpy_async", "d2h", 7001, cudaMemcpyAsync(there, here, 7001, 2, 0));
    /* More than 32 bits can hold. */
    TIMES(2, "memcpy_async", "d2d", 5000000029, cudaMemcpyAsync(there, here, 5000000029, 3, 0));
    TIMES(29, "memcpy_async", "p2p", 8009, cudaMemcpyPeerAsync(there, 0, here, 1, 8009, 0));
    TIMES(31, "launch", "none", 0, cudaLaunchKernel(here, one, one, 0, 0, 0));
    TIMES(37, "launch", "none", 0, cudaLaunchKernelExC(here, there, 0));
    TIMES(41, "graph_launch", "none", 0, cudaGraphLaunch(0, 0));
    TIMES(43, "stream_synchronize", "none", 0, cudaStreamSynchronize(0));
    TIMES(47, "device_synchronize", "none", 0, cudaDeviceSynchronize());
    TIMES(53, "event_synchronize", "none", 0, cudaEventSynchronize(0));
    return 0;
}

static void *driver(void *file)
{
    FILE *out = file;
    TIMES(5, "memcpy", "h2d", 1013, cuMemcpyHtoD_v2(device, here, 1013));
    TIMES(7, "memcpy", "d2h", 1019, cuMemcpyDtoH_v2(here, device, 1019));
    TIMES(11, "memcpy", "d2d", 1021, cuMemcpyDtoD_v2(device, device, 1021));
    TIMES(13, "memcpy", "unknown", 1031, cuMemcpy(device, device, 1031));
    TIMES(17, "memcpy_async", "h2d", 1033, cuMemcpyHtoDAsync_v2(device, here, 1033, 0));
    TIMES(19, "memcpy_async", "d2h", 1039, cuMemcpyDtoHAsync_v2(here, device, 1039, 0));
    TIMES(23, "memcpy_async", "d2d", 1049, cuMemcpyDtoDAsync_v2(device, device, 1049, 0));
    TIMES(29, "memcpy_async", "unknown", 1051, cuMemcpyAsync(device, device, 1051, 0));
    TIMES(31, "memcpy_async", "p2p", 1061, cuMemcpyPeerAsync(device, 0, device, 0, 1061, 0));
    TIMES(37, "launch", "none", 0, cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0));
    TIMES(41, "launch", "none", 0, cuLaunchKernelEx(0, 0, 0, 0));
    unwound();
    TIMES(43, "graph_launch", "none", 0, cuGraphLaunch(0, 0));
    TIMES(47, "stream_synchronize", "none", 0, cuStreamSynchronize(0));
    TIMES(53, "device_synchronize", "none", 0, cuCtxSynchronize());
    TIMES(59, "event_synchronize", "none", 0, cuEventSynchronize(0));
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    setvbuf(stdout, 0, _IOFBF, 1 << 16);
    printf("ready\n");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    pthread_create(&threads[0], 0, runtime, stdout);
    pthread_create(&threads[1], 0, driver, stdout);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    printf("done\n");
    fflush(stdout);
    return getchar() == EOF;
}
