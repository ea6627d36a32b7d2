// Whole kernels as nvcc and CUB write them, on one core: lane instructions per second. The PTX is committed,
// of tests/programs and of bench/kernels (scripts/compile_programs.sh made it, by nvcc 13.0). Each row looks
// at what its kernel has computed: integers are as they must be, sums of f32 near those in f64.
//
// Not here: loops around one kind of instruction (scalar.cc), matrix products.
#include "kernel.h"
#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>

namespace lemma::bench {
namespace {

// A kernel ready to run: `reset` before each run, `is_right` after one.
struct Case {
  std::unique_ptr<Kernel> kernel;
  std::function<void()> reset = [] {};
  std::function<bool()> is_right;
};

struct Entry {
  std::string name;
  std::function<Case()> make;
};

Case start(const std::string& path, std::string_view part_of_name) {
  return {.kernel = std::make_unique<Kernel>(read_file(LEMMA_SOURCE "/" + path), part_of_name),
          .is_right = {}};
}

// The same numbers in every run of the program.
std::vector<uint32_t> words(size_t count) {
  std::vector<uint32_t> out(count);
  uint64_t state = 88172645463325252;
  for (uint32_t& word : out) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    word = static_cast<uint32_t>(state >> 16);
  }
  return out;
}
// -2 to 2.
std::vector<float> numbers(size_t count) {
  std::vector<float> out(count);
  const std::vector<uint32_t> bits = words(count);
  std::transform(bits.begin(), bits.end(), out.begin(),
                 [](uint32_t word) { return static_cast<float>(static_cast<int32_t>(word)) * 0x1p-30f; });
  return out;
}
std::span<const uint32_t> as_words(const std::vector<float>& values) {
  return {reinterpret_cast<const uint32_t*>(values.data()), values.size()};
}
bool is_near(double got, double want, double scale = 1) {
  return std::abs(got - want) <= 1e-4 * scale;
}

// --- CUB

constexpr uint8_t kEmpty = 0; // an object without members as a parameter

Case sort_one_tile() {
  Case c = start("tests/programs/cub_radix_sort_keys/cub_radix_sort_keys.ptx", "SingleTile");
  const std::vector<uint32_t> keys = words(4000);
  const uint64_t in = c.kernel->allocate(keys), out = c.kernel->allocate(4 * keys.size());
  c.kernel->launch.block = {256, 1, 1};
  c.kernel->params = pack_params(in, out, uint64_t{0}, uint64_t{0}, static_cast<uint32_t>(keys.size()),
                                 int32_t{0}, int32_t{32}, kEmpty);
  c.is_right = [=, kernel = c.kernel.get()] {
    std::vector<uint32_t> sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    return std::ranges::equal(sorted, kernel->read<uint32_t>(out, sorted.size()));
  };
  return c;
}

// One pass of several: the keys in the order of their lowest digit, which finds its place by decoupled
// look-back.
Case sort_one_digit() {
  constexpr uint32_t kTile = 384 * 20, kTiles = 8, kDigits = 256;
  Case c = start("tests/programs/cub_radix_sort_keys/cub_radix_sort_keys.ptx", "Onesweep");
  const std::vector<uint32_t> keys = words(kTile * kTiles - 100);
  std::vector<uint32_t> starts(kDigits + 1);
  for (const uint32_t key : keys)
    ++starts[key % kDigits + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  starts.pop_back();
  Kernel* kernel = c.kernel.get();
  const uint64_t lookback = kernel->allocate(4 * kDigits * kTiles), counter = kernel->allocate(4),
                 bins = kernel->allocate(starts), in = kernel->allocate(keys),
                 out = kernel->allocate(4 * keys.size());
  kernel->launch.grid = {kTiles, 1, 1};
  kernel->launch.block = {384, 1, 1};
  kernel->params = pack_params(lookback, counter, uint64_t{0}, bins, out, in, uint64_t{0}, uint64_t{0},
                               static_cast<int32_t>(keys.size()), int32_t{0}, int32_t{8}, kEmpty);
  c.reset = [=] {
    std::ranges::fill(kernel->read<uint32_t>(lookback, kDigits * kTiles), 0);
    std::ranges::fill(kernel->read<uint32_t>(counter, 1), 0);
  };
  c.is_right = [=] {
    std::vector<uint32_t> sorted = keys;
    std::ranges::stable_sort(sorted, {}, [](uint32_t key) { return key % kDigits; });
    return std::ranges::equal(sorted, kernel->read<uint32_t>(out, sorted.size()));
  };
  return c;
}

Case scan() {
  constexpr uint32_t kTile = 128 * 24, kTiles = 20, kPadding = 32;
  Case c = start("tests/programs/cub_scan/cub_scan.ptx", "DeviceScanKernel");
  const std::vector<uint32_t> values = words(kTile * kTiles - 100);
  Kernel* kernel = c.kernel.get();
  const uint64_t in = kernel->allocate(values), out = kernel->allocate(4 * values.size()),
                 status = kernel->allocate(8 * (kPadding + kTiles));
  kernel->launch.grid = {kTiles, 1, 1};
  kernel->launch.block = {128, 1, 1};
  kernel->params =
      pack_params(in, out, status, int32_t{0}, kEmpty, kEmpty, static_cast<uint32_t>(values.size()));
  c.reset = [=] {
    const auto tiles = kernel->read<uint64_t>(status, kPadding + kTiles);
    constexpr uint64_t kInvalid = 99;
    std::ranges::fill(tiles.first(kPadding), 0);
    std::ranges::fill(tiles.subspan(kPadding), kInvalid);
  };
  c.is_right = [=] {
    std::vector<uint32_t> sums(values.size());
    std::partial_sum(values.begin(), values.end(), sums.begin());
    return std::ranges::equal(sums, kernel->read<uint32_t>(out, sums.size()));
  };
  return c;
}

Case reduce() {
  Case c = start("bench/kernels/cub_reduce.ptx", "SingleTile");
  const std::vector<uint32_t> values = words(100000);
  Kernel* kernel = c.kernel.get();
  const uint64_t in = kernel->allocate(values), out = kernel->allocate(4);
  kernel->launch.block = {256, 1, 1};
  kernel->params = pack_params(in, out, static_cast<int32_t>(values.size()), kEmpty, int32_t{5}, kEmpty);
  c.is_right = [=] {
    return kernel->read<uint32_t>(out, 1)[0] == std::accumulate(values.begin(), values.end(), uint32_t{5});
  };
  return c;
}

// --- by hand

Case cooperative_reduce() {
  Case c = start("bench/kernels/cg_reduce.ptx", "cg_reduce");
  const std::vector<uint32_t> values = words(100000);
  Kernel* kernel = c.kernel.get();
  const uint64_t in = kernel->allocate(values), total = kernel->allocate(4);
  kernel->launch.grid = {16, 1, 1};
  kernel->launch.block = {256, 1, 1};
  kernel->params = pack_params(in, total, static_cast<int32_t>(values.size()));
  c.reset = [=] { kernel->read<uint32_t>(total, 1)[0] = 0; };
  c.is_right = [=] {
    return kernel->read<uint32_t>(total, 1)[0] == std::accumulate(values.begin(), values.end(), uint32_t{0});
  };
  return c;
}

Case histogram() {
  constexpr uint32_t kBins = 256;
  Case c = start("tests/programs/histogram/histogram.ptx", "histogram");
  const std::vector<uint32_t> values = words(50000); // four bytes each
  Kernel* kernel = c.kernel.get();
  const uint64_t in = kernel->allocate(values), bins = kernel->allocate(4 * kBins);
  kernel->launch.grid = {8, 1, 1};
  kernel->launch.block = {256, 1, 1};
  kernel->params = pack_params(in, bins, static_cast<uint32_t>(4 * values.size()));
  c.reset = [=] { std::ranges::fill(kernel->read<uint32_t>(bins, kBins), 0); };
  c.is_right = [=] {
    std::vector<uint32_t> counts(kBins);
    for (const uint32_t word : values)
      for (int i = 0; i < 4; ++i)
        ++counts[word >> 8 * i & 255];
    return std::ranges::equal(counts, kernel->read<uint32_t>(bins, kBins));
  };
  return c;
}

constexpr uint32_t kRows = 64, kColumns = 1024;

Case softmax() {
  Case c = start("bench/kernels/softmax.ptx", "softmax");
  const std::vector<float> values = numbers(kRows * kColumns);
  Kernel* kernel = c.kernel.get();
  const uint64_t in = kernel->allocate(as_words(values)), out = kernel->allocate(4 * values.size());
  kernel->launch.grid = {kRows, 1, 1};
  kernel->launch.block = {128, 1, 1};
  kernel->params = pack_params(in, out, kColumns);
  c.is_right = [=] {
    const auto got = kernel->read<float>(out, values.size());
    for (size_t row = 0; row < values.size(); row += kColumns) {
      double sum = 0;
      for (size_t i = 0; i < kColumns; ++i)
        sum += std::exp(double{values[row + i]});
      for (size_t i = 0; i < kColumns; ++i) {
        const double want = std::exp(double{values[row + i]}) / sum;
        if (!is_near(got[row + i], want, want))
          return false;
      }
    }
    return true;
  };
  return c;
}

Case layer_norm() {
  constexpr float kEpsilon = 1e-5f;
  Case c = start("bench/kernels/layer_norm.ptx", "layer_norm");
  const std::vector<float> values = numbers((kRows + 2) * kColumns); // the weights and biases last
  Kernel* kernel = c.kernel.get();
  const uint64_t in = kernel->allocate(as_words(values)), out = kernel->allocate(4 * kRows * kColumns);
  const uint64_t weight = in + 4 * kRows * kColumns, bias = weight + 4 * kColumns;
  kernel->launch.grid = {kRows, 1, 1};
  kernel->launch.block = {128, 1, 1};
  kernel->params = pack_params(in, weight, bias, out, kColumns, kEpsilon);
  c.is_right = [=] {
    const auto got = kernel->read<float>(out, kRows * kColumns);
    const float *w = &values[kRows * kColumns], *b = w + kColumns;
    for (size_t row = 0; row < kRows * kColumns; row += kColumns) {
      double sum = 0, squares = 0;
      for (size_t i = 0; i < kColumns; ++i) {
        sum += values[row + i];
        squares += double{values[row + i]} * values[row + i];
      }
      const double mean = sum / kColumns, deviation = std::sqrt(squares / kColumns - mean * mean + kEpsilon);
      for (size_t i = 0; i < kColumns; ++i)
        if (!is_near(got[row + i], (values[row + i] - mean) / deviation * w[i] + b[i]))
          return false;
    }
    return true;
  };
  return c;
}

Case nbody() {
  constexpr uint32_t kBodies = 512, kBlock = 128;
  constexpr float kSoftening = 0.01f;
  Case c = start("bench/kernels/nbody.ptx", "nbody");
  const std::vector<float> bodies = numbers(4 * kBodies);
  Kernel* kernel = c.kernel.get();
  const uint64_t in = kernel->allocate(as_words(bodies)), out = kernel->allocate(4 * bodies.size());
  kernel->launch.grid = {kBodies / kBlock, 1, 1};
  kernel->launch.block = {kBlock, 1, 1};
  kernel->params = pack_params(in, out, kBodies, kSoftening);
  c.is_right = [=] {
    const auto got = kernel->read<float>(out, bodies.size());
    for (size_t self = 0; self < kBodies; ++self)
      for (size_t axis = 0; axis < 3; ++axis) {
        double sum = 0, magnitudes = 0;
        for (size_t other = 0; other < kBodies; ++other) {
          double distance = kSoftening;
          for (size_t i = 0; i < 3; ++i)
            distance += std::pow(double{bodies[4 * other + i]} - bodies[4 * self + i], 2);
          const double term = (double{bodies[4 * other + axis]} - bodies[4 * self + axis]) *
                              bodies[4 * other + 3] / std::pow(distance, 1.5);
          sum += term;
          magnitudes += std::abs(term);
        }
        if (!is_near(got[4 * self + axis], sum, magnitudes))
          return false;
      }
    return true;
  };
  return c;
}

// --- everyday.cu: each takes (in, out, n); what the interpreter has computed is right

struct Everyday {
  const char* name;
  uint32_t ctas, threads;
  int32_t n;
};
constexpr Everyday kEveryday[] = {
    {"jacobi", 8, 256, 64}, {"contraction", 8, 256, 128}, {"queens", 4, 256, 7},
    {"hash", 8, 256, 256},  {"sparse rows", 8, 256, 64},  {"local sort", 8, 256, 16},
    {"list", 8, 256, 256},  {"common part", 8, 256, 511}, {"small ctas", 1024, 32, 32},
    {"rays", 8, 256, 400},
};

Case everyday(const Everyday& what) {
  constexpr uint32_t kWords = 4096;
  std::string name = what.name;
  std::ranges::replace(name, ' ', '_');
  Case c = start("bench/kernels/everyday.ptx", name);
  Kernel& kernel = *c.kernel;
  const uint64_t in = kernel.allocate(words(kWords)),
                 out = kernel.allocate(uint64_t{4} * what.ctas * what.threads);
  kernel.params = pack_params(in, out, what.n);
  kernel.launch.grid = {what.ctas, 1, 1};
  kernel.launch.block = {what.threads, 1, 1};
  const auto result = [=, &kernel] { return kernel.read<uint32_t>(out, size_t{what.ctas} * what.threads); };
  const Engine engine = std::exchange(kernel.launch.engine, Engine::interpreter);
  kernel.run();
  kernel.launch.engine = engine;
  const std::span<const uint32_t> by_interpreter = result();
  c.is_right = [=, wanted = std::vector(by_interpreter.begin(), by_interpreter.end())] {
    return std::ranges::equal(result(), wanted);
  };
  return c;
}

void run(benchmark::State& state, const Entry& entry, bool check) {
  Case c = entry.make();
  c.kernel->launch.check = check;
  double lanes = 0;
  for (auto _ : state) {
    c.reset();
    lanes += static_cast<double>(*c.kernel->run().lane_instructions);
  }
  state.counters["compiled"] = c.kernel->compiled_share();
  if (!c.is_right()) {
    state.SkipWithError("the kernel's result is wrong");
    return;
  }
  set_rate(state, lanes * 1e-9, "G lane-instr");
}

} // namespace

void register_kernels() {
  std::vector<Entry> entries = {
      {"radix sort, one tile (CUB)", sort_one_tile},
      {"radix sort, one digit (CUB)", sort_one_digit},
      {"scan (CUB)", scan},
      {"reduce (CUB)", reduce},
      {"reduce (cooperative groups)", cooperative_reduce},
      {"histogram", histogram},
      {"softmax", softmax},
      {"layer norm", layer_norm},
      {"n-body", nbody},
  };
  for (const Everyday& each : kEveryday)
    entries.push_back({each.name, [&each] { return everyday(each); }});
  for (const Entry& entry : entries)
    benchmark::RegisterBenchmark(("kernels/" + entry.name).c_str(),
                                 [=](benchmark::State& state) { run(state, entry, false); });
  for (const Entry& entry : entries)
    if (entry.name == "scan (CUB)" || entry.name == "softmax" || entry.name == "histogram")
      benchmark::RegisterBenchmark(("kernels/" + entry.name + ", checked").c_str(),
                                   [=](benchmark::State& state) { run(state, entry, true); });
}

} // namespace lemma::bench
