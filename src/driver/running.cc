// A signal handler can do next to nothing: the text that it writes has been made before, by the launches
// themselves. Of two texts one is the handler's, the other is made.
#include "driver/running.h"

#include "driver/state.h"

#include <fmt/format.h>

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

namespace lemma::driver {
namespace {

struct Running {
  std::mutex mutex; // of all but `text`
  std::map<uint64_t, RunningLaunch> launches;
  std::array<std::string, 2> texts;
  size_t next = 0;
  std::atomic<const std::string*> text{nullptr}; // null: nothing runs, that is known
};
Running& running_now() {
  static Running* all = new Running; // signals may come after static objects are gone
  return *all;
}
std::atomic<bool> says_when_killed{false};

void on_signal(int signal) {
  if (const std::string* text = running_now().text.load()) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text->data(), text->size());
  }
  ::raise(signal); // which has its own effect again
}

} // namespace

void note_running(const RunningLaunch& launch) {
  if (state().reporter)
    say_if_lost(state().reporter->note(launch));
  if (!says_when_killed)
    return;
  Running& now = running_now();
  const std::scoped_lock lock(now.mutex);
  if (launch.has_ended)
    now.launches.erase(launch.id);
  else
    now.launches[launch.id] = launch;
  std::string& text = now.texts[now.next++ % 2];
  text.clear();
  for (const auto& [id, each] : now.launches)
    text += fmt::format("lemma: ended by a signal: {}", text_of(each));
  now.text = now.launches.empty() ? nullptr : &text;
}

void say_what_runs_when_killed() {
  const char* wanted = std::getenv("LEMMA_SAY_WHEN_KILLED");
  if (!wanted || !*wanted)
    return;
  running_now();
  says_when_killed = true;
  for (const int signal : {SIGTERM, SIGINT}) {
    struct sigaction now{};
    ::sigaction(signal, nullptr, &now);
    if (now.sa_handler != SIG_DFL)
      continue;
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
}

} // namespace lemma::driver
