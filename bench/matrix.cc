// Matrix instructions on one core: multiply-accumulate FLOP/s (two a product), beside what the same core does
// in f32 fused multiply-adds. Operands are random finite numbers.
#include "elements.h"
#include "host_peak.h"
#include "kernel.h"
#include "table.h"

#include <fmt/format.h>

namespace lemma::bench {
namespace {

struct MatrixForm {
  std::string name;
  std::string instruction;
  Element element;
  int a, b, c, d;                // registers of the fragments
  std::string multiplicand_type; // of registers
  std::string result_type;
};

std::string vector_of(const std::string& prefix, int count) {
  std::string out = prefix + "0";
  for (int i = 1; i < count; ++i)
    out += fmt::format(", {}{}", prefix, i);
  return "{" + out + "}";
}

constexpr int kCopies = 8;
constexpr uint32_t kRounds = 50;
constexpr size_t kWords = 4096;

std::string kernel_text(const MatrixForm& form) {
  const int bytes = form.multiplicand_type == ".f64" ? 8 : 4;
  std::string text = header() + fmt::format(R"(
.visible .entry k(.param .u64 p_in, .param .u64 p_out, .param .u32 p_rounds) {{
  .reg .pred %again;
  .reg .b32 %t, %i, %n;
  .reg .b64 %in, %out;
  .reg {0} %a<8>, %b<8>;
  .reg {1} %c<8>, %d<8>;
  ld.param.u64 %in, [p_in];
  ld.param.u64 %out, [p_out];
  ld.param.u32 %n, [p_rounds];
  mov.u32 %t, %tid.x;
  mov.u32 %i, 0;
  mad.wide.u32 %in, %t, {2}, %in;
  mad.wide.u32 %out, %t, 8, %out;
)",
                                            form.multiplicand_type, form.result_type, bytes);
  for (int i = 0; i < form.a; ++i)
    text += fmt::format("  ld.global{} %a{}, [%in+{}];\n", form.multiplicand_type, i, i * 32 * bytes);
  for (int i = 0; i < form.b; ++i)
    text += fmt::format("  ld.global{} %b{}, [%in+{}];\n", form.multiplicand_type, i, (8 + i) * 32 * bytes);
  const std::string one = form.result_type == ".f32"   ? "0f3f800000"
                          : form.result_type == ".f64" ? "0d3ff0000000000000"
                                                       : "0x3c00";
  for (int i = 0; i < form.c; ++i)
    text += fmt::format("  mov{} %c{}, {};\n", form.result_type, i, one);
  text += "LOOP:\n";
  for (int i = 0; i < kCopies; ++i)
    text += fmt::format("  {} {}, {}, {}, {};\n", form.instruction, vector_of("%d", form.d),
                        vector_of("%a", form.a), vector_of("%b", form.b), vector_of("%c", form.c));
  text += fmt::format(R"(
  add.u32 %i, %i, 1;
  setp.lt.u32 %again, %i, %n;
  @%again bra LOOP;
  st.global{} [%out], %d0;
  ret;
}}
)",
                      form.result_type);
  return text;
}

void run_form(benchmark::State& state, const MatrixForm& form) {
  Kernel kernel(kernel_text(form), "k");
  kernel.launch.block = {32, 1, 1};
  const std::vector<uint32_t> words = random_words(form.element, kWords);
  const uint64_t in = kernel.allocate(words);
  kernel.params = pack_params(in, kernel.allocate(uint64_t{32} * 8), kRounds);
  double flops = 0;
  for (auto _ : state)
    flops += static_cast<double>(*kernel.run().matrix_flops);
  require_vector_paths(state, kernel.stats().matrix_outputs.value());
  const std::string unit = form.element == Element::s8 ? "GOP" : "GFLOP";
  set_rate(state, flops * 1e-9, unit);
  if (form.element == Element::s8)
    compare(state, host_int8_peak_gops(), "the host's int8 peak", unit);
  else
    compare(state, host_fma_peak_gflops(), "the host's f32 fma peak", unit);
}

std::vector<MatrixForm> forms() {
  const auto mma = [](const std::string& shape, const std::string& types) {
    return fmt::format("mma.sync.aligned.{}.row.col.{}", shape, types);
  };
  return {
      {"mma m16n8k16 f32.f16", mma("m16n8k16", "f32.f16.f16.f32"), Element::f16, 4, 2, 4, 4, ".b32", ".f32"},
      {"mma m16n8k16 f16.f16", mma("m16n8k16", "f16.f16.f16.f16"), Element::f16, 4, 2, 2, 2, ".b32", ".b32"},
      {"mma m16n8k8 f32.f16", mma("m16n8k8", "f32.f16.f16.f32"), Element::f16, 2, 1, 4, 4, ".b32", ".f32"},
      {"mma m16n8k16 f32.bf16", mma("m16n8k16", "f32.bf16.bf16.f32"), Element::bf16, 4, 2, 4, 4, ".b32",
       ".f32"},
      {"mma m16n8k8 f32.tf32", mma("m16n8k8", "f32.tf32.tf32.f32"), Element::tf32, 4, 2, 4, 4, ".b32",
       ".f32"},
      {"mma m16n8k32 s32.s8", mma("m16n8k32", "s32.s8.s8.s32"), Element::s8, 4, 2, 4, 4, ".b32", ".b32"},
      {"mma m8n8k4 f64", mma("m8n8k4", "f64.f64.f64.f64"), Element::f64, 1, 1, 2, 2, ".f64", ".f64"},
      {"mma m16n8k16 f64", mma("m16n8k16", "f64.f64.f64.f64"), Element::f64, 8, 4, 4, 4, ".f64", ".f64"},
      {"wmma m16n16k16 f32.f16", "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", Element::f16, 8, 8, 8, 8,
       ".b32", ".f32"},
      {"wmma m16n16k16 s32.s8", "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32", Element::s8, 2, 2, 8,
       8, ".b32", ".b32"},
  };
}

} // namespace

void register_matrix() {
  for (const MatrixForm& form : forms())
    benchmark::RegisterBenchmark(("matrix/" + form.name).c_str(),
                                 [form](benchmark::State& state) { run_form(state, form); });
}

} // namespace lemma::bench
