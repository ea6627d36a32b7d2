// How an arithmetic instruction finds its handler. Each family has a table of rows, one a form that executes:
// opcode, types, qualifiers, and what runs it on which operands. A row is added where its kernel stands, and
// nowhere else. What no row matches is not modelled.
//
//   ptx::Instruction --pick_*()--> Selection --select_arithmetic()--> DecodedInst
//
// A Selection knows no registers, so that tests run handlers without decoding a program.
//
// Tests: tests/unit/vgpu/arithmetic_fixture.h and the *_test.cc that use it.
#pragma once

#include "vgpu/engine/exec.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

namespace lemma::vgpu {

class SelectorTable;

// What runs an instruction, and the types of its operands. Sources are taken in the order written (elements
// of a vector operand one by one); `skip_sources` has a bit for each that is no operand of the handler, such
// as the immediate of lop3. A pair d|p counts as two destinations.
struct Selection {
  Handler handler = nullptr;
  Handler by_constant = nullptr; // of a division whose divisor the assembler knows; null: the same
  uint8_t dst_count = 1;
  uint8_t src_count = 0;
  std::array<isa::Type, 2> dst{};
  std::array<isa::Type, 6> src{};
  uint8_t skip_sources = 0;
  uint8_t flags = 0;
  uint8_t width = 0;
  int64_t imm = 0;
};

// The rounding, .ftz and .sat that an arithmetic row leaves to the instruction.
enum class Modes : uint8_t {
  none,  // qualifiers must be exactly the row's
  host,  // rounding and .ftz become a mode of the host's unit in Selection::imm; handlers by [mode not
         // default][sat]
  flags, // kFlagFtz, kFlagSat, kFlagRelu of Selection::flags; .rn is allowed and means nothing
};
inline constexpr uint8_t kFlagFtz = 1;
inline constexpr uint8_t kFlagSat = 2;
inline constexpr uint8_t kFlagRelu = 4;
inline constexpr uint8_t kFlagSatfinite = 8; // of conversions

// What a row is found by: an instruction's words, or what its family makes of them.
struct RowKey {
  isa::Opcode opcode = isa::Opcode::none;
  std::span<const isa::Type> types;
  std::span<const isa::Qual> quals;
  std::span<const ptx::Operand> operands; // those that are no source of the handler count; empty: any
  RowKey(isa::Opcode opcode, std::span<const isa::Type> types, std::span<const isa::Qual> quals,
         std::span<const ptx::Operand> operands = {})
      : opcode(opcode), types(types), quals(quals), operands(operands) {}
  RowKey(const ptx::Instruction& instruction)
      : RowKey(instruction.opcode, instruction.types(), instruction.quals(), instruction.operands) {}
};

struct Row {
  isa::Opcode opcode = isa::Opcode::none;
  std::vector<isa::Type> types; // the instruction's
  std::vector<isa::Qual> quals; // in any order; less those that `modes` takes
  Modes modes = Modes::none;
  Selection selection;
  std::array<Handler, 4> by_mode{}; // Modes::host: [sat << 1 | mode not default]
};

class RowTable {
public:
  void add(Row row);
  // Fills `selection` from the row that matches, if one does.
  bool pick(const RowKey& key, Selection& selection) const;
  // Makes select_arithmetic the selector of every opcode that has a row.
  void add_to(SelectorTable& selectors) const;

  // Rows of plain operands: one destination of `dst`, sources of `srcs`.
  void add(isa::Opcode opcode, std::initializer_list<isa::Type> types, std::initializer_list<isa::Qual> quals,
           Handler handler, isa::Type dst, std::initializer_list<isa::Type> srcs, Modes modes = Modes::none,
           Handler by_constant = nullptr);
  void add_modal(isa::Opcode opcode, isa::Type type, int sources, std::initializer_list<isa::Qual> quals,
                 std::array<Handler, 4> by_mode);

private:
  std::vector<std::vector<Row>> rows_; // by opcode
};

// One a family; false if it has no row for the instruction.
bool pick_integer(const ptx::Instruction& instruction, Selection& selection);
bool pick_video(const ptx::Instruction& instruction, Selection& selection);
bool pick_logic(const ptx::Instruction& instruction, Selection& selection);
bool pick_float(const ptx::Instruction& instruction, Selection& selection);
bool pick_approximate(const ptx::Instruction& instruction, Selection& selection);
bool pick_half(const ptx::Instruction& instruction, Selection& selection);
bool pick_small_floats(const ptx::Instruction& instruction, Selection& selection);
bool pick_convert(const ptx::Instruction& instruction, Selection& selection);
bool pick_convert_packed(const ptx::Instruction& instruction, Selection& selection);
bool pick_compare(const ptx::Instruction& instruction, Selection& selection);

// The first family that has the instruction.
bool pick_arithmetic(const ptx::Instruction& instruction, Selection& selection);

// A Selector (decoder.h): picks, and gives the instruction its operands.
class Decoder;
bool select_arithmetic(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in);

// Parts of the families that decoder.h names, in files of their own.
void add_logic_selectors(SelectorTable& selectors); // logic.cc: and or xor not cnot lop3 shl shr shf prmt
void add_video_selectors(SelectorTable& selectors); // video.cc: vadd ... vset4
void add_approximate_selectors(SelectorTable& selectors); // approximate.cc: sin cos ex2 lg2 tanh rsqrt ...

} // namespace lemma::vgpu
