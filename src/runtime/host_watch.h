// What the host itself does with memory that it shares with the device (managed memory), noted where it
// happens: DeviceOptions::check_streams.
//
// Watched memory has two mappings. The program's, at the memory's address, can be closed: an access there
// then raises SIGSEGV, whose handler notes it, opens its page and lets the program go on. Kernels and copies
// reach the same bytes through the other one. So of each page the first read and the first write is noted
// after each begin(), by its exact address.
//
// A system call on closed memory does not raise a signal: it fails with EFAULT. A program that has put a
// handler of its own in the place of this one meets its faults there.
//
// Tests: tests/unit/runtime/host_watch_test.cc.
#pragma once

#include "vgpu/memory/memory.h"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace lemma::runtime {

class HostWatch {
public:
  struct Touch {
    uint64_t address = 0; // the first byte
    uintptr_t code = 0;   // of the instruction
    bool writes = false;
  };

  HostWatch() = default;
  HostWatch(const HostWatch&) = delete;

  // Memory of GlobalMemory::allocate_host_shared() that nobody uses yet. Without effect where the host cannot
  // map it twice, or has closed too much already: then false.
  bool watch(vgpu::Allocation& allocation);
  // Not any more: kernels use what they use, and the host's accesses are its own business.
  void leave_alone(uint64_t base);
  // It is about to be freed. What is returned is to be called when no kernel uses it any more.
  struct Ended {
    std::byte* alias = nullptr; // null: nothing is to be done
    uint64_t base = 0, bytes = 0;
    void let_go() const;
  };
  Ended forget(uint64_t base);
  // Before the memory goes as a whole.
  void forget_all();

  // Closes all watched memory; opens it.
  void begin();
  void end();
  // Marks in Allocation::init, of those that have one, what the host may have written: pages that it, or
  // anybody, has touched. Of all that is watched, or of one.
  void find_written();
  void find_written(vgpu::Allocation& allocation);
  // What was noted since the last call.
  std::vector<Touch> take();

  // The calling thread runs a function in the order of a stream: what it does is not the host's own.
  class Aside {
  public:
    Aside();
    ~Aside();
    Aside(const Aside&) = delete;

  private:
    std::atomic<uintptr_t>* place_ = nullptr;
  };

private:
  friend struct HostWatchSignals;
  struct Mapping {
    std::byte* alias = nullptr;
    uint64_t bytes = 0; // of whole pages
    int file = -1;
    size_t slot = 0; // of the table that the handler reads
    vgpu::Allocation* allocation = nullptr;
  };
  // In the handler.
  void note(const Touch& touch);
  void protect_all(int protection);
  static void find_written(const Mapping& mapping);

  static constexpr size_t kMostTouches = 4096; // between two take(); more are not noted
  struct Entry {
    Touch touch;
    std::atomic<bool> is_complete{false};
  };
  std::array<Entry, kMostTouches> touches_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> taken_{0};
  std::atomic<bool> is_closed_{false};
  std::mutex mutex_;                     // of what follows
  std::map<uint64_t, Mapping> mappings_; // by base
};

// Where an instruction of the host's is, for messages: "update() + 0x1c (program)".
std::string name_of_code(uintptr_t code);

// Any device's: HostWatch::leave_alone().
void leave_host_accesses_alone(uint64_t base);

} // namespace lemma::runtime
