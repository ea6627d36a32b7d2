// Three ways to execute a run: one instruction by itself, all when the last one comes, and in a loop from the
// first load at once.
#include "vgpu/handlers/matrix/mma_runs.h"

#include "lowered/matrix_runs.h"
#include "vgpu/code/constant_groups.h"
#include "vgpu/handlers/matrix/left_loads.h"
#include "vgpu/handlers/matrix/matrix_operands.h"
#include "vgpu/handlers/matrix/mma.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

namespace lemma::vgpu {

struct MmaRun {
  // A lowered::MatrixProduct, placed.
  struct Product {
    numeric::DotPlan plan;
    int steps = 1;
    std::vector<Slot> a, b, c, d;
    std::vector<LeftLoad> a_left, b_left; // of each of `a` and `b`, where loads leave them in memory
  };
  const MmaPlan* plan = nullptr;
  uint32_t count = 0; // instructions
  uint32_t end = 0;   // the pc after the last
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
  const std::byte* a[lowered::kMostChainsOfA * lowered::kMostSteps * kMaxFragmentRegisters];
  const std::byte* b[lowered::kMostChainsOfB * lowered::kMostSteps * kMaxFragmentRegisters];
  const std::byte* c[lowered::kMostChainsOfA * lowered::kMostChainsOfB * kMaxFragmentRegisters];
  std::byte* d[lowered::kMostChainsOfA * lowered::kMostChainsOfB * kMaxFragmentRegisters];
  size_t a_pitch = 0, b_pitch = 0;
  if (product.a_left.empty() || !list_left(x, product.a_left, a, a_pitch) ||
      !list_left(x, product.b_left, b, b_pitch)) {
    load_left(x, run.left);
    a_pitch = b_pitch = 0;
    list_blocks(x, product.a, a);
    list_blocks(x, product.b, b);
  }
  list_blocks(x, product.c, c);
  list_blocks(x, product.d, d);
  const MatrixOutputs outputs =
      numeric::dot(product.plan, {.a = {a, a_pitch}, .b = {b, b_pitch}, .c = c, .d = d}, x.dot_scratch);
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
  load_left(x, run.left);
  return multiply(x, in, *run.plan);
}

Step run_alone(Exec& x, const DecodedInst& in) {
  const auto& run = x.plan<MmaRun>(in);
  if (!x.is_quick()) [[unlikely]]
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
  x.warp->mma_run_end = x.is_quick() ? run.end : 0;
  return x.is_quick() ? pass_over(x, in) : multiply_one(x, in, run);
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
  Handler by_itself = nullptr;            // the first load's own
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
  return settled.by_itself(x, in);
}

Step run_last_settled(Exec& x, const DecodedInst& in) {
  const auto& settled = x.plan<SettledRun>(in);
  Step step = Step::next;
  if (!goes_on(x, in, *settled.run, step))
    return step;
  settle(x, settled);
  return multiply(x, *settled.run);
}

// --- Making them

// Where the operands of a run's instructions lie: they are decoded in the order of the lowered program.
class Places {
public:
  Places(const Code& code, const lowered::Function& lowered, const lowered::MatrixRun& run) {
    for (const uint32_t pc : run.insts) {
      const std::span<const Slot> slots = code.ops_of(code.insts[pc]);
      for (size_t i = 0; i < slots.size(); ++i) {
        const lowered::Operand& operand = lowered.operands_of(lowered.insts[pc])[i];
        places_.emplace(std::pair(operand.kind, operand.index), slots[i]);
      }
    }
  }

  std::vector<Slot> of(const std::vector<lowered::Operand>& operands) const {
    std::vector<Slot> slots;
    for (const lowered::Operand& operand : operands)
      slots.push_back(places_.at({operand.kind, operand.index}));
    return slots;
  }

private:
  std::map<std::pair<lowered::OperandKind, uint32_t>, Slot> places_;
};

std::vector<LeftLoad> loads_of(const std::vector<Slot>& slots, const std::vector<LeftLoad>& all) {
  std::vector<LeftLoad> loads;
  for (size_t i = 0; i < slots.size() && !all.empty(); ++i)
    loads.push_back(*std::ranges::find(all, slots[i].offset, &LeftLoad::offset));
  return loads;
}

std::shared_ptr<MmaRun> place(Code& code, const lowered::Function& lowered, const lowered::MatrixRun& from) {
  auto run = std::make_shared<MmaRun>();
  const MmaPlan& plan = code.plan<MmaPlan>(code.insts[from.insts.front()]);
  run->plan = &plan;
  run->count = static_cast<uint32_t>(from.insts.size());
  run->end = from.insts.back() + 1;
  if (may_leave_loads(code, from.left))
    for (const uint32_t pc : from.left)
      run->left.push_back(leave_load(code, pc));
  const Places places(code, lowered, from);
  for (const lowered::MatrixProduct& product : from.products) {
    Product& placed = run->products.emplace_back();
    placed.plan = numeric::DotPlan(
        numeric::chainable(plan.product.model(), plan.shape.k),
        {.m = product.m, .n = product.n, .k = product.steps * plan.shape.k},
        {.blocks = numeric::DotBlocks::all, .even_columns_first = plan.blocks->even_columns_first});
    placed.steps = product.steps;
    placed.a = places.of(product.a);
    placed.b = places.of(product.b);
    placed.c = places.of(product.c);
    placed.d = places.of(product.d);
    placed.a_left = loads_of(placed.a, run->left);
    placed.b_left = loads_of(placed.b, run->left);
  }
  return run;
}

// Has the first load begin the run, from where all is known, and the last instruction say that it is.
void settle_run(Code& code, const lowered::Function& lowered, const lowered::MatrixRun& from,
                const MmaRun& run) {
  std::vector<uint32_t> loads;
  for (uint32_t pc = from.settled_from; pc < from.insts.back(); ++pc)
    if (lowered.insts[pc].notes.has(lowered::Note::left))
      loads.push_back(pc);
  if (!may_leave_loads(code, loads))
    return;
  DecodedInst &load = code.insts[from.settled_from], &last = code.insts[from.insts.back()];
  auto settled = std::make_shared<SettledRun>();
  settled->run = &run;
  settled->by_itself = load.handler;
  settled->count = from.insts.back() - from.settled_from;
  settled->place = static_cast<uint32_t>(code.frame_bytes);
  for (const uint32_t pc : loads)
    settled->loads.push_back(&code.plan<WmmaMovePlan>(code.insts[pc]));
  code.frame_bytes += sizeof(Settled);
  auto begins = std::make_shared<WmmaMovePlan>(code.plan<WmmaMovePlan>(load));
  begins->settled = settled.get();
  load.handler = run_from_settled;
  load.plan = code.plans.add(std::move(begins));
  last.handler = run_last_settled;
  last.plan = code.plans.add(std::move(settled));
}

} // namespace

void make_matrix_runs(Code& code, const lowered::Function& lowered) {
  std::vector<const MmaRun*> runs;
  for (const lowered::MatrixRun& from : lowered.matrix_runs) {
    const std::shared_ptr<MmaRun> run = place(code, lowered, from);
    runs.push_back(run.get());
    const PlanId id = code.plans.add(run);
    const std::vector<uint32_t>& pcs = from.insts;
    for (const uint32_t pc : pcs) {
      code.insts[pc].handler = run_other;
      code.insts[pc].plan = id;
    }
    for (size_t i = pcs.size() - 1; i-- > 0;) {
      const bool goes_on = pcs[i] + 1 == pcs[i + 1] && i + 2 < pcs.size();
      code.insts[pcs[i]].imm = goes_on ? code.insts[pcs[i + 1]].imm + 1 : 1;
    }
    code.insts[pcs.back()].handler = run_last;
    code.insts[pcs.front()].handler = pcs.size() == 1 ? run_alone : run_first;
  }
  for (size_t i = 0; i < runs.size(); ++i)
    if (const lowered::MatrixRun& from = lowered.matrix_runs[i];
        from.settled_from != ptx::kNone && !runs[i]->left.empty())
      settle_run(code, lowered, from, *runs[i]);
}

} // namespace lemma::vgpu
