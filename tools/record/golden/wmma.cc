// Cases of wmma.load, wmma.mma, wmma.store. See matrix.h.
//
// A unit is a warp with tiles of its own. Loads and stores are taken twice, dense and with a stride. Tiles of
// the multiplications are generated K-major (see matrix_values.h) and laid out as the spelling says.
#include "golden/fragment_text.h"
#include "golden/matrix.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

namespace lemma::golden {
namespace {

using isa::MatrixRow;
using isa::Opcode;
using isa::Type;
using layout::Matrix;

constexpr uint64_t kOutputsPerPart = 65536; // of a row, whatever layouts it has
constexpr uint64_t kLoadWarps = 16;

struct Tile {
  Type element = Type::none;
  uint32_t lines = 0;  // rows if row-major, else columns
  uint32_t length = 0; // elements of a line
  uint32_t stride = 0; // elements from line to line in the strided copy: 16 bytes more

  uint32_t bits() const { return static_cast<uint32_t>(isa::bits_of(element)); }
  uint32_t dense_elems() const { return lines * length; }
  uint32_t strided_elems() const { return lines * stride; }
};

Tile tile_of(const MatrixRow& row, Matrix matrix, Type element, bool row_major) {
  const auto rows = static_cast<uint32_t>(matrix == Matrix::b ? row.shape.k : row.shape.m);
  const auto cols = static_cast<uint32_t>(matrix == Matrix::a ? row.shape.k : row.shape.n);
  Tile tile{.element = element, .lines = row_major ? rows : cols, .length = row_major ? cols : rows};
  tile.stride = tile.length + 128 / tile.bits();
  return tile;
}

Plane tile_plane(std::string name, const Tile& tile, bool strided) {
  const bool in_bytes = tile.bits() < 8;
  const uint32_t element_bytes = in_bytes ? 1 : tile.bits() / 8;
  // A multiple of 128 bytes, so that tiles are aligned and a warp copies one in whole words.
  const uint32_t bytes =
      ((strided ? tile.strided_elems() : tile.dense_elems()) * tile.bits() / 8 + 127) / 128 * 128;
  return {.name = std::move(name),
          .type = in_bytes ? Type::u8 : tile.element,
          .element_bytes = element_bytes,
          .per_unit = bytes / element_bytes,
          .dims = {}};
}

bool has_word(const std::string& spelling, std::string_view word) {
  return (spelling + ".").find(fmt::format(".{}.", word)) != std::string::npos;
}

// "%_q" becomes this warp's tile in the buffer.
std::string point_at(const Plane& plane, bool input) {
  return fmt::format("  mad.wide.u32 %_q, %_w, {}, {};\n  add.u64 %_q, %_q, {};\n", plane.unit_bytes(),
                     input ? "%_in" : "%_out", plane.offset_bytes);
}

// Copies a tile between the buffer at %_q and the shared array, word by word.
std::string copy_tile(const Plane& plane, bool to_shared) {
  std::string text =
      "  mad.wide.u32 %_p, %_n, 4, %_q;\n  mov.u32 %_s, tile;\n  mad.lo.u32 %_s, %_n, 4, %_s;\n";
  for (uint64_t offset = 0; offset < plane.unit_bytes(); offset += 128)
    text += to_shared
                ? fmt::format("  ld.global.b32 %_c, [%_p+{0}];\n  st.shared.b32 [%_s+{0}], %_c;\n", offset)
                : fmt::format("  ld.shared.b32 %_c, [%_s+{0}];\n  st.global.b32 [%_p+{0}], %_c;\n", offset);
  return text;
}

std::string clear_shared(const Plane& plane) {
  std::string text = "  mov.u32 %_s, tile;\n  mad.lo.u32 %_s, %_n, 4, %_s;\n";
  for (uint64_t offset = 0; offset < plane.unit_bytes(); offset += 128)
    text += fmt::format("  st.shared.b32 [%_s+{}], 0;\n", offset);
  return text;
}

std::string name_of(const MatrixSpelling& s) {
  return s.text.substr(std::string_view("wmma.").size());
}

Case start(const MatrixSpelling& s, std::string name, uint64_t units) {
  Case c;
  c.name = std::move(name);
  c.family = isa::syntax_of(*s.row);
  c.entry = entry_name(c.name);
  c.unit_name = "warp";
  c.units = units;
  c.block[0] = 32;
  c.text = kernel_head(c.entry);
  c.text += kWarpAndLane;
  c.text += "  .reg .b64 %_q;\n  .reg .b32 %_s;\n";
  return c;
}

void fill_random(const Part& part, numeric::Random& random, Inputs& inputs, std::span<const Plane> planes) {
  for (size_t k = 0; k < planes.size(); ++k)
    for (uint64_t i = part.first * planes[k].per_unit; i < (part.first + part.units) * planes[k].per_unit;
         ++i)
      inputs.set(k, i, random.next());
}

void finish(Case& c) {
  c.grid[0] = static_cast<uint32_t>(c.units);
  c.text += "  ret;\n}\n";
}

// Raw registers after wmma.load: `dense` without a stride, `strided` with one.
Case make_load(const MatrixSpelling& s, std::string name, std::vector<Part> parts) {
  const MatrixRow& row = *s.row;
  const Type element = row.matrix == Matrix::a ? s.a : row.matrix == Matrix::b ? s.b : s.c;
  const Tile tile = tile_of(row, row.matrix, element, has_word(s.text, "row"));
  const FragmentText fragment = fragment_registers(row, row.matrix, element);
  Case c = start(s, std::move(name), parts.back().first + parts.back().units);
  c.parts = std::move(parts);
  c.inputs = {tile_plane("m", tile, true)};
  c.outputs = {fragment_plane("dense", fragment), fragment_plane("strided", fragment)};
  lay_out(c.inputs, c.units);
  lay_out(c.outputs, c.units);
  const bool shared = has_word(s.text, "shared") || has_word(s.text, "shared::cta");
  c.text += declare_fragment("d", fragment) + point_at(c.inputs[0], true);
  if (shared)
    c.text += fmt::format("  .shared .align 128 .b8 tile[{}];\n", c.inputs[0].unit_bytes()) +
              copy_tile(c.inputs[0], true) + "  bar.warp.sync -1;\n  mov.u64 %_q, tile;\n";
  const std::string registers = register_list("d", fragment.count);
  c.text += fmt::format("  {} {}, [%_q];\n", s.text, registers) +
            transfer_fragment(false, "d", fragment, c.outputs[0]);
  c.text += fmt::format("  {} {}, [%_q], {};\n", s.text, registers, tile.stride) +
            transfer_fragment(false, "d", fragment, c.outputs[1]);
  finish(c);
  return c;
}

// Tiles that wmma.store makes of raw registers.
Case make_store(const MatrixSpelling& s, std::string name, std::vector<Part> parts) {
  const MatrixRow& row = *s.row;
  const Tile tile = tile_of(row, Matrix::d, s.d, has_word(s.text, "row"));
  const FragmentText fragment = fragment_registers(row, Matrix::d, s.d);
  Case c = start(s, std::move(name), parts.back().first + parts.back().units);
  c.parts = std::move(parts);
  c.inputs = {fragment_plane("d", fragment)};
  c.outputs = {tile_plane("dense", tile, false), tile_plane("strided", tile, true)};
  lay_out(c.inputs, c.units);
  lay_out(c.outputs, c.units);
  const bool shared = has_word(s.text, "shared") || has_word(s.text, "shared::cta");
  if (shared)
    c.text += fmt::format("  .shared .align 128 .b8 tile[{}];\n", c.outputs[1].unit_bytes());
  c.text += declare_fragment("d", fragment) + transfer_fragment(true, "d", fragment, c.inputs[0]);
  const std::string registers = register_list("d", fragment.count);
  for (size_t k = 0; k < 2; ++k) {
    const std::string stride = k == 0 ? "" : fmt::format(", {}", tile.stride);
    if (shared)
      c.text += clear_shared(c.outputs[k]) + "  bar.warp.sync -1;\n  mov.u64 %_q, tile;\n" +
                fmt::format("  {} [%_q], {}{};\n  bar.warp.sync -1;\n", s.text, registers, stride) +
                point_at(c.outputs[k], false) + copy_tile(c.outputs[k], false) + "  bar.warp.sync -1;\n";
    else
      c.text += point_at(c.outputs[k], false) + fmt::format("  {} [%_q], {}{};\n", s.text, registers, stride);
  }
  finish(c);
  return c;
}

Case make_random_transfer(const MatrixSpelling& s) {
  Case c = wmma_transfer_case(s, name_of(s), {{"random", 0, kLoadWarps}});
  c.fill = [planes = c.inputs](const Part& part, numeric::Random& random, Inputs& inputs) {
    fill_random(part, random, inputs, planes);
  };
  return c;
}

std::string_view type_word(Type type) {
  return isa::to_string(type);
}

std::string load_text(const MatrixRow& row, char matrix, bool row_major, Type type,
                      const FragmentText& fragment) {
  return fmt::format("  wmma.load.{0}.sync.aligned.{1}.m{2}n{3}k{4}.global.{5} {6}, [%_q];\n", matrix,
                     row_major ? "row" : "col", row.shape.m, row.shape.n, row.shape.k, type_word(type),
                     register_list(std::string(1, matrix), fragment.count));
}

// Load, multiply, store.
Case make_multiply(const MatrixSpelling& s) {
  const MatrixRow& row = *s.row;
  const size_t layouts = s.text.find(".aligned.") + std::string_view(".aligned.").size();
  const bool row_a = s.text.compare(layouts, 3, "row") == 0,
             row_b = s.text.compare(layouts + 4, 3, "row") == 0;
  const Tile a = tile_of(row, Matrix::a, s.a, row_a), b = tile_of(row, Matrix::b, s.b, row_b),
             cc = tile_of(row, Matrix::c, s.c, true), d = tile_of(row, Matrix::d, s.d, true);
  const FragmentText fa = fragment_registers(row, Matrix::a, s.a),
                     fb = fragment_registers(row, Matrix::b, s.b),
                     fc = fragment_registers(row, Matrix::c, s.c),
                     fd = fragment_registers(row, Matrix::d, s.d);
  Case c = start(s, name_of(s), 0);
  const uint64_t layout_pairs = row.layouts == isa::Layouts::any ? 4 : 1;
  const uint64_t warps = kOutputsPerPart / layout_pairs / d.dense_elems();
  for (const numeric::OperandClass oc : numeric::kAllOperandClasses)
    c.parts.push_back({std::string(numeric::to_string(oc)), c.parts.size() * warps, warps});
  c.units = c.parts.size() * warps;
  c.inputs = {tile_plane("a", a, false), tile_plane("b", b, false), tile_plane("c", cc, false)};
  c.outputs = {tile_plane("d", d, false)};
  c.outputs[0].dims = {{"row", d.lines}, {"column", d.length}};
  lay_out(c.inputs, c.units);
  lay_out(c.outputs, c.units);
  c.text += declare_fragment("a", fa) + declare_fragment("b", fb) + declare_fragment("c", fc) +
            declare_fragment("d", fd);
  c.text += point_at(c.inputs[0], true) + load_text(row, 'a', row_a, s.a, fa);
  c.text += point_at(c.inputs[1], true) + load_text(row, 'b', row_b, s.b, fb);
  c.text += point_at(c.inputs[2], true) + load_text(row, 'c', true, s.c == Type::tf32 ? Type::f32 : s.c, fc);
  c.text +=
      fmt::format("  {} {}, {}, {}, {};\n", s.text, register_list("d", fd.count),
                  register_list("a", fa.count), register_list("b", fb.count), register_list("c", fc.count));
  c.text += point_at(c.outputs[0], false) +
            fmt::format("  wmma.store.d.sync.aligned.row.m{}n{}k{}.global.{} [%_q], {};\n", row.shape.m,
                        row.shape.n, row.shape.k, type_word(s.d), register_list("d", fd.count));

  const MatrixFormats formats{values_of(s.a),
                              values_of(s.b),
                              values_of(s.c),
                              numbers_of(s.a, a.dense_elems()),
                              numbers_of(s.b, b.dense_elems()),
                              cc.dense_elems()};
  const auto k = static_cast<uint64_t>(row.shape.k);
  c.fill = [=, planes = c.inputs](const Part& part, numeric::Random& random, Inputs& inputs) {
    const numeric::OperandClass oc = operand_class(part.name);
    for (uint64_t warp = part.first; warp < part.first + part.units; ++warp) {
      MatrixOperands m = make_matrix_operands(formats, oc, random);
      m.a = plane_elements(s.a, std::move(m.a)); // below 8 bits always K-major
      m.b = plane_elements(s.b, std::move(m.b));
      // Line i / k, place i % k of K, for A's rows and B's columns.
      const auto put = [&](size_t plane, const std::vector<uint64_t>& values, bool k_major) {
        const uint64_t lines = values.size() / k;
        for (uint64_t i = 0; i < values.size(); ++i)
          inputs.set(plane, warp * planes[plane].per_unit + (k_major ? i : i % k * lines + i / k), values[i]);
      };
      put(0, m.a, row_a);
      put(1, m.b, !row_b);
      for (uint64_t i = 0; i < m.c.size(); ++i)
        inputs.set(2, warp * planes[2].per_unit + i, m.c[i]);
    }
  };
  finish(c);
  return c;
}

} // namespace

Case wmma_transfer_case(const MatrixSpelling& s, std::string name, std::vector<Part> parts) {
  return s.row->opcode == Opcode::wmma_load ? make_load(s, std::move(name), std::move(parts))
                                            : make_store(s, std::move(name), std::move(parts));
}

std::vector<Case> wmma_cases(std::string_view group) {
  std::vector<Case> cases;
  for (const MatrixRow& row : isa::matrix_rows()) {
    if (row.opcode != Opcode::wmma_load && row.opcode != Opcode::wmma_mma && row.opcode != Opcode::wmma_store)
      continue;
    if (group_of(row) != group)
      continue;
    for (const MatrixSpelling& s : matrix_spellings(row))
      cases.push_back(row.opcode == Opcode::wmma_mma ? make_multiply(s) : make_random_transfer(s));
  }
  return cases;
}

} // namespace lemma::golden
