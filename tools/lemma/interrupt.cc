// The handler sets a flag and writes a line: nothing else is safe in it. A signal that the process was
// started to ignore (nohup) stays ignored.
#include "interrupt.h"

#include <csignal>
#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace lemma::cli {
namespace {

std::atomic<bool> requested{false};
std::atomic<int> received{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free);

void on_interrupt(int signal) {
  if (received.exchange(signal) != 0)
    _exit(128 + signal);
  requested.store(true);
  static const char text[] = "\nlemma: stopping; once more ends at once\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
}

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&set, signal);
  return set;
}

} // namespace

const std::atomic<bool>& catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction now = {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler == SIG_IGN)
      continue;
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    action.sa_mask = interrupts(); // a second one comes after what the first has to say
    sigaction(signal, &action, nullptr);
  }
  return requested;
}

int interrupt_status() {
  const int signal = received.load();
  return signal ? 128 + signal : 0;
}

HoldInterrupts::HoldInterrupts() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

HoldInterrupts::~HoldInterrupts() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool HoldInterrupts::came() {
  sigset_t pending;
  sigpending(&pending);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&pending, signal) == 1)
      return true;
  return false;
}

} // namespace lemma::cli
