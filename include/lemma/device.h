// Devices, their memory, PTX modules and kernel launches.
//
//   auto device = lemma::Device::open("cpu");
//   auto module = device->load_ptx(text, {.name = "saxpy.ptx"});
//   auto kernel = module->kernel("saxpy");
//   auto x = device->allocate(4096), y = device->allocate(4096);
//   x->copy_from(...); y->copy_from(...);
//   auto report = kernel->launch({.grid = {4}, .block = {256}}, {*x, *y, 2.0f, 1024u});
//   if (report && report->ok()) y->copy_to(...);
//
// "cpu" is the virtual GPU; "cuda" is a real GPU, through libcuda.so.1, which is opened at run time. Both
// take the same PTX and the same arguments. Device, Module and Kernel are cheap handles that may be copied
// and outlive each other; a Buffer owns its memory. Handles may be used from several threads, one object (a
// Buffer above all) by one thread at a time. Two launches of one device run one after the other, unless they
// are given to streams (lemma/stream.h); a copy or a free waits for the launch that runs, as cuMemcpy and
// cuMemFree do. A launch's own callbacks cannot wait for it: a copy, or a launch on whatever device, is an
// error in one, and what one frees goes when the launch has ended.
//
// What returns a Result does not throw; the others throw nothing but std::bad_alloc.
//
// Tests: tests/unit/runtime/api_test.cc, threads_test.cc, tests/package/.
#pragma once

#include "lemma/launch.h"
#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"
#include "lemma/running_launch.h"
#include "lemma/tensor_map.h"

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace lemma {

namespace runtime {
class DeviceImpl;
class ModuleImpl;
} // namespace runtime

struct DeviceOptions {
  int ordinal = 0; // cuda: which GPU
  // cpu: what the virtual GPU is, "sm_80": every module has to run on it. Empty: sm_90, and for a module of
  // another target what that says.
  std::string arch = {};
  // cpu: of the host's memory, what the device may take with its buffers, modules and launches. More than
  // that is an error of the call, or a fault of the launch, that says what for. 0:
  // default_max_memory_bytes().
  uint64_t max_memory_bytes = 0;
  // cpu: a kernel that can only go on if somebody else acts, another kernel or the host, is a deadlock when
  // nothing has happened for so long. One that nobody is beside is one at once.
  double patience_seconds = 10;
  // cpu: Device::stream_findings() says which operations of streams use the same memory without being
  // ordered. Takes some times as long.
  bool check_streams = false;
  // cpu: a launch that would do what one before did - the same kernel, arguments and configuration, with the
  // same bytes in all of the device's memory - does not run: its results are there, and its report is that
  // one's, in no time. For programs that launch a kernel again and again to time it. Launches that are
  // watched (check, observer, progress, stop), that print, allocate, read a clock or are programmatic run; so
  // do all while there is memory that the host shares.
  bool skip_repeats = false;
  // cpu: called now and then, a few times a second, by a launch that takes longer, and once more when that
  // has ended: for whoever has to say what ran when the process is ended. One call of a launch at a time; it
  // must neither throw nor use the device.
  std::function<void(const RunningLaunch&)> on_running = {};
};

// Half of the memory that this process may use: the machine's, or its control group's if that is less.
uint64_t default_max_memory_bytes();

struct DeviceInfo {
  std::string kind;     // "cpu" or "cuda"
  std::string name;     // "virtual GPU", "NVIDIA H200"
  std::string driver;   // cuda: the driver's CUDA version and its own, "13.0 (580.159.04)"; cpu: empty
  std::string target;   // what the machine is: "sm_90"
  std::string bus = {}; // cuda: where the GPU is, "0000:4e:00.0"; cpu: empty
};

struct AllocateOptions {
  std::string name = {}; // for messages: "arg 2 (buf)"
  // Not zeros: 0xCB on "cuda"; on "cpu" bytes that LaunchConfig::seed changes, and their use before the first
  // write is reported.
  bool poisoned = false;
  // The address is a pointer for the host too, which may read and write there ("cuda": managed memory), while
  // a kernel runs as far as their accesses do not race. With `poisoned` only where the host is watched
  // (DeviceOptions::check_streams): it is zeroed then, and pages that anybody has touched count as written.
  bool host_shared = false;
};

// Device memory, freed when the Buffer goes.
class Buffer {
public:
  Buffer() = default;
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~Buffer();

  // As the kernel sees it; aligned to 256 bytes. 0 if the Buffer is empty.
  uint64_t address() const { return address_; }
  uint64_t size_bytes() const { return size_bytes_; }

  // Offsets and sizes in bytes. Errors: invalid_argument if the range is not inside the buffer, or a callback
  // of a launch asks; device_lost.
  Result<void, Error> copy_from(std::span<const std::byte> source, uint64_t offset_bytes = 0);
  Result<void, Error> copy_to(std::span<std::byte> destination, uint64_t offset_bytes = 0) const;
  Result<void, Error> fill(uint8_t value);

  // Frees the memory now and leaves the Buffer empty.
  void free();

private:
  friend class Device;
  friend class Stream;
  void swap(Buffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(address_, other.address_);
    std::swap(size_bytes_, other.size_bytes_);
    std::swap(epoch_, other.epoch_);
  }
  Result<void, Error> check(uint64_t offset_bytes, uint64_t bytes) const;

  std::shared_ptr<runtime::DeviceImpl> device_;
  uint64_t address_ = 0;
  uint64_t size_bytes_ = 0;
  uint64_t epoch_ = 0; // which context of the device it belongs to
};

// A kernel argument: the bytes of one parameter. A Buffer passes its address.
class Argument {
public:
  Argument(const Buffer& buffer) : Argument(buffer.address()) {}
  template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>)
  Argument(const T& value)
      : bytes_(reinterpret_cast<const std::byte*>(&value),
               reinterpret_cast<const std::byte*>(&value) + sizeof(T)) {}
  // By value, for parameters that are structs: as many bytes as the parameter has.
  static Argument from_bytes(std::span<const std::byte> bytes) { return Argument(bytes); }

  const std::vector<std::byte>& bytes() const { return bytes_; }

private:
  explicit Argument(std::span<const std::byte> bytes) : bytes_(bytes.begin(), bytes.end()) {}
  std::vector<std::byte> bytes_;
};

// A kernel parameter, as its .param declaration lays it out.
struct Parameter {
  std::string name;
  std::string type; // as declared: ".u64", ".b8[24]"
  uint64_t size_bytes = 0;
  uint64_t align_bytes = 0;
  uint64_t offset_bytes = 0; // in the kernel's parameter space
  bool is_pointer = false;   // declared .ptr
  // For messages: the name; of one that a compiler has only numbered, its type in C++, "float*", as the
  // kernel's mangled name has it, else "parameter 0".
  std::string label = {};
};

class Stream;
class Texture;

// What a kernel takes of the machine, and what it asks of a launch.
struct KernelResources {
  uint64_t static_shared_bytes = 0; // of a CTA
  uint64_t local_bytes = 0;         // of a thread: its .local variables; cuda: with spilled registers
  uint32_t registers = 0;           // of a thread; cpu: 0, nothing is allocated there
  uint32_t max_threads = 0;         // of a CTA
  Dim3 required_block{};            // .reqntid; zeros: not given
  Dim3 required_cluster{};          // .reqnctapercluster; zeros: not given
};

class Kernel {
public:
  const std::string& name() const;
  const std::vector<Parameter>& parameters() const;
  // Errors: device_lost; unavailable (the driver does not say).
  Result<KernelResources, Error> resources() const;
  // The kernel, and behind it the device functions of its module, as the virtual GPU lowers them before it
  // gives each instruction a handler: text, which docs/virtual-gpu.md says how to read. `pass`: as far as to
  // the end of that pass, "lower" being before the first; empty: to the end. invalid_argument: there is none
  // of that name; the error lists them.
  Result<std::string, Error> lowered(std::string_view pass = {}) const;

  // Runs the kernel to its end. The value says how it went, faults included; an error means that nothing ran:
  // invalid_argument (arguments or configuration do not fit the kernel; a callback of a launch asks),
  // device_lost, out_of_memory, unavailable.
  Result<Report, Error> launch(const LaunchConfig& config, std::span<const Argument> arguments) const;
  Result<Report, Error> launch(const LaunchConfig& config, std::initializer_list<Argument> arguments) const {
    return launch(config, std::span<const Argument>(arguments.begin(), arguments.size()));
  }

  // The same kernel of the same module; kernels of several modules may have one name.
  friend bool operator==(const Kernel&, const Kernel&) = default;

private:
  friend class Module;
  friend class Step;
  friend class Stream;
  Kernel(std::shared_ptr<runtime::ModuleImpl> module, size_t index)
      : module_(std::move(module)), index_(index) {}
  std::shared_ptr<runtime::ModuleImpl> module_;
  size_t index_; // in the module's kernels
};

struct LoadOptions {
  std::string name = "<ptx>"; // for messages
  // What the virtual GPU is for this module: "sm_90a". Its arithmetic and limits; a module that it cannot run
  // is rejected. Empty: what the device is (DeviceOptions::arch), else the module's .target. A real GPU is
  // what it is.
  std::string arch = {};
  // How much the assembler in a GPU's driver optimizes (CU_JIT_OPTIMIZATION_LEVEL), or ptxas in its place: 0,
  // what is written, to 4.
  // The virtual GPU always runs what is written.
  unsigned optimization = 4;
};

// A variable of module scope, .global or .const: device memory that keeps its value from launch to launch, as
// long as the module lives. Device::write() sets it, a .const one too, and Device::read() gets it.
struct Variable {
  std::string name;
  std::string space; // "global", "const"
  std::string type;  // as declared: ".u32", ".b8[24]"
  uint64_t address = 0;
  uint64_t size_bytes = 0;
  uint64_t align_bytes = 0;
  bool is_managed = false; // .attribute(.managed): `address` is a pointer for the host too
};

class Module {
public:
  // Kernels (.entry) in the order of the text.
  std::vector<Kernel> kernels() const;
  // The kernel of that name: as the PTX has it, or demangled, with or without parameters, template arguments
  // and namespaces, or a part of it; with an empty name the only one. invalid_argument if there is none, or
  // several fit; the error lists them.
  Result<Kernel, Error> kernel(std::string_view name = {}) const;
  // In the order of the text; cuda: those that the driver's assembler has kept.
  const std::vector<Variable>& variables() const;
  // Error: invalid_argument if there is none of that name; it lists them.
  Result<Variable, Error> variable(std::string_view name) const;
  // Warnings about the text.
  const std::vector<Message>& messages() const;
  // The text's `.target`: "sm_90a".
  const std::string& target() const;
  // The machine whose arithmetic its launches have: "sm_90".
  const std::string& arithmetic() const;
  // cuda: the ptxas that has made the GPU's code, where the text is newer than the driver takes:
  // "/usr/local/cuda/bin/ptxas 13.5.37 for sm_90a". Empty: the driver has, or there is no GPU.
  const std::string& assembled_by() const;

private:
  friend class Device;
  explicit Module(std::shared_ptr<runtime::ModuleImpl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<runtime::ModuleImpl> impl_;
};

struct StreamOptions {
  bool non_blocking = false; // does not wait for the legacy default stream, nor that for it
};

class Device {
public:
  // kind: "cpu" or "cuda". Errors: invalid_argument (another kind), unavailable (no driver, no such GPU).
  static Result<Device, Error> open(std::string_view kind, const DeviceOptions& options = {});

  const DeviceInfo& info() const;

  // Errors: out_of_memory, unavailable; invalid_argument if both host_shared and poisoned, and the host is
  // not watched. A buffer of 0 bytes has an address of its own too.
  Result<Buffer, Error> allocate(uint64_t size_bytes, const AllocateOptions& options = {}) const;

  // Memory by its address, whoever has it: buffers, module variables, what a kernel got from malloc. Errors:
  // invalid_argument if the range does not lie inside one of them, or a callback of a launch asks;
  // device_lost.
  Result<void, Error> write(uint64_t address, std::span<const std::byte> source) const;
  Result<void, Error> read(uint64_t address, std::span<std::byte> destination) const;
  Result<void, Error> fill(uint64_t address, uint64_t size_bytes, uint8_t value) const;

  // Lets kernels use host memory by its own address: what they read and write is that memory. Until
  // unregister_host(), as often as it was registered, the memory must stay. Ranges may lie within one
  // another. `name` is for messages. Errors: invalid_argument (null, or 0 bytes); unavailable if the driver
  // refuses, as it does for a range that overlaps another in part.
  Result<void, Error> register_host(void* memory, uint64_t size_bytes,
                                    std::string name = "host memory") const;
  // Error: invalid_argument if nothing is registered at that address.
  Result<void, Error> unregister_host(void* memory) const;

  // See lemma/stream.h. Streams of one priority, as the virtual GPU has them all.
  Stream create_stream(const StreamOptions& options = {}) const;
  // The legacy default stream.
  Stream default_stream() const;
  // The calling thread's own default stream.
  Stream thread_default_stream() const;
  // Waits until all streams have done what they were given. Errors: the first of theirs; invalid_argument in
  // a callback.
  Result<void, Error> synchronize() const;
  // DeviceOptions::check_streams: findings of the id "stream.race" (docs/checks.md) that were made since the
  // last call, between operations that have ended: kernels, and copies and fills of this API.
  std::vector<Finding> stream_findings() const;

  // The 128 bytes of a tensor map, for a kernel parameter that takes it by value (__grid_constant__ const
  // CUtensorMap). They are good on this device only. Errors: invalid_argument names the rule that the map
  // breaks; unavailable if the driver refuses it.
  Result<Argument, Error> encode(const TensorMap& map) const;

  // Parses, verifies and loads PTX text; module variables get their initial values. cuda: a text that is
  // newer than the driver takes is assembled by the first ptxas that takes it - $PTXAS, else those of $PATH
  // and /usr/local/cuda/bin. Errors: rejected (with messages), unsupported, unavailable (the driver's
  // compiler refused it), out_of_memory.
  Result<Module, Error> load_ptx(std::string text, const LoadOptions& options = {}) const;

private:
  friend class CublasLt;
  friend class Texture;
  friend class Timer;
  explicit Device(std::shared_ptr<runtime::DeviceImpl> impl) : impl_(std::move(impl)) {}
  Result<Module, Error> load_checked(std::string text, const LoadOptions& options, int arch) const;
  std::shared_ptr<runtime::DeviceImpl> impl_;
};

} // namespace lemma
