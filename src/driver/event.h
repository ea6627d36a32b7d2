// Events. Tests: tests/driver/events.cc, capture.cc.
#pragma once

#include "driver/types.h"
#include "lemma/stream.h"

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
  // Stands for all that the queue was given so far.
  CUresult record(const lemma::Stream& queue);
  // What the queue is given from now on waits for the last record; for nothing
  // if there was none.
  CUresult make_wait(const lemma::Stream& queue);
  // The last record; empty: there was none.
  std::optional<lemma::Event> last();

  Context* const context;
  const unsigned flags;

  std::mutex mutex;                  // guards what follows
  std::optional<lemma::Event> point; // the last record
  // Recorded in a stream that captured: what it stands for there.
  std::weak_ptr<Capture> capture;
  std::vector<Node*> captured;
  bool was_captured = false; // by the last record
  bool was_lost = false;     // its capture was made invalid by a question for it
};

} // namespace lemma::driver
