// Modules: from the image to functions and variables.
#include "driver/module.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"
#include "isa/target.h"
#include "lemma/image.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

namespace lemma::driver {
namespace {

constexpr double kFirstUnknownPtx = 10; // .version 9.x of a later toolkit loads here

// What stands behind a directive of a text, if it can be seen without a parser.
std::string word_after(std::string_view text, std::string_view directive) {
  size_t at = text.find(directive);
  if (at == text.npos)
    return "";
  at = text.find_first_not_of(" \t", at + directive.size());
  if (at == text.npos)
    return "";
  return std::string(text.substr(at, text.find_first_of(" \t\r\n,;/", at) - at));
}

// What the driver's compiler says of a text that did not load: of one for another machine, too, that it is
// not valid. Measured on an H200.
CUresult status_of_text(const std::string& text, const Error& error) {
  if (const std::optional<isa::Target> target = isa::parse_target(word_after(text, ".target"));
      target && !isa::runs_on(*target, state().machine.sm))
    return CUDA_ERROR_INVALID_PTX;
  return status_of(error);
}

// Of a text that is none.
bool has_version(std::string_view text) {
  return text.find(".version") != text.npos;
}

// Newer than a compiler of CUDA 13 may know.
bool is_too_new(const std::string& text) {
  return std::strtod(word_after(text, ".version").c_str(), nullptr) >= kFirstUnknownPtx;
}

void write_log(char* log, size_t bytes, void** used, std::string_view text) {
  const size_t length = log && bytes ? std::min(text.size(), bytes - 1) : 0;
  if (log && bytes) {
    std::memcpy(log, text.data(), length);
    log[length] = '\0';
  }
  if (used)
    *used = reinterpret_cast<void*>(log ? std::min(text.size(), bytes) : 0);
}

std::atomic<uint64_t> modules_named{0};
std::string next_module_name() {
  return "<module " + std::to_string(++modules_named) + ">";
}

// The handle as a module, and the module in the current context.
template <class Body>
CUresult in_module(CUmodule handle, Body&& body) {
  return in_context_of(handle, [&](Context& context) -> CUresult {
    const std::shared_ptr<Module> module = state().modules.find(handle);
    return module ? body(context, *module) : CUDA_ERROR_INVALID_HANDLE;
  });
}

} // namespace

CUresult read_file(const char* name, std::string& contents) {
  std::ifstream file(name, std::ios::binary);
  if (!file)
    return CUDA_ERROR_FILE_NOT_FOUND;
  std::ostringstream all;
  all << file.rdbuf();
  contents = all.str();
  return CUDA_SUCCESS;
}

CUresult JitOptions::from(unsigned count, const CUjit_option* options, void** values, JitOptions& jit) {
  if (count > 0 && (!options || !values))
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i)
    switch (options[i]) {
    case CU_JIT_INFO_LOG_BUFFER:
      jit.info_log = static_cast<char*>(values[i]);
      break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
      jit.info_log_bytes = reinterpret_cast<size_t>(values[i]) & UINT32_MAX;
      jit.info_log_bytes_used = &values[i];
      break;
    case CU_JIT_ERROR_LOG_BUFFER:
      jit.error_log = static_cast<char*>(values[i]);
      break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
      jit.error_log_bytes = reinterpret_cast<size_t>(values[i]) & UINT32_MAX;
      jit.error_log_bytes_used = &values[i];
      break;
    case CU_JIT_WALL_TIME: // a float, in the value's place
      values[i] = nullptr;
      break;
    default:
      if (options[i] >= CU_JIT_NUM_OPTIONS)
        return CUDA_ERROR_INVALID_VALUE;
    }
  return CUDA_SUCCESS;
}

void JitOptions::report(const Error& error) const {
  std::string text;
  for (const Message& message : error.messages)
    text += message.rendered;
  if (text.empty())
    text = error.text + "\n";
  if (error_log && error_log_bytes)
    write_log(error_log, error_log_bytes, error_log_bytes_used, text);
  else
    std::fputs(text.c_str(), stderr);
  write_log(info_log, info_log_bytes, info_log_bytes_used, "");
}

void JitOptions::report_nothing() const {
  write_log(error_log, error_log_bytes, error_log_bytes_used, "");
  write_log(info_log, info_log_bytes, info_log_bytes_used, "");
}

namespace {

// Whether a text or a magic number has it as its first byte.
bool may_begin_with(std::byte first) {
  return first >= std::byte{' '} || first == std::byte{'\n'} || first == std::byte{'\t'} ||
         first == std::byte{'\r'};
}

ImageOptions image_options() {
  return {.arch = "sm_" + std::to_string(state().machine.sm), .name = "<image>"};
}

CUresult refused(const Error& error, const JitOptions& jit) {
  jit.report(error);
  switch (error.kind) {
  case ErrorKind::unsupported:
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  case ErrorKind::invalid_argument:
    return CUDA_ERROR_INVALID_IMAGE;
  default:
    return status_of(error);
  }
}

} // namespace

CUresult text_of_image(const void* image, const JitOptions& jit, std::string& text) {
  if (!may_begin_with(*static_cast<const std::byte*>(image)))
    return CUDA_ERROR_INVALID_IMAGE;
  Result<ImagePtx, Error> found = ptx_of_module_data(image, image_options());
  if (!found)
    return refused(found.error(), jit);
  text = std::move(found->text);
  return CUDA_SUCCESS;
}

CUresult text_of_image(std::span<const std::byte> image, const JitOptions& jit, std::string& text) {
  if (image.empty() || !may_begin_with(image.front()))
    return CUDA_ERROR_INVALID_IMAGE;
  Result<std::vector<ImagePtx>, Error> found = ptx_of_image(image, image_options());
  if (!found)
    return refused(found.error(), jit);
  text = std::move(found->front().text);
  text.resize(std::min(text.find('\0'), text.size())); // of a text whose size counts its end
  return CUDA_SUCCESS;
}

CUresult parts_of_image(std::span<const std::byte> image, const JitOptions& jit, const std::string& name,
                        std::vector<PtxText>& parts) {
  if (image.empty() || !may_begin_with(image.front()))
    return CUDA_ERROR_INVALID_IMAGE;
  ImageOptions options = image_options();
  options.name = name;
  options.link = false;
  Result<std::vector<ImagePtx>, Error> found = ptx_of_image(image, options);
  if (!found)
    return refused(found.error(), jit);
  for (ImagePtx& each : *found) {
    each.text.resize(std::min(each.text.find('\0'), each.text.size())); // of a text whose size counts its end
    if (!has_version(each.text))
      return CUDA_ERROR_INVALID_IMAGE;
    parts.push_back({.text = std::move(each.text), .name = std::move(each.name)});
  }
  return CUDA_SUCCESS;
}

CUresult load_module(Context& context, std::string text, const std::string& name, const JitOptions& jit,
                     std::shared_ptr<Module>& module) {
  if (!has_version(text))
    return CUDA_ERROR_INVALID_IMAGE;
  if (is_too_new(text))
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  Result<lemma::Module, Error> loaded = state().device.load_ptx(text, {.name = name});
  if (!loaded) {
    jit.report(loaded.error());
    return status_of_text(text, loaded.error());
  }
  jit.report_nothing();
  CUresult status = CUDA_SUCCESS;
  module = std::make_shared<Module>(context, *std::move(loaded), status);
  if (status != CUDA_SUCCESS)
    return status;
  module->announce(module);
  return CUDA_SUCCESS;
}

Module::Module(Context& context, lemma::Module from, CUresult& status)
    : context(&context), loaded(std::move(from)) {
  for (const Kernel& kernel : loaded.kernels()) {
    const Result<KernelResources, Error> resources = kernel.resources();
    if (!resources) {
      status = status_of(resources.error());
      return;
    }
    functions_.push_back(std::make_shared<Function>(context, *this, kernel, *resources));
  }
}

void Module::announce(const std::shared_ptr<Module>& self) {
  for (const std::shared_ptr<Function>& function : functions_)
    state().functions.add(function);
  for (const Variable& variable : loaded.variables())
    state().memory.add_variable(variable, *context);
  state().modules.add(self);
}

void Module::forget() {
  state().modules.take(this);
  state().functions.take_if([this](const Function& function) { return function.module == this; });
  for (const Variable& variable : loaded.variables())
    state().memory.take(variable.address,
                        variable.is_managed ? MemoryKind::managed_variable : MemoryKind::variable);
}

std::shared_ptr<Function> Module::function(std::string_view name) const {
  const auto found = std::find_if(functions_.begin(), functions_.end(),
                                  [&](const auto& function) { return function->kernel.name() == name; });
  return found == functions_.end() ? nullptr : *found;
}

const Variable* Module::variable(std::string_view name) const {
  for (const Variable& variable : loaded.variables())
    if (variable.name == name)
      return &variable;
  return nullptr;
}

uint64_t Module::constant_bytes() const {
  uint64_t bytes = 0;
  for (const Variable& variable : loaded.variables())
    if (variable.space == "const")
      bytes += variable.size_bytes;
  return bytes;
}

} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                            void** values) {
  return in_context([&](Context& context) -> CUresult {
    if (!module || !image)
      return CUDA_ERROR_INVALID_VALUE;
    JitOptions jit;
    if (const CUresult wrong = JitOptions::from(count, options, values, jit); wrong != CUDA_SUCCESS)
      return wrong;
    std::string text;
    if (const CUresult wrong = text_of_image(image, jit, text); wrong != CUDA_SUCCESS)
      return wrong;
    std::shared_ptr<Module> made;
    const CUresult status = load_module(context, std::move(text), next_module_name(), jit, made);
    if (status == CUDA_SUCCESS)
      *module = made->handle();
    return status;
  });
}

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  return cuModuleLoadDataEx(module, image, 0, nullptr, nullptr);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return cuModuleLoadData(module, image);
}

CUresult cuModuleLoad(CUmodule* module, const char* file) {
  return in_context([&](Context& context) -> CUresult {
    if (!module || !file)
      return CUDA_ERROR_INVALID_VALUE;
    std::string image, text;
    if (const CUresult wrong = read_file(file, image); wrong != CUDA_SUCCESS)
      return wrong;
    if (const CUresult wrong = text_of_image(std::as_bytes(std::span(image)), {}, text);
        wrong != CUDA_SUCCESS)
      return wrong;
    std::shared_ptr<Module> made;
    const CUresult status = load_module(context, std::move(text), file, {}, made);
    if (status == CUDA_SUCCESS)
      *module = made->handle();
    return status;
  });
}

CUresult cuModuleUnload(CUmodule handle) {
  return in_context_of(handle, [&](Context&) -> CUresult {
    const std::shared_ptr<Module> module = state().modules.find(handle);
    if (!module)
      return CUDA_ERROR_INVALID_HANDLE;
    if (module->of_library)
      return CUDA_ERROR_NOT_PERMITTED;
    if (Stream::any_captures_strictly(*module->context))
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    module->forget();
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule handle, const char* name) {
  return in_module(handle, [&](Context&, Module& module) -> CUresult {
    if (!function || !name || !*name)
      return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Function> found = module.function(name);
    if (!found)
      return CUDA_ERROR_NOT_FOUND;
    *function = found->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule handle) {
  return in_module(handle, [&](Context&, Module& module) -> CUresult {
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<unsigned>(module.functions().size());
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule handle) {
  return in_module(handle, [&](Context&, Module& module) -> CUresult {
    if (!functions)
      return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < std::min<size_t>(count, module.functions().size()); ++i)
      functions[i] = module.functions()[i]->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  return in_module(handle, [&](Context&, Module& module) -> CUresult {
    if (!name || (!address && !bytes))
      return CUDA_ERROR_INVALID_VALUE;
    if (address)
      *address = 0;
    if (bytes)
      *bytes = 0;
    const lemma::Variable* variable = module.variable(name);
    if (!variable)
      return !*name || module.function(name) ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_FOUND;
    if (address)
      *address = variable->address;
    if (bytes)
      *bytes = variable->size_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return initialized([&]() -> CUresult {
    if (!mode)
      return CUDA_ERROR_INVALID_VALUE;
    *mode = CU_MODULE_LAZY_LOADING; // what a program sees of it is the same
    return CUDA_SUCCESS;
  });
}
