// Contexts: what is current in which thread, the error that sticks after a fault, limits. The memory,
// modules, streams and events of a context are in State, each with the context that it belongs to; they go
// with it.
//
// A Context is never freed: a thread may have one current, or name one, that another has destroyed, and is
// told so.
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
  // What every context has from the first fault on until the process ends: no reset takes it away. Measured
  // on an H200: tests/driver/hardware. Never with LEMMA_RESET_CURES.
  static CUresult process_fault();
  // Whether some context has failed since this was asked last.
  static bool take_failed();

  // Frees what lives in it. A primary context can be revived.
  void destroy();
  void revive(unsigned flags);

  // Its default streams.
  std::shared_ptr<Stream> legacy_stream();
  std::shared_ptr<Stream> per_thread_stream();
  // Waits for all of its streams; status().
  CUresult synchronize();

  const uint64_t id; // of the process, never used again
  const bool is_primary;
  std::atomic<unsigned> flags;
  std::array<std::atomic<size_t>, CU_LIMIT_MAX> limits;
  std::atomic<CUfunc_cache> cache_config{CU_FUNC_CACHE_PREFER_NONE};
  std::atomic<CUsharedconfig> shared_config{CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE};

private:
  std::atomic<bool> alive_{true};
  std::atomic<unsigned> fault_{CUDA_SUCCESS};
  std::mutex mutex_; // guards the streams
  std::shared_ptr<Stream> legacy_;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread_;
};

// Of this thread; null: none.
Context* current_context();
// Null: it is the handle of none, now or before.
Context* find_context(CUcontext handle);

} // namespace lemma::driver
