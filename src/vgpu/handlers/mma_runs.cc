// A run grows while the next instruction reads and writes no register that the run writes, and writes none
// that it reads; but it may add to what an earlier one has made, in the same registers. So each D has a chain
// of steps, with an A and a B each. The chains then become products: one, if every chain of As meets every
// chain of Bs, as where a warp multiplies a block of rows with a block of columns; else one for each chain of
// As. What is left over stays as it is: within a run the order of different Ds does not matter.
#include "vgpu/handlers/mma_runs.h"

#include "vgpu/handlers/matrix_operands.h"
#include "vgpu/handlers/mma.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

namespace lemma::vgpu {
namespace {

constexpr size_t kMostA = 8, kMostB = 16; // chains of fragments of a product
constexpr size_t kMostSteps = 8;          // of a chain

// The loops take rows and columns by so many.
int together(const MmaPlan& plan) {
  return plan.register_types[static_cast<size_t>(layout::Matrix::d)] == isa::Type::f64 ? 8 : 16;
}
size_t eights_of_a(const MmaPlan& plan) {
  return static_cast<size_t>(plan.shape.m) / 8;
}

// The registers of a fragment, one after the other.
using Registers = const Slot*;

bool same_registers(Registers a, Registers b, int count) {
  return std::equal(a, a + count, b,
                    [](const Slot& x, const Slot& y) { return x.base == y.base && x.offset == y.offset; });
}

// Fragments of one matrix, a step after the other.
using Chain = std::vector<Registers>;

// The registers are in the order in which their blocks are a tile's (numeric::DotTile).
struct Product {
  int m = 0, n = 0;
  int steps = 1;
  std::vector<Slot> a, b, c, d;
};

struct MmaRun {
  const MmaPlan* plan = nullptr;
  numeric::DotModel model; // of chains
  uint32_t count = 0;      // instructions
  uint32_t end = 0;        // the pc after the last
  std::vector<Product> products;
};

std::byte* lanes_of(const Exec& x, const Slot& slot) {
  return x.bases[slot.base] + slot.offset;
}

template <class Byte>
void list_blocks(const Exec& x, const std::vector<Slot>& registers, Byte** blocks) {
  for (const Slot& slot : registers)
    *blocks++ = lanes_of(x, slot);
}

void multiply(Exec& x, const MmaRun& run, const Product& product) {
  const std::byte* a[kMostA * kMostSteps * kMaxFragmentRegisters];
  const std::byte* b[kMostB * kMostSteps * kMaxFragmentRegisters];
  const std::byte* c[kMostA * kMostB * kMaxFragmentRegisters];
  std::byte* d[kMostA * kMostB * kMaxFragmentRegisters];
  list_blocks(x, product.a, a);
  list_blocks(x, product.b, b);
  list_blocks(x, product.c, c);
  list_blocks(x, product.d, d);
  numeric::DotTile tile;
  tile.m = product.m;
  tile.n = product.n;
  tile.k = run.plan->shape.k * product.steps;
  tile.blocks = d;
  tile.c_blocks = c;
  tile.a_blocks = a;
  tile.b_blocks = b;
  tile.even_columns_first = run.plan->blocks->even_columns_first;
  const MatrixOutputs outputs = numeric::dot(run.model, tile);
  for (int step = 0; step < product.steps; ++step)
    x.stats.matrix_outputs += outputs;
}

Step run_first(Exec& x, const DecodedInst& in) {
  const auto& run = *static_cast<const MmaRun*>(in.extra);
  x.warp->mma_run_end = 0;
  if (x.observer || x.active != kAllLanes)
    return multiply(x, in, *run.plan);
  for (const Product& product : run.products)
    multiply(x, run, product);
  x.stats.matrix_flops += run.plan->flops * run.count;
  x.warp->mma_run_end = run.end;
  return Step::next;
}

Step run_other(Exec& x, const DecodedInst& in) {
  if (x.pc < x.warp->mma_run_end)
    return Step::next;
  return multiply(x, in, *static_cast<const MmaRun*>(in.extra)->plan);
}

class MmaRuns {
public:
  explicit MmaRuns(Code& code) : code_(code), read_(code.registers.size(), 0), written_(read_) {}

  void visit(const PcRange& block) {
    for (uint32_t pc = block.begin; pc < block.end; ++pc) {
      DecodedInst& in = code_.insts[pc];
      if (!may_be_in_one(in)) {
        end();
        continue;
      }
      take(in);
    }
    end();
  }

private:
  const MmaPlan& plan_of(const DecodedInst& in) const { return *static_cast<const MmaPlan*>(in.extra); }

  bool may_be_in_one(const DecodedInst& in) const {
    if (in.handler != run_mma || in.guarded || in.checks_init || in.marks_written)
      return false;
    const MmaPlan& plan = plan_of(in);
    if (!plan.blocks || plan.shape.m % together(plan) != 0)
      return false;
    const int end_of_ab = in.dst_count + plan.first_c();
    for (int i = 0; i < in.dst_count; ++i) // each block is a register of its own
      for (int j = 0; j < end_of_ab; ++j)
        if (in.ops[i].reg == ptx::kNone ||
            (i != j && in.ops[j].base == 0 && in.ops[i].offset == in.ops[j].offset))
          return false;
    return true;
  }

  void take(DecodedInst& in) {
    if (!members_.empty() && !fits(in))
      end();
    add(in);
  }

  // An output, and what is added to it.
  struct Output {
    Registers c = nullptr, d = nullptr;
    size_t first_a = 0, first_b = 0; // in first_a_ and first_b_
    Chain a, b;
    std::vector<DecodedInst*> members;
  };

  // The output that the instruction adds a step to; none: it begins one, or adds to something else too.
  Output* continued(const DecodedInst& in) {
    const int count = in.dst_count;
    for (Output& output : outputs_)
      if (same_registers(output.d, in.ops, count))
        return same_registers(output.d, c_of(in), count) && output.members.size() < most_steps(in) ? &output
                                                                                                   : nullptr;
    return nullptr;
  }
  size_t most_steps(const DecodedInst& in) const {
    if (!chains_)
      return 1;
    const MmaPlan& plan = plan_of(in);
    const int longest = numeric::longest_chain(numeric::chainable(plan.model, plan.shape.k), plan.shape.k);
    return std::min(kMostSteps, static_cast<size_t>(longest));
  }

  bool fits(const DecodedInst& in) {
    if (in.extra != members_.front()->extra)
      return false;
    const bool continues = continued(in) != nullptr;
    const int end_of_ab = in.dst_count + plan_of(in).first_c();
    for (int i = 0; i < in.op_count; ++i) {
      const uint32_t reg = in.ops[i].reg;
      const bool is_accumulator = i < in.dst_count || i >= end_of_ab;
      if (reg != ptx::kNone && !(continues && is_accumulator) &&
          (written_[reg] == number_ || (i < in.dst_count && read_[reg] == number_)))
        return false;
    }
    return continues || has_room(in);
  }

  // For another output: no other begins with the same A and B, nor are there too many of either.
  bool has_room(const DecodedInst& in) const {
    const size_t a = first_a(in), b = first_b(in);
    return a < kMostA && b < kMostB &&
           std::none_of(
               outputs_.begin(), outputs_.end(),
               [&](const Output& output) { return output.first_a == a && output.first_b == b; });
  }
  size_t first_a(const DecodedInst& in) const { return find(first_a_, a_of(in), plan_of(in).a); }
  size_t first_b(const DecodedInst& in) const { return find(first_b_, b_of(in), plan_of(in).b); }
  static size_t find(const std::vector<Registers>& known, Registers registers, const layout::TileMap& map) {
    const auto at = std::find_if(known.begin(), known.end(), [&](Registers other) {
      return same_registers(registers, other, map.registers());
    });
    return static_cast<size_t>(at - known.begin());
  }

  Output& begin(const DecodedInst& in) {
    Output& output = outputs_.emplace_back();
    output.c = c_of(in);
    output.d = in.ops;
    output.first_a = first_a(in);
    output.first_b = first_b(in);
    if (output.first_a == first_a_.size())
      first_a_.push_back(a_of(in));
    if (output.first_b == first_b_.size())
      first_b_.push_back(b_of(in));
    return output;
  }

  void add(DecodedInst& in) {
    members_.push_back(&in);
    Output* output = continued(in);
    if (!output)
      output = &begin(in);
    output->a.push_back(a_of(in));
    output->b.push_back(b_of(in));
    output->members.push_back(&in);
    for (int i = 0; i < in.op_count; ++i)
      if (in.ops[i].reg != ptx::kNone)
        (i < in.dst_count ? written_ : read_)[in.ops[i].reg] = number_;
  }

  bool are_equally_deep() const {
    return std::all_of(outputs_.begin(), outputs_.end(), [&](const Output& output) {
      return output.members.size() == outputs_.front().members.size();
    });
  }

  void end() {
    if (!are_equally_deep()) {
      // As runs of one step each.
      const std::vector<DecodedInst*> members = members_;
      clear();
      chains_ = false;
      for (DecodedInst* member : members)
        take(*member);
      end();
      chains_ = true;
      return;
    }
    if (!outputs_.empty())
      make_run();
    clear();
  }

  void clear() {
    members_.clear();
    outputs_.clear();
    first_a_.clear();
    first_b_.clear();
    ++number_;
  }

  void make_run() {
    auto run = std::make_shared<MmaRun>();
    const MmaPlan& plan = plan_of(*members_.front());
    run->plan = &plan;
    run->model = numeric::chainable(plan.model, plan.shape.k);
    std::vector<Chain> a, b; // that are different
    std::vector<Place> places;
    for (const Output& output : outputs_)
      places.push_back({index_of(a, output.a, plan.a), index_of(b, output.b, plan.b)});
    std::vector<DecodedInst*> taken;
    std::vector<size_t> all(a.size());
    std::iota(all.begin(), all.end(), size_t{0});
    if (places.size() == a.size() * b.size() && a.size() <= kMostA && b.size() <= kMostB)
      add_product(*run, a, b, places, all, taken);
    else
      for (const size_t i : all)
        add_product(*run, a, b, places, {i}, taken);
    if (taken.empty())
      return;
    const auto [first, last] = std::minmax_element(taken.begin(), taken.end());
    run->count = static_cast<uint32_t>(taken.size());
    run->end = static_cast<uint32_t>(*last - code_.insts.data()) + 1;
    for (DecodedInst* member : taken) {
      member->handler = member == *first ? run_first : run_other;
      member->extra = run.get();
    }
    code_.extras.push_back(std::move(run));
  }

  struct Place {
    size_t a, b; // of an output: the numbers of its chains
  };

  // Of those As, which meet the same Bs. The loops want columns in sixteens: one B of eight may be left over.
  void add_product(MmaRun& run, const std::vector<Chain>& as, const std::vector<Chain>& bs,
                   const std::vector<Place>& places, const std::vector<size_t>& a,
                   std::vector<DecodedInst*>& taken) const {
    std::vector<size_t> b;
    for (const Place& place : places)
      if (place.a == a.front())
        b.push_back(place.b);
    const MmaPlan& plan = *run.plan;
    const size_t fit = static_cast<size_t>(std::max(1, together(plan) / plan.shape.n));
    b.resize(b.size() / fit * fit);
    if (b.empty())
      return;
    Product& product = run.products.emplace_back();
    product.m = static_cast<int>(a.size()) * plan.shape.m;
    product.n = static_cast<int>(b.size()) * plan.shape.n;
    product.steps = static_cast<int>(outputs_.front().members.size());
    const size_t eights = eights_of_a(plan), eights_of_b = static_cast<size_t>(plan.shape.n) / 8;
    const size_t in_row = static_cast<size_t>(plan.a.distinct_registers()) / eights;
    for (const size_t i : a)
      list_registers(as[i], plan.blocks->a.data(), eights, in_row, product.a);
    for (const size_t j : b)
      list_registers(bs[j], plan.blocks->b.data(), eights_of_b, in_row, product.b);
    const auto output_of = [&](size_t i, size_t j) -> const Output& {
      const auto at = std::find_if(places.begin(), places.end(),
                                   [&](const Place& place) { return place.a == i && place.b == j; });
      return outputs_[static_cast<size_t>(at - places.begin())];
    };
    // Registers of the same eight rows follow each other, D fragment after D fragment.
    const auto in_eight = static_cast<size_t>(plan.d.registers()) / eights;
    for (const size_t i : a)
      for (size_t eight = 0; eight < eights; ++eight)
        for (const size_t j : b) {
          const Output& output = output_of(i, j);
          for (size_t r = eight * in_eight; r < (eight + 1) * in_eight; ++r) {
            product.c.push_back(output.c[plan.blocks->d[r]]);
            product.d.push_back(output.d[plan.blocks->d[r]]);
          }
          if (eight == 0)
            taken.insert(taken.end(), output.members.begin(), output.members.end());
        }
  }

  // The registers of a chain, of `eights` rows in eights: row eight after row eight, and in them step after
  // step.
  static void list_registers(const Chain& chain, const uint8_t* registers, size_t eights, size_t in_row,
                             std::vector<Slot>& out) {
    for (size_t eight = 0; eight < eights; ++eight)
      for (const Registers step : chain)
        for (size_t i = 0; i < in_row; ++i)
          out.push_back(step[registers[eight * in_row + i]]);
  }

  static bool same_chain(const Chain& a, const Chain& b, int registers) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](Registers x, Registers y) { return same_registers(x, y, registers); });
  }
  // The number of a chain among those that are known, which it is from now on.
  static size_t index_of(std::vector<Chain>& known, const Chain& chain, const layout::TileMap& map) {
    const auto at = std::find_if(known.begin(), known.end(), [&](const Chain& other) {
      return same_chain(chain, other, map.registers());
    });
    const auto index = static_cast<size_t>(at - known.begin());
    if (at == known.end())
      known.push_back(chain);
    return index;
  }

  static Registers a_of(const DecodedInst& in) { return in.ops + in.dst_count; }
  Registers b_of(const DecodedInst& in) const { return in.ops + in.dst_count + plan_of(in).first_b(); }
  Registers c_of(const DecodedInst& in) const { return in.ops + in.dst_count + plan_of(in).first_c(); }

  Code& code_;
  std::vector<DecodedInst*> members_;
  std::vector<Output> outputs_;
  std::vector<Registers> first_a_, first_b_; // that are different, of the first steps
  std::vector<uint64_t> read_, written_;     // by register: the run that does
  uint64_t number_ = 1;                      // of the run
  bool chains_ = true;                       // may be longer than a step
};

} // namespace

void find_mma_runs(Code& code, std::span<const PcRange> ranges) {
  if (std::none_of(code.insts.begin(), code.insts.end(),
                   [](const DecodedInst& in) { return in.handler == run_mma; }))
    return;
  MmaRuns runs(code);
  for (const PcRange& block : ranges)
    runs.visit(block);
}

} // namespace lemma::vgpu
