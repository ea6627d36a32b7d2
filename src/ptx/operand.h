// The operands of an instruction, as the parser has resolved them.
//
// A kernel may have millions, so an operand is small: what it names it names by an index, and its own
// operands lie in one allocation of just their size.
//
// PTX ISA: "Instruction Operands". Tests: tests/unit/ptx/operand_test.cc.
#pragma once

#include "isa/vocabulary.h"
#include "support/source.h"

#include <cstddef>
#include <cstdint>
#include <span>

namespace lemma::ptx {

using isa::SpecialRegister;

inline constexpr uint32_t kNone = UINT32_MAX;

enum class OperandKind : uint8_t {
  none,
  reg,  // `reg`, optionally with `component` (.x .y .z .w, .r .g .b .a), `negated` (!p) or `offset` (%r1+4);
        // of a vector register without a component, all of it
  imm,  // `bits`: integer constants as 64-bit two's complement; float constants as f64 bits, or f32 bits
        // (0f...)
  sreg, // `sreg`
  symbol,   // the address of the variable `symbol`, plus `offset`: mov.u64 %rd1, table+8
  function, // the address of a function: `symbol`
  label,    // a branch target: `symbol`
  vector,   // { elems }; `%tid` without a component is the vector of its four sregs, `sreg` the first
  pair,     // d|p : elems[0], elems[1]
  address,  // [base + offset]: base in elems[0] (reg, symbol or imm; its own offset is 0); tensor coordinates
            // and further parts follow in elems
  sink,     // _
  proto,    // a .callprototype: `symbol`
  targets,  // a .calltargets or .branchtargets: `symbol`
};

// How an immediate was written.
enum class ImmKind : uint8_t { integer, unsigned_integer, f32, f64 };

struct Operand;

// A list of operands of fixed length, one pointer in size; copies are deep.
class Operands {
public:
  Operands() = default;
  explicit Operands(size_t count); // of kind none
  explicit Operands(std::span<const Operand> operands);
  // Moves them out of `operands`.
  static Operands taken_from(std::span<Operand> operands);
  Operands(const Operands& other);
  Operands(Operands&& other) noexcept : first_(other.first_) { other.first_ = nullptr; }
  Operands& operator=(const Operands& other);
  Operands& operator=(Operands&& other) noexcept;
  ~Operands() {
    if (first_)
      destroy();
  }

  size_t size() const { return first_ ? header()->count : 0; }
  bool empty() const { return !first_; }
  const Operand* begin() const { return first_; }
  const Operand* end() const;
  const Operand* data() const { return first_; }
  const Operand& operator[](size_t index) const;
  const Operand& back() const;
  Operand* begin() { return first_; }
  Operand* end();
  Operand* data() { return first_; }
  Operand& operator[](size_t index);

  // What a list of so many takes of the heap, about.
  static uint64_t memory_bytes(size_t count);

private:
  struct alignas(8) Header {
    uint32_t count;
  };
  static constexpr size_t kHeaderBytes = sizeof(Header);
  const Header* header() const {
    return reinterpret_cast<const Header*>(reinterpret_cast<const std::byte*>(first_) - kHeaderBytes);
  }
  void allocate(size_t count); // not constructed
  void destroy();

  Operand* first_ = nullptr; // null: none; its Header stands before it
};

struct Operand {
  OperandKind kind = OperandKind::none;
  bool negated = false;  // !p in source operands; -a of vmad
  int8_t component = -1; // .x = 0 .. .w = 3; video selectors: .b0 = 4 .. .b3 = 7, .h0 = 8, .h1 = 9; several
                         // halves or bytes, isa::kHalfList or isa::kByteList: which in `bits`, as digits
                         // after a 1: 0x132 is .h32
  ImmKind imm_kind = ImmKind::integer;
  SpecialRegister sreg = SpecialRegister::none;
  enum class SymbolScope : uint8_t {
    module,
    function,
    param,
    return_param
  } symbol_scope = SymbolScope::module;
  uint32_t reg = kNone; // Function::registers
  // symbol: index into Module::variables (module_scope) or Function::variables / params / returns; function:
  // into Module::functions; label, proto, targets: into Function::labels, prototypes, target_lists
  uint32_t symbol = kNone;
  SourceRange range;
  uint64_t bits = 0;
  int64_t offset = 0; // symbol, address: bytes; reg: what is added to its value
  Operands elems;
};

static_assert(sizeof(Operand) <= 48, "a kernel may have millions");

inline const Operand* Operands::end() const {
  return first_ + size();
}
inline const Operand& Operands::operator[](size_t index) const {
  return first_[index];
}
inline const Operand& Operands::back() const {
  return first_[size() - 1];
}
inline Operand* Operands::end() {
  return first_ + size();
}
inline Operand& Operands::operator[](size_t index) {
  return first_[index];
}
inline uint64_t Operands::memory_bytes(size_t count) {
  constexpr uint64_t kBytesOfAllocation = 8; // the allocator's own
  return count == 0 ? 0 : kHeaderBytes + count * sizeof(Operand) + kBytesOfAllocation;
}

} // namespace lemma::ptx
