// How much of the host's memory a device may take, and who has taken what. One budget a device; whatever
// grows with a program or its input - device memory, code, registers, local and shared memory, operations in
// flight - takes its bytes here before it allocates them, and gives them back.
//
// It counts what programs can make large, not every byte of the process.
//
// Tests: tests/unit/support/memory_budget_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace lemma {

// Half of the memory that this process may use: the machine's, or its control group's if that is less.
uint64_t default_memory_limit();

// The budget is used up. A std::bad_alloc, so that whoever is ready for the host's memory to run out is ready
// for this too; what() says what for, how much is in use and how to raise the limit.
class OverBudget : public std::bad_alloc {
public:
  explicit OverBudget(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

// Thread-safe.
class MemoryBudget {
public:
  explicit MemoryBudget(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // False: there is not so much left, and nothing was taken.
  bool try_take(uint64_t bytes);
  // Throws OverBudget if there is not so much left. `what`: "the registers of k".
  void take(uint64_t bytes, std::string_view what);
  void give_back(uint64_t bytes) { in_use_.fetch_sub(bytes, std::memory_order_relaxed); }

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // "no memory for the registers of k: 4096 bytes more than the 1048000 in use; the limit is 1048576
  // (--max-memory)"
  std::string refusal(uint64_t bytes, std::string_view what) const;

private:
  const uint64_t limit_bytes_;
  std::atomic<uint64_t> in_use_{0};
};

// What one holder has taken of a budget; given back when the holder goes. Without a budget it counts nothing.
class MemoryShare {
public:
  MemoryShare() = default;
  explicit MemoryShare(MemoryBudget& budget) : budget_(&budget) {}
  MemoryShare(MemoryShare&& other) noexcept { swap(other); }
  MemoryShare& operator=(MemoryShare&& other) noexcept {
    MemoryShare(std::move(other)).swap(*this);
    return *this;
  }
  ~MemoryShare() { give_back(bytes_); }

  // Throws OverBudget.
  void take(uint64_t bytes, std::string_view what) {
    if (!budget_)
      return;
    budget_->take(bytes, what);
    bytes_ += bytes;
  }
  // False: there is not so much left.
  bool try_take(uint64_t bytes) {
    if (budget_ && !budget_->try_take(bytes))
      return false;
    bytes_ += budget_ ? bytes : 0;
    return true;
  }
  void give_back(uint64_t bytes) {
    if (!budget_)
      return;
    budget_->give_back(bytes);
    bytes_ -= bytes;
  }
  uint64_t bytes() const { return bytes_; }

private:
  void swap(MemoryShare& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
  }
  MemoryBudget* budget_ = nullptr;
  uint64_t bytes_ = 0;
};

} // namespace lemma
