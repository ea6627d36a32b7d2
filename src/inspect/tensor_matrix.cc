// An operand in tensor memory is the list of its elements with their cells, as src/layout says; formulas are
// read off that. The registers of tcgen05.ld and st become a fragment, as those of mma are.
#include "inspect/tensor_matrix.h"

#include "fidelity/recorded.h"
#include "inspect/availability.h"
#include "inspect/fragment_data.h"
#include "inspect/matrix_model.h"
#include "isa/effects.h"
#include "layout/sparse.h"
#include "layout/tensor_metadata.h"
#include "layout/tensor_operands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>

namespace lemma {
namespace inspect {
namespace {

using isa::Qual;
using layout::Coord;
using layout::DataPath;
using layout::kTensorLanes;
using layout::TensorFormat;
using layout::TensorInstructionDescriptor;

constexpr int kCellBits = 32;

// Where the form is and what its words need beyond; `k96`: that shape of it.
Availability availability_with_words(const isa::Binding& binding, bool k96 = false) {
  isa::Form exact = *binding.form;
  for (const Qual qual : binding.quals)
    if (const isa::Need* need = isa::need_of(qual)) {
      exact.since = std::max(exact.since, need->since);
      if (!need->targets.any_of.empty())
        exact.targets = need->targets;
    }
  if (k96)
    exact.targets = {{{.sm = isa::kSmWithK96, .suffix = 'a'}}};
  return availability_of(exact);
}

// --- cells of tensor memory

// Where an element is: the lane counts on through the second CTA of a pair, the column from the operand's
// address.
struct Place {
  int lane = 0, column = 0, elem = 0;
};

// Of each element, one place or several.
using Places = std::vector<Place>;

int lane_of(uint32_t cta, uint32_t lane) {
  return static_cast<int>(cta * kTensorLanes + lane);
}

// Elements of a cell that are neighbours in a row stand in a row. `at(row, col)` says where an element is.
template <class At>
void add_places(int rows, int cols, int element_bits, const At& at, MatrixOperand& out) {
  out.in_tensor_memory = true;
  out.rows = rows;
  out.cols = cols;
  out.element_bits = element_bits;
  out.register_bits = kCellBits;
  int last_lane = 0, last_column = 0;
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < cols; ++col) {
      const Places places = at(static_cast<uint32_t>(row), static_cast<uint32_t>(col));
      out.copies = static_cast<int>(places.size());
      for (const Place& place : places) {
        out.elements.push_back(
            {.row = row, .col = col, .lane = place.lane, .reg = place.column, .elem = place.elem});
        last_lane = std::max(last_lane, place.lane);
        last_column = std::max(last_column, place.column);
        out.elems_per_register = std::max(out.elems_per_register, place.elem + 1);
      }
    }
  out.lanes = (last_lane / static_cast<int>(kTensorLanes) + 1) * static_cast<int>(kTensorLanes);
  out.held_registers = out.distinct_registers = last_column + 1;
  std::stable_sort(out.elements.begin(), out.elements.end(),
                   [](const FragmentElement& a, const FragmentElement& b) {
                     return std::tuple(a.reg, a.lane, a.elem) < std::tuple(b.reg, b.lane, b.elem);
                   });
  while (out.adjacent_cols < std::min(cols, out.elems_per_register)) {
    const Place first = at(0, 0).front(), next = at(0, static_cast<uint32_t>(out.adjacent_cols)).front();
    if (next.lane != first.lane || next.column != first.column)
      break;
    ++out.adjacent_cols;
  }
  const auto coord = [&](int row, int col) {
    const Place place = at(static_cast<uint32_t>(row), static_cast<uint32_t>(col)).front();
    return Coord{place.lane, place.column};
  };
  const auto by_row = modes_of(rows, [&](int row) { return coord(row, 0); }, true);
  const auto by_col = modes_of(cols, [&](int col) { return coord(0, col); }, true);
  if (!by_row || !by_col)
    return;
  const auto formula = [&](int Coord::* axis) {
    std::string text;
    add_terms(*by_row, "row", axis, text);
    add_terms(*by_col, "col", axis, text);
    return text.empty() ? "0" : text;
  };
  out.lane_formula = formula(&Coord::row);
  out.column_formula = formula(&Coord::col);
}

MatrixOperand operand(std::string name, char matrix, std::string_view type,
                      MatrixOperand::Kind kind = MatrixOperand::Kind::matrix) {
  MatrixOperand made;
  made.name = std::move(name);
  made.kind = kind;
  made.matrix = matrix;
  made.type = type;
  return made;
}

struct Product {
  const TensorName& name;
  layout::TensorOperands places;

  const TensorInstructionDescriptor& d() const { return name.descriptor; }
  int m() const { return static_cast<int>(d().m); }
  int n() const { return static_cast<int>(d().n); }
  bool is_pair() const { return name.instruction().cta_group == 2; }
  uint32_t columns_to_more_scales(bool of_a) const {
    const DataPath path = places.path;
    return of_a ? layout::columns_to_more_scales(d().m / layout::ctas_of(path), 1)
                : layout::columns_to_more_scales(d().n, layout::column_blocks_of(path));
  }
  // Of K, that are stored of A.
  int stored_k() const { return static_cast<int>(d().k()) / (d().sparse ? 2 : 1); }
};

// Of elements of so many bits: each has a number in its cell.
Places places_of(const std::vector<layout::TensorBits>& all, int element_bits) {
  Places places;
  for (const layout::TensorBits& at : all)
    places.push_back({lane_of(at.cta, at.cell.lane), static_cast<int>(at.cell.column),
                      static_cast<int>(at.bit) / element_bits});
  return places;
}

bool has_halves(const Product& p) {
  return p.places.path == DataPath::c || p.places.path == DataPath::f;
}

MatrixOperand d_of(const Product& p) {
  MatrixOperand out = operand("d", 'd', layout::to_string(p.d().d));
  const auto bits = static_cast<int>(layout::element_bits(p.d().d));
  add_places(
      p.m(), p.n(), bits,
      [&](uint32_t row, uint32_t column) { return places_of(p.places.d(row, column), bits); }, out);
  out.notes.push_back(fmt::format("d: data path {}{}", "abcdefg"[static_cast<int>(p.places.path)],
                                  has_halves(p) ? "; drawn for an address of lane 0: with lane 16 it is 16 "
                                                  "lanes further on"
                                                : ""));
  if (bits < kCellBits)
    out.notes.emplace_back("d: an element has a cell of its own, the low half of it");
  return out;
}

MatrixOperand a_of(const Product& p) {
  MatrixOperand out = operand("a", 'a', layout::to_string(p.d().a));
  out.or_in_memory = true;
  const auto bits = static_cast<int>(layout::a_element_bits(p.d().kind, p.d().a));
  add_places(
      p.m(), p.stored_k(), bits,
      [&](uint32_t row, uint32_t k) { return places_of(p.places.a(row, k), bits); }, out);
  if (out.copies > 1)
    out.notes.push_back(fmt::format("a: each row is in {} lanes: drawn is the first", out.copies));
  if (const uint32_t used = layout::element_bits(p.d().a); static_cast<uint32_t>(bits) != used)
    out.notes.push_back(fmt::format("a: {} is in the low {} bits of a byte: assumed", out.type, used));
  return out;
}

MatrixOperand b_of(const Product& p) {
  MatrixOperand out = operand("b", 'b', layout::to_string(p.d().b));
  out.in_memory = true;
  out.rows = static_cast<int>(p.d().k());
  out.cols = p.n();
  return out;
}

MatrixOperand metadata_of(const Product& p) {
  MatrixOperand out = operand("metadata", 'a', "u4", MatrixOperand::Kind::metadata);
  const layout::SparseChunk chunk =
      layout::sparse_chunk(static_cast<int>(layout::a_element_bits(p.d().kind, p.d().a)));
  add_places(
      p.m(), static_cast<int>(p.d().k()) / chunk.columns, layout::kMetadataBits,
      [&](uint32_t row, uint32_t at) { return places_of(p.places.metadata(row, at), layout::kMetadataBits); },
      out);
  out.notes.push_back(fmt::format("metadata: a field is a chunk of {} columns of B, two indices of two bits, "
                                  "the first in the low bits",
                                  chunk.columns));
  if (layout::has_metadata_selector(layout::a_element_bits(p.d().kind, p.d().a)))
    out.notes.emplace_back("metadata: drawn for selector 0: with selector 1 it is a column further on");
  return out;
}

// Those of A are of its own CTA's rows, those of B in both.
MatrixOperand scales_of(const Product& p, char matrix) {
  constexpr int kScaleBits = 8, kOfCell = kCellBits / kScaleBits;
  const bool of_a = matrix == 'a';
  const int scales = static_cast<int>(p.name.scales());
  MatrixOperand out = operand(of_a ? "scale-a" : "scale-b", matrix, layout::to_string(p.d().scale),
                              MatrixOperand::Kind::scales);
  if (of_a)
    add_places(
        p.m(), scales, kScaleBits,
        [&](uint32_t row, uint32_t s) { return places_of(p.places.scale_a(row, s), kScaleBits); }, out);
  else
    add_places(
        scales, p.n(), kScaleBits,
        [&](uint32_t s, uint32_t column) { return places_of(p.places.scale_b(column, s), kScaleBits); }, out);
  const int together = std::gcd(scales, scales < kOfCell ? scales : kOfCell);
  out.adjacent_cols = of_a ? together : 1;
  out.adjacent_rows = of_a ? 1 : together;
  std::string note = fmt::format("{}: in {} places{}: drawn is the first", out.name, out.copies,
                                 p.is_pair() && !of_a ? " of both CTAs" : "");
  if (scales != kOfCell)
    note += fmt::format("; drawn for the id 0: it is the byte of the cell at which they begin, {}",
                        scales == 1 || scales == 3 ? "0 to 3" : "0 or 2");
  if (p.d().k96)
    note += fmt::format("; those past the cell are {} columns further on", p.columns_to_more_scales(of_a));
  out.notes.push_back(std::move(note));
  return out;
}

// --- the words

std::string ranges_of(const std::vector<uint32_t>& values) {
  std::string text;
  for (size_t first = 0; first < values.size();) {
    size_t last = first + 1;
    while (last + 1 < values.size() && values[last + 1] - values[last] == values[first + 1] - values[first])
      ++last;
    text += text.empty() ? "" : ", ";
    if (last >= values.size() || last - first < 2) {
      text += fmt::format("{}", values[first++]);
      continue;
    }
    text += fmt::format("{} to {} in steps of {}", values[first], values[last],
                        values[first + 1] - values[first]);
    first = last + 1;
  }
  return text;
}

// What sources say differently, or not at all, and which of it holds here.
std::vector<std::string> readings_of(const Product& p) {
  const layout::TensorInstruction& i = p.name.instruction();
  std::vector<std::string> notes;
  notes.push_back(
      fmt::format("N with M = {}: {}", p.m(), ranges_of(columns_of(p.name.family, p.d().m, p.d().k()))));
  if (!i.ws && i.cta_group == 1 && p.m() == 128 && p.n() % 16 != 0)
    notes.emplace_back("N: the ISA's table of shapes has steps of 16 with M = 128, CUTLASS has steps of 8: "
                       "both are taken");
  if (!i.ws && i.cta_group == 2 && p.n() % 32 != 0)
    notes.emplace_back("N: editions of the ISA have steps of 16 or of 32 for a pair, CUTLASS of 16, and of "
                       "32 with A in tensor memory: all are taken");
  if (p.places.path == DataPath::f)
    notes.emplace_back("A in tensor memory: CUTLASS has its rows among the lanes that D has, and as another "
                       "way one after the other, TVM has the latter: assumed are D's lanes");
  if (i.sp)
    notes.emplace_back(
        "metadata: the ISA has figures alone; CUTLASS agrees where M is 128 or 256 and with .ws: "
        "others are assumed to differ by D's lanes");
  if (i.ws)
    notes.emplace_back("zero-column-mask-desc: the ISA's text and its examples disagree: the examples hold, "
                       "skip counts columns that are zeroed, use those that are not");
  if (i.scale_vec != 0)
    notes.emplace_back("scale factors: rows of A have those in the quarter of their lane, columns of B those "
                       "of their block's first: assumed, where quarters differ");
  if (p.d().k96) {
    notes.emplace_back(
        "scale factors of K = 96: those past a row's first cell are behind all rows' first, rows "
        "counted by 128, as CUTLASS has them: the ISA has figures alone");
    notes.emplace_back("products of K = 96: as those of K = 64: assumed");
  }
  if (i.sp)
    notes.emplace_back("products of a sparse A: as many of a dense one: assumed");
  return notes;
}

std::string summary_of(const Product& p) {
  const layout::TensorInstruction& i = p.name.instruction();
  return fmt::format("A thread has the tensor core multiply{}, asynchronously: D = A * B + D, or A * B. D is "
                     "in tensor memory, B,\nand A if it is not in tensor memory, in shared memory, where "
                     "matrix descriptors find them{}.",
                     i.ws               ? ", with B kept"
                     : i.cta_group == 2 ? " for a pair of CTAs"
                                        : "",
                     i.scale_vec != 0 ? "; scale factors are in tensor memory" : "");
}

MatrixDescription description_of(const TensorName& name) {
  const TensorInstructionDescriptor& d = name.descriptor;
  const layout::TensorInstruction& i = name.instruction();
  const Product p{name, {layout::data_path(d.m, i.cta_group, i.ws, i.sp).value(), d}};
  MatrixDescription out;
  out.instruction = tensor_instruction_of(name.family);
  out.instruction.availability = availability_with_words(name.family.binding, d.k96);
  out.instruction.m = p.m();
  out.instruction.n = p.n();
  out.instruction.k = static_cast<int>(d.k());
  out.spelling = spelling_of(name);
  out.summary = summary_of(p);
  for (const isa::OperandSpec& each : name.family.form().operands)
    out.operand_names.push_back(each.name);
  const TensorChoices choices = choices_of(name.family);
  for (const uint32_t k : choices.k)
    for (const uint32_t m : choices.m)
      if (m != d.m || k != d.k())
        out.other_shapes.push_back(fmt::format("m{}nNk{}", m, k));
  out.computes = true;
  out.by_thread = true;
  out.byte_containers = false;
  out.flops = 2 * uint64_t{d.m} * d.n * d.k();
  out.instruction_descriptor = d.bits;
  out.operands = {d_of(p), a_of(p), b_of(p)};
  if (i.sp)
    out.operands.push_back(metadata_of(p));
  if (i.scale_vec != 0) {
    out.operands.push_back(scales_of(p, 'a'));
    out.operands.push_back(scales_of(p, 'b'));
  }
  for (const numeric::Arch arch : numeric::kArchs)
    if (const auto model = model_of(name, arch))
      out.arithmetic.push_back({.arch = std::string(numeric::to_string(arch)),
                                .rule = describe(*model, p.stored_k()),
                                .evidence = std::string(numeric::to_string(model->evidence))});
  out.readings = readings_of(p);
  return out;
}

// --- tcgen05.ld, ld.red, st, cp

MatrixDescription moving(const isa::Binding& binding) {
  MatrixDescription out;
  out.spelling = isa::spelling_of(binding);
  const std::string opcode(isa::to_string(binding.form->opcode));
  out.instruction = {.pattern = isa::syntax_of(*binding.form),
                     .opcode = opcode,
                     .title = opcode,
                     .d = {},
                     .a = {},
                     .b = {},
                     .c = {},
                     .spellings = {out.spelling},
                     .availability = availability_with_words(binding),
                     .checked = fidelity::checked_on_hardware(*binding.form)};
  out.instruction.pattern.resize(out.instruction.pattern.find(' '));
  for (const isa::OperandSpec& each : binding.form->operands)
    out.operand_names.push_back(each.name);
  return out;
}

// What a qualifier of the binding means, by a function of its spelling.
template <class Parse>
auto meaning_of(const isa::Binding& binding, Parse parse) -> decltype(parse(std::string_view())) {
  for (const Qual qual : binding.quals)
    if (auto meaning = parse(fmt::format(".{}", isa::to_string(qual))))
      return meaning;
  return std::nullopt;
}

// "x4" is 4.
std::optional<uint32_t> count_of(std::string_view qualifier) {
  uint32_t count = 0;
  if (!qualifier.starts_with(".x"))
    return std::nullopt;
  const char* const end = qualifier.data() + qualifier.size();
  const auto parsed = std::from_chars(qualifier.data() + 2, end, count);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(count) : std::nullopt;
}

// What tcgen05.ld.red has beside: a register for the cells of a row that a thread has loaded.
MatrixOperand reduced_of(const isa::Binding& binding, layout::TensorShape shape) {
  const auto rows = static_cast<int>(layout::lanes_of(shape));
  const layout::Fragment f{
      .rows = rows,
      .cols = static_cast<int>(layout::kWarpLanes) / rows,
      .element_bits = kCellBits,
      .register_bits = kCellBits,
      .lane = modes_of(layout::kWarpLanes, [&](int t) { return Coord{t % rows, t / rows}; }).value()};
  MatrixOperand out = operand("red", 'd', isa::to_string(binding.types.front()));
  out.registers = 1;
  out.register_type = "b32";
  add_fragment(f, out);
  const bool is_max = std::ranges::find(binding.quals, Qual::max) != binding.quals.end();
  std::string note = fmt::format("red: the {} of the cells that the thread loads{}",
                                 is_max ? "greatest" : "least", f.cols == 1 ? "" : ", of its half");
  if (out.type == "f32")
    note += "; with NaN and zeros as redux.sync has it: assumed";
  out.notes.push_back(std::move(note));
  return out;
}

Result<MatrixDescription, Error> describe_registers(const isa::Binding& binding) {
  const auto shape = meaning_of(binding, layout::tensor_shape);
  const auto num = meaning_of(binding, count_of);
  const bool packed = std::ranges::any_of(
      binding.quals, [](Qual qual) { return qual == Qual::pack_16b || qual == Qual::unpack_16b; });
  if (!shape || !num)
    return wrong(fmt::format("{}: it has no shape that is known", isa::spelling_of(binding)));
  const bool two = *shape == layout::TensorShape::s16x32bx2; // halves, side by side here
  const uint32_t columns = layout::columns_of(*shape, *num, packed), offset = two ? columns : 0;
  const auto cell = [&](int thread, int reg, int elem) {
    const auto t = static_cast<uint32_t>(thread), r = static_cast<uint32_t>(reg);
    const layout::TensorCell at =
        packed ? layout::packed_cells_of(*shape, t, r, offset)[static_cast<size_t>(elem)]
               : layout::cell_of(*shape, t, r, offset);
    return Coord{static_cast<int>(at.lane), static_cast<int>(at.column)};
  };
  layout::Fragment f{.rows = static_cast<int>(layout::lanes_of(*shape)),
                     .cols = static_cast<int>(two ? 2 * columns : columns),
                     .element_bits = packed ? kCellBits / 2 : kCellBits,
                     .register_bits = kCellBits};
  const auto lanes = modes_of(layout::kWarpLanes, [&](int thread) { return cell(thread, 0, 0); });
  const auto regs = modes_of(static_cast<int>(layout::registers_of(*shape, *num)),
                             [&](int reg) { return cell(0, reg, 0); });
  const auto elems = packed ? modes_of(2, [&](int elem) { return cell(0, 0, elem); }) : layout::Modes{};
  if (!lanes || !regs || !elems)
    return wrong(fmt::format("{}: its registers are no fragment", isa::spelling_of(binding)));
  f.lane = *lanes;
  f.reg = *regs;
  f.elem = *elems;
  MatrixDescription out = moving(binding);
  const bool loads = isa::effects_of(binding.form->opcode).has(isa::effect::reads);
  out.summary = fmt::format("A warp {} its quarter of tensor memory, asynchronously: rows are lanes of the "
                            "quarter, columns those of tensor\nmemory from the address on.",
                            loads ? "loads registers from" : "stores registers to");
  MatrixOperand registers = operand(loads ? "d" : "r", 'd', packed ? "b16" : "b32");
  registers.registers = f.registers();
  registers.register_type = "b32";
  add_fragment(f, registers);
  if (f.rows < static_cast<int>(layout::kWarpLanes))
    registers.notes.push_back(fmt::format(
        "{}: drawn for an address of the quarter's first lane: with lane 16 it is 16 lanes further on",
        registers.name));
  if (two)
    registers.notes.push_back(fmt::format("{}: drawn for immHalfSplitoff = {}: where threads 16 to 31 begin",
                                          registers.name, offset));
  if (packed)
    registers.notes.push_back(fmt::format("{}: an element is the low half of a cell", registers.name));
  out.operands.push_back(std::move(registers));
  if (std::ranges::any_of(binding.quals, [](Qual qual) { return qual == Qual::min || qual == Qual::max; }))
    out.operands.push_back(reduced_of(binding, *shape));
  return out;
}

Result<MatrixDescription, Error> describe_copy(const isa::Binding& binding) {
  const auto shape = meaning_of(binding, layout::copy_shape);
  const auto multicast = meaning_of(binding, layout::copy_multicast).value_or(layout::CopyMulticast::none);
  if (!shape)
    return wrong(fmt::format("{}: it has no shape that is known", isa::spelling_of(binding)));
  MatrixDescription out = moving(binding);
  out.summary =
      "A thread has rows of shared memory, which a matrix descriptor finds, copied to tensor memory, "
      "asynchronously:\nrows are those of shared memory, columns words of 4 bytes of them.";
  MatrixOperand rows = operand("taddr", 'd', "b32");
  add_places(
      static_cast<int>(layout::copy_rows(*shape)), static_cast<int>(layout::copy_columns(*shape)), kCellBits,
      [&](uint32_t row, uint32_t col) {
        Places places;
        for (const uint8_t lane : layout::copy_lanes(*shape, multicast, row))
          places.push_back({lane, static_cast<int>(col)});
        return places;
      },
      rows);
  if (rows.copies > 1)
    rows.notes.push_back(fmt::format("taddr: each row goes to {} lanes: drawn is the first", rows.copies));
  out.operands.push_back(std::move(rows));
  return out;
}

} // namespace

MatrixInstruction tensor_instruction_of(const TensorFamily& family) {
  const TensorChoices choices = choices_of(family);
  const auto words = [](const std::vector<TensorFormat>& types) {
    std::vector<std::string> made;
    for (const TensorFormat type : types)
      made.emplace_back(layout::to_string(type));
    return made;
  };
  const std::string opcode(isa::to_string(family.form().opcode));
  const auto first = find_tensor(family.words);
  return {.pattern = pattern_of(family),
          .opcode = opcode,
          .title = opcode,
          .m = static_cast<int>(choices.m.back()),
          .n = static_cast<int>(columns_of(family, choices.m.back(), choices.k.front()).back()),
          .k = first ? static_cast<int>(first->descriptor.k()) : 0,
          .d = words(choices.d),
          .a = words(choices.a),
          .b = words(choices.b),
          .c = {},
          .spellings = spellings_of(family),
          .availability = availability_with_words(family.binding),
          .checked = fidelity::checked_on_hardware(family.form())};
}

Result<MatrixDescription, Error> describe_tensor(std::string_view name) {
  if (const auto binding = find_tensor_move(name))
    return meaning_of(*binding, layout::copy_shape) ? describe_copy(*binding) : describe_registers(*binding);
  const auto found = find_tensor(name);
  if (!found)
    return wrong(found.error());
  return description_of(*found);
}

} // namespace inspect
} // namespace lemma
