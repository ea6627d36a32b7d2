// Everything that a host program has at one time: devices, modules, functions, streams, events, memory. The
// functions of entry_points.h are these, one to one; context.cc guards them and turns failures into the end
// of the program.
//
// Not thread-safe. Tests: tests/unit/mgpu/.
#pragma once

#include "mgpu/context.h"
#include "mgpu/failure.h"
#include "mgpu/memory.h"

#include "lemma/device.h"

#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace lemma::mgpu {

// As the host program gives them; cluster 0 everywhere: none.
struct LaunchSizes {
  std::array<int64_t, 3> grid{}, block{}, cluster{};
  int64_t shared_bytes = 0;
};

class State {
public:
  explicit State(Options options);

  // What there is to say about modules and launches; the caller takes it away.
  std::string said;
  Memory memory;

  // The current device, opened by the first call.
  OrFailure<Device*> device();
  OrFailure<void> set_device(int ordinal);

  OrFailure<void*> load_module(std::string text);
  OrFailure<void> unload_module(void* module);
  OrFailure<void*> function(void* module, const char* name);
  // No `param_count`: nobody knows it.
  OrFailure<Launched> launch(void* function, const LaunchSizes& sizes, void* stream, void** params,
                             void** extra, std::optional<size_t> param_count);

  OrFailure<void*> create_stream();
  OrFailure<void> destroy_stream(void* stream);
  OrFailure<void> check_stream(const void* stream) const; // null is one
  OrFailure<void*> create_event();
  OrFailure<void> destroy_event(void* event);
  OrFailure<void> record_event(void* event, const void* stream);
  OrFailure<void> check_event(const void* event) const;
  OrFailure<float> elapsed_milliseconds(const void* begin, const void* end) const;

private:
  struct Function {
    Kernel kernel;
  };
  struct ModuleRecord {
    std::string text;
    std::map<int, Module> loaded; // by ordinal
    std::map<std::pair<int, std::string>, std::unique_ptr<Function>> functions;
  };
  struct Stream {};
  struct Event {
    std::optional<std::chrono::steady_clock::time_point> recorded;
  };

  OrFailure<Module*> loaded(ModuleRecord& module);
  OrFailure<std::vector<Argument>> arguments(const Kernel& kernel, void** params,
                                             std::optional<size_t> param_count) const;

  const Options options_;
  int ordinal_;
  std::map<int, Device> devices_;
  std::unordered_map<const void*, std::unique_ptr<ModuleRecord>> modules_;
  std::unordered_map<const void*, Function*> functions_;
  std::unordered_map<const void*, std::unique_ptr<Stream>> streams_;
  std::unordered_map<const void*, std::unique_ptr<Event>> events_;
};

} // namespace lemma::mgpu
