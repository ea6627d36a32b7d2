// The rows of entry_points.def as functions: what is refused, what stands for another with the thread's own
// default stream, and the look-up by name. What is implemented is in the files of its subject; the linker
// says if a row's function is missing, or is there twice.
#include "driver/entry_points.h"

#include "driver/api.h"
#include "driver/call.h"
#include "support/verbose.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string>

namespace lemma::driver {
namespace {

thread_local int per_thread_default = 0;

#define IMPLEMENTED(name, version, symbol, parameters)                                                       \
  {#name, version, false, #symbol, reinterpret_cast<void*>(static_cast<CUresult(*) parameters>(symbol))},
#define REFUSED(name, version, symbol, parameters, error) IMPLEMENTED(name, version, symbol, parameters)
#define PER_THREAD(name, version, variant, symbol, parameters, arguments, base)                              \
  {#name, version, true, #symbol, reinterpret_cast<void*>(static_cast<CUresult(*) parameters>(symbol))},
const EntryPoint kRows[] = {
#include "driver/entry_points.def"
};
#undef IMPLEMENTED
#undef REFUSED
#undef PER_THREAD

} // namespace

PerThreadDefault::PerThreadDefault() {
  ++per_thread_default;
}
PerThreadDefault::~PerThreadDefault() {
  --per_thread_default;
}
bool PerThreadDefault::is_on() {
  return per_thread_default > 0;
}

std::span<const EntryPoint> entry_points() {
  return kRows;
}

const EntryPoint* find_entry_point(std::string_view name, int version, bool per_thread,
                                   CUdriverProcAddressQueryResult& query) {
  // The table is in the order of its generator: by name.
  const auto [begin, end] =
      std::equal_range(std::begin(kRows), std::end(kRows), EntryPoint{name, 0, false, {}, nullptr},
                       [](const EntryPoint& a, const EntryPoint& b) { return a.name < b.name; });
  query = begin == end ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
  const EntryPoint* found = nullptr;
  // One that is there with the thread's own default stream is not given without it.
  const bool own =
      per_thread && std::any_of(begin, end, [](const EntryPoint& row) { return row.per_thread; });
  for (const EntryPoint* row = begin; row != end; ++row) {
    if (row->version > version || row->per_thread != own)
      continue;
    if (!found || std::pair(row->per_thread, row->version) > std::pair(found->per_thread, found->version))
      found = row;
  }
  if (found)
    query = CU_GET_PROC_ADDRESS_SUCCESS;
  return found;
}

CUresult refuse(std::string_view symbol, CUresult error) {
  if (is_verbose())
    std::fprintf(stderr, "lemma: %.*s is not implemented (docs/driver.md)\n", static_cast<int>(symbol.size()),
                 symbol.data());
  return error;
}

} // namespace lemma::driver

using namespace lemma::driver;

#define IMPLEMENTED(name, version, symbol, parameters)
#define REFUSED(name, version, symbol, parameters, error)                                                    \
  extern "C" CUresult symbol parameters {                                                                    \
    return refuse(#symbol, error);                                                                           \
  }
#define PER_THREAD(name, version, variant, symbol, parameters, arguments, base)                              \
  extern "C" CUresult symbol parameters {                                                                    \
    const PerThreadDefault own;                                                                              \
    return base arguments;                                                                                   \
  }
#include "driver/entry_points.def"

// Before cuInit, too. `driver_version` is the CUDA version that the caller was made for.
CUresult cuGetProcAddress_v2(const char* name, void** function, int driver_version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  constexpr cuuint64_t kKnown =
      CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  if (!name || !function || (flags & ~kKnown))
    return CUDA_ERROR_INVALID_VALUE;
  CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
  const EntryPoint* row = find_entry_point(
      name, driver_version, (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0, query);
  if (status)
    *status = query;
  *function = row ? row->function : nullptr;
  return CUDA_SUCCESS; // what is not there has no address, and is no error: measured on an H200
}

CUresult cuGetProcAddress(const char* name, void** function, int driver_version, cuuint64_t flags) {
  const CUresult status = cuGetProcAddress_v2(name, function, driver_version, flags, nullptr);
  return status == CUDA_SUCCESS && !*function ? CUDA_ERROR_NOT_FOUND : status;
}

namespace {

// What NVRTC asks for; it is content with a refusal, and a program that uses it need not be told.
constexpr std::array<unsigned char, 16> kTableOfNvrtc = {0xda, 0x91, 0x51, 0xd3, 0x3a, 0xe6, 0xcc, 0x41,
                                                         0xa5, 0xc0, 0x4f, 0x26, 0xd5, 0x33, 0xe3, 0x28};

// "libcublas.so.13": the library that has this code; empty if the program has it, or a CUDA runtime.
std::string other_library(const void* code) {
  Dl_info of_code{}, of_program{};
  const auto* program = reinterpret_cast<const void*>(getauxval(AT_ENTRY));
  if (!dladdr(code, &of_code) || !of_code.dli_fname || !dladdr(program, &of_program) ||
      of_code.dli_fbase == of_program.dli_fbase)
    return "";
  const std::string path = of_code.dli_fname, name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libcudart.") ? "" : name;
}

// Once a process, of who asks for the table first.
void tell_how_to_build(const void* caller) {
  static std::atomic<bool> told{false};
  if (told.exchange(true))
    return;
  const std::string library = other_library(caller);
  const std::string where =
      !library.empty()
          ? library
          : "this program - linked in, as nvcc does unless told otherwise, or found before Lemma's "
            "libcudart.so.13 -";
  std::string text =
      fmt::format("lemma: NVIDIA's CUDA runtime is in {}\n"
                  "  and asks the driver for an undocumented table, which Lemma does not have. ",
                  where);
  if (!library.empty())
    text += "What calls NVIDIA's own libraries (cuBLAS, cuFFT,\n"
            "  cuDNN, ...), which have the runtime inside, does not run; kernels do. If the library is "
            "yours, build it\n"
            "  with the shared runtime, which Lemma has a library for, beside this driver:\n";
  else
    text += "Build the program with the\n"
            "  shared runtime, which Lemma has a library for, beside this driver:\n";
  text += "    nvcc -cudart shared ...\n"
          "    NVCC_APPEND_FLAGS=\"-cudart shared\" make\n"
          "    cmake -DCMAKE_CUDA_RUNTIME_LIBRARY=Shared ...\n"
          "  Until then its CUDA calls fail (cudaErrorNotSupported), and a __managed__ variable is a null "
          "pointer:\n"
          "  a program that uses one all the same ends there (SIGSEGV). See docs/cudart.md\n";
  std::fputs(text.c_str(), stderr);
}

} // namespace

// The undocumented tables are nobody's business but NVIDIA's: none is known here.
CUresult cuGetExportTable(const void** table, const CUuuid* id) {
  if (!table || !id)
    return CUDA_ERROR_INVALID_VALUE;
  *table = nullptr;
  if (std::memcmp(id->bytes, kTableOfNvrtc.data(), sizeof id->bytes) == 0)
    return CUDA_ERROR_INVALID_VALUE;
  tell_how_to_build(__builtin_return_address(0));
  return CUDA_ERROR_NOT_SUPPORTED;
}

const char* cuLemmaVersion() {
  return LEMMA_VERSION;
}
