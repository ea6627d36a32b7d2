// Contexts: what is current in which thread, the error that sticks after a fault, limits. The memory,
// modules, streams and events of a context are in State, each with the context that it belongs to; they go
// with it.
//
// A thread may have a context current, or name one, that another has destroyed, and is told so: the
// kKnownDestroyed that were destroyed last stay known, and those that are current in some thread. A primary
// context is never freed.
//
// Tests: tests/driver/contexts.cc, threads.cc, faults.cc.
#pragma once

#include "driver/types.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace lemma::driver {

class Stream;

class Context {
public:
  Context(uint64_t id, bool primary, unsigned flags);

  CUcontext handle() { return reinterpret_cast<CUcontext>(this); }
  bool is_alive() const { return alive_; }
  // Why nothing can be done in it: it is destroyed, or a kernel has faulted, in this context or another.
  CUresult status() const {
    if (!alive_)
      return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    const auto own = static_cast<CUresult>(fault_.load());
    return own == CUDA_SUCCESS ? process_fault() : own;
  }
  // The first one stays.
  void fail(CUresult fault);
  // A launch has failed for what Lemma lacks, not for what the program does: whoever waits next is told,
  // once, and the context stays sound.
  void fail_launch(CUresult status);
  // For whoever has waited: status(), or else that of a launch that has failed so. `had_error`: the wait
  // itself says that something did not run.
  CUresult status_after_wait(bool had_error = false);
  // What every context has from the first fault on until the process ends: no reset takes it away. Measured
  // on an H200: tests/driver/hardware. Never with LEMMA_RESET_CURES.
  static CUresult process_fault();
  // Whether some context has failed since this was asked last.
  static bool take_failed();

  // Frees what lives in it. A primary context can be revived.
  void destroy();
  // True once, for whoever is to destroy it.
  bool begin_to_destroy() { return !is_to_be_destroyed_.exchange(true); }
  void revive(unsigned flags);

  // Its default streams.
  std::shared_ptr<Stream> legacy_stream();
  std::shared_ptr<Stream> per_thread_stream();
  // Whether a stream of any context has something to do.
  static bool any_has_work();
  // Waits for all of its streams; status(). Whether all that was to run has run.
  CUresult synchronize(bool* all_ran = nullptr);

  const uint64_t id; // of the process, never used again
  const bool is_primary;
  std::atomic<uint32_t> current_in{0}; // so many places of threads' stacks
  std::atomic<unsigned> flags;
  std::atomic<bool> launches_block{
      false}; // until the kernel has ended; the environment says it when the context comes to life
  std::array<std::atomic<size_t>, CU_LIMIT_MAX> limits;
  std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};
  std::atomic<CUsharedconfig> shared_config{CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE};

private:
  std::atomic<bool> alive_{true};
  std::atomic<bool> is_to_be_destroyed_{false};
  std::atomic<unsigned> fault_{CUDA_SUCCESS};
  std::atomic<unsigned> failed_launch_{CUDA_SUCCESS};
  std::mutex mutex_; // guards the streams
  std::shared_ptr<Stream> legacy_;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread_;
};

// Of this thread; null: none.
Context* current_context();
// Null: nobody has retained it, or not since it was reset.
Context* living_primary_context();
// Null: it is the handle of none, now or before.
Context* find_context(CUcontext handle);

} // namespace lemma::driver
