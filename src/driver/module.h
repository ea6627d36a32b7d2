// Modules and their functions; libraries, which a context loads when it first uses them; the linker.
//
// Tests: tests/driver/modules.cc, libraries.cc, linker.cc.
#pragma once

#include "driver/types.h"
#include "lemma/device.h"
#include "lemma/verify.h"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::driver {

class Context;
class Module;
class Library;

// A kernel of a module: CUfunction.
class Function {
public:
  Function(Context& context, Module& module, Kernel kernel, KernelResources resources);

  CUfunction handle() { return reinterpret_cast<CUfunction>(this); }
  // As the driver keeps it, by CUfunction_attribute. The error: CUDA_ERROR_INVALID_VALUE.
  CUresult attribute(CUfunction_attribute attribute, int& value) const;
  CUresult set_attribute(CUfunction_attribute attribute, int value);
  // CTAs of so many threads that an SM holds at a time; 0: not one.
  uint32_t ctas_per_sm(uint32_t threads, uint64_t dynamic_shared_bytes) const;

  Context* const context;
  Module* const module; // there as long as this has a handle
  const Kernel kernel;
  const KernelResources resources;
  const uint64_t constant_bytes;             // of its module
  std::atomic<int> max_dynamic_shared_bytes; // that a launch may ask for
  std::atomic<int> carveout{-1};
  std::atomic<bool> non_portable_cluster{false};
  std::atomic<int> cluster_scheduling{0};
  std::array<std::atomic<int>, 3> cluster; // set by attribute; 0: as the launch says
};

class Module {
public:
  // The functions are known by handles from then on, the module is not: see Live.
  Module(Context& context, lemma::Module loaded, CUresult& status);

  CUmodule handle() { return reinterpret_cast<CUmodule>(this); }
  std::shared_ptr<Function> function(std::string_view name) const; // null: there is none
  const std::vector<std::shared_ptr<Function>>& functions() const { return functions_; }
  const Variable* variable(std::string_view name) const; // null: there is none
  uint64_t constant_bytes() const;
  // Its functions and variables are known by their handles and addresses, or no more.
  void announce(const std::shared_ptr<Module>& self);
  void forget();

  Context* const context;
  const lemma::Module loaded;
  std::atomic<bool> of_library{false}; // goes with that alone

private:
  std::vector<std::shared_ptr<Function>> functions_; // in the order of the text
};

// A kernel of a library, in whatever context: CUkernel.
class LibraryKernel {
public:
  LibraryKernel(Library& library, std::string name) : library(&library), name(std::move(name)) {}
  CUkernel handle() { return reinterpret_cast<CUkernel>(this); }

  Library* const library; // lives as long as this
  const std::string name;
};

class Library {
public:
  Library(std::string text, std::string name) : text_(std::move(text)), name_(std::move(name)) {}

  CUlibrary handle() { return reinterpret_cast<CUlibrary>(this); }
  // Of the context, loaded now if it was not yet.
  CUresult module_in(Context& context, std::shared_ptr<Module>& module);
  const std::vector<std::shared_ptr<LibraryKernel>>& kernels() const { return kernels_; }
  // Once, after the text has been loaded somewhere.
  void add_kernels(const lemma::Module& loaded);
  void unload();

private:
  const std::string text_, name_;
  std::mutex mutex_;
  std::map<const Context*, std::weak_ptr<Module>> modules_;
  std::vector<std::shared_ptr<LibraryKernel>> kernels_;
};

// A file as it is. CUDA_ERROR_FILE_NOT_FOUND.
CUresult read_file(const char* name, std::string& contents);

// The options of cuModuleLoadDataEx and its kin, as far as they mean anything here.
struct JitOptions {
  char* error_log = nullptr;
  size_t error_log_bytes = 0;
  char* info_log = nullptr;
  size_t info_log_bytes = 0;
  void** error_log_bytes_used = nullptr; // where the program reads how much there is
  void** info_log_bytes_used = nullptr;

  static CUresult from(unsigned count, const CUjit_option* options, void** values, JitOptions& jit);
  // What went wrong: to the log, or to standard error if the program has none.
  void report(const Error& error) const;
  void report_nothing() const;
};

struct Linker {
  Context* context = nullptr;
  JitOptions jit;
  std::vector<PtxText> inputs;
  std::string linked;       // the result of cuLinkComplete
  bool is_complete = false; // that was called, with whichever result
};

// The PTX text that the image is, or has inside. CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU.
CUresult text_of_image(const void* image, const JitOptions& jit, std::string& text);
// The same where its size is known: nothing beyond is read.
CUresult text_of_image(std::span<const std::byte> image, const JitOptions& jit, std::string& text);
// All texts of an image, relocatable ones as they are: what the linker takes.
CUresult parts_of_image(std::span<const std::byte> image, const JitOptions& jit, const std::string& name,
                        std::vector<PtxText>& parts);
// Makes it known by its handle.
CUresult load_module(Context& context, std::string text, const std::string& name, const JitOptions& jit,
                     std::shared_ptr<Module>& module);

// The function of a handle, which may be one of a library's kernel: that is loaded in the context.
// CUDA_ERROR_INVALID_HANDLE.
CUresult find_function(Context& context, CUfunction handle, std::shared_ptr<Function>& function);

} // namespace lemma::driver
