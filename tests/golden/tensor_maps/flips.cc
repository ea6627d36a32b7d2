// Asks a GPU what it makes of maps that no encoder writes: right maps with one bit, or a few, changed, each
// used by a load. README.md says how it is built and run.
//
//   flips OUT WORKERS SECONDS   writes OUT/flips.txt, a line a map: base, changed bits, CUresult, and a hash
//                               of shared memory
#include "cases.h"
#include "driver_encode.h"

#include "numeric/hash.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>

namespace {

using namespace lemma;
using namespace lemma::tensor_maps;

struct Case {
  size_t base;
  std::vector<int> bits;
};

// The bits of small fields and of whatever no encoder writes; words 8 and 9; numbers of small fields.
std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add_word = [&](size_t base, int word, int first, int last) {
    for (int bit = first; bit <= last; ++bit)
      all.push_back({base, {64 * word + bit}});
  };
  for (const size_t base : {1, 4, 2, 3, 0}) {
    all.push_back({base, {}});
    add_word(base, 1, 0, 31);
    for (int type = 1; type < 32; ++type) // 16 and up: bit 16 as well
      if (std::popcount(static_cast<unsigned>(type)) > 1) {
        Case c{base, {}};
        for (int i = 0; i < 4; ++i)
          if (type >> i & 1)
            c.bits.push_back(64 + 7 + i);
        if (type >> 4)
          c.bits.push_back(64 + 16);
        all.push_back(c);
      }
    for (const auto& [i, j] : {std::pair{4, 5},
                               {4, 6},
                               {5, 6},
                               {11, 12},
                               {11, 13},
                               {12, 13},
                               {11, 14},
                               {12, 14},
                               {13, 14},
                               {13, 22},
                               {14, 22},
                               {0, 1},
                               {0, 2},
                               {0, 3},
                               {1, 2},
                               {15, 16},
                               {17, 18}})
      all.push_back({base, {64 + i, 64 + j}});
    add_word(base, 3, 48, 63);
    add_word(base, 6, 47, 55);
    add_word(base, 7, 32, 63);
    for (int word = 8; word <= 9; ++word) {
      for (int bit = 0; bit < 32; bit += 3)
        all.push_back({base, {64 * word + bit}});
      Case gone{base, {}}, high{base, {}};
      for (int bit = 0; bit < 64; ++bit)
        (bit < 32 ? gone : high).bits.push_back(64 * word + bit);
      all.push_back(gone);
      all.push_back(high);
    }
    for (int word = 10; word < 16; ++word) {
      Case full{base, {}};
      for (int bit = 0; bit < 64; ++bit)
        full.bits.push_back(64 * word + bit);
      all.push_back(full);
    }
    // Alignment: of the address, of strides and of the innermost size.
    add_word(base, 0, 0, 4);
    add_word(base, 1, 32, 33);
    add_word(base, 4, 0, 2);
    add_word(base, 6, 32, 46);
    add_word(base, 6, 56, 63);
    add_word(base, 7, 0, 31);
  }
  // The others differ in where they begin.
  for (size_t base = 5; base < loads().size(); ++base)
    all.push_back({base, {}});
  return all;
}

struct Result {
  uint32_t status; // kNotRun until then
  lemma::numeric::Hash128 hash;
};
constexpr uint32_t kNotRun = ~0u, kKilled = ~0u - 1;

std::string module_text() {
  std::string text = kLoadHead;
  for (const Load& load : loads())
    text += text_of(load);
  return text;
}

class Runner {
public:
  Runner() {
    CHECK(cuInit(0));
    CUdevice device;
    CUcontext context;
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CHECK(cuModuleLoadData(&module_, module_text().c_str()));
    CHECK(cuMemAlloc_v2(&memory_, kLoadMemoryBytes));
    CHECK(cuMemAlloc_v2(&map_, sizeof(Bytes)));
    CHECK(cuMemAlloc_v2(&out_, kLoadSharedBytes));
    CHECK(cuMemcpyHtoD_v2(memory_, load_memory().data(), kLoadMemoryBytes));
    shared_.resize(kLoadSharedBytes);
  }

  Result run(const Case& c) {
    TensorMap right = loads_[c.base].map;
    right.address = memory_ + kLoadTensorAt;
    if (right.element_strides.empty())
      right.element_strides.assign(right.dims.size(), 1);
    const Encoded encoded = encode(right);
    CHECK(static_cast<CUresult>(encoded.status));
    Bytes map = encoded.bytes;
    for (const int bit : c.bits)
      map[static_cast<size_t>(bit / 8)] ^= std::byte{1} << bit % 8;
    CUfunction function;
    CHECK(cuModuleGetFunction(&function, module_, loads_[c.base].name));
    CHECK(cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kLoadSharedBytes));
    CHECK(cuMemcpyHtoD_v2(map_, map.data(), map.size()));
    void* arguments[] = {&map_, &out_};
    CHECK(cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, kLoadSharedBytes, nullptr, arguments, nullptr));
    Result result{};
    result.status = static_cast<uint32_t>(cuMemcpyDtoH_v2(shared_.data(), out_, shared_.size()));
    if (result.status == CUDA_SUCCESS)
      result.hash = lemma::numeric::hash128(shared_.data(), shared_.size());
    return result;
  }

private:
  const std::vector<Load> loads_ = loads();
  CUmodule module_ = nullptr;
  CUdeviceptr memory_ = 0, map_ = 0, out_ = 0;
  std::vector<std::byte> shared_;
};

// The first `count` cases of this worker that are not run; a fault ends the process, whose context is lost.
void work(const std::vector<Case>& all, Result* results, size_t worker, size_t workers) {
  Runner runner;
  for (size_t i = worker; i < all.size(); i += workers) {
    if (results[i].status != kNotRun)
      continue;
    results[i].status = kKilled;
    alarm(20);
    results[i] = runner.run(all[i]);
    alarm(0);
    if (results[i].status != CUDA_SUCCESS)
      _exit(3);
  }
  _exit(0);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4)
    return 2;
  const auto workers = static_cast<size_t>(std::atoi(argv[2]));
  const std::time_t end = std::time(nullptr) + std::atoi(argv[3]);
  const std::vector<Case> all = cases();
  auto* results = static_cast<Result*>(
      mmap(nullptr, all.size() * sizeof(Result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (size_t i = 0; i < all.size(); ++i)
    results[i].status = kNotRun;
  std::vector<pid_t> children(workers);
  const auto begin = [&](size_t worker) {
    const pid_t child = fork();
    if (child == 0)
      work(all, results, worker, workers);
    children[worker] = child;
  };
  for (size_t worker = 0; worker < workers; ++worker)
    begin(worker);
  for (size_t left = workers; left > 0;) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG);
    if (child == 0 && std::time(nullptr) >= end)
      break;
    if (child == 0) {
      usleep(10000);
      continue;
    }
    size_t worker = 0;
    while (worker < workers && children[worker] != child)
      ++worker;
    if (worker == workers)
      continue;
    // Ended by exit(1): a call failed that should not, and would again.
    if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 1)) {
      --left;
      children[worker] = 0;
    } else
      begin(worker);
  }
  for (const pid_t child : children)
    if (child != 0)
      kill(child, SIGKILL);
  std::FILE* file = std::fopen((std::string(argv[1]) + "/flips.txt").c_str(), "w");
  for (size_t i = 0; i < all.size(); ++i) {
    std::string bits;
    for (const int bit : all[i].bits)
      bits += (bits.empty() ? "" : "+") + std::to_string(bit / 64) + "." + std::to_string(bit % 64);
    if (results[i].status == kNotRun)
      continue;
    std::fprintf(file, "%s %s %d %s\n", loads()[all[i].base].name, bits.empty() ? "-" : bits.c_str(),
                 static_cast<int>(results[i].status),
                 results[i].status == 0 ? lemma::numeric::to_string(results[i].hash).substr(0, 16).c_str()
                                        : "-");
  }
  std::fclose(file);
}
