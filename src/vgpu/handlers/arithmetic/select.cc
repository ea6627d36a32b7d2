// Matching a row: types must be equal, the qualifiers those of the row, less the ones that the row takes as
// modes. Rounding, .ftz and .sat then choose among a row's handlers or become flags (apply_modes).
// pick_arithmetic() asks the families one after the other.
#include "vgpu/handlers/arithmetic/select.h"

#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/host_mode.h"

#include <algorithm>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

bool is_rounding(Qual qual) {
  return qual == Qual::rn || qual == Qual::rz || qual == Qual::rm || qual == Qual::rp;
}

// Whether a row with these modes takes the qualifier out of the comparison.
bool taken(Modes modes, Qual qual) {
  switch (modes) {
  case Modes::none:
    return false;
  case Modes::host:
    return is_rounding(qual) || qual == Qual::ftz || qual == Qual::sat;
  case Modes::flags:
    return qual == Qual::rn || qual == Qual::ftz || qual == Qual::sat || qual == Qual::relu;
  }
  return false;
}

// How many operands the handler would read; an instruction of a test may have none.
int count_sources(std::span<const ptx::Operand> operands, uint8_t skip_sources) {
  int count = 0;
  for (size_t i = 1; i < operands.size(); ++i) {
    if (skip_sources >> (i - 1) & 1)
      continue;
    const ptx::Operand& operand = operands[i];
    count += operand.kind == ptx::OperandKind::vector ? static_cast<int>(operand.elems.size()) : 1;
  }
  return count;
}

bool matches(const Row& row, const RowKey& key) {
  if (!key.operands.empty() &&
      count_sources(key.operands, row.selection.skip_sources) != row.selection.src_count)
    return false;
  if (!std::ranges::equal(row.types, key.types))
    return false;
  size_t seen = 0;
  for (const Qual qual : key.quals) {
    if (std::find(row.quals.begin(), row.quals.end(), qual) != row.quals.end())
      ++seen;
    else if (!taken(row.modes, qual))
      return false;
  }
  return seen == row.quals.size();
}

void apply_modes(const Row& row, const RowKey& key, Selection& selection) {
  const auto has = [&](Qual qual) { return std::ranges::find(key.quals, qual) != key.quals.end(); };
  if (row.modes == Modes::host) {
    const auto written = std::ranges::find_if(key.quals, is_rounding);
    const Qual rounding = written == key.quals.end() ? Qual::rn : *written;
    const bool is_double = row.types[0] == Type::f64; // ptxas ignores .ftz there
    const uint32_t mode = host_mode(rounding, has(Qual::ftz) && !is_double);
    selection.imm = mode;
    selection.handler = row.by_mode[(has(Qual::sat) ? 2 : 0) | (mode != kHostDefaultMode ? 1 : 0)];
  } else if (row.modes == Modes::flags) {
    selection.flags |=
        (has(Qual::ftz) ? kFlagFtz : 0) | (has(Qual::sat) ? kFlagSat : 0) | (has(Qual::relu) ? kFlagRelu : 0);
  }
}

} // namespace

void RowTable::add(Row row) {
  const auto index = static_cast<size_t>(row.opcode);
  if (rows_.size() <= index)
    rows_.resize(index + 1);
  rows_[index].push_back(std::move(row));
}

void RowTable::add(Opcode opcode, std::initializer_list<Type> types, std::initializer_list<Qual> quals,
                   Handler handler, Type dst, std::initializer_list<Type> srcs, Modes modes,
                   Handler by_constant) {
  Row row{opcode, types, quals, modes, {}, {}};
  row.selection.handler = handler;
  row.selection.by_constant = by_constant;
  row.selection.dst[0] = dst;
  row.selection.src_count = static_cast<uint8_t>(srcs.size());
  std::copy(srcs.begin(), srcs.end(), row.selection.src.begin());
  add(std::move(row));
}

void RowTable::add_modal(Opcode opcode, Type type, int sources, std::initializer_list<Qual> quals,
                         std::array<Handler, 4> by_mode) {
  Row row{opcode, {type}, quals, Modes::host, {}, by_mode};
  row.selection.dst[0] = type;
  row.selection.src_count = static_cast<uint8_t>(sources);
  std::fill_n(row.selection.src.begin(), sources, type);
  add(std::move(row));
}

bool RowTable::pick(const RowKey& key, Selection& selection) const {
  const auto index = static_cast<size_t>(key.opcode);
  if (index >= rows_.size())
    return false;
  for (const Row& row : rows_[index]) {
    if (!matches(row, key))
      continue;
    selection = row.selection;
    apply_modes(row, key, selection);
    return true;
  }
  return false;
}

void RowTable::add_to(SelectorTable& selectors) const {
  for (size_t opcode = 0; opcode < rows_.size(); ++opcode)
    if (!rows_[opcode].empty())
      selectors.add(static_cast<Opcode>(opcode), select_arithmetic);
}

bool pick_arithmetic(const ptx::Instruction& instruction, Selection& selection) {
  return pick_integer(instruction, selection) || pick_logic(instruction, selection) ||
         pick_float(instruction, selection) || pick_approximate(instruction, selection) ||
         pick_half(instruction, selection) || pick_small_floats(instruction, selection) ||
         pick_convert(instruction, selection) || pick_convert_packed(instruction, selection) ||
         pick_compare(instruction, selection) || pick_video(instruction, selection);
}

bool select_arithmetic(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in) {
  Selection selection;
  if (!pick_arithmetic(instruction, selection))
    return false;
  if (decoder.count(0) > selection.dst.size())
    return false;
  std::vector<Slot> dsts, srcs;
  for (size_t i = 1; i < instruction.operands.size(); ++i)
    if (!(selection.skip_sources >> (i - 1) & 1))
      for (const lowered::Operand& source : decoder.operands(i)) {
        if (srcs.size() == selection.src_count)
          return false;
        srcs.push_back(decoder.src(source, selection.src[srcs.size()]));
      }
  if (srcs.size() != selection.src_count)
    return false;
  for (size_t i = 0; i < decoder.count(0); ++i)
    dsts.push_back(decoder.dst(0, selection.dst[i], i));
  decoder.set_operands(in, dsts, srcs);
  const bool by_constant = selection.by_constant && decoder.notes().has(lowered::Note::constant_divisor);
  in.handler = by_constant ? selection.by_constant : selection.handler;
  in.computes = true;
  in.flags = selection.flags;
  in.width = selection.width;
  in.imm = selection.imm;
  return true;
}

} // namespace lemma::vgpu
