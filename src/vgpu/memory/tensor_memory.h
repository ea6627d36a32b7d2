// Tensor memory: what the CTAs that are resident on one SM share, 128 lanes by 512 columns of 32 bits, and
// who of them has which columns. An address is lane * 2^16 + column.
//
// Columns are given out by powers of two from 32 on, at multiples of their number. The PTX ISA says neither
// where an allocation lies nor how two CTAs share what there is but for the number of columns: assumed. An
// exclusive allocation is the SM's only one, of a multiple of 32 columns, from column 0 on.
//
// Not here: the 576 columns of sm_107.
//
// PTX ISA: "Tensor Memory", "Tensor Memory Allocation". Tests: tests/unit/vgpu/tensor_memory_test.cc.
#pragma once

#include "support/memory_budget.h"
#include "vgpu/code/code.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace lemma::vgpu {

// One SM's. Columns belong to one CTA at a time, and are accessed by the worker that runs it.
class TensorMemory {
public:
  static constexpr uint32_t kLanes = 128, kColumns = 512;
  static constexpr uint32_t kLeastColumns = 32; // of an allocation
  static constexpr uint32_t kQuarters = kLanes / kWarpSize;

  // `seed`: of what stands in columns that nobody has written.
  TensorMemory(MemoryBudget& budget, uint64_t seed);

  // `count`, a power of two from kLeastColumns to kColumns, at the first place that is free from column
  // `first` on, and then from 0 on. None: there is no room now. For any thread.
  std::optional<uint32_t> allocate(uint32_t count, uint32_t first);
  // The columns from 0 on, if nobody has any; nobody else has any then, however few they are. For any thread.
  bool allocate_all(uint32_t count);
  void release(uint32_t column, uint32_t count);
  void release_all();
  uint32_t free_columns() const;

  // The 128 lanes of a column.
  uint32_t* column(uint32_t index) { return cells_.get() + size_t{index} * kLanes; }
  // Lanes that were written since the column was given out: a word for the lanes of each quarter.
  LaneMask* written(uint32_t index) { return written_.get() + size_t{index} * kQuarters; }

private:
  // The columns are somebody's: what stands in them follows from the seed.
  void renew(uint32_t column, uint32_t count);

  MemoryShare taken_;
  uint64_t seed_;
  std::atomic<uint32_t> used_{0}; // bit i: columns [32 i, 32 i + 32)
  std::unique_ptr<uint32_t[]> cells_;
  std::unique_ptr<LaneMask[]> written_;
};

// Lanes of a column, a word for each quarter.
using TensorLanes = std::array<LaneMask, TensorMemory::kQuarters>;

// Those of the SMs of a launch that have been asked for.
class TensorMemories {
public:
  // For any thread. Throws OverBudget.
  TensorMemory& of_sm(uint32_t sm, MemoryBudget& budget, uint64_t seed);

private:
  std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<TensorMemory>> memories_;
};

// What a CTA has of it.
struct TensorUse {
  struct Block {
    uint32_t column = 0, columns = 0;
    const Code* code = nullptr; // who allocated it
    InstId instruction = {};
    bool is_exclusive = false;
  };
  // An allocation by a pair of CTAs that waits for the other one's.
  struct Asked {
    uint32_t columns = 0;           // 0: none
    std::optional<uint32_t> column; // given
    bool is_exclusive = false;
  };

  TensorMemory* memory = nullptr; // null: this CTA has allocated nothing
  std::vector<Block> blocks;
  uint32_t last_columns = 0; // of the allocation before; 0: there was none
  uint8_t cta_group = 0;     // of the instructions so far; 0: there was none
  bool relinquished = false;
  Asked asked;

  // The block that holds the columns; null: none does.
  const Block* find(uint32_t column, uint32_t columns) const {
    for (const Block& block : blocks)
      if (column >= block.column && column + columns <= block.column + block.columns)
        return &block;
    return nullptr;
  }
};

} // namespace lemma::vgpu
