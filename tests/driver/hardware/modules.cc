// Modules, libraries, the linker; functions and what is known of them; occupancy.
#include "record.h"

#include <cstring>

namespace record {
namespace {

const char* const kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";

CUresult load(const std::string& text) {
  CUmodule module = nullptr;
  return cuModuleLoadData(&module, text.c_str());
}

void images() {
  begin();
  CUmodule module = nullptr;
  const std::string head = kHead;
  SAY(load(head + ".visible .entry k() { ret; }\n"));
  SAY(load(""));
  SAY(load("hello"));
  SAY(load("// a comment\n"));
  SAY(load(head));
  SAY(load(".version 8.0\n.target sm_90\n.visible .entry k() { ret; }\n"));
  SAY(load(".version 99.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(load(".version 9.1\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(load(".version 8.0\n.target sm_999\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(load(".version 9.0\n.target sm_100\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(load(".version 9.0\n.target sm_100a\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(load(".version 8.0\n.target sm_70\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(load(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(load(".version 9.0\n.target sm_80a\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(load(head + ".visible .entry k() { nonsense; }\n"));
  SAY(load(head + ".visible .entry k() { mov.u32 %r1, 5; }\n"));
  SAY(load(head + ".visible .entry k() { ret;\n"));
  SAY(load(head + ".extern .func f();\n.visible .entry k() { call f, (); ret; }\n"));
  SAY(load(head +
           ".extern .global .u32 x;\n.visible .entry k() { .reg .u32 a; ld.global.u32 a, [x]; ret; }\n"));
  SAY(load(head + ".visible .entry k() { ret; }\n.visible .entry k() { ret; }\n"));
  SAY(load(head + ".visible .entry k() { .shared .b8 x[60000]; .reg .b32 a; mov.b32 a, x; st.shared.b32 [a], "
                  "a; ret; }\n"));
  SAY(load(head + ".visible .entry k() .maxntid 2000 { ret; }\n"));
  static const unsigned char zeros[64] = {1, 2, 3};
  SAY(cuModuleLoadData(&module, zeros));
  static const unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  SAY(cuModuleLoadData(&module, elf));
  static const unsigned char fatbin[64] = {0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0};
  SAY(cuModuleLoadData(&module, fatbin));
  SAY(cuModuleLoadFatBinary(&module, fatbin));
  SAY(cuModuleLoadData(nullptr, kHead));
  SAY(cuModuleLoadData(&module, nullptr));
  SAY(cuModuleLoad(&module, "/no/such/file"));
  SAY(cuModuleLoad(&module, nullptr));
  SAY(cuModuleLoad(&module, "/dev/null"));
  char log[300] = "";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log)};
  const std::string good = head + ".visible .entry k() { ret; }\n",
                    bad = head + ".visible .entry k() { nonsense; }\n";
  SAY(cuModuleLoadDataEx(&module, good.c_str(), 2, options, values));
  NOTE(reinterpret_cast<size_t>(values[1]));
  values[1] = reinterpret_cast<void*>(sizeof log);
  SAY(cuModuleLoadDataEx(&module, bad.c_str(), 2, options, values));
  NOTE(reinterpret_cast<size_t>(values[1]) == std::strlen(log));
  NOTE(reinterpret_cast<size_t>(values[1]) == std::strlen(log) + 1);
  values[1] = reinterpret_cast<void*>(8);
  SAY(cuModuleLoadDataEx(&module, bad.c_str(), 2, options, values));
  NOTE(std::strlen(log));
  NOTE(reinterpret_cast<size_t>(values[1]));
  CUjit_option unknown[] = {static_cast<CUjit_option>(999)};
  SAY(cuModuleLoadDataEx(&module, good.c_str(), 1, unknown, values));
  SAY(cuModuleLoadDataEx(&module, good.c_str(), 1, nullptr, values));
  SAY(cuModuleLoadDataEx(&module, good.c_str(), 1, options, nullptr));
}

void modules() {
  begin();
  const CUmodule module = kernels();
  CUfunction found = nullptr;
  CUdeviceptr address = 0;
  size_t bytes = 0;
  unsigned count = 0;
  SAY_VALUE(count, cuModuleGetFunctionCount(&count, module));
  SAY(cuModuleGetFunctionCount(nullptr, module));
  SAY(cuModuleGetFunction(&found, module, "no_such_kernel"));
  SAY(cuModuleGetFunction(&found, module, ""));
  SAY(cuModuleGetFunction(&found, module, nullptr));
  SAY(cuModuleGetFunction(nullptr, module, "indices"));
  SAY(cuModuleGetFunction(&found, nullptr, "indices"));
  SAY(cuModuleGetFunction(&found, module, "counter"));
  SAY_VALUE(bytes, cuModuleGetGlobal_v2(&address, &bytes, module, "counter"));
  NOTE(address % 256);
  SAY_VALUE(bytes, cuModuleGetGlobal_v2(&address, &bytes, module, "table"));
  SAY_VALUE(bytes, cuModuleGetGlobal_v2(&address, &bytes, module, "managed"));
  SAY(cuModuleGetGlobal_v2(&address, &bytes, module, "no_such_variable"));
  SAY(cuModuleGetGlobal_v2(&address, &bytes, module, "indices"));
  SAY(cuModuleGetGlobal_v2(nullptr, nullptr, module, "counter"));
  SAY(cuModuleGetGlobal_v2(nullptr, &bytes, module, "counter"));
  SAY(cuModuleGetGlobal_v2(&address, nullptr, module, "counter"));
  SAY(cuModuleGetGlobal_v2(&address, &bytes, module, nullptr));
  SAY(cuModuleGetGlobal_v2(&address, &bytes, module, ""));
  SAY(cuModuleGetGlobal_v2(&address, &bytes, nullptr, "counter"));
  SAY(cuModuleUnload(nullptr));
  SAY(cuModuleUnload(module));
  SAY(cuModuleGetFunction(&found, module, "indices"));
  SAY(cuModuleUnload(module));
}

void libraries() {
  cuInit(0);
  CUlibrary library = nullptr, other = nullptr;
  CUkernel kernel = nullptr;
  CUdeviceptr address = 0;
  size_t bytes = 0, offset = 0;
  unsigned count = 0;
  const std::string text = file("../kernels.ptx");
  SAY(cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  SAY(cuLibraryLoadData(nullptr, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  SAY(cuLibraryLoadData(&other, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0));
  SAY(cuLibraryLoadData(&other, "nonsense", nullptr, nullptr, 0, nullptr, nullptr, 0));
  SAY(cuLibraryLoadFromFile(&other, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0));
  SAY(cuLibraryGetKernel(&kernel, library, "add"));
  SAY(cuLibraryGetKernel(&kernel, library, "no_such_kernel"));
  SAY(cuLibraryGetKernel(nullptr, library, "add"));
  SAY(cuLibraryGetKernel(&kernel, nullptr, "add"));
  SAY(cuLibraryGetKernel(&kernel, library, nullptr));
  SAY_VALUE(count, cuLibraryGetKernelCount(&count, library));
  SAY(cuLibraryGetGlobal(&address, &bytes, library, "counter"));
  SAY_VALUE(bytes, cuLibraryGetManaged(&address, &bytes, library, "managed"));
  CUmodule module = nullptr;
  CUfunction in_here = nullptr;
  int value = 0;
  SAY(cuLibraryGetModule(&module, library));
  SAY(cuKernelGetFunction(&in_here, kernel));
  SAY_VALUE(value, cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
  begin();
  SAY_VALUE(bytes, cuLibraryGetGlobal(&address, &bytes, library, "counter"));
  SAY(cuLibraryGetGlobal(&address, &bytes, library, "no_such_variable"));
  SAY(cuLibraryGetGlobal(nullptr, nullptr, library, "counter"));
  SAY(cuLibraryGetGlobal(&address, &bytes, library, nullptr));
  SAY_VALUE(bytes, cuLibraryGetManaged(&address, &bytes, library, "managed"));
  SAY(cuLibraryGetManaged(&address, &bytes, library, "counter"));
  SAY(cuLibraryGetGlobal(&address, &bytes, library, "managed"));
  SAY(cuLibraryGetModule(&module, library));
  SAY(cuModuleUnload(module));
  SAY(cuLibraryGetModule(nullptr, library));
  SAY(cuKernelGetFunction(&in_here, kernel));
  SAY(cuKernelGetFunction(nullptr, kernel));
  SAY(cuKernelGetFunction(&in_here, nullptr));
  SAY_VALUE(value, cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
  SAY(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 5));
  SAY(cuKernelGetAttribute(&value, static_cast<CUfunction_attribute>(77), kernel, 0));
  SAY(cuKernelGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 0));
  SAY(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, kernel, 0));
  SAY(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000, kernel, 0));
  SAY_VALUE(value, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, in_here));
  SAY_VALUE(offset, cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
  SAY_VALUE(bytes, cuKernelGetParamInfo(kernel, 1, &offset, nullptr));
  SAY(cuKernelGetParamInfo(kernel, 3, &offset, &bytes));
  SAY(cuKernelGetParamInfo(kernel, 1, nullptr, &bytes));
  SAY(cuFuncGetParamInfo(in_here, 3, &offset, &bytes));
  SAY(cuFuncGetParamInfo(in_here, 1, nullptr, &bytes));
  SAY(cuLibraryUnload(library));
  SAY(cuLibraryUnload(nullptr));
  SAY(cuLibraryUnload(library));
  SAY(cuKernelGetFunction(&in_here, kernel));
}

void linker() {
  begin();
  CUlinkState state = nullptr;
  std::string text = file("../linked_main.ptx"), helper = file("../linked_helper.ptx");
  void* image = nullptr;
  size_t bytes = 0;
  SAY(cuLinkCreate_v2(0, nullptr, nullptr, &state));
  SAY(cuLinkCreate_v2(0, nullptr, nullptr, nullptr));
  SAY(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, nullptr, 0, "a", 0, nullptr, nullptr));
  SAY(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, helper.data(), 0, "a", 0, nullptr, nullptr));
  SAY(cuLinkAddData_v2(state, static_cast<CUjitInputType>(77), helper.data(), helper.size() + 1, "a", 0,
                       nullptr, nullptr));
  SAY(cuLinkAddData_v2(nullptr, CU_JIT_INPUT_PTX, helper.data(), helper.size() + 1, "a", 0, nullptr,
                       nullptr));
  SAY(cuLinkAddFile_v2(state, CU_JIT_INPUT_PTX, "/no/such/file", 0, nullptr, nullptr));
  SAY(cuLinkDestroy(state));
  SAY(cuLinkCreate_v2(0, nullptr, nullptr, &state));
  SAY(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "main.ptx", 0, nullptr,
                       nullptr));
  SAY(cuLinkComplete(state, &image, &bytes));
  SAY(cuLinkDestroy(state));
  SAY(cuLinkCreate_v2(0, nullptr, nullptr, &state));
  SAY(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, text.data(), text.size() + 1, "main.ptx", 0, nullptr,
                       nullptr));
  SAY(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, helper.data(), helper.size() + 1, "", 0, nullptr, nullptr));
  SAY(cuLinkComplete(state, &image, &bytes));
  SAY(cuLinkComplete(state, &image, nullptr));
  SAY(cuLinkDestroy(state));
  SAY(cuLinkDestroy(nullptr));
  std::string bad = "nonsense";
  SAY(cuLinkCreate_v2(0, nullptr, nullptr, &state));
  SAY(cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, bad.data(), bad.size() + 1, "bad.ptx", 0, nullptr, nullptr));
  SAY(cuLinkAddData_v2(state, CU_JIT_INPUT_CUBIN, bad.data(), bad.size() + 1, "bad.cubin", 0, nullptr,
                       nullptr));
  SAY(cuLinkAddData_v2(state, CU_JIT_INPUT_FATBINARY, bad.data(), bad.size() + 1, "bad.fatbin", 0, nullptr,
                       nullptr));
}

void functions() {
  begin();
  const CUmodule module = kernels();
  int value = 0;
  for (const char* name :
       {"indices", "bounded", "statically_shared", "mixed", "variables", "declared_cluster"}) {
    const CUfunction kernel = function(module, name);
    for (int attribute = 0; attribute < 17; ++attribute) {
      const Turn turn(std::string(name) + " " + std::to_string(attribute));
      SAY_VALUE(value, cuFuncGetAttribute(&value, static_cast<CUfunction_attribute>(attribute), kernel));
    }
  }
  const CUfunction kernel = function(module, "indices");
  for (int attribute = 0; attribute < 17; ++attribute)
    for (const int to : {-2, -1, 0, 1, 3, 50, 101, 49152, 49153, 232448, 232449}) {
      const Turn turn(std::to_string(attribute) + " to " + std::to_string(to));
      SAY(cuFuncSetAttribute(kernel, static_cast<CUfunction_attribute>(attribute), to));
    }
  const CUfunction shared = function(module, "statically_shared"),
                   declared = function(module, "declared_cluster");
  SAY(cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1024));
  SAY(cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448 - 1023));
  SAY(cuFuncSetAttribute(declared, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4));
  SAY(cuFuncSetAttribute(declared, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
  SAY(cuFuncSetAttribute(nullptr, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
  SAY(cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel));
  SAY(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr));
  SAY(cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1));
  SAY(cuFuncSetCacheConfig(kernel, static_cast<CUfunc_cache>(50)));
  SAY(cuFuncSetCacheConfig(nullptr, CU_FUNC_CACHE_PREFER_L1));
  SAY(cuFuncSetSharedMemConfig(kernel, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
  SAY(cuFuncSetSharedMemConfig(kernel, static_cast<CUsharedconfig>(9)));
  const char* its_name = nullptr;
  CUmodule its_module = nullptr;
  CUfunctionLoadingState loaded{};
  SAY_VALUE(std::string(its_name), cuFuncGetName(&its_name, kernel));
  SAY(cuFuncGetName(nullptr, kernel));
  SAY(cuFuncGetName(&its_name, nullptr));
  SAY_VALUE(its_module == module, cuFuncGetModule(&its_module, kernel));
  SAY(cuFuncGetModule(&its_module, nullptr));
  SAY_VALUE(loaded, cuFuncIsLoaded(&loaded, function(module, "twice")));
  SAY(cuFuncLoad(function(module, "twice")));
  SAY_VALUE(loaded, cuFuncIsLoaded(&loaded, function(module, "twice")));
  SAY(cuFuncLoad(nullptr));
}

size_t sixteen_a_thread(int threads) {
  return 16 * static_cast<size_t>(threads);
}

void occupancy() {
  begin();
  const CUmodule module = kernels();
  const CUfunction kernel = function(module, "indices"), bounded = function(module, "bounded"),
                   shared = function(module, "statically_shared"), ranks = function(module, "cluster_ranks"),
                   declared = function(module, "declared_cluster");
  int blocks = 0;
  size_t bytes = 0;
  for (const int threads :
       {-1, 0, 1, 32, 33, 64, 96, 100, 128, 200, 256, 384, 512, 640, 768, 1000, 1024, 1025, 2048})
    for (const size_t dynamic : {0, 1, 1000, 10000, 40000, 49152, 49153, 100000, 232448, 232449}) {
      const Turn turn(std::to_string(threads) + " threads, " + std::to_string(dynamic) + " bytes");
      SAY_VALUE(blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, dynamic));
    }
  SAY_VALUE(blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 128, 0));
  SAY_VALUE(blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 129, 0));
  SAY_VALUE(blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 32, 0));
  SAY_VALUE(blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, shared, 32, 10000));
  SAY_VALUE(blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, declared, 32, 0));
  SAY_VALUE(blocks, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 256, 0, 1));
  SAY(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, kernel, 256, 0, 8));
  SAY(cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, kernel, 32, 0));
  SAY(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nullptr, 32, 0));
  SAY(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
  for (const size_t dynamic : {49152, 49153, 76800, 100000, 115712, 116736, 232448, 232449}) {
    const Turn turn("opted in, " + std::to_string(dynamic) + " bytes");
    SAY_VALUE(blocks, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, 128, dynamic));
  }
  int grid = 0, block = 0;
  SAY_VALUE(grid * 10000 + block, cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, nullptr, 0, 0));
  SAY_VALUE(grid * 10000 + block, cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, nullptr, 20000, 0));
  SAY_VALUE(grid * 10000 + block, cuOccupancyMaxPotentialBlockSize(&grid, &block, bounded, nullptr, 0, 0));
  SAY_VALUE(grid * 10000 + block,
            cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, sixteen_a_thread, 0, 0));
  SAY_VALUE(grid * 10000 + block,
            cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, sixteen_a_thread, 0, 500));
  SAY_VALUE(grid * 10000 + block, cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, nullptr, 0, 300));
  SAY_VALUE(grid * 10000 + block,
            cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, nullptr, 300000, 0));
  SAY(cuOccupancyMaxPotentialBlockSize(nullptr, &block, kernel, nullptr, 0, 0));
  SAY(cuOccupancyMaxPotentialBlockSize(&grid, &block, kernel, nullptr, 0, -1));
  for (const int wanted : {-1, 0, 1, 2, 3, 8, 16, 20, 32, 40}) {
    const Turn turn(std::to_string(wanted) + " blocks");
    SAY_VALUE(bytes, cuOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, wanted, 64));
    SAY_VALUE(bytes, cuOccupancyAvailableDynamicSMemPerBlock(&bytes, shared, wanted, 64));
  }
  SAY(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, kernel, 3, 1024));
  SAY(cuOccupancyAvailableDynamicSMemPerBlock(nullptr, kernel, 1, 64));
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  CUlaunchConfig config{};
  config.gridDimX = 64;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  for (const bool non_portable : {false, true}) {
    if (non_portable)
      SAY(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
    for (const unsigned threads : {32u, 128u, 1024u})
      for (const unsigned size : {0u, 1u, 2u, 3u, 4u, 8u, 16u, 32u}) {
        const Turn turn((non_portable ? "any, " : "portable, ") + std::to_string(threads) +
                        " threads, clusters of " + std::to_string(size));
        config.blockDimX = threads;
        attribute.value.clusterDim.x = size;
        SAY_VALUE(clusters, cuOccupancyMaxActiveClusters(&clusters, ranks, &config));
      }
    config.numAttrs = 0;
    for (const unsigned threads : {32u, 1024u}) {
      const Turn turn(std::string(non_portable ? "any, " : "portable, ") + std::to_string(threads) +
                      " threads");
      config.blockDimX = threads;
      SAY_VALUE(clusters, cuOccupancyMaxPotentialClusterSize(&clusters, ranks, &config));
      SAY_VALUE(clusters, cuOccupancyMaxPotentialClusterSize(&clusters, declared, &config));
      SAY_VALUE(clusters, cuOccupancyMaxActiveClusters(&clusters, declared, &config));
    }
    config.numAttrs = 1;
  }
  SAY(cuOccupancyMaxActiveClusters(nullptr, ranks, &config));
  SAY(cuOccupancyMaxActiveClusters(&clusters, ranks, nullptr));
}

} // namespace

std::vector<Section> module_sections() {
  return {{"images", images}, {"modules", modules},     {"libraries", libraries},
          {"linker", linker}, {"functions", functions}, {"occupancy", occupancy}};
}

} // namespace record
