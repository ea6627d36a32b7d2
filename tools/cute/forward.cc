// liblemma_cute_dsl.so: what the host code of CuTe DSL's kernels calls, by the names that
// libcute_dsl_runtime.so gives to CUDA's functions: _cudaMalloc is cudaMalloc. That library has NVIDIA's
// runtime linked in; this one comes before it (python/exec/lemma_cute.py), and each function is a jump to
// Lemma's libcudart.so.13 or libcuda.so.1.
//
// Names: those that libcute_dsl_runtime.so of nvidia-cutlass-dsl 4.8.1 exports. Tests:
// tests/exec/clients_test.py.

#if defined(__x86_64__)
#define JUMP(to) "jmp *" #to "@GOTPCREL(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(to) "adrp x16, :got:" #to "\nldr x16, [x16, :got_lo12:" #to "]\nbr x16\n"
#else
#error "lemma exec is for x86-64 and AArch64"
#endif

#define FORWARD(name, to)                                                                                    \
  asm(".text\n.globl _" #name "\n.type _" #name ", @function\n_" #name ":\n" JUMP(to) ".size _" #name        \
                                                                                      ", . - _" #name "\n");

FORWARD(cuDeviceGet, cuDeviceGet)
FORWARD(cuKernelGetAttribute, cuKernelGetAttribute)
FORWARD(cuLibraryGetGlobal, cuLibraryGetGlobal)
FORWARD(cuLibraryGetKernel, cuLibraryGetKernel)
FORWARD(cuLibraryGetKernelCount, cuLibraryGetKernelCount)
FORWARD(cuLibraryGetManaged, cuLibraryGetManaged)
FORWARD(cuLibraryGetModule, cuLibraryGetModule)
FORWARD(cuLibraryGetUnifiedFunction, cuLibraryGetUnifiedFunction)
FORWARD(cuLibraryLoadData, cuLibraryLoadData)
FORWARD(cuLibraryLoadFromFile, cuLibraryLoadFromFile)
FORWARD(cuLibraryUnload, cuLibraryUnload)
FORWARD(cuTensorMapEncodeTiled, cuTensorMapEncodeTiled)
FORWARD(cudaDeviceGetAttribute, cudaDeviceGetAttribute)
FORWARD(cudaDeviceSynchronize, cudaDeviceSynchronize)
FORWARD(cudaEventCreate, cudaEventCreate)
FORWARD(cudaEventDestroy, cudaEventDestroy)
FORWARD(cudaEventElapsedTime, cudaEventElapsedTime)
FORWARD(cudaEventRecord, cudaEventRecord)
FORWARD(cudaFree, cudaFree)
FORWARD(cudaFreeAsync, cudaFreeAsync)
FORWARD(cudaFreeHost, cudaFreeHost)
FORWARD(cudaFuncSetAttribute, cudaFuncSetAttribute)
FORWARD(cudaGetDevice, cudaGetDevice)
FORWARD(cudaGetDeviceCount, cudaGetDeviceCount)
FORWARD(cudaGetDeviceProperties, cudaGetDeviceProperties)
FORWARD(cudaGraphDestroy, cudaGraphDestroy)
FORWARD(cudaGraphExecDestroy, cudaGraphExecDestroy)
FORWARD(cudaGraphInstantiate, cudaGraphInstantiate)
FORWARD(cudaGraphLaunch, cudaGraphLaunch)
FORWARD(cudaKernelSetAttributeForDevice, cudaKernelSetAttributeForDevice)
FORWARD(cudaLaunchKernel, cudaLaunchKernel)
FORWARD(cudaLaunchKernelEx, cudaLaunchKernelExC)
FORWARD(cudaLibraryGetGlobal, cudaLibraryGetGlobal)
FORWARD(cudaLibraryGetKernel, cudaLibraryGetKernel)
FORWARD(cudaLibraryGetKernelCount, cudaLibraryGetKernelCount)
FORWARD(cudaLibraryGetManaged, cudaLibraryGetManaged)
FORWARD(cudaLibraryGetUnifiedFunction, cudaLibraryGetUnifiedFunction)
FORWARD(cudaLibraryLoadData, cudaLibraryLoadData)
FORWARD(cudaLibraryLoadFromFile, cudaLibraryLoadFromFile)
FORWARD(cudaLibraryUnload, cudaLibraryUnload)
FORWARD(cudaMalloc, cudaMalloc)
FORWARD(cudaMallocAsync, cudaMallocAsync)
FORWARD(cudaMallocHost, cudaMallocHost)
FORWARD(cudaMallocManaged, cudaMallocManaged)
FORWARD(cudaMemcpy, cudaMemcpy)
FORWARD(cudaMemcpyAsync, cudaMemcpyAsync)
FORWARD(cudaMemset, cudaMemset)
FORWARD(cudaMemsetAsync, cudaMemsetAsync)
FORWARD(cudaOccupancyMaxActiveBlocksPerMultiprocessor, cudaOccupancyMaxActiveBlocksPerMultiprocessor)
FORWARD(cudaProfilerStart, cudaProfilerStart)
FORWARD(cudaProfilerStop, cudaProfilerStop)
FORWARD(cudaSetDevice, cudaSetDevice)
FORWARD(cudaStreamAddCallback, cudaStreamAddCallback)
FORWARD(cudaStreamBeginCapture, cudaStreamBeginCapture)
FORWARD(cudaStreamCreate, cudaStreamCreate)
FORWARD(cudaStreamDestroy, cudaStreamDestroy)
FORWARD(cudaStreamEndCapture, cudaStreamEndCapture)
FORWARD(cudaStreamSynchronize, cudaStreamSynchronize)
FORWARD(cudaStreamWaitEvent, cudaStreamWaitEvent)
