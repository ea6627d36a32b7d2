// include/lemma/c/device.h: modules, kernels, variables.
#include "capi/handles.h"
#include "capi/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

namespace lemma::capi {

static const lemma_parameter* to_c(Arena& arena, const Parameter& parameter) {
  return arena.make<lemma_parameter>({.name = arena.text(parameter.name),
                                      .type = arena.text(parameter.type),
                                      .size_bytes = parameter.size_bytes,
                                      .align_bytes = parameter.align_bytes,
                                      .offset_bytes = parameter.offset_bytes,
                                      .is_pointer = parameter.is_pointer,
                                      .label = arena.text(parameter.label)});
}

static const lemma_kernel* to_c(Arena& arena, const Kernel& kernel) {
  auto* made = arena.make<lemma_kernel>();
  made->name = arena.text(kernel.name());
  list(arena, kernel.parameters(), made->parameter_count, made->parameters);
  return made;
}

static const lemma_variable* to_c(Arena& arena, const Variable& variable) {
  return arena.make<lemma_variable>({.name = arena.text(variable.name),
                                     .space = arena.text(variable.space),
                                     .type = arena.text(variable.type),
                                     .address = variable.address,
                                     .size_bytes = variable.size_bytes,
                                     .align_bytes = variable.align_bytes});
}

static unsigned optimization(int32_t given) {
  if (given < -1 || given > 4)
    invalid(fmt::format("no optimization {}; -1 to 4 are", given));
  return given == 0 ? 4 : given == -1 ? 0 : static_cast<unsigned>(given);
}

// Of the variable, whose first bytes are set or got.
static Variable checked_variable(const lemma_module& module, const char* name, const void* host,
                                 uint64_t bytes) {
  Variable found = unwrap(module.module.variable(text_or(name, "")));
  if (!host && bytes > 0)
    invalid("the host's memory is null");
  if (bytes > found.size_bytes)
    invalid(fmt::format("variable {} has {} bytes, not {}", found.name, found.size_bytes, bytes));
  return found;
}

} // namespace lemma::capi

using namespace lemma::capi;

lemma_module::lemma_module(lemma::Module loaded, lemma::Device on)
    : module(std::move(loaded)), device(std::move(on)), kernels(module.kernels()) {
  info.target = info.arena.text(module.target());
  info.arithmetic = info.arena.text(module.arithmetic());
  list(info.arena, kernels, info.kernel_count, info.kernels);
  list(info.arena, module.variables(), info.variable_count, info.variables);
  list(info.arena, module.messages(), info.message_count, info.messages);
  info.assembled_by = info.arena.text(module.assembled_by());
}

lemma::Kernel lemma_module::kernel(const char* name) const {
  if (name)
    for (const lemma::Kernel& each : kernels)
      if (each.name() == name) // before the names are demangled
        return each;
  return unwrap(module.kernel(text_or(name, "")));
}

const lemma_error* lemma_module_load(lemma_device* device, const char* text, size_t text_bytes,
                                     const lemma_load_options* options, lemma_module** module) {
  return guarded([&] {
    const lemma_load_options wanted = taken(options, "lemma_module_load: options");
    lemma_module*& made = given(module, "lemma_module_load: module");
    const lemma::Device& on = given(device, "lemma_module_load: device").device;
    given(text, "lemma_module_load: text");
    made = new lemma_module(
        unwrap(on.load_ptx({text, text_bytes}, {.name = text_or(wanted.name, "<ptx>"),
                                                .arch = text_or(wanted.arch, ""),
                                                .optimization = optimization(wanted.optimization)})),
        on);
  });
}

void lemma_module_unload(lemma_module* module) {
  delete module;
}

const lemma_module_info* lemma_module_describe(const lemma_module* module) {
  return module ? &module->info : nullptr;
}

const lemma_error* lemma_module_kernel(const lemma_module* module, const char* name,
                                       const lemma_kernel** kernel) {
  return guarded([&] {
    const lemma_kernel*& out = given(kernel, "lemma_module_kernel: kernel");
    const lemma::Kernel found = given(module, "lemma_module_kernel: module").kernel(name);
    const std::span all(module->info.kernels, module->info.kernel_count);
    out = *std::find_if(all.begin(), all.end(),
                        [&](const lemma_kernel* each) { return each->name == found.name(); });
  });
}

const lemma_error* lemma_module_variable(const lemma_module* module, const char* name,
                                         const lemma_variable** variable) {
  return guarded([&] {
    const lemma_variable*& out = given(variable, "lemma_module_variable: variable");
    const lemma::Variable found =
        unwrap(given(module, "lemma_module_variable: module").module.variable(text_or(name, "")));
    const std::span all(module->info.variables, module->info.variable_count);
    out = *std::find_if(all.begin(), all.end(),
                        [&](const lemma_variable* each) { return each->name == found.name; });
  });
}

const lemma_error* lemma_variable_set(lemma_module* module, const char* name, const void* source,
                                      uint64_t size_bytes) {
  return guarded([&] {
    const lemma::Variable variable =
        checked_variable(given(module, "lemma_variable_set: module"), name, source, size_bytes);
    unwrap(module->device.write(variable.address, {static_cast<const std::byte*>(source), size_bytes}));
  });
}

const lemma_error* lemma_variable_get(const lemma_module* module, const char* name, void* destination,
                                      uint64_t size_bytes) {
  return guarded([&] {
    const lemma::Variable variable =
        checked_variable(given(module, "lemma_variable_get: module"), name, destination, size_bytes);
    unwrap(module->device.read(variable.address, {static_cast<std::byte*>(destination), size_bytes}));
  });
}
