/* A FAKE libcudart.so.12: every call goes on to the fake driver, as the real runtime's do. See fake_cuda.h. */
#include "fake_cuda.h"

int cudaMemcpy(void *to, const void *from, size_t bytes, int kind)
{
    switch (kind) {
    case 1:
        return cuMemcpyHtoD_v2((CUdeviceptr)to, from, bytes);
    case 2:
        return cuMemcpyDtoH_v2(to, (CUdeviceptr)from, bytes);
    case 3:
        return cuMemcpyDtoD_v2((CUdeviceptr)to, (CUdeviceptr)from, bytes);
    }
    return cuMemcpy((CUdeviceptr)to, (CUdeviceptr)from, bytes);
}

int cudaMemcpyAsync(void *to, const void *from, size_t bytes, int kind, Handle stream)
{
    switch (kind) {
    case 1:
        return cuMemcpyHtoDAsync_v2((CUdeviceptr)to, from, bytes, stream);
    case 2:
        return cuMemcpyDtoHAsync_v2(to, (CUdeviceptr)from, bytes, stream);
    }
    return cuMemcpyAsync((CUdeviceptr)to, (CUdeviceptr)from, bytes, stream);
}

int cudaMemcpyPeerAsync(void *to, int here, const void *from, int there, size_t bytes, Handle stream)
{
    return cuMemcpyPeerAsync((CUdeviceptr)to, 0, (CUdeviceptr)from, 0, bytes, stream);
}

int cudaLaunchKernel(const void *kernel, dim3 grid, dim3 block, void **arguments, size_t shared, Handle stream)
{
    return cuLaunchKernel((Handle)kernel, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream,
                          arguments, 0);
}

int cudaLaunchKernelExC(const void *how, const void *kernel, void **arguments)
{
    return cuLaunchKernelEx(how, (Handle)kernel, arguments, 0);
}

int cudaGraphLaunch(Handle graph, Handle stream) { return cuGraphLaunch(graph, stream); }
int cudaStreamSynchronize(Handle stream) { return cuStreamSynchronize(stream); }
/* A synchronisation that makes two calls below: one call all the same. */
int cudaDeviceSynchronize(void) { return cuStreamSynchronize(0) + cuCtxSynchronize(); }
int cudaEventSynchronize(Handle event) { return cuEventSynchronize(event); }
