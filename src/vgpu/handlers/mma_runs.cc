// A run grows while the next instruction reads and writes no register that the run writes, and writes none
// that it reads; but it may add to what an earlier one has made: in the same registers, or in others where
// nobody else reads that. So each D has a chain of steps, with an A and a B each. What stands between is no
// part of the run; it too leaves those registers alone, as the loads of the next step's A and B do. The
// chains then become products: one for all chains of As that meet the same chains of Bs. What is left over
// stays as it is: within a run the order of different Ds does not matter.
#include "vgpu/handlers/mma_runs.h"

#include "vgpu/constant_groups.h"
#include "vgpu/handlers/left_loads.h"
#include "vgpu/handlers/matrix_operands.h"
#include "vgpu/handlers/mma.h"
#include "vgpu/loops.h"

#include <algorithm>
#include <cstring>
#include <memory>
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

} // namespace

struct MmaRun {
  // The registers are in the order in which their blocks are a tile's (numeric::DotTile).
  struct Product {
    int m = 0, n = 0;
    int steps = 1;
    std::vector<Slot> a, b, c, d;
    std::vector<LeftLoad> a_left, b_left; // of each of `a` and `b`, where loads leave them in memory
  };
  const MmaPlan* plan = nullptr;
  numeric::DotModel model; // of chains
  uint32_t count = 0;      // instructions
  uint32_t end = 0;        // the pc after the last
  std::vector<Product> products;
  std::vector<LeftLoad> left; // all that loads leave in memory for them
};

namespace {

using Product = MmaRun::Product;

std::byte* lanes_of(const Exec& x, const Slot& slot) {
  return x.bases[slot.base] + slot.offset;
}

template <class Byte>
void list_blocks(const Exec& x, const std::vector<Slot>& registers, Byte** blocks) {
  for (const Slot& slot : registers)
    *blocks++ = lanes_of(x, slot);
}

// The same of what loads have left in memory, all with one pitch that is none of registers'; false where that
// is not so.
bool list_left(const Exec& x, const std::vector<LeftLoad>& loads, const std::byte** blocks, size_t& pitch) {
  for (const LeftLoad& load : loads) {
    const LeftInMemory left = left_by(x, load);
    if (!left.first || left.pitch == 0 || (&load != loads.data() && left.pitch != pitch))
      return false;
    pitch = left.pitch;
    *blocks++ = left.first;
  }
  return true;
}

void multiply(Exec& x, const MmaRun& run, const Product& product) {
  const std::byte* a[kMostA * kMostSteps * kMaxFragmentRegisters];
  const std::byte* b[kMostB * kMostSteps * kMaxFragmentRegisters];
  const std::byte* c[kMostA * kMostB * kMaxFragmentRegisters];
  std::byte* d[kMostA * kMostB * kMaxFragmentRegisters];
  numeric::DotTile tile;
  if (product.a_left.empty() || !list_left(x, product.a_left, a, tile.a_pitch) ||
      !list_left(x, product.b_left, b, tile.b_pitch)) {
    bring(x, run.left);
    tile.a_pitch = tile.b_pitch = 0;
    list_blocks(x, product.a, a);
    list_blocks(x, product.b, b);
  }
  list_blocks(x, product.c, c);
  list_blocks(x, product.d, d);
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

Step multiply(Exec& x, const MmaRun& run) {
  for (const Product& product : run.products)
    multiply(x, run, product);
  x.stats.matrix_flops += run.plan->flops * run.count;
  return Step::next;
}

// One instruction of a run by itself.
Step multiply_one(Exec& x, const DecodedInst& in, const MmaRun& run) {
  bring(x, run.left);
  return multiply(x, in, *run.plan);
}

Step run_alone(Exec& x, const DecodedInst& in) {
  const auto& run = x.plan<MmaRun>(in);
  if (x.observer || x.active != kAllLanes) [[unlikely]]
    return multiply_one(x, in, run);
  return multiply(x, run);
}

// To the instruction after those that are put off together with this one, DecodedInst::imm of them.
[[gnu::always_inline]] inline Step pass_over(Exec& x, const DecodedInst& in) {
  return in.imm == 1 || !x.may_pass_over() ? Step::next : x.pass_over(static_cast<uint32_t>(in.imm));
}

Step run_first(Exec& x, const DecodedInst& in) {
  const auto& run = x.plan<MmaRun>(in);
  Step step = Step::next;
  if (x.active != kAllLanes && !whole_warp(x, in, step)) [[unlikely]]
    return step;
  x.warp->mma_run_end = x.observer ? 0 : run.end;
  return x.observer ? multiply_one(x, in, run) : pass_over(x, in);
}

// Others than the first. True: the run is multiplied together, and the warp whole.
[[gnu::always_inline]] inline bool goes_on(Exec& x, const DecodedInst& in, const MmaRun& run, Step& step) {
  if (x.warp->mma_run_end == run.end && x.active == kAllLanes) [[likely]]
    return true;
  if (x.warp->mma_run_end == run.end)
    return whole_warp(x, in, step);
  step = multiply_one(x, in, run);
  return false;
}

Step run_other(Exec& x, const DecodedInst& in) {
  Step step = Step::next;
  return goes_on(x, in, x.plan<MmaRun>(in), step) ? pass_over(x, in) : step;
}

Step run_last(Exec& x, const DecodedInst& in) {
  const auto& run = x.plan<MmaRun>(in);
  Step step = Step::next;
  return goes_on(x, in, run, step) ? multiply(x, run) : step;
}

// --- Settled runs

// Since when a run is settled: in this activation of the frame, with nothing forgotten of what is written,
// its loads leave what they have left.
struct Settled {
  uint64_t activation = 0; // 1 more than the frame's
  uint64_t forgotten = 0;  // WrittenPages::forgotten()

  friend bool operator==(const Settled&, const Settled&) = default;
};

} // namespace

// The plan of the last instruction; the first load has it as WmmaMovePlan::settled.
struct SettledRun {
  const MmaRun* run = nullptr;
  Handler load = nullptr;                 // the first load's own
  uint32_t count = 0;                     // instructions from it to the last one, which is not counted
  uint32_t place = 0;                     // of Settled in the frame
  std::vector<const WmmaMovePlan*> loads; // between
};

namespace {

template <class T>
T in_frame(const Exec& x, uint32_t offset) {
  T value;
  std::memcpy(&value, x.bases[0] + offset, sizeof value);
  return value;
}

bool has_left(const Exec& x, const WmmaMovePlan* load) {
  return in_frame<LeftInMemory>(x, load->left()).first != nullptr;
}

Settled now(const Exec& x) {
  return {.activation = x.frame->activation + 1, .forgotten = x.cta->written_pages.forgotten()};
}

// All of the warp has executed the run: it is settled if each load has left its lines, and is known to
// leave the same ones the next time.
void settle(const Exec& x, const SettledRun& settled) {
  const Settled since = now(x);
  if (in_frame<Settled>(x, settled.place) == since || !rows_are_warps(x.launch->config.block))
    return;
  for (const WmmaMovePlan* load : settled.loads) {
    const auto seen = in_frame<SeenWritten>(x, load->seen);
    if (Settled{seen.activation, seen.forgotten} != since || !has_left(x, load))
      return;
  }
  std::memcpy(x.bases[0] + settled.place, &since, sizeof since);
}

// A part of the warp may have loaded by itself, or what was left have been brought: a load that the registers
// have the elements of is executed again.
Step run_from_settled(Exec& x, const DecodedInst& in) {
  const SettledRun& settled = *x.plan<WmmaMovePlan>(in).settled;
  if (x.active == kAllLanes && x.may_pass_over() && in_frame<Settled>(x, settled.place) == now(x) &&
      std::all_of(settled.loads.begin(), settled.loads.end(),
                  [&](const WmmaMovePlan* load) { return has_left(x, load); })) {
    x.warp->mma_run_end = settled.run->end;
    return x.pass_over(settled.count);
  }
  return settled.load(x, in);
}

Step run_last_settled(Exec& x, const DecodedInst& in) {
  const auto& settled = x.plan<SettledRun>(in);
  Step step = Step::next;
  if (!goes_on(x, in, *settled.run, step))
    return step;
  settle(x, settled);
  return multiply(x, *settled.run);
}

bool leaves_uniform_lines(const DecodedInst& in) {
  return in.handler == leaving_wmma_load() && (in.flags & kUniformLines) != 0;
}

void settle_run(Code& code, const lowered::Function& lowered, uint32_t block_begin, uint32_t last) {
  const PlanId run = code.insts[last].plan;
  std::vector<const WmmaMovePlan*> loads;
  bool has_first = false; // of the run
  uint32_t first = last;  // load
  for (uint32_t pc = last; pc-- > block_begin;) {
    const DecodedInst& in = code.insts[pc];
    const bool is_load = leaves_uniform_lines(in), is_member = in.plan == run;
    if (in.source == ptx::kNone ||
        !(is_load || is_member || lowered.insts[pc].notes.has(lowered::Note::launch_constant)))
      break;
    has_first |= in.handler == run_first;
    if (is_load) {
      first = pc;
      loads.push_back(&code.plan<WmmaMovePlan>(in));
    }
  }
  if (!has_first || loads.empty())
    return;
  DecodedInst& load = code.insts[first];
  auto settled = std::make_shared<SettledRun>();
  settled->run = &code.plans.get<MmaRun>(run);
  settled->load = load.handler;
  settled->count = last - first;
  settled->place = static_cast<uint32_t>(code.frame_bytes);
  settled->loads = std::move(loads);
  code.frame_bytes += sizeof(Settled);
  auto begins = std::make_shared<WmmaMovePlan>(code.plan<WmmaMovePlan>(load));
  begins->settled = settled.get();
  load.handler = run_from_settled;
  load.plan = code.plans.add(std::move(begins));
  code.insts[last].handler = run_last_settled;
  code.insts[last].plan = code.plans.add(std::move(settled));
}

// --- Finding runs

class MmaRuns {
public:
  explicit MmaRuns(Code& code)
      : code_(code), reads_(count_reads(code)), read_(code.registers.size(), 0), read_again_(read_),
        written_(read_) {}

  void visit(const lowered::Block& block) {
    block_begin_ = block.begin;
    for (uint32_t pc = block.begin; pc < block.end; ++pc) {
      DecodedInst& in = code_.insts[pc];
      if (may_be_in_one(in))
        take(in);
      else if (!may_stand_between(in))
        end();
    }
    end();
  }

private:
  const MmaPlan& plan_of(const DecodedInst& in) const { return code_.plan<MmaPlan>(in); }

  bool may_be_in_one(const DecodedInst& in) const {
    if (in.handler != run_mma || in.guarded || in.checks_init || in.marks_written)
      return false;
    const MmaPlan& plan = plan_of(in);
    if (!plan.blocks || plan.shape.m % together(plan) != 0)
      return false;
    const auto is_place_of = [&](int source, int i) { // D's i-th may be C's i-th
      return source - plan.first_c() - in.dst_count == i;
    };
    const std::span<const Slot> ops = code_.ops_of(in);
    for (int i = 0; i < in.dst_count; ++i) // each block is a register of its own
      for (int j = 0; j < in.op_count; ++j)
        if (ops[i].reg() == ptx::kNone ||
            (i != j && !is_place_of(j, i) && ops[j].base == 0 && ops[i].offset == ops[j].offset))
          return false;
    return true;
  }

  // What it does is the same before the products that are put off and after them. Of a call that is not
  // known: it may have runs of its own.
  bool may_stand_between(const DecodedInst& in) const {
    if (members_.empty())
      return true;
    if (code_.opcode_of(in) == isa::Opcode::call)
      return false;
    const auto is_free = [&](const Slot& slot) {
      return slot.reg() == ptx::kNone || written_[slot.reg()] != number_;
    };
    const auto is_unread = [&](const Slot& slot) {
      return slot.reg() == ptx::kNone || read_[slot.reg()] != number_;
    };
    return std::ranges::all_of(code_.ops_of(in), is_free) &&
           std::ranges::all_of(code_.dsts_of(in), is_unread);
  }

  void take(DecodedInst& in) {
    if (!members_.empty() && !fits(in))
      end();
    add(in);
  }

  // An output, and what is added to it.
  struct Output {
    Registers c = nullptr, d = nullptr; // the first step's C, the last one's D
    size_t first_a = 0, first_b = 0;    // in first_a_ and first_b_
    Chain a, b;
    std::vector<DecodedInst*> members;
  };

  // The output that the instruction adds a step to; none: it begins one, or adds to something else too.
  Output* continued(const DecodedInst& in) {
    const auto at = std::find_if(outputs_.begin(), outputs_.end(), [&](const Output& output) {
      return same_registers(output.d, c_of(in), in.dst_count);
    });
    return at != outputs_.end() && at->members.size() < most_steps(in) && may_go_on_to(*at, in) ? &*at
                                                                                                : nullptr;
  }
  size_t most_steps(const DecodedInst& in) const {
    const MmaPlan& plan = plan_of(in);
    const int longest = numeric::longest_chain(numeric::chainable(plan.model, plan.shape.k), plan.shape.k);
    return std::min(kMostSteps, static_cast<size_t>(longest));
  }
  // The output's D so far is never written if the instruction has another one: nobody else may read it. The
  // other one may be the chain's C.
  bool may_go_on_to(const Output& output, const DecodedInst& in) const {
    if (same_registers(output.d, d_of(in), in.dst_count))
      return true;
    const bool is_c = same_registers(output.c, d_of(in), in.dst_count);
    for (int i = 0; i < in.dst_count; ++i) {
      const uint32_t reg = d_of(in)[i].reg();
      if (reads_[output.d[i].reg()] != 1 || written_[reg] == number_ ||
          (is_c ? read_again_[reg] : read_[reg]) == number_)
        return false;
    }
    return true;
  }

  bool fits(const DecodedInst& in) {
    if (in.plan != members_.front()->plan)
      return false;
    const bool continues = continued(in) != nullptr;
    const int end_of_ab = in.dst_count + plan_of(in).first_c();
    for (int i = 0; i < in.op_count; ++i) {
      const uint32_t reg = code_.ops_of(in)[i].reg();
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
    output->d = d_of(in);
    output->a.push_back(a_of(in));
    output->b.push_back(b_of(in));
    output->members.push_back(&in);
    for (int i = 0; i < in.op_count; ++i) {
      const uint32_t reg = code_.ops_of(in)[i].reg();
      if (reg == ptx::kNone)
        continue;
      if (i >= in.dst_count && read_[reg] == number_)
        read_again_[reg] = number_;
      (i < in.dst_count ? written_ : read_)[reg] = number_;
    }
  }

  void end() {
    if (!members_.empty())
      make_run();
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
    std::vector<DecodedInst*> taken;
    for (size_t steps = 1; steps <= kMostSteps; ++steps)
      add_products(*run, steps, taken);
    if (taken.empty())
      return;
    std::sort(taken.begin(), taken.end());
    run->count = static_cast<uint32_t>(taken.size());
    run->end = static_cast<uint32_t>(taken.back() - code_.insts.data()) + 1;
    if (plan.register_types[static_cast<size_t>(layout::Matrix::a)] == isa::Type::f64)
      leave_operands(*run);
    const PlanId id = code_.plans.add(std::move(run));
    for (DecodedInst* member : taken) {
      member->handler = run_other;
      member->plan = id;
    }
    for (size_t i = taken.size() - 1; i-- > 0;) {
      const bool goes_on = taken[i] + 1 == taken[i + 1] && i + 2 < taken.size();
      taken[i]->imm = goes_on ? taken[i + 1]->imm + 1 : 1;
    }
    taken.back()->handler = run_last;
    taken.front()->handler = taken.size() == 1 ? run_alone : run_first;
  }

  // Where loads can leave all that is multiplied in memory, they do.
  void leave_operands(MmaRun& run) {
    std::vector<uint32_t> read; // by each instruction
    for (const Product& product : run.products)
      for (const auto* operand : {&product.a, &product.b}) {
        const size_t others = operand == &product.a ? product.b.size() : product.a.size();
        for (const Slot& slot : *operand)
          read.insert(read.end(), others / static_cast<size_t>(product.steps), slot.reg());
      }
    run.left = leave_loads(code_, block_begin_, run.end, read, reads_);
    const auto find_all = [&](const std::vector<Slot>& slots, std::vector<LeftLoad>& out) {
      for (const Slot& slot : slots)
        out.push_back(*std::find_if(run.left.begin(), run.left.end(),
                                    [&](const LeftLoad& load) { return load.reg == slot.reg(); }));
    };
    for (Product& product : run.products)
      if (!run.left.empty()) {
        find_all(product.a, product.a_left);
        find_all(product.b, product.b_left);
      }
  }

  // Outputs that have equally many steps, by the numbers of their chains.
  struct Grid {
    struct Place {
      size_t a, b;
      const Output* output;
    };
    size_t steps = 0;
    std::vector<Chain> a, b; // that are different
    std::vector<Place> places;

    const Output& at(size_t i, size_t j) const {
      return *std::find_if(places.begin(), places.end(), [&](const Place& place) {
                return place.a == i && place.b == j;
              })->output;
    }
  };

  void add_products(MmaRun& run, size_t steps, std::vector<DecodedInst*>& taken) const {
    Grid grid{.steps = steps, .a = {}, .b = {}, .places = {}};
    for (const Output& output : outputs_)
      if (output.members.size() == steps)
        grid.places.push_back(
            {index_of(grid.a, output.a, run.plan->a), index_of(grid.b, output.b, run.plan->b), &output});
    std::vector<std::vector<size_t>> met(grid.a.size()); // by A: the Bs
    for (const Grid::Place& place : grid.places)
      met[place.a].push_back(place.b);
    for (std::vector<size_t>& of_a : met)
      std::sort(of_a.begin(), of_a.end());
    for (size_t first = 0; first < met.size(); ++first) {
      const std::vector<size_t> b = met[first];
      std::vector<size_t> a;
      for (size_t i = first; i < met.size() && a.size() < kMostA && !b.empty(); ++i)
        if (met[i] == b) {
          a.push_back(i);
          met[i].clear();
        }
      add_product(run, grid, a, b, taken);
    }
  }

  // Of those As, which all meet those Bs. The loops want columns in sixteens: one B of eight may be left
  // over.
  static void add_product(MmaRun& run, const Grid& grid, const std::vector<size_t>& a, std::vector<size_t> b,
                          std::vector<DecodedInst*>& taken) {
    const MmaPlan& plan = *run.plan;
    const size_t fit = static_cast<size_t>(std::max(1, together(plan) / plan.shape.n));
    b.resize(b.size() / fit * fit);
    if (b.empty())
      return;
    Product& product = run.products.emplace_back();
    product.m = static_cast<int>(a.size()) * plan.shape.m;
    product.n = static_cast<int>(b.size()) * plan.shape.n;
    product.steps = static_cast<int>(grid.steps);
    const size_t eights = eights_of_a(plan), eights_of_b = static_cast<size_t>(plan.shape.n) / 8;
    const size_t in_row = static_cast<size_t>(plan.a.distinct_registers()) / eights;
    for (const size_t i : a)
      list_registers(grid.a[i], plan.blocks->a.data(), eights, in_row, product.a);
    for (const size_t j : b)
      list_registers(grid.b[j], plan.blocks->b.data(), eights_of_b, in_row, product.b);
    // Registers of the same eight rows follow each other, D fragment after D fragment.
    const auto in_eight = static_cast<size_t>(plan.d.registers()) / eights;
    for (const size_t i : a)
      for (size_t eight = 0; eight < eights; ++eight)
        for (const size_t j : b) {
          const Output& output = grid.at(i, j);
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

  Registers d_of(const DecodedInst& in) const { return code_.dsts_of(in).data(); }
  Registers a_of(const DecodedInst& in) const { return code_.srcs_of(in).data(); }
  Registers b_of(const DecodedInst& in) const { return a_of(in) + plan_of(in).first_b(); }
  Registers c_of(const DecodedInst& in) const { return a_of(in) + plan_of(in).first_c(); }

  Code& code_;
  uint32_t block_begin_ = 0;
  std::vector<DecodedInst*> members_;
  std::vector<Output> outputs_;
  std::vector<Registers> first_a_, first_b_; // that are different, of the first steps
  std::vector<uint32_t> reads_;              // by register: how often in all of the code
  // By register: the run that does; `read_again_` more than once.
  std::vector<uint64_t> read_, read_again_, written_;
  uint64_t number_ = 1; // of the run
};

} // namespace

void find_mma_runs(Code& code, std::span<const lowered::Block> blocks) {
  if (std::none_of(code.insts.begin(), code.insts.end(),
                   [](const DecodedInst& in) { return in.handler == run_mma; }))
    return;
  MmaRuns runs(code);
  for (const lowered::Block& block : blocks)
    runs.visit(block);
}

void settle_mma_runs(Code& code, const lowered::Function& lowered) {
  for (const lowered::Block& block : lowered.blocks)
    for (uint32_t pc = block.begin; pc < block.end; ++pc)
      if (code.insts[pc].handler == run_last && loop_around(code, pc))
        settle_run(code, lowered, block.begin, pc);
}

} // namespace lemma::vgpu
