// Lane instructions per second on one core, for the kinds of code that kernels are made of. A kernel is a
// loop around an unrolled body; one warp instruction counts one for each lane that executes it.
#include "kernel.h"
#include "table.h"

#include <fmt/format.h>

namespace lemma::bench {
namespace {

struct Mix {
  std::string name;
  std::string body;        // of the loop; %t thread in the CTA, %i round; registers below are initialized
  int copies = 8;          // of `body` in the loop
  int rounds = 400;        // of the loop
  std::string setup = {};  // before the loop
  std::string before = {}; // functions, module variables
};

// Four chains of each: %r0 .. %r3, %f0 .. %f3, %d0 .. %d3, %h0 .. %h3 (f16x2). `#` stands for 0 .. 3.
std::string four_times(std::string_view text) {
  std::string out;
  for (const char chain : std::string_view("0123"))
    for (const char c : text)
      out += c == '#' ? chain : c;
  return out;
}

constexpr uint32_t kBufferBytes = 1u << 22;
constexpr int kBlock = 128;

std::string kernel_text(const Mix& mix) {
  std::string text = header() + mix.before + R"(
.visible .entry k(.param .u64 p_buffer, .param .u32 p_rounds) {
  .reg .pred %p<8>, %again;
  .reg .b32 %r<32>, %h<8>, %t, %i, %n, %s;
  .reg .b64 %rd<16>, %buffer, %mine;
  .reg .f32 %f<32>;
  .reg .f64 %d<16>;
  .shared .align 16 .b8 tile[4096];
  ld.param.u64 %buffer, [p_buffer];
  ld.param.u32 %n, [p_rounds];
  mov.u32 %t, %tid.x;
  mov.u32 %i, 0;
  mov.u32 %s, tile;
  mad.lo.u32 %s, %t, 4, %s;
  st.shared.u32 [%s], %t;
  st.shared.u32 [%s+512], %t;
  bar.sync 0;
  mad.wide.u32 %mine, %t, 4, %buffer;
)";
  for (int i = 0; i < 32; ++i)
    text += fmt::format("  add.u32 %r{0}, %t, {0};\n  cvt.rn.f32.u32 %f{0}, %r{0};\n", i);
  for (int i = 0; i < 16; ++i)
    text += fmt::format("  cvt.rn.f64.u32 %d{0}, %r{0};\n  cvt.u64.u32 %rd{0}, %r{0};\n", i);
  for (int i = 0; i < 8; ++i)
    text += fmt::format("  mov.b32 %h{0}, 0x3c013800;\n  setp.lt.u32 %p{0}, %t, {1};\n", i, 16 * i + 5);
  text += mix.setup + "LOOP:\n";
  for (int i = 0; i < mix.copies; ++i) {
    std::string body = mix.body; // `$` makes labels of the copies differ
    for (size_t at; (at = body.find('$')) != std::string::npos;)
      body.replace(at, 1, std::to_string(i));
    text += body;
  }
  text += R"(
  add.u32 %i, %i, 1;
  setp.lt.u32 %again, %i, %n;
  @%again bra LOOP;
  st.global.u32 [%mine], %r0;
  ret;
}
)";
  return text;
}

void run_mix(benchmark::State& state, const Mix& mix) {
  Kernel kernel(kernel_text(mix), "k");
  kernel.launch.grid = {4, 1, 1};
  kernel.launch.block = {kBlock, 1, 1};
  kernel.params = pack_params(kernel.allocate(kBufferBytes), static_cast<uint32_t>(mix.rounds));
  double lanes = 0;
  for (auto _ : state)
    lanes += static_cast<double>(*kernel.run().lane_instructions);
  set_rate(state, lanes * 1e-9, "G lane-instr");
  state.counters["compiled"] = kernel.compiled_share();
}

std::vector<Mix> arithmetic_mixes() {
  return {
      {.name = "integer",
       .body = four_times("mad.lo.s32 %r#, %r#, %r8, %r9;\n xor.b32 %r#, %r#, %r10;\n shl.b32 %r4, %r#, 3;\n"
                          "add.s32 %r#, %r#, %r4;\n min.s32 %r5, %r#, %r11;\n and.b32 %r#, %r#, %r5;\n")},
      {.name = "f32",
       .body = four_times("fma.rn.f32 %f#, %f#, %f8, %f9;\n mul.rn.f32 %f4, %f#, %f10;\n"
                          "add.rn.f32 %f#, %f#, %f4;\n")},
      {.name = "f64",
       .body = four_times("fma.rn.f64 %d#, %d#, %d8, %d9;\n mul.rn.f64 %d4, %d#, %d10;\n"
                          "add.rn.f64 %d#, %d#, %d4;\n")},
      {.name = "f16x2",
       .body = four_times("fma.rn.f16x2 %h#, %h#, %h4, %h5;\n add.rn.f16x2 %h6, %h#, %h4;\n"
                          "mul.rn.f16x2 %h#, %h#, %h6;\n")},
      {.name = "ex2.approx", .body = four_times("ex2.approx.ftz.f32 %f4, %f#;\n")},
      {.name = "rsqrt.approx", .body = four_times("rsqrt.approx.f32 %f4, %f1#;\n")},
      {.name = "div.full", .body = four_times("div.full.f32 %f4, %f#, %f1#;\n")},
      {.name = "convert",
       .body = four_times("cvt.rn.f32.s32 %f4, %r#;\n cvt.rzi.s32.f32 %r#, %f4;\n"
                          "cvt.rn.f16x2.f32 %h0, %f4, %f5;\n")},
      {.name = "predicated",
       .body = four_times("setp.lt.s32 %p0, %r#, %r8;\n @%p0 add.s32 %r#, %r#, %r9;\n"
                          "@!%p0 xor.b32 %r#, %r#, %r10;\n"
                          "selp.b32 %r4, %r#, %r11, %p0;\n")},
      {.name = "divergent",
       .body =
           "and.b32 %r4, %r0, 1;\n setp.eq.u32 %p0, %r4, 0;\n @%p0 bra EVEN$;\n"
           "mad.lo.s32 %r0, %r0, 3, 1;\n xor.b32 %r1, %r1, %r0;\n add.s32 %r2, %r2, %r1;\n bra.uni JOIN$;\n"
           "EVEN$:\n shr.u32 %r0, %r0, 1;\n add.s32 %r1, %r1, %r0;\n xor.b32 %r2, %r2, %r1;\n"
           "JOIN$:\n add.s32 %r0, %r0, %t;\n"},
  };
}

std::vector<Mix> memory_mixes() {
  const std::string index_setup = "shl.b32 %r12, %t, 2;\n mov.u32 %r13, 0;\n mov.u32 %r14, 0x3ffffc;\n";
  return {
      {.name = "shared copy",
       .body = "ld.shared.u32 %r0, [%s];\n st.shared.u32 [%s+1024], %r0;\n"
               "ld.shared.u32 %r1, [%s+512];\n st.shared.u32 [%s+1536], %r1;\n"},
      {.name = "shared gather",
       .body = "ld.shared.u32 %r0, [%r15];\n ld.shared.u32 %r1, [%r16];\n",
       .setup = "mul.lo.u32 %r15, %t, 33;\n and.b32 %r15, %r15, 127;\n mov.u32 %r17, tile;\n"
                "mad.lo.u32 %r15, %r15, 4, %r17;\n xor.b32 %r16, %r15, 64;\n"},
      {.name = "global stream, 4 bytes",
       .body = "ld.global.u32 %r0, [%rd0];\n add.u32 %r0, %r0, 1;\n st.global.u32 [%rd0], %r0;\n"
               "add.u64 %rd0, %rd0, 512;\n",
       .setup = "mov.u64 %rd0, %mine;\n"},
      {.name = "global stream, 16 bytes",
       .body = "ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd0];\n add.rn.f32 %f0, %f0, %f4;\n"
               "st.global.v4.f32 [%rd0], {%f0, %f1, %f2, %f3};\n add.u64 %rd0, %rd0, 512;\n",
       .setup = "mul.wide.u32 %rd0, %t, 16;\n add.u64 %rd0, %rd0, %buffer;\n"},
      {.name = "global gather",
       .body = "mad.lo.u32 %r12, %r12, 1664525, 1013904223;\n and.b32 %r13, %r12, %r14;\n"
               "cvt.u64.u32 %rd0, %r13;\n add.u64 %rd0, %rd0, %buffer;\n ld.global.u32 %r0, [%rd0];\n",
       .setup = index_setup},
      {.name = "atomics, one address a lane",
       .body = "atom.global.add.u32 %r0, [%mine], 1;\n"
               "red.global.add.u32 [%mine+512], %r0;\n"},
      {.name = "atomics, one address", .body = "atom.global.add.u32 %r0, [%buffer], 1;\n"},
      {.name = "local array",
       .body = "and.b32 %r4, %i, 15;\n mul.wide.u32 %rd1, %r4, 4;\n add.u64 %rd1, %rd1, %rd2;\n"
               "ld.local.u32 %r0, [%rd1];\n add.u32 %r0, %r0, %t;\n st.local.u32 [%rd1], %r0;\n",
       .setup = ".local .align 16 .b8 array[64];\n mov.u64 %rd2, array;\n" +
                [] {
                  std::string zero;
                  for (int i = 0; i < 16; ++i)
                    zero += fmt::format("st.local.u32 [array+{}], 0;\n", 4 * i);
                  return zero;
                }()},
  };
}

std::vector<Mix> cooperation_mixes() {
  return {
      {.name = "shuffles",
       .body = four_times("shfl.sync.bfly.b32 %r#, %r#, 1, 31, -1;\n add.s32 %r#, %r#, 1;\n")},
      {.name = "votes",
       .body = "setp.lt.u32 %p0, %r0, %r8;\n vote.sync.ballot.b32 %r1, %p0, -1;\n"
               "add.u32 %r0, %r0, %r1;\n"},
      {.name = "calls",
       .body = "{\n .param .b32 a;\n .param .b32 r;\n st.param.b32 [a], %r0;\n"
               "call.uni (r), f, (a);\n ld.param.b32 %r0, [r];\n }\n",
       .before = ".func (.param .b32 r) f(.param .b32 a) {\n .reg .b32 %x;\n ld.param.b32 %x, [a];\n"
                 "add.u32 %x, %x, 3;\n st.param.b32 [r], %x;\n ret;\n}\n"},
      {.name = "barriers, 4 warps", .body = "add.s32 %r0, %r0, 1;\n bar.sync 0;\n"},
  };
}

// The cost of starting CTAs: kernels that end at once.
void run_starts(benchmark::State& state) {
  Kernel kernel(
      header() + ".visible .entry k() {\n .shared .align 16 .b8 tile[8192];\n .reg .b32 %r<64>;\n ret;\n}\n",
      "k");
  constexpr uint32_t kCtas = 4096;
  kernel.launch.grid = {kCtas, 1, 1};
  kernel.launch.block = {kBlock, 1, 1};
  for (auto _ : state)
    kernel.run();
  set_rate(state, static_cast<double>(state.iterations()) * kCtas * 1e-6, "M CTA starts");
}

} // namespace

void register_scalar() {
  const auto add = [](const std::string& group, std::vector<Mix> mixes) {
    for (Mix& mix : mixes)
      benchmark::RegisterBenchmark((group + "/" + mix.name).c_str(),
                                   [mix](benchmark::State& state) { run_mix(state, mix); });
  };
  add("arithmetic", arithmetic_mixes());
  add("memory", memory_mixes());
  add("warps", cooperation_mixes());
  benchmark::RegisterBenchmark("warps/CTA starts, 128 threads", run_starts);
}

} // namespace lemma::bench
