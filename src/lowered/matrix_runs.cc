// A run grows while the next instruction reads and writes no register that the run writes, and writes none
// that it reads; but it may add to what an earlier one has made: in the same registers, or in others where
// nobody else reads that. So each D has a chain of steps, with an A and a B each. What stands between is no
// part of the run; it too leaves those registers alone, as the loads of the next step's A and B do. The
// chains then become products: one for all chains of As that meet the same chains of Bs. What is left over
// stays as it is: within a run the order of different Ds does not matter.
#include "lowered/matrix_runs.h"

#include "isa/catalogue.h"
#include "isa/form.h"
#include "isa/machine.h"
#include "isa/matrix_model.h"
#include "layout/register_blocks.h"
#include "lowered/loops.h"
#include "lowered/uses.h"
#include "numeric/dot.h"

#include <algorithm>
#include <map>
#include <optional>

namespace lemma::lowered {
namespace {

using isa::Opcode;
using isa::Type;
using layout::Matrix;

// What all instructions of a spelling have in common: their operands are D A B C.
struct Shape {
  layout::Shape shape;
  layout::RegisterBlocks blocks;
  size_t a = 0, b = 0, d = 0; // operands; C has as many as D
  size_t distinct_a = 0;      // registers
  size_t longest_chain = 1;
  bool is_f64 = false;

  // The loops take rows and columns by so many.
  int together() const { return is_f64 ? 8 : 16; }
  size_t eights_of_a() const { return static_cast<size_t>(shape.m) / 8; }
};

// Elements lie in their registers one beside the other, in whole bytes.
bool are_dense(const isa::MatrixRow& row, Matrix matrix, Type type) {
  const int bits = isa::container_bits(row, matrix, type);
  return bits != 4 && bits == isa::bits_of(type);
}

// Nothing: its operands are not to be taken from registers as they are, or the machine has no such
// arithmetic.
std::optional<Shape> shape_of(const isa::Binding& binding, int sm) {
  const isa::MatrixRow* row = binding.form->matrix;
  const auto arithmetic = isa::arithmetic_of(sm);
  if (!row || !arithmetic || row->sparse != isa::Qual::none || row->scale_vec != isa::Qual::none ||
      row->fragments == isa::FragmentRule::mma_m8n8k4)
    return std::nullopt;
  const auto model = isa::matrix_model(*row, binding.quals, binding.types, *arithmetic);
  const auto type = [&](Matrix matrix) { return isa::type_of(*row, matrix, binding.types); };
  if (!model || model->narrow_result || !are_dense(*row, Matrix::a, type(Matrix::a)) ||
      !are_dense(*row, Matrix::b, type(Matrix::b)) || type(Matrix::c) != type(Matrix::d))
    return std::nullopt;
  const auto fragment = [&](Matrix matrix) {
    return isa::fragment_of(*row, matrix, type(matrix), isa::order_of(binding, matrix));
  };
  const layout::Fragment a = fragment(Matrix::a), b = fragment(Matrix::b), d = fragment(Matrix::d);
  const auto blocks = layout::register_blocks(a, b, d);
  if (!blocks)
    return std::nullopt;
  Shape shape;
  shape.shape = row->shape;
  shape.blocks = *blocks;
  shape.a = static_cast<size_t>(a.registers());
  shape.b = static_cast<size_t>(b.registers());
  shape.d = static_cast<size_t>(d.registers());
  shape.distinct_a = static_cast<size_t>(a.distinct_registers());
  shape.is_f64 = type(Matrix::d) == Type::f64;
  const int k = row->shape.k;
  shape.longest_chain =
      std::min(kMostSteps, static_cast<size_t>(numeric::longest_chain(numeric::chainable(model->dot, k), k)));
  if (row->shape.m % shape.together() != 0)
    return std::nullopt;
  return shape;
}

// The registers of a fragment, one after the other.
using Registers = std::span<const Operand>;

bool same(Registers a, Registers b) {
  return std::ranges::equal(a, b);
}

// Fragments of one matrix, a step after the other.
using Chain = std::vector<Registers>;

// The number of a fragment, or of a chain, among those that are known; their count: it is none of them.
size_t find(const std::vector<Registers>& known, Registers registers) {
  const auto is_same = [&](Registers other) { return same(registers, other); };
  return static_cast<size_t>(std::ranges::find_if(known, is_same) - known.begin());
}
size_t find(const std::vector<Chain>& known, const Chain& chain) {
  const auto is_same = [&](const Chain& other) { return std::ranges::equal(chain, other, same); };
  return static_cast<size_t>(std::ranges::find_if(known, is_same) - known.begin());
}

// An output, and what is added to it.
struct Output {
  Registers c, d;                  // the first step's C, the last one's D
  size_t first_a = 0, first_b = 0; // of the first step, among those of the run
  Chain a, b;
  std::vector<uint32_t> insts;
};

// --- From outputs to products

// Outputs that have equally many steps, by the numbers of their chains.
class Grid {
public:
  Grid(const std::vector<Output>& outputs, size_t steps) : steps_(steps) {
    for (const Output& output : outputs)
      if (output.insts.size() == steps)
        places_.push_back({number_of(a_, output.a), number_of(b_, output.b), &output});
  }

  // One product for all As that meet the same Bs.
  void add_products(const Shape& shape, MatrixRun& run) const {
    std::vector<std::vector<size_t>> met(a_.size()); // by A: the Bs
    for (const Place& place : places_)
      met[place.a].push_back(place.b);
    for (std::vector<size_t>& of_a : met)
      std::ranges::sort(of_a);
    for (size_t first = 0; first < met.size(); ++first) {
      const std::vector<size_t> b = met[first];
      std::vector<size_t> a;
      for (size_t i = first; i < met.size() && a.size() < kMostChainsOfA && !b.empty(); ++i)
        if (met[i] == b) {
          a.push_back(i);
          met[i].clear();
        }
      add_product(shape, a, b, run);
    }
  }

private:
  struct Place {
    size_t a, b;
    const Output* output;
  };

  static size_t number_of(std::vector<Chain>& known, const Chain& chain) {
    const size_t number = find(known, chain);
    if (number == known.size())
      known.push_back(chain);
    return number;
  }

  const Output& at(size_t i, size_t j) const {
    const auto is_there = [&](const Place& place) { return place.a == i && place.b == j; };
    return *std::ranges::find_if(places_, is_there)->output;
  }

  // Of those As, which all meet those Bs. The loops want columns in sixteens: one B of eight may be left
  // over.
  void add_product(const Shape& shape, const std::vector<size_t>& a, std::vector<size_t> b,
                   MatrixRun& run) const {
    const auto fit = static_cast<size_t>(std::max(1, shape.together() / shape.shape.n));
    b.resize(b.size() / fit * fit);
    if (b.empty())
      return;
    MatrixProduct& product = run.products.emplace_back();
    product.m = static_cast<int>(a.size()) * shape.shape.m;
    product.n = static_cast<int>(b.size()) * shape.shape.n;
    product.steps = static_cast<int>(steps_);
    const size_t eights = shape.eights_of_a(), eights_of_b = static_cast<size_t>(shape.shape.n) / 8;
    const size_t in_row = shape.distinct_a / eights;
    for (const size_t i : a)
      list(a_[i], shape.blocks.a.data(), eights, in_row, product.a);
    for (const size_t j : b)
      list(b_[j], shape.blocks.b.data(), eights_of_b, in_row, product.b);
    // Registers of the same eight rows follow each other, D fragment after D fragment.
    const size_t in_eight = shape.d / eights;
    for (const size_t i : a)
      for (size_t eight = 0; eight < eights; ++eight)
        for (const size_t j : b) {
          const Output& output = at(i, j);
          for (size_t r = eight * in_eight; r < (eight + 1) * in_eight; ++r) {
            product.c.push_back(output.c[shape.blocks.d[r]]);
            product.d.push_back(output.d[shape.blocks.d[r]]);
          }
          if (eight == 0)
            run.insts.insert(run.insts.end(), output.insts.begin(), output.insts.end());
        }
  }

  // The registers of a chain, of `eights` rows in eights: row eight after row eight, and in them step after
  // step.
  static void list(const Chain& chain, const uint8_t* registers, size_t eights, size_t in_row,
                   std::vector<Operand>& out) {
    for (size_t eight = 0; eight < eights; ++eight)
      for (const Registers step : chain)
        for (size_t i = 0; i < in_row; ++i)
          out.push_back(step[registers[eight * in_row + i]]);
  }

  size_t steps_;
  std::vector<Chain> a_, b_; // that are different
  std::vector<Place> places_;
};

// --- From instructions to outputs

class MatrixRuns {
public:
  explicit MatrixRuns(Function& function)
      : function_(function), reads_(count_reads(function)), read_(function.registers.size()),
        read_again_(read_), written_(read_) {}

  void visit(const Block& block) {
    block_ = &block;
    for (uint32_t i = block.begin; i < block.end; ++i)
      if (const Shape* shape = shape_of_member(function_.insts[i]))
        take(i, *shape);
      else if (!may_stand_between(function_.insts[i]))
        end();
    end();
  }

private:
  // Null: the instruction is in no run.
  const Shape* shape_of_member(const Inst& inst) {
    const ptx::Instruction* instruction = function_.instruction_of(inst);
    if (!instruction || (instruction->opcode != Opcode::mma && instruction->opcode != Opcode::wmma_mma) ||
        !is_plain(inst))
      return nullptr;
    const auto [known, is_new] = shapes_.try_emplace(instruction->binding);
    if (is_new)
      known->second = shape_of(*instruction->binding, function_.sm);
    const std::optional<Shape>& shape = known->second;
    if (!shape || inst.destinations != shape->d || inst.count != shape->a + shape->b + 2 * shape->d)
      return nullptr;
    return each_block_is_a_register(inst, *shape) ? &*shape : nullptr;
  }

  // ... of its own; but D's may be C's.
  bool each_block_is_a_register(const Inst& inst, const Shape& shape) const {
    const std::span<const Operand> all = function_.operands_of(inst);
    const size_t first_c = shape.d + shape.a + shape.b;
    for (size_t i = 0; i < shape.d; ++i)
      for (size_t j = 0; j < all.size(); ++j)
        if (!all[i].is_register() || (i != j && j != first_c + i && all[i] == all[j]))
          return false;
    return true;
  }

  // What it does is the same before the products that are put off and after them. Of a call that is not
  // known: it may have runs of its own.
  bool may_stand_between(const Inst& inst) const {
    if (insts_.empty())
      return true;
    if (effects_of(function_, inst).has(isa::effect::calls))
      return false;
    bool may = true;
    for_each_source(function_, inst, [&](uint32_t reg) { may &= written_[reg] != number_; });
    for_each_write(function_, inst,
                   [&](uint32_t reg) { may &= written_[reg] != number_ && read_[reg] != number_; });
    return may;
  }

  Registers a_of(const Inst& inst) const { return function_.sources_of(inst).first(shape_->a); }
  Registers b_of(const Inst& inst) const { return function_.sources_of(inst).subspan(shape_->a, shape_->b); }
  Registers c_of(const Inst& inst) const { return function_.sources_of(inst).subspan(shape_->a + shape_->b); }
  Registers d_of(const Inst& inst) const { return function_.destinations_of(inst); }

  void take(uint32_t i, const Shape& shape) {
    if (!insts_.empty() && (shape_ != &shape || !fits(function_.insts[i])))
      end();
    shape_ = &shape;
    add(i);
  }

  // The output that the instruction adds a step to; null: it begins one, or adds to something else too.
  Output* continued(const Inst& inst) {
    const auto at = std::ranges::find_if(outputs_, [&](const Output& o) { return same(o.d, c_of(inst)); });
    const bool continues =
        at != outputs_.end() && at->insts.size() < shape_->longest_chain && may_go_on_to(*at, inst);
    return continues ? &*at : nullptr;
  }

  // The output's D so far is never written if the instruction has another one: nobody else may read it. The
  // other one may be the chain's C.
  bool may_go_on_to(const Output& output, const Inst& inst) const {
    if (same(output.d, d_of(inst)))
      return true;
    const bool is_c = same(output.c, d_of(inst));
    for (size_t i = 0; i < output.d.size(); ++i) {
      const uint32_t reg = d_of(inst)[i].index;
      if (reads_[output.d[i].index] != 1 || written_[reg] == number_ ||
          (is_c ? read_again_[reg] : read_[reg]) == number_)
        return false;
    }
    return true;
  }

  bool fits(const Inst& inst) {
    const bool continues = continued(inst) != nullptr;
    const std::span<const Operand> all = function_.operands_of(inst);
    for (size_t i = 0; i < all.size(); ++i) {
      const bool is_written = i < shape_->d;
      const bool is_accumulator = is_written || i >= shape_->d + shape_->a + shape_->b;
      if (all[i].is_register() && !(continues && is_accumulator) &&
          (written_[all[i].index] == number_ || (is_written && read_[all[i].index] == number_)))
        return false;
    }
    return continues || has_room(inst);
  }

  // For another output: no other begins with the same A and B, nor are there too many of either.
  bool has_room(const Inst& inst) const {
    const size_t a = find(first_a_, a_of(inst)), b = find(first_b_, b_of(inst));
    const auto begins_so = [&](const Output& output) { return output.first_a == a && output.first_b == b; };
    return a < kMostChainsOfA && b < kMostChainsOfB && std::ranges::none_of(outputs_, begins_so);
  }

  Output& begin(const Inst& inst) {
    Output& output = outputs_.emplace_back();
    output.c = c_of(inst);
    output.first_a = find(first_a_, a_of(inst));
    output.first_b = find(first_b_, b_of(inst));
    if (output.first_a == first_a_.size())
      first_a_.push_back(a_of(inst));
    if (output.first_b == first_b_.size())
      first_b_.push_back(b_of(inst));
    return output;
  }

  void add(uint32_t i) {
    const Inst& inst = function_.insts[i];
    insts_.push_back(i);
    Output* output = continued(inst);
    if (!output)
      output = &begin(inst);
    output->d = d_of(inst);
    output->a.push_back(a_of(inst));
    output->b.push_back(b_of(inst));
    output->insts.push_back(i);
    for_each_source(function_, inst, [&](uint32_t reg) {
      if (read_[reg] == number_)
        read_again_[reg] = number_;
      read_[reg] = number_;
    });
    for_each_write(function_, inst, [&](uint32_t reg) { written_[reg] = number_; });
  }

  void end() {
    if (!insts_.empty())
      make_run();
    insts_.clear();
    outputs_.clear();
    first_a_.clear();
    first_b_.clear();
    ++number_;
  }

  void make_run() {
    MatrixRun run;
    for (size_t steps = 1; steps <= kMostSteps; ++steps)
      Grid(outputs_, steps).add_products(*shape_, run);
    if (run.insts.empty())
      return;
    std::ranges::sort(run.insts);
    if (shape_->is_f64)
      run.left = loads_to_leave(run);
    for (const uint32_t load : run.left)
      function_.insts[load].notes.add(Note::left);
    function_.matrix_runs.push_back(std::move(run));
  }

  // The loads of all that is multiplied; empty: one of them has to load.
  std::vector<uint32_t> loads_to_leave(const MatrixRun& run) const {
    std::map<uint32_t, uint32_t> wanted; // how often the products read each register
    for (const MatrixProduct& product : run.products)
      for (const auto* operands : {&product.a, &product.b}) {
        const size_t others = operands == &product.a ? product.b.size() : product.a.size();
        for (const Operand& operand : *operands) {
          if (!operand.is_register())
            return {};
          wanted[operand.index] += static_cast<uint32_t>(others / static_cast<size_t>(product.steps));
        }
      }
    if (std::ranges::any_of(wanted, [&](const auto& each) { return reads_[each.first] != each.second; }))
      return {};
    std::vector<uint32_t> loads;
    for (uint32_t i = run.insts.back() + 1; i-- > block_->begin && !wanted.empty();) {
      const Inst& inst = function_.insts[i];
      if (may_leave(inst) && wanted.erase(function_.destinations_of(inst)[0].index) != 0)
        loads.push_back(i);
      else if (!keeps_memory(inst))
        return {};
    }
    return wanted.empty() ? loads : std::vector<uint32_t>{};
  }

  // A load of one f64 a lane that has nothing to ask before it loads.
  bool may_leave(const Inst& inst) const {
    const ptx::Instruction* instruction = function_.instruction_of(inst);
    return instruction && instruction->opcode == Opcode::wmma_load && inst.destinations == 1 &&
           function_.destinations_of(inst)[0].is_register() &&
           function_.destinations_of(inst)[0].bytes == 8 && is_plain(inst);
  }

  // Neither writes memory nor meets others, who may have written it.
  bool keeps_memory(const Inst& inst) const {
    const ptx::Instruction* instruction = function_.instruction_of(inst);
    if (!instruction || inst.op != Op::instruction)
      return inst.op == Op::special && inst.source != kNone;
    switch (instruction->opcode) {
    case Opcode::wmma_load:
    case Opcode::wmma_mma:
    case Opcode::mma:
      return true;
    case Opcode::ld:
      return instruction->one_of({isa::Qual::relaxed, isa::Qual::acquire, isa::Qual::volatile_,
                                  isa::Qual::mmio}) == isa::Qual::none;
    default:
      return isa::effects_of(instruction->opcode).has(isa::effect::pure);
    }
  }

  Function& function_;
  const Block* block_ = nullptr;
  const Shape* shape_ = nullptr; // of the run
  std::map<const isa::Binding*, std::optional<Shape>> shapes_;
  std::vector<uint32_t> insts_; // of the run
  std::vector<Output> outputs_;
  std::vector<Registers> first_a_, first_b_; // that are different, of the first steps
  std::vector<uint32_t> reads_;              // by register: how often in all of the code
  // By register: the run that does; `read_again_` more than once.
  std::vector<uint64_t> read_, read_again_, written_;
  uint64_t number_ = 1; // of the run
};

// --- In loops

void settle(const Function& function, const Block& block, MatrixRun& run) {
  bool has_load = false, has_first = false;
  uint32_t first_load = run.insts.back();
  for (uint32_t i = run.insts.back(); i-- > block.begin;) {
    const Notes& notes = function.insts[i].notes;
    const bool is_load = notes.has(Note::left) && notes.has(Note::uniform_lines);
    if (function.insts[i].source == kNone ||
        !(is_load || notes.has(Note::launch_constant) || std::ranges::binary_search(run.insts, i)))
      break;
    has_first |= i == run.insts.front();
    has_load |= is_load;
    if (is_load)
      first_load = i;
  }
  if (has_first && has_load)
    run.settled_from = first_load;
}

} // namespace

void find_matrix_runs(Function& function) {
  const auto multiplies = [&](const Inst& inst) {
    const ptx::Instruction* instruction = function.instruction_of(inst);
    return instruction && (instruction->opcode == Opcode::mma || instruction->opcode == Opcode::wmma_mma);
  };
  if (std::ranges::none_of(function.insts, multiplies))
    return;
  MatrixRuns runs(function);
  for (const Block& block : function.blocks)
    runs.visit(block);
  for (MatrixRun& run : function.matrix_runs) {
    const uint32_t last = run.insts.back();
    const auto after = std::ranges::upper_bound(function.blocks, last, {}, &Block::begin);
    if (run.insts.size() > 1 && loop_around(function, last))
      settle(function, *std::prev(after), run);
  }
}

} // namespace lemma::lowered
