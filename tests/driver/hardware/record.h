// What the recorder is made of: sections of statements, each a call of the driver API whose result is written
// down with its text. A section runs in a process of its own; a statement that kills it is recorded as
// "crash", and the section runs again without it.
//
//   SAY(cuMemFree_v2(address))                              cuMemFree_v2(address) = CUDA_SUCCESS
//   SAY_VALUE(count, cuDeviceGetCount(&count))              cuDeviceGetCount(&count) = CUDA_SUCCESS 1
//   NOTE(a % 512)                                           a % 512 = 0
//
// Addresses, clocks and whatever else differs from run to run is not written down.
#pragma once

#include "driver/api.h"

#include <concepts>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace record {

// The name of an error, or its number.
std::string name_of(CUresult status);

inline std::string text_of(CUresult status) {
  return name_of(status);
}
inline std::string text_of(const std::string& text) {
  return text;
}
template <class T>
  requires std::is_arithmetic_v<T>
std::string text_of(T value) {
  return std::to_string(value);
}
template <class T>
  requires std::is_enum_v<T>
std::string text_of(T value) {
  return std::to_string(static_cast<long long>(static_cast<std::underlying_type_t<T>>(value)));
}
// A call's status, and where it is success what it has given.
template <class Value>
std::string text_of(CUresult status, const Value& value) {
  return name_of(status) + (status == CUDA_SUCCESS ? " " + value() : "");
}
template <class T>
std::string text_of(T* value) {
  return value ? "a pointer" : "null";
}

// A reference to something to be called; there are thousands, so nothing is copied.
class Run {
public:
  template <class F>
  Run(const F& f)
      : function_(&f),
        call_([](const void* function) { return std::string((*static_cast<const F*>(function))()); }) {}
  std::string operator()() const { return call_(function_); }

private:
  const void* function_;
  std::string (*call_)(const void*);
};

// The statement's text, then what it gives; not run if an earlier process died of it.
void statement(const char* text, Run run);

// Put before the texts of statements while it lives: the turn of a loop.
class Turn {
public:
  explicit Turn(const std::string& text);
  ~Turn();
  Turn(const Turn&) = delete;
};

#define SAY(...) record::statement(#__VA_ARGS__, [&] { return record::text_of(__VA_ARGS__); })
#define NOTE(...) SAY(__VA_ARGS__)
// The call's variables are the section's own: none of its names may be the macro's.
#define SAY_VALUE(value, ...)                                                                                \
  record::statement(#__VA_ARGS__,                                                                            \
                    [&] { return record::text_of((__VA_ARGS__), [&] { return record::text_of(value); }); })

// --- for statements that need a device

CUcontext begin();  // the primary context of device 0, current
CUmodule kernels(); // ../kernels.ptx
CUmodule faulty();  // faults.ptx
CUfunction function(CUmodule module, const char* name);
CUdeviceptr device_bytes(size_t bytes);
std::string file(const std::string& name); // of the folder of these sources
template <class T>
T* nowhere() { // a handle that is none
  static unsigned long long zeros[64] = {};
  return reinterpret_cast<T*>(zeros);
}
// One CTA.
template <class... Arguments>
CUresult launch(CUfunction function, unsigned threads, CUstream stream, Arguments... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  return cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, stream, pointers, nullptr);
}

struct Section {
  std::string name;
  std::function<void()> run;
};

// A file of sections each.
std::vector<Section> device_sections();
std::vector<Section> context_sections();
std::vector<Section> without_context_sections();
std::vector<Section> memory_sections();
std::vector<Section> pointer_sections();
std::vector<Section> pool_sections();
std::vector<Section> module_sections();
std::vector<Section> launch_sections();
std::vector<Section> fault_sections();
std::vector<Section> stream_sections();
std::vector<Section> capture_sections();
std::vector<Section> graph_sections();

} // namespace record
