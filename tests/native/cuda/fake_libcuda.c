/* A FAKE libcuda.so.1: see fake_cuda.h. Some real drivers lack newer symbols; this one lacks cuMemcpyPeer. */
#include "fake_cuda.h"
#include <setjmp.h>

static int copy(CUdeviceptr to, CUdeviceptr from)
{
    return spin() || !to || !from;
}

int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) { return copy(to, (CUdeviceptr)from); }
int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) { return copy((CUdeviceptr)to, from); }
int cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return copy(to, from); }
int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, Handle stream)
{
    return copy(to, (CUdeviceptr)from);
}
int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, Handle stream)
{
    return copy((CUdeviceptr)to, from);
}
int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, Handle stream) { return copy(to, from); }
int cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return copy(to, from); }
/* One address under two names, as drivers have: it must be probed once. */
int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, Handle stream) { return copy(to, from); }
int cuMemcpyAsync_ptsz(CUdeviceptr to, CUdeviceptr from, size_t bytes, Handle stream)
    __attribute__((alias("cuMemcpyAsync")));
int cuMemcpyPeerAsync(CUdeviceptr to, Handle here, CUdeviceptr from, Handle there, size_t bytes, Handle stream)
{
    return copy(to, from);
}
int cuLaunchKernel(Handle kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, Handle stream, void **arguments, void **extra)
{
    return spin();
}
int cuLaunchKernelEx(const void *how, Handle kernel, void **arguments, void **extra) { return spin(); }
/* A graph that is an address is one to jump to: the call never returns. */
int cuGraphLaunch(Handle graph, Handle stream)
{
    spin();
    if (graph)
        longjmp(graph, 1);
    return 0;
}
int cuStreamSynchronize(Handle stream) { return spin(); }
int cuCtxSynchronize(void) { return spin(); }
int cuEventSynchronize(Handle event) { return spin(); }
