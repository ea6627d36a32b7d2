// The rules are the small functions at the top, one for each point of the header's list; Search applies them.
// Within a block products are followed exactly, register by register. What crosses blocks is noted (`later_`,
// `left_`) and joined at the end, under the bound of blocks.h.
#include "verify/fusion.h"

#include "isa/effects.h"
#include "isa/form.h"
#include "ptx/registers.h"
#include "verify/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lemma::verify {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;
using ptx::first_source;
using ptx::for_each_register;
using ptx::Instruction;
using ptx::kNone;
using ptx::Operand;
using ptx::OperandKind;

bool is_register(const Operand& operand) {
  return operand.kind == OperandKind::reg && operand.component < 0 && operand.offset == 0;
}

bool is_free_to_round(const Instruction& instruction) {
  if (instruction.types().size() != 1 || !isa::is_float(instruction.type()))
    return false;
  const Qual rounding = instruction.one_of({Qual::rn, Qual::rz, Qual::rm, Qual::rp});
  return rounding == Qual::none || (rounding == Qual::rn && instruction.type() == Type::f32x2);
}

// Does its code end with a multiplication that is free to round?
bool ends_with_product(const Instruction& instruction) {
  switch (instruction.opcode) {
  case Opcode::mul:
    return is_free_to_round(instruction) && !instruction.has(Qual::sat);
  case Opcode::div:
    return instruction.has(Qual::approx) || instruction.has(Qual::full);
  case Opcode::rcp:
    return instruction.has(Qual::approx) && !instruction.has(Qual::ftz) && instruction.type() == Type::f32;
  default:
    return false;
  }
}

bool is_product(const Instruction& instruction) {
  return ends_with_product(instruction) && instruction.guard.reg == kNone &&
         is_register(instruction.operands[0]);
}

bool is_sum(const Instruction& instruction) {
  return isa::effects_of(instruction.opcode).has(isa::effect::adds) && is_free_to_round(instruction);
}

// Hands its operand on, with the same bits or another sign.
bool is_copy(const Instruction& instruction) {
  return (isa::effects_of(instruction.opcode).has(isa::effect::moves) ||
          (instruction.opcode == Opcode::neg && isa::is_float(instruction.type()))) &&
         instruction.guard.reg == kNone && is_register(instruction.operands[0]) &&
         is_register(instruction.operands[1]);
}

bool fits(const Instruction& product, const Instruction& sum) {
  return product.type() == sum.type() && product.has(Qual::ftz) == sum.has(Qual::ftz);
}

// Follows products through the registers of one function, block by block. What a block takes from a register
// that it has not written may come from any block that leaves a product there: that is found at the end.
class Search {
public:
  Search(const ptx::Function& function, uint32_t index)
      : function_(function), index_(index), registers_(function.registers.size()) {}

  void run(std::vector<Fusion>& found) {
    if (std::none_of(function_.instructions.begin(), function_.instructions.end(), is_product))
      return;
    const Blocks blocks = find_blocks(function_);
    const std::vector<bool> dead = find_dead_code(function_, blocks);
    for (block_ = 0; block_ < blocks.count(); ++block_) {
      for (uint32_t i = blocks.begins[block_]; i < blocks.begins[block_ + 1]; ++i)
        if (!dead[i])
          step(i);
      end_block(blocks.after[block_]);
    }
    join_blocks();
    std::stable_sort(joined_.begin(), joined_.end(),
                     [](const Joined& a, const Joined& b) { return a.sum < b.sum; });
    uint32_t last = kNone;
    for (const Joined& joined : joined_)
      if (!products_[joined.product].is_kept && joined.sum != last) {
        last = joined.sum;
        found.push_back({index_, products_[joined.product].instruction, last});
      }
  }

private:
  struct Product {
    uint32_t instruction;
    bool is_kept = false; // something else takes it too
  };
  struct Joined {
    uint32_t sum;     // an instruction
    uint32_t product; // index into products_
  };
  struct Register {
    uint32_t block = kNone;      // the last block that wrote it
    uint32_t value = kNone;      // then: what it holds, an index into products_
    uint32_t kept_later = kNone; // the last block that does more with it than add it, and has not written it
    uint32_t joined = 0;         // products that were left in it and have been joined with later sums
  };
  struct LaterUse { // by a sum, in a block that has not written the register
    uint32_t reg;
    uint32_t sum;
    uint32_t block;
  };
  struct Left { // in a register when a block ended; the first block that may read it
    uint32_t reg;
    uint32_t product;
    uint32_t after;
  };
  // Each with all later sums: more are not written in one register but to make this slow.
  static constexpr uint32_t kMostJoined = 16;

  void step(uint32_t i) {
    const Instruction& instruction = function_.instructions[i];
    if (is_sum(instruction))
      add(i, instruction);
    else if (!is_copy(instruction))
      for (size_t k = first_source(instruction); k < instruction.operands.size(); ++k)
        keep(instruction.operands[k]);
    if (is_product(instruction)) {
      products_.push_back({i});
      write(instruction.operands[0].reg, static_cast<uint32_t>(products_.size() - 1));
    } else if (is_copy(instruction)) {
      copy(instruction.operands[0].reg, instruction.operands[1].reg);
    } else if (first_source(instruction) == 1) {
      overwrite(instruction.operands[0], instruction.guard.reg != kNone);
    }
  }

  void add(uint32_t i, const Instruction& instruction) {
    const Operand &a = instruction.operands[1], &b = instruction.operands[2];
    const uint32_t x = product_in(a), y = product_in(b);
    const bool same_register = is_register(a) && is_register(b) && a.reg == b.reg;
    if (same_register || (x != kNone && x == y)) {
      keep(a);
      keep(b);
      return;
    }
    take(a, i);
    take(b, i);
  }

  void take(const Operand& operand, uint32_t sum) {
    if (!is_register(operand))
      keep(operand);
    else if (registers_[operand.reg].block != block_)
      later_.push_back({operand.reg, sum, block_});
    else if (const uint32_t product = product_in(operand); product != kNone)
      join(product, sum);
  }

  void join(uint32_t product, uint32_t sum) {
    if (fits(function_.instructions[products_[product].instruction], function_.instructions[sum]))
      joined_.push_back({sum, product});
    else
      products_[product].is_kept = true;
  }

  uint32_t product_in(const Operand& operand) const {
    return is_register(operand) && registers_[operand.reg].block == block_ ? registers_[operand.reg].value
                                                                           : kNone;
  }

  void keep(uint32_t reg) {
    if (registers_[reg].block != block_)
      registers_[reg].kept_later = block_;
    else if (registers_[reg].value != kNone)
      products_[registers_[reg].value].is_kept = true;
  }

  void keep(const Operand& operand) {
    for_each_register(operand, [&](uint32_t reg, bool) { keep(reg); });
  }

  void write(uint32_t reg, uint32_t value) {
    if (value != kNone)
      written_.push_back(reg);
    registers_[reg].block = block_;
    registers_[reg].value = value;
  }

  void copy(uint32_t to, uint32_t from) {
    if (registers_[from].block != block_)
      registers_[from].kept_later = block_;
    write(to, registers_[from].block == block_ ? registers_[from].value : kNone);
  }

  // A guarded instruction chooses between what it makes and what was there.
  void overwrite(const Operand& operand, bool is_guarded) {
    for_each_register(operand, [&](uint32_t reg, bool in_part) {
      if (is_guarded || in_part)
        keep(reg);
      write(reg, kNone);
    });
  }

  void end_block(uint32_t after) {
    for (const uint32_t reg : written_)
      if (const uint32_t product = std::exchange(registers_[reg].value, kNone); product != kNone)
        left_.push_back({reg, product, after});
    written_.clear();
  }

  void join_blocks() {
    std::stable_sort(later_.begin(), later_.end(),
                     [](const LaterUse& a, const LaterUse& b) { return a.reg < b.reg; });
    for (const Left& left : left_) {
      Register& reg = registers_[left.reg];
      if (reg.kept_later != kNone && reg.kept_later >= left.after)
        products_[left.product].is_kept = true;
      if (reg.joined++ >= kMostJoined)
        continue;
      const auto first = std::lower_bound(later_.begin(), later_.end(), left.reg,
                                          [](const LaterUse& use, uint32_t r) { return use.reg < r; });
      for (auto use = first; use != later_.end() && use->reg == left.reg; ++use)
        if (use->block >= left.after)
          join(left.product, use->sum);
    }
  }

  const ptx::Function& function_;
  const uint32_t index_;
  std::vector<Register> registers_;
  std::vector<Product> products_;
  std::vector<Joined> joined_;
  std::vector<LaterUse> later_;
  std::vector<Left> left_;
  std::vector<uint32_t> written_; // registers that the block put products into
  uint32_t block_ = 0;
};

} // namespace

std::vector<Fusion> possible_fusions(const ptx::Module& module) {
  std::vector<Fusion> found;
  for (uint32_t f = 0; f < module.functions.size(); ++f)
    Search(module.functions[f], f).run(found);
  return found;
}

Diagnostic describe(const ptx::Module& module, const Fusion& fusion) {
  const auto& code = module.functions[fusion.function].instructions;
  const Instruction &product = code[fusion.product], &sum = code[fusion.sum];
  const bool is_mul = product.opcode == Opcode::mul;
  const std::string sum_rn = fmt::format("{}.rn", isa::to_string(sum.opcode));
  Diagnostic note{
      .severity = Severity::warning, .id = "fusion", .message = {}, .range = sum.range, .notes = {}};
  note.message =
      fmt::format("ptxas may make one fma of this {} and the {}{} of line {}", isa::spelling_of(*sum.binding),
                  is_mul ? "" : "last multiplication of the ", isa::spelling_of(*product.binding),
                  module.source->line_column(product.range.begin).line);
  note.notes.push_back({"keep", product.type() == Type::f32x2
                                    ? "ptxas 13 does so even with .rn: write fma, or operate on f32"
                                : is_mul ? fmt::format("both roundings: write mul.rn or {}", sum_rn)
                                         : fmt::format("both roundings: write {}", sum_rn)});
  note.notes.push_back({"see", isa::citation(*product.form())});
  return note;
}

} // namespace lemma::verify
