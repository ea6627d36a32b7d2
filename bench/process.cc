// The process is started by posix_spawn and waited for with wait4(), which says what it took.
#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): not in every unistd.h

namespace lemma::bench {

std::optional<ProcessCost> run(const Command& command) {
  std::vector<char*> words;
  for (const std::string& word : command)
    words.push_back(
        const_cast<char*>(word.c_str())); // NOLINT(cppcoreguidelines-pro-type-const-cast): argv's type
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_WRONLY, 0);
  const auto begin = std::chrono::steady_clock::now();
  pid_t child = 0;
  const int error = posix_spawn(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  rusage used{};
  if (error != 0 || wait4(child, &status, 0, &used) != child || status != 0)
    return std::nullopt;
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - begin;
  const auto ms = [](const timeval& time) {
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-3 * static_cast<double>(time.tv_usec);
  };
  return ProcessCost{.wall_ms = wall.count(),
                     .cpu_ms = ms(used.ru_utime) + ms(used.ru_stime),
                     .peak_mb = 1e-6 * 1024 * static_cast<double>(used.ru_maxrss)};
}

} // namespace lemma::bench
