// liblemma_cuda_runtime.so in the place of MLIR's own library: one context for all threads of a process that
// knows nothing of Lemma. The environment says what it is; a program that cannot go on ends the process.
//
// Not in the static library: a program that links that one has contexts of its own.
//
// Tests: tests/unit/mgpu/standalone_test.cc, tests/mgpu/.
#include "lemma/engine.h"
#include "mgpu/runtime.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <thread>

namespace lemma::mgpu {
namespace {

OrFailure<Options> options_of_environment() {
  Options options;
  const auto variable = [](const char* name) -> std::string_view {
    const char* value = std::getenv(name);
    return value ? value : "";
  };
  const auto illegal = [](const char* name, std::string_view value, const char* legal) {
    return wrong(fmt::format("the environment says {}={}; {}", name, value, legal));
  };
  if (const auto device = variable("LEMMA_DEVICE"); !device.empty()) {
    if (device != "cpu" && device != "cuda")
      return illegal("LEMMA_DEVICE", device, "there are cpu (the virtual GPU) and cuda");
    options.device = device;
  }
  options.arch = variable("LEMMA_ARCH");
  if (const auto async = variable("LEMMA_ASYNC"); !async.empty()) {
    if (async != "eager" && async != "late" && async != "random")
      return illegal("LEMMA_ASYNC", async, "there are eager, late and random");
    options.launch.async = async == "late"     ? AsyncMode::late
                           : async == "random" ? AsyncMode::random
                                               : AsyncMode::eager;
  }
  const Result<Engine, Error> engine = engine_of_environment();
  if (!engine)
    return wrong(engine.error().text);
  options.launch.engine = *engine;
  const std::pair<const char*, uint64_t*> numbers[] = {{"LEMMA_SEED", &options.launch.seed},
                                                       {"LEMMA_MAX_MEMORY", &options.max_memory_bytes}};
  for (const auto& [name, number] : numbers) {
    const std::string_view text = variable(name);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
    if (!text.empty() && (error != std::errc() || end != text.data() + text.size()))
      return illegal(name, text, "it is a number from 0 up");
  }
  return options;
}

std::atomic<std::thread::id> ending; // the thread that ends the process

[[noreturn]] void end_process(const Stop& stop) {
  if (std::thread::id nobody; !ending.compare_exchange_strong(nobody, std::this_thread::get_id()))
    for (;;)
      pause(); // another thread does
  fmt::print(stderr, "{}", stop.text);
  // Not by exit(): a pool of threads that the program has, MLIR's async runtime for one, waits for them when
  // it goes, and one of them may be this thread, or one that waits above.
  std::cout.flush();
  std::fflush(nullptr);
  std::_Exit(stop.exit_status);
}

// Never destroyed: a program's own destructors unload its modules after everything else.
Context* the_context(const char* entry_point) {
  static Context* const context = [&] {
    OrFailure<Options> options = options_of_environment();
    if (!options)
      end_process(stop_of(entry_point, std::move(options).error()));
    return new Context(*std::move(options), {.stopped = end_process});
  }();
  if (ending.load() != std::thread::id())
    for (;;)
      pause(); // the program's threads go no further
  return context;
}

[[maybe_unused]] const bool set = []() noexcept {
  unbound_context = the_context;
  return true;
}();

} // namespace
} // namespace lemma::mgpu
