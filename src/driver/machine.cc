// The machine from the environment, and its attributes from attributes.def.
#include "driver/machine.h"

#include "isa/machine.h"
#include "lemma/device.h"
#include "lemma/engine.h"
#include "runtime/device_impl.h"
#include "runtime/kernel_info.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string_view>

namespace lemma::driver {
namespace {

// "65536", "512M", "8G"; none if it is no size.
std::optional<uint64_t> size_from(std::string_view text) {
  uint64_t value = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9'; ++digits)
    value = value * 10 + static_cast<uint64_t>(text[digits] - '0');
  const std::string_view unit = text.substr(digits);
  const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
  if (digits == 0 || digits > 18 || (shift == 0 && !unit.empty()) || value > (UINT64_MAX >> shift))
    return std::nullopt;
  return value << shift;
}

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);
  return text ? text : "";
}
uint64_t number_in(const char* name) {
  return std::strtoull(std::string(variable(name)).c_str(), nullptr, 10);
}

LaunchConfig launch_from_environment() {
  LaunchConfig config;
  config.seed = number_in("LEMMA_SEED");
  config.workers = static_cast<unsigned>(number_in("LEMMA_WORKERS"));
  config.schedule = number_in("LEMMA_SCHEDULE");
  config.max_instructions = number_in("LEMMA_MAX_INSTRUCTIONS");
  config.deterministic = number_in("LEMMA_DETERMINISTIC") != 0;
  if (variable("LEMMA_ASYNC") == "late")
    config.async = AsyncMode::late;
  if (variable("LEMMA_ASYNC") == "random")
    config.async = AsyncMode::random;
  if (variable("LEMMA_ELECT") == "any")
    config.elect = Elect::any;
  if (variable("LEMMA_ON_FAULT") == "warn")
    config.on_fault = OnFault::warn;
  return config;
}

} // namespace

Result<Machine, Error> machine_from_environment() {
  Machine machine;
  if (const char* arch = std::getenv("LEMMA_ARCH"); arch && *arch) {
    machine.sm = runtime::arch_number(arch);
    if (machine.sm == 0)
      return runtime::no_such_arch(arch);
  }
  const isa::Machine* row = isa::find_machine(machine.sm);
  if (!row || !row->arithmetic)
    return runtime::failure(ErrorKind::unsupported,
                            fmt::format("LEMMA_ARCH: sm_{} is not modelled", machine.sm));
  machine.name = row->card.empty() ? "Lemma virtual GPU" : fmt::format("Lemma virtual {}", row->card);
  machine.memory_bytes = default_max_memory_bytes();
  if (const char* size = std::getenv("LEMMA_MAX_MEMORY"); size && *size) {
    const std::optional<uint64_t> bytes = size_from(size);
    if (!bytes || *bytes == 0)
      return runtime::failure(ErrorKind::invalid_argument, fmt::format("LEMMA_MAX_MEMORY is '{}': legal are "
                                                                       "bytes, or a number with K, M or G",
                                                                       size));
    machine.memory_bytes = *bytes;
  }
  if (const char* patience = std::getenv("LEMMA_PATIENCE"); patience && *patience) {
    char* end = nullptr;
    machine.patience_seconds = std::strtod(patience, &end);
    if (*end != '\0' || !(machine.patience_seconds >= 0))
      return runtime::failure(ErrorKind::invalid_argument,
                              fmt::format("LEMMA_PATIENCE is '{}': legal are seconds, 0 or more", patience));
  }
  machine.check = number_in("LEMMA_CHECK") != 0;
  machine.skip_repeats = variable("LEMMA_SKIP_REPEATS") != "0";
  machine.reset_cures = number_in("LEMMA_RESET_CURES") != 0;
  machine.launch = launch_from_environment();
  const Result<Engine, Error> engine = engine_of_environment();
  if (!engine)
    return fail(engine.error());
  machine.launch.engine = *engine;
  machine.launch.check = machine.check;
  machine.limits = vgpu::limits_of(vgpu::Arch{machine.sm});
  return machine;
}

bool are_launches_to_block() {
  return number_in("CUDA_LAUNCH_BLOCKING") != 0;
}

CUresult attribute_of(const Machine& m, CUdevice_attribute attribute, int& value) {
  const vgpu::MachineLimits& l = m.limits;
  switch (attribute) {
#define ATTRIBUTE(name, expression)                                                                          \
  case CU_DEVICE_ATTRIBUTE_##name:                                                                           \
    value = static_cast<int>(expression);                                                                    \
    return CUDA_SUCCESS;
#include "driver/attributes.def"
#undef ATTRIBUTE
  default:
    value = 0;
    return attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
}

} // namespace lemma::driver
