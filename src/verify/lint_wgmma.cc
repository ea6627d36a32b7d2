// Registers of wgmma: wgmma.inflight, wgmma.wait, wgmma.fence. Forward data flow over the accumulators, the
// registers of A, and those that plain moves connect with them. A wait on any path that covers a product
// counts, and so does a fence before the first product; a fence between an instruction that writes a register
// and a product must be on all.
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions".
#include "verify/lint_function.h"

#include "isa/effects.h"
#include "ptx/registers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lemma::verify {
namespace {

namespace effect = isa::effect;
using ptx::Instruction;
using ptx::kNone;
using ptx::Operand;
using ptx::OperandKind;

constexpr uint8_t kMostGroups = 15; // that are told apart

isa::Qual shape_of(const Instruction& mma) {
  for (const isa::Qual qual : mma.quals())
    if (isa::matrix_shape(isa::to_string(qual)))
      return qual;
  return isa::Qual::none;
}

bool is_plain_move(const Instruction& instruction) {
  const auto is_register = [](const Operand& operand) {
    return operand.kind == OperandKind::reg && operand.component < 0 && operand.offset == 0;
  };
  return isa::effects_of(instruction.opcode).has(effect::moves) && is_register(instruction.operands[0]) &&
         (is_register(instruction.operands[1]) || instruction.operands[1].kind == OperandKind::imm);
}

class WgmmaRule {
public:
  explicit WgmmaRule(LintFunction& lint) : lint_(lint), watched_(lint.function.registers.size(), kNone) {
    for (const Instruction& instruction : lint.function.instructions)
      if (isa::effects_of(instruction.opcode).has(effect::wgmma)) {
        for_each_accumulator(instruction, [&](uint32_t reg) { watch(reg); });
        for_each_of_a(instruction, [&](uint32_t reg) { watch(reg); });
      }
    constexpr int kMostPasses = 4; // through chains of moves
    for (int pass = 0; pass < kMostPasses && count_ != 0; ++pass)
      for (const Instruction& instruction : lint.function.instructions)
        if (is_plain_move(instruction) && instruction.operands[1].kind == OperandKind::reg) {
          const uint32_t to = instruction.operands[0].reg, from = instruction.operands[1].reg;
          if (watched_[to] != kNone || watched_[from] != kNone) {
            watch(to);
            watch(from);
          }
        }
  }
  uint32_t count() const { return count_; }

  struct Product {
    enum class Flight : uint8_t { none, in_flight, waited_for } flight = Flight::none;
    bool committed = false, waited = false;
    uint8_t younger = 0; // groups that were committed after its own; the most on any path
    uint32_t instruction = kNone;
    friend bool operator==(const Product&, const Product&) = default;
  };
  struct Register {
    Product accumulator, reader;
    uint32_t written = kNone; // since the last fence, on some path
    friend bool operator==(const Register&, const Register&) = default;
  };
  struct State {
    bool fenced = false; // on some path
    std::vector<Register> registers;
  };
  State entry() const { return {!lint_.function.is_entry, std::vector<Register>(count_)}; }

  bool join(State& into, const State& from) {
    bool differs = from.fenced && !into.fenced;
    into.fenced |= from.fenced;
    for (uint32_t i = 0; i < count_; ++i) {
      const Register old = into.registers[i];
      Register& reg = into.registers[i];
      join(reg.accumulator, from.registers[i].accumulator);
      join(reg.reader, from.registers[i].reader);
      reg.written = std::min(reg.written, from.registers[i].written);
      differs |= !(old == reg);
    }
    return differs;
  }

  void step(State& state, uint32_t index, bool tells) {
    const Instruction& instruction = lint_.function.instructions[index];
    const isa::Effects does = isa::effects_of(instruction.opcode);
    if (does.has(effect::wgmma)) {
      issue(state, index, tells);
    } else if (does.has(effect::by_warpgroup | effect::fences)) {
      state.fenced = true;
      assume_fence(state);
    } else if (does.has(effect::wgmma_group | effect::commits)) {
      each_in_flight(state, [](Product& product) {
        if (std::exchange(product.committed, true))
          product.younger = std::min<uint8_t>(product.younger + 1, kMostGroups);
      });
    } else if (does.has(effect::wgmma_group | effect::waits)) {
      each_in_flight(state, [&](Product& product) {
        product.waited = true;
        if (product.committed &&
            (product.younger == kMostGroups || product.younger >= instruction.operands[0].bits))
          product.flight = Product::Flight::waited_for;
      });
    } else if (does.has(effect::calls)) { // may do all of that
      state.fenced = true;
      for (Register& reg : state.registers)
        reg = {};
    } else {
      touch(state, instruction, index, tells);
    }
  }

private:
  using Flight = Product::Flight;

  template <class F>
  static void for_each_accumulator(const Instruction& mma, F f) {
    ptx::for_each_register(mma.operands[0], [&](uint32_t reg, bool) { f(reg); });
  }
  template <class F>
  static void for_each_of_a(const Instruction& mma, F f) {
    if (mma.operands[1].kind == OperandKind::vector)
      ptx::for_each_register(mma.operands[1], [&](uint32_t reg, bool) { f(reg); });
  }
  template <class F>
  static void each_in_flight(State& state, F f) {
    for (Register& reg : state.registers)
      for (Product* product : {&reg.accumulator, &reg.reader})
        if (product->flight == Flight::in_flight)
          f(*product);
  }

  void watch(uint32_t reg) {
    if (watched_[reg] == kNone)
      watched_[reg] = count_++;
  }
  std::string name(uint32_t reg) const { return lint_.function.register_name(reg); }

  static void join(Product& into, const Product& from) {
    if (into.flight != from.flight) {
      if (into.flight < from.flight)
        into = from;
      return;
    }
    into.committed |= from.committed;
    into.waited |= from.waited;
    into.younger = std::max(into.younger, from.younger);
    into.instruction = std::min(into.instruction, from.instruction);
  }

  void tell_early(const Product& product, uint32_t index, const std::string& what) {
    const uint32_t at = lint_.line(product.instruction);
    std::string how = "no wait_group lies between";
    if (product.waited)
      how =
          product.committed ? "wait_group leaves it in flight" : "it was not committed before the wait_group";
    lint_.warn(product.waited ? "wgmma.wait" : "wgmma.inflight", index,
               fmt::format("{} while the wgmma.mma_async of line {} is in flight: {}", what, at, how),
               product.committed
                   ? fmt::format("wgmma.wait_group {} after line {}", product.younger, at)
                   : fmt::format("wgmma.commit_group after line {}, and wgmma.wait_group 0", at));
  }

  // One place is told of a wait or fence that is missing: from there on it is as if it stood there.
  static void assume_wait(State& state) {
    each_in_flight(state, [](Product& product) { product.flight = Flight::waited_for; });
  }
  static void assume_fence(State& state) {
    for (Register& reg : state.registers)
      reg.written = kNone;
  }

  void check_written(State& state, uint32_t number, uint32_t index, bool tells) {
    const Register& reg = state.registers[watched_[number]];
    if (reg.written == kNone)
      return;
    if (tells)
      lint_.warn("wgmma.fence", index,
                 fmt::format("{} was written at line {}, and no wgmma.fence lies between", name(number),
                             lint_.line(reg.written)),
                 fmt::format("wgmma.fence after line {}", lint_.line(reg.written)));
    assume_fence(state);
  }

  void issue(State& state, uint32_t index, bool tells) {
    const Instruction& mma = lint_.function.instructions[index];
    if (tells && !state.fenced && !std::exchange(first_told_, true))
      lint_.warn("wgmma.fence", index, "the warp's first wgmma.mma_async, and no wgmma.fence before it",
                 "wgmma.fence before it, after its registers are written");
    const Product product{.flight = Flight::in_flight, .instruction = index};
    for_each_of_a(mma, [&](uint32_t number) {
      Register& reg = state.registers[watched_[number]];
      if (tells && reg.accumulator.flight == Flight::in_flight)
        tell_early(reg.accumulator, index, fmt::format("{}, of A, is an accumulator", name(number)));
      check_written(state, number, index, tells);
      reg.reader = product;
    });
    for_each_accumulator(mma, [&](uint32_t number) {
      Register& reg = state.registers[watched_[number]];
      const Product& before = reg.accumulator;
      if (tells && before.flight == Flight::in_flight &&
          shape_of(lint_.function.instructions[before.instruction]) != shape_of(mma))
        tell_early(before, index, fmt::format("{} is an accumulator of another shape", name(number)));
      check_written(state, number, index, tells);
      reg.accumulator = product;
      reg.written = kNone;
    });
  }

  void touch(State& state, const Instruction& instruction, uint32_t index, bool tells) {
    // Under a guard it may go with what guards a product.
    const bool is_sure = instruction.guard.reg == kNone;
    const bool moves = is_plain_move(instruction);
    const auto at = [&](uint32_t reg) {
      return watched_[reg] == kNone ? nullptr : &state.registers[watched_[reg]];
    };
    for_each_read(instruction, [&](uint32_t number, size_t) {
      if (const Register* reg = at(number);
          reg && is_sure && !moves && reg->accumulator.flight == Flight::in_flight) {
        if (tells)
          tell_early(reg->accumulator, index, fmt::format("{} is read", name(number)));
        assume_wait(state);
      }
    });
    if (moves) {
      Register* to = at(instruction.operands[0].reg);
      if (!to)
        return;
      const Operand& source = instruction.operands[1];
      const Register* from = source.kind == OperandKind::reg ? at(source.reg) : nullptr;
      *to = from ? *from : Register{};
      return;
    }
    for_each_written(instruction, [&](uint32_t number) {
      Register* reg = at(number);
      if (!reg)
        return;
      for (const Product* product : {&reg->accumulator, &reg->reader})
        if (is_sure && product->flight == Flight::in_flight) {
          if (tells)
            tell_early(*product, index, fmt::format("{} is written", name(number)));
          assume_wait(state);
        }
      if (is_sure)
        *reg = {};
      reg->written = index;
    });
  }

  LintFunction& lint_;
  std::vector<uint32_t> watched_; // number by register; kNone: of no interest
  uint32_t count_ = 0;
  bool first_told_ = false; // that nothing fences the first product
};

} // namespace

void lint_wgmma(LintFunction& lint) {
  constexpr uint64_t kMostState = uint64_t{1} << 22; // registers times blocks
  WgmmaRule rule(lint);
  if (rule.count() != 0 && uint64_t{rule.count()} * lint.flow.blocks.size() <= kMostState)
    solve(lint, rule);
}

} // namespace lemma::verify
