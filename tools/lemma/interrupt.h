// Ctrl-C and kill. A run that may take long asks for the first of them, so that it can stop and say where it
// was; a second one ends the process at once, as they all do otherwise.
//
// Tests: tests/cli/.
#pragma once

#include <atomic>

namespace lemma::cli {

// From now on the first SIGINT or SIGTERM only sets what this returns. Signals that the caller's caller
// ignores (nohup) stay so.
const std::atomic<bool>& catch_interrupts();

// 128 and the number of the signal that came, as shells have it; 0 if none did.
int interrupt_status();

// While it lives, this thread holds SIGINT, SIGTERM and SIGHUP back: what must not be left half done. One
// that came takes effect at the end.
class HoldInterrupts {
public:
  HoldInterrupts();
  ~HoldInterrupts();
  HoldInterrupts(const HoldInterrupts&) = delete;
  HoldInterrupts& operator=(const HoldInterrupts&) = delete;

  // Whether one is held back.
  static bool came();
};

} // namespace lemma::cli
