// A run grows while the next instruction reads and writes no register that the run writes, and writes none
// that it reads. Its pairs of A and B then become products: one, if every A meets every B, as where a warp
// multiplies a block of rows with a block of columns; else one for each A. What is left over stays as it is:
// within a run the order does not matter.
#include "vgpu/handlers/mma_runs.h"

#include "vgpu/handlers/matrix_operands.h"
#include "vgpu/handlers/mma.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

namespace lemma::vgpu {
namespace {

constexpr size_t kMostA = 8, kMostB = 16; // fragments of a product: 128 rows, 128 columns
constexpr size_t kRowBytes = 32;          // of A and of B, at most
constexpr size_t kRowsOfA = 16, kColumnsOfB = 8;

// The registers of a fragment, one after the other.
using Registers = const Slot*;

bool same_registers(Registers a, Registers b, int count) {
  return std::equal(a, a + count, b,
                    [](const Slot& x, const Slot& y) { return x.base == y.base && x.offset == y.offset; });
}

struct Product {
  std::vector<Registers> a, b;
  std::vector<Registers> c, d; // [a][b]
};

struct MmaRun {
  const MmaPlan* plan = nullptr;
  uint32_t count = 0; // instructions
  uint32_t end = 0;   // the pc after the last
  std::vector<Product> products;
};

std::byte* lanes_of(const Exec& x, const Slot& slot) {
  return x.bases[slot.base] + slot.offset;
}

void gather(const Exec& x, const layout::TileMap& map, Registers registers, std::byte* tile) {
  const std::byte* lanes[kMaxFragmentRegisters];
  for (int i = 0; i < map.distinct_registers(); ++i)
    lanes[i] = lanes_of(x, registers[i]);
  map.gather(lanes, tile);
}

void multiply(Exec& x, const MmaPlan& plan, const Product& product) {
  alignas(64) std::byte a[kMostA * kRowsOfA * kRowBytes], b[kMostB * kColumnsOfB * kRowBytes];
  std::byte* blocks[kMostA * kMostB * kMaxFragmentRegisters];
  const size_t a_bytes = static_cast<size_t>(plan.a.tile_bytes());
  const size_t b_bytes = static_cast<size_t>(plan.b.tile_bytes());
  for (size_t i = 0; i < product.a.size(); ++i)
    gather(x, plan.a, product.a[i], a + i * a_bytes);
  for (size_t j = 0; j < product.b.size(); ++j)
    gather(x, *plan.b_for_blocks, product.b[j], b + j * b_bytes);

  // Registers of the same eight rows follow each other, D fragment after D fragment.
  const auto count = static_cast<size_t>(plan.d.registers()), eights = kRowsOfA / 8,
             in_eight = count / eights;
  size_t next = 0;
  for (size_t i = 0; i < product.a.size(); ++i)
    for (size_t eight = 0; eight < eights; ++eight)
      for (size_t j = 0; j < product.b.size(); ++j)
        for (size_t r = eight * in_eight; r < (eight + 1) * in_eight; ++r) {
          const size_t at = i * product.b.size() + j;
          const std::byte* from = lanes_of(x, product.c[at][r]);
          std::byte* const to = lanes_of(x, product.d[at][r]);
          if (from != to)
            std::memcpy(to, from, kWarpSize * sizeof(uint32_t));
          blocks[next++] = to;
        }
  numeric::DotTile tile;
  tile.m = static_cast<int>(product.a.size() * kRowsOfA);
  tile.n = static_cast<int>(product.b.size() * kColumnsOfB);
  tile.k = plan.shape.k;
  tile.a = a;
  tile.b = b;
  tile.blocks = blocks;
  tile.blocks_hold_c = true;
  x.stats.matrix_outputs += numeric::dot(plan.model, tile);
}

Step run_first(Exec& x, const DecodedInst& in) {
  const auto& run = *static_cast<const MmaRun*>(in.extra);
  x.warp->mma_run_end = 0;
  if (x.observer || x.active != kAllLanes)
    return multiply(x, in, *run.plan);
  for (const Product& product : run.products)
    multiply(x, *run.plan, product);
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
      if (!members_.empty() && !fits(in))
        end();
      add(in);
    }
    end();
  }

private:
  const MmaPlan& plan_of(const DecodedInst& in) const { return *static_cast<const MmaPlan*>(in.extra); }

  bool may_be_in_one(const DecodedInst& in) const {
    if (in.handler != run_mma || in.guarded || in.checks_init || in.marks_written)
      return false;
    const MmaPlan& plan = plan_of(in);
    if (!plan.b_for_blocks || static_cast<size_t>(plan.a.tile_bytes()) > kRowsOfA * kRowBytes ||
        static_cast<size_t>(plan.b.tile_bytes()) > kColumnsOfB * kRowBytes)
      return false;
    for (int i = 0; i < in.dst_count; ++i) // each block is a register of its own
      for (int j = 0; j <= i; ++j)
        if (in.ops[i].reg == ptx::kNone || (i != j && in.ops[i].offset == in.ops[j].offset))
          return false;
    return true;
  }

  bool fits(const DecodedInst& in) const {
    const DecodedInst& first = *members_.front();
    if (in.extra != first.extra)
      return false;
    for (int i = 0; i < in.op_count; ++i) {
      const uint32_t reg = in.ops[i].reg;
      if (reg != ptx::kNone && (written_[reg] == number_ || (i < in.dst_count && read_[reg] == number_)))
        return false;
    }
    const size_t a = index_of(a_, a_of(in), plan_of(in).a), b = index_of(b_, b_of(in), plan_of(in).b);
    const bool known = a < a_.size() && b < b_.size();
    return a < kMostA && b < kMostB && !(known && has(a, b));
  }

  void add(DecodedInst& in) {
    const size_t a = index_of(a_, a_of(in), plan_of(in).a), b = index_of(b_, b_of(in), plan_of(in).b);
    if (a == a_.size())
      a_.push_back(a_of(in));
    if (b == b_.size())
      b_.push_back(b_of(in));
    pairs_.push_back({a, b});
    members_.push_back(&in);
    for (int i = 0; i < in.op_count; ++i)
      if (in.ops[i].reg != ptx::kNone)
        (i < in.dst_count ? written_ : read_)[in.ops[i].reg] = number_;
  }

  void end() {
    if (members_.size() > 1)
      make_run();
    members_.clear();
    pairs_.clear();
    a_.clear();
    b_.clear();
    ++number_;
  }

  void make_run() {
    auto run = std::make_shared<MmaRun>();
    run->plan = &plan_of(*members_.front());
    std::vector<DecodedInst*> taken;
    std::vector<size_t> all(a_.size());
    std::iota(all.begin(), all.end(), size_t{0});
    if (pairs_.size() == a_.size() * b_.size())
      add_product(*run, all, taken);
    else
      for (const size_t a : all)
        add_product(*run, {a}, taken);
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

  struct Pair {
    size_t a, b; // indices in a_ and b_
  };

  // Of those As, which meet the same Bs. The loops want columns in sixteens: one B may be left over.
  void add_product(MmaRun& run, const std::vector<size_t>& a, std::vector<DecodedInst*>& taken) {
    std::vector<size_t> b;
    for (const Pair& pair : pairs_)
      if (pair.a == a.front())
        b.push_back(pair.b);
    b.resize(b.size() / 2 * 2);
    if (b.empty())
      return;
    Product& product = run.products.emplace_back();
    for (const size_t i : a)
      product.a.push_back(a_[i]);
    for (const size_t j : b)
      product.b.push_back(b_[j]);
    for (const size_t i : a)
      for (const size_t j : b) {
        DecodedInst& in = *members_[member(i, j)];
        taken.push_back(&in);
        product.d.push_back(in.ops);
        product.c.push_back(in.ops + in.dst_count + run.plan->first_c());
      }
  }

  size_t member(size_t a, size_t b) const {
    return static_cast<size_t>(std::find_if(pairs_.begin(), pairs_.end(),
                                            [&](const Pair& pair) { return pair.a == a && pair.b == b; }) -
                               pairs_.begin());
  }
  bool has(size_t a, size_t b) const { return member(a, b) < pairs_.size(); }

  static Registers a_of(const DecodedInst& in) { return in.ops + in.dst_count; }
  Registers b_of(const DecodedInst& in) const { return in.ops + in.dst_count + plan_of(in).first_b(); }
  static size_t index_of(const std::vector<Registers>& known, Registers registers,
                         const layout::TileMap& map) {
    return static_cast<size_t>(
        std::find_if(known.begin(), known.end(),
                     [&](Registers other) { return same_registers(registers, other, map.registers()); }) -
        known.begin());
  }

  Code& code_;
  std::vector<DecodedInst*> members_;
  std::vector<Pair> pairs_;              // of each member
  std::vector<Registers> a_, b_;         // that are different
  std::vector<uint64_t> read_, written_; // by register: the run that does
  uint64_t number_ = 1;                  // of the run
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
