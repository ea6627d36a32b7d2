// Cases of ldmatrix, stmatrix and movmatrix. See matrix.h.
//
// A unit is a warp, a CTA of its own. Every lane names a row of 16 bytes of shared memory, rows of a random
// permutation.
#include "golden/fragment_text.h"
#include "golden/matrix.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace lemma::golden {
namespace {

using isa::Opcode;
using isa::Type;

constexpr uint64_t kWarps = 64, kBlock = 128;
constexpr uint32_t kRows = 64, kRowBytes = 16; // of shared memory
constexpr uint32_t kWords = kRows * kRowBytes / 4;

int matrices_of(const std::string& spelling) {
  return spelling.find(".x4") != std::string::npos ? 4 : spelling.find(".x2") != std::string::npos ? 2 : 1;
}

void fill_rows(const Part& part, numeric::Random& random, Inputs& inputs) {
  std::vector<uint64_t> rows(kRows);
  for (uint64_t warp = part.first; warp < part.first + part.units; ++warp) {
    std::iota(rows.begin(), rows.end(), 0);
    for (size_t i = rows.size() - 1; i > 0; --i)
      std::swap(rows[i], rows[random.below(i + 1)]);
    for (uint64_t lane = 0; lane < 32; ++lane)
      inputs.set(1, warp * 32 + lane, rows[lane] * kRowBytes);
  }
}

// Shared memory to or from the plane of kWords words a warp.
std::string copy(const Plane& plane, bool to_shared) {
  std::string text = fmt::format("  mad.wide.u32 %_p, %_w, {}, {};\n  mad.wide.u32 %_p, %_n, 4, %_p;\n"
                                 "  mov.u32 %_s, rows;\n  mad.lo.u32 %_s, %_n, 4, %_s;\n",
                                 plane.unit_bytes(), to_shared ? "%_in" : "%_out");
  for (uint64_t i = 0; i < plane.unit_bytes(); i += 128)
    text += to_shared ? fmt::format("  ld.global.b32 %_c, [%_p+{}];\n  st.shared.b32 [%_s+{}], %_c;\n",
                                    plane.offset_bytes + i, i)
                      : fmt::format("  ld.shared.b32 %_c, [%_s+{}];\n  st.global.b32 [%_p+{}], %_c;\n", i,
                                    plane.offset_bytes + i);
  return text;
}

Case make_transfer(const MatrixSpelling& s, bool load, uint64_t warps) {
  const FragmentText fragment = word_registers(Type::b16, matrices_of(s.text));
  const Plane memory{.name = "shared",
                     .type = Type::b16,
                     .element_bytes = 2,
                     .per_unit = kWords * 2,
                     .dims = {{"row", kRows}, {"column", kRowBytes / 2}}};
  const Plane row{
      .name = "row", .type = Type::u32, .element_bytes = 4, .per_unit = 32, .dims = {{"lane", 32}}};
  Case c;
  c.name = s.text;
  c.family = isa::syntax_of(*s.row);
  c.entry = entry_name(c.name);
  c.unit_name = "warp";
  c.units = warps;
  c.grid[0] = static_cast<uint32_t>(warps);
  c.block[0] = 32;
  c.parts = {{"random", 0, warps}};
  c.inputs = {load ? memory : fragment_plane("r", fragment), row};
  c.outputs = {load ? fragment_plane("r", fragment) : memory};
  lay_out(c.inputs, c.units);
  lay_out(c.outputs, c.units);
  c.text = kernel_head(c.entry) + std::string(kWarpAndLane) +
           fmt::format("  .reg .b32 %_s, %_row;\n  .shared .align 128 .b8 rows[{}];\n", kRows * kRowBytes) +
           declare_fragment("r", fragment);
  c.text += fmt::format("  mad.wide.u32 %_p, %_i, 4, %_in;\n  ld.global.b32 %_row, [%_p+{}];\n",
                        c.inputs[1].offset_bytes);
  // A spelling without a state space takes a generic address.
  const bool generic = s.text.find(".shared") == std::string::npos;
  const std::string address = generic ? "  .reg .b64 %_g;\n  mov.u32 %_s, rows;\n  add.u32 %_s, %_s, %_row;\n"
                                        "  cvt.u64.u32 %_g, %_s;\n  cvta.shared.u64 %_g, %_g;\n"
                                      : "  mov.u32 %_s, rows;\n  add.u32 %_s, %_s, %_row;\n";
  const char* base = generic ? "%_g" : "%_s";
  const std::string registers = register_list("r", fragment.count);
  if (load) {
    c.text += copy(c.inputs[0], true) + "  bar.warp.sync -1;\n" + address;
    c.text += fmt::format("  {} {}, [{}];\n", s.text, registers, base);
    c.text += transfer_fragment(false, "r", fragment, c.outputs[0]);
  } else {
    c.text += transfer_fragment(true, "r", fragment, c.inputs[0]);
    c.text += "  mov.u32 %_s, rows;\n  mad.lo.u32 %_s, %_n, 4, %_s;\n";
    for (uint32_t i = 0; i < kWords / 32; ++i)
      c.text += fmt::format("  st.shared.b32 [%_s+{}], 0;\n", i * 128);
    c.text += "  bar.warp.sync -1;\n" + address +
              fmt::format("  {} [{}], {};\n  bar.warp.sync -1;\n", s.text, base, registers);
    c.text += copy(c.outputs[0], false);
  }
  c.text += "  ret;\n}\n";
  return c;
}

Case make_move(const MatrixSpelling& s, uint64_t warps) {
  ThreadKernel kernel(s.text, isa::syntax_of(*s.row));
  kernel.in("a", Type::b32, 32);
  kernel.out("d", Type::b32, 32);
  kernel.body(s.text + " %d, %a;");
  kernel.block(static_cast<uint32_t>(std::min(kBlock, warps * 32)));
  Case c = kernel.finish(warps * 32);
  c.parts[0].name = "random";
  return c;
}

Case make_random(const MatrixSpelling& s) {
  Case c = moved_rows_case(s, kWarps);
  const bool has_rows = c.inputs.size() == 2;
  c.fill = [has_rows, per_unit = c.inputs[0].per_unit](const Part& part, numeric::Random& random,
                                                       Inputs& inputs) {
    for (uint64_t i = part.first * per_unit; i < (part.first + part.units) * per_unit; ++i)
      inputs.set(0, i, random.next());
    if (has_rows)
      fill_rows(part, random, inputs);
  };
  return c;
}

} // namespace

Case moved_rows_case(const MatrixSpelling& s, uint64_t warps) {
  return s.row->opcode == Opcode::movmatrix ? make_move(s, warps)
                                            : make_transfer(s, s.row->opcode == Opcode::ldmatrix, warps);
}

std::vector<Case> ldmatrix_cases(std::string_view group) {
  std::vector<Case> cases;
  for (const isa::MatrixRow& row : isa::matrix_rows()) {
    if (row.opcode != Opcode::ldmatrix && row.opcode != Opcode::stmatrix && row.opcode != Opcode::movmatrix)
      continue;
    if (group_of(row) != group)
      continue;
    for (const MatrixSpelling& s : matrix_spellings(row))
      cases.push_back(make_random(s));
  }
  return cases;
}

} // namespace lemma::golden
