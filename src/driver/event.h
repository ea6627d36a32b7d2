// Events. Tests: tests/driver/events.cc, capture.cc.
#pragma once

#include "driver/types.h"

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace lemma::driver {

class Context;
struct Capture;
struct Node;

class Event {
public:
  Event(Context& context, unsigned flags) : context(&context), flags(flags) {}

  CUevent handle() { return reinterpret_cast<CUevent>(this); }
  bool has_time() const { return !(flags & CU_EVENT_DISABLE_TIMING); }
  // All that its stream was given before it is done.
  void reach();

  Context* const context;
  const unsigned flags;

  std::mutex mutex;                                             // guards what follows
  std::optional<std::chrono::steady_clock::time_point> reached; // the last record
  // Recorded in a stream that captured: what it stands for there.
  std::weak_ptr<Capture> capture;
  std::vector<Node*> captured;
};

} // namespace lemma::driver
