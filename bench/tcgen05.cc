// tcgen05 on one core: FLOP/s (two a product) of tcgen05.mma of 128x256 by kind::f16 from swizzled shared
// memory, D in tensor memory; and of the f16 GEMM of tests/programs/tcgen05_gemm as a whole - TMA, mbarriers,
// tensor memory - at 1024 x 1024 x 1024 by the clock, as the rows of gemm measure Hopper's: of numbers whose
// sums are rounded, and of the kind that Hopper's row has, whose sums are exact for many steps, which the
// loops of numeric::dot() take faster.
#include "elements.h"
#include "kernel.h"
#include "layout/tensor_map.h"
#include "moment.h"
#include "table.h"

#include <fmt/format.h>

#include <span>

namespace lemma::bench {
namespace {

constexpr uint32_t kM = 128, kN = 256, kDepth = 16;
constexpr size_t kSharedBytes = 32768; // B, 256 lines of 128 bytes; A is the first half of it
constexpr uint32_t kRounds = 50;
constexpr int kInChain = 4; // 32-byte steps along K in a line

std::string header_of_blackwell() {
  return ".version 8.6\n.target sm_100a\n.address_size 64\n";
}

std::string kernel_text() {
  std::string text =
      header_of_blackwell() +
      fmt::format(R"(
.visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u32 p_rounds) {{
  .reg .pred %p, %more, %first, %done;
  .reg .b32 %t, %i, %n, %s, %x, %d, %bar, %parity;
  .reg .b64 %in, %out, %da, %db, %e, %f;
  .shared .align 1024 .b8 smem[{0}];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 slot;
  ld.param.u64 %in, [p_in];
  ld.param.u64 %out, [p_out];
  ld.param.u32 %n, [p_rounds];
  mov.u32 %t, %tid.x;
  mov.u32 %s, smem;
  mov.u32 %bar, bar;
  shr.u32 %x, %s, 4;
  cvt.u64.u32 %e, %x;
  or.b64 %da, %e, {1:#x};
  mov.b64 %db, %da;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared::cta.b64 [%bar], 1;
  mad.lo.u32 %s, %t, 4, %s;
  mad.wide.u32 %in, %t, 4, %in;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %i, 0;
FILL:
  ld.global.b32 %x, [%in];
  st.shared.b32 [%s], %x;
  add.u32 %s, %s, 512;
  add.u64 %in, %in, 512;
  add.u32 %i, %i, 512;
  setp.lt.u32 %p, %i, {0};
  @%p bra FILL;
  fence.proxy.async;
  setp.gt.u32 %p, %t, 31;
  @%p bra ALLOCATED;
  mov.u32 %x, slot;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%x], {2};
ALLOCATED:
  bar.sync 0;
  ld.shared.b32 %d, [slot];
  @!%first bra MULTIPLIED;
  mov.u32 %i, 0;
LOOP:
  setp.ne.u32 %more, %i, 0;
)",
                  kSharedBytes,
                  uint64_t{2} << 61 | uint64_t{1} << 46 | uint64_t{64} << 32 | uint64_t{1} << 16, kN);
  for (int i = 0; i < kInChain; ++i)
    text += fmt::format("  add.u64 %e, %da, {0};\n  add.u64 %f, %db, {0};\n"
                        "  tcgen05.mma.cta_group::1.kind::f16 [%d], %e, %f, {1:#x}, {2};\n",
                        2 * i, 1u << 4 | kN / 8 << 17 | kM / 16 << 24, i == 0 ? "%more" : "%first");
  return text + fmt::format(R"(
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];
  and.b32 %parity, %i, 1;
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], %parity;
  @!%done bra WAIT;
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %n;
  @%p bra LOOP;
MULTIPLIED:
  tcgen05.fence::before_thread_sync;
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  shl.b32 %x, %t, 16;
  and.b32 %x, %x, 0x600000;
  add.u32 %x, %x, %d;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%i}}, [%x];
  tcgen05.wait::ld.sync.aligned;
  st.global.b32 [%out], %i;
  bar.sync 0;
  setp.gt.u32 %p, %t, 31;
  @%p bra END;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, {};
END:
  ret;
}}
)",
                            kN);
}

void run_products(benchmark::State& state) {
  Kernel kernel(kernel_text(), "k");
  kernel.launch.block = {128, 1, 1};
  const uint64_t in = kernel.allocate(random_words(Element::f16, kSharedBytes / 4));
  kernel.params = pack_params(in, kernel.allocate(uint64_t{128} * 4), kRounds);
  double flops = 0;
  for (auto _ : state)
    flops += static_cast<double>(*kernel.run().matrix_flops);
  require_vector_paths(state, kernel.stats().matrix_outputs.value());
  set_rate(state, flops * 1e-9, "GFLOP");
}

constexpr uint32_t kSize = 1024, kTile = 128, kTileK = 64;
constexpr uint32_t kGemmThreads = 192, kGemmSharedBytes = 3 * 32768; // as tests/programs/programs.py has it

constexpr size_t kMatrixWords = size_t{kSize} * kSize / 2;

void run_gemm(benchmark::State& state, const std::vector<uint32_t>& elements) {
  Kernel kernel(read_file(LEMMA_SOURCE "/tests/programs/tcgen05_gemm/tcgen05_gemm.ptx"), "gemm_f32");
  const auto map_of = [](uint64_t address) {
    return layout::encode(TensorMap{.type = TensorType::f16,
                                    .address = address,
                                    .dims = {kSize, kSize},
                                    .strides_bytes = {uint64_t{kSize} * 2},
                                    .box = {kTileK, kTile},
                                    .swizzle = TensorSwizzle::b128});
  };
  const auto a = map_of(kernel.allocate(elements)), b = map_of(kernel.allocate(elements));
  const uint64_t d = kernel.allocate(uint64_t{kSize} * kSize * 4);
  const uint32_t sizes[] = {kSize, kSize, kSize};
  kernel.params.clear();
  using Bytes = std::span<const std::byte>;
  for (const Bytes bytes : {Bytes(std::as_bytes(std::span(a))), Bytes(std::as_bytes(std::span(b))),
                            Bytes(std::as_bytes(std::span(&d, 1))), Bytes(std::as_bytes(std::span(sizes)))})
    kernel.params.insert(kernel.params.end(), bytes.begin(), bytes.end());
  kernel.launch.grid = {kSize / kTile * (kSize / kTile), 1, 1};
  kernel.launch.block = {kGemmThreads, 1, 1};
  kernel.launch.shared_bytes = kGemmSharedBytes;
  double seconds = 0;
  for (auto _ : state)
    seconds += seconds_of(kernel);
  require_vector_paths(state, kernel.stats().matrix_outputs.value());
  set_value(state, 2e-9 * kSize * kSize * kSize * static_cast<double>(state.iterations()) / seconds, "GFLOP");
}

} // namespace

void register_tcgen05() {
  benchmark::RegisterBenchmark(fmt::format("tcgen05/m{}n{}k{} f32.f16", kM, kN, kDepth).c_str(),
                               run_products);
  const auto add_gemm = [](const char* elements,
                           std::vector<uint32_t> (*make)(Element element, size_t count)) {
    benchmark::RegisterBenchmark(
        fmt::format("gemm/{1} on Blackwell, {0}x{0}x{0}, wall time, 1 worker", kSize, elements).c_str(),
        [make](benchmark::State& state) { run_gemm(state, make(Element::f16, kMatrixWords)); })
        ->UseRealTime();
  };
  add_gemm("f16", random_words);
  add_gemm("f16 of few bits", words_of_few_bits);
}

} // namespace lemma::bench
