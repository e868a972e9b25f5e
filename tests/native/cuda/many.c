/* Makes many calls of one kind to the FAKE CUDA libraries (built with -DSPIN_NS=0): what a probe costs a call.
 *
 * Each line on standard input is "runtime N" or "driver N"; prints the nanoseconds of CPU
 * time that the N launches took, the kernel's part included.
 */
#include "fake_cuda.h"
#include <stdio.h>

static long cpu_ns(void)
{
    struct timespec at;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1000000000L + at.tv_nsec;
}

int main(void)
{
    char which[16];
    int count;
    dim3 one = {1, 1, 1};

    while (scanf("%15s %d", which, &count) == 2) {
        long from = cpu_ns();
        if (which[0] == 'r')
            for (int n = 0; n < count; n++)
                cudaLaunchKernel(which, one, one, 0, 0, 0);
        else
            for (int n = 0; n < count; n++)
                cuLaunchKernel(0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0);
        printf("%ld\n", cpu_ns() - from);
        fflush(stdout);
    }
    return 0;
}
