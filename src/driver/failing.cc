// The text is made at once: neither a handler of exit nor one of a signal should take memory. See failing.h.
#include "driver/failing.h"

#include "lemma/printable.h"

#include <fmt/format.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>

namespace lemma::driver {
namespace {

const std::string* failing_text = nullptr;

void say_failing() {
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, failing_text->data(), failing_text->size());
}

void on_abort(int signal) {
  say_failing();
  ::raise(signal); // which has its own effect again
}

} // namespace

void say_command_if_failing() {
  const char* const wanted = std::getenv("LEMMA_IF_FAILED");
  const std::string_view words = wanted ? wanted : "";
  const size_t blank = words.find(' ');
  if (blank == words.npos || words.substr(0, blank) != std::to_string(::getpid()) || failing_text)
    return;
  failing_text = new std::string(
      fmt::format("lemma: it failed, and was not checked: {} names races, missing fences and waits\n",
                  printable(words.substr(blank + 1))));
  ::on_exit(
      [](int status, void*) {
        if (status != 0)
          say_failing();
      },
      nullptr);
  struct sigaction now{};
  ::sigaction(SIGABRT, nullptr, &now);
  if (now.sa_handler != SIG_DFL)
    return;
  struct sigaction action{};
  action.sa_handler = on_abort;
  action.sa_flags = SA_RESETHAND | SA_NODEFER;
  ::sigaction(SIGABRT, &action, nullptr);
}

} // namespace lemma::driver
