/* A FAKE of the CUDA runtime and driver: the symbols and argument lists, none of the work.
 *
 * Written from the public argument lists, for tests of the probes alone. Every call spins for SPIN_NS, so that
 * its time can be told; a copy to or from address 0 is refused with 1, as an invalid value is.
 */
#pragma once
#include <stddef.h>
#include <time.h>

#ifndef SPIN_NS
#define SPIN_NS 400000L
#endif

typedef unsigned long long CUdeviceptr;
typedef void *Handle;

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

/* The driver. */
int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes);
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes);
int cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, Handle stream);
int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, Handle stream);
int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, Handle stream);
int cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, Handle stream);
int cuMemcpyPeerAsync(CUdeviceptr to, Handle here, CUdeviceptr from, Handle there, size_t bytes, Handle stream);
int cuLaunchKernel(Handle kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Handle stream, void **arguments, void **extra);
int cuLaunchKernelEx(const void *how, Handle kernel, void **arguments, void **extra);
int cuGraphLaunch(Handle graph, Handle stream);
int cuStreamSynchronize(Handle stream);
int cuCtxSynchronize(void);
int cuEventSynchronize(Handle event);

/* The runtime. */
typedef struct {
    unsigned x, y, z;
} dim3;
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, Handle stream);
int cudaMemcpyPeerAsync(void *to, int here, const void *from, int there, size_t bytes, Handle stream);
int cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, Handle stream);
int cudaLaunchKernelExC(const void *how, const void *kernel, void **arguments);
int cudaGraphLaunch(Handle graph, Handle stream);
int cudaStreamSynchronize(Handle stream);
int cudaDeviceSynchronize(void);
int cudaEventSynchronize(Handle event);
