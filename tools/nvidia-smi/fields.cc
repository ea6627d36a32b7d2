// The fields, a row each; none has a value of its own.
#include "fields.h"

namespace lemma::smi {
namespace {

std::string number(nvmlReturn_t error, unsigned long long value) {
  return error == NVML_SUCCESS ? std::to_string(value) : "";
}

// Of a function that gives a text.
template <auto function>
std::string text(nvmlDevice_t device) {
  char text[96];
  return function(device, text, sizeof text) == NVML_SUCCESS ? text : "";
}

// Of a function that gives a number.
template <auto function>
std::string count(nvmlDevice_t device) {
  unsigned value = 0;
  const nvmlReturn_t error = function(device, &value);
  return number(error, value);
}

// Of a function that gives 0 or 1.
template <auto function>
std::string is_enabled(nvmlDevice_t device) {
  const std::string value = count<function>(device);
  return value.empty() ? value : value == "0" ? "Disabled" : "Enabled";
}

// Of a function that gives what is, and what will be.
template <auto function, bool pending>
std::string is_enabled_now_or_then(nvmlDevice_t device) {
  unsigned now = 0, then = 0;
  if (function(device, &now, &then) != NVML_SUCCESS)
    return "";
  return (pending ? then : now) ? "Enabled" : "Disabled";
}

template <auto member>
std::string mebibytes(nvmlDevice_t device) {
  nvmlMemory_t memory{};
  const nvmlReturn_t error = nvmlDeviceGetMemoryInfo(device, &memory);
  return number(error, memory.*member >> 20);
}

template <auto member>
std::string percent(nvmlDevice_t device) {
  nvmlUtilization_t utilization{};
  const nvmlReturn_t error = nvmlDeviceGetUtilizationRates(device, &utilization);
  return number(error, utilization.*member);
}

template <auto function, unsigned clock>
std::string megahertz(nvmlDevice_t device) {
  unsigned mhz = 0;
  const nvmlReturn_t error = function(device, clock, &mhz);
  return number(error, mhz);
}

std::string count_of_devices(nvmlDevice_t) {
  unsigned devices = 0;
  const nvmlReturn_t error = nvmlDeviceGetCount_v2(&devices);
  return number(error, devices);
}

std::string driver_version(nvmlDevice_t) {
  char text[80];
  return nvmlSystemGetDriverVersion(text, sizeof text) == NVML_SUCCESS ? text : "";
}

std::string capability(nvmlDevice_t device) {
  int major = 0, minor = 0;
  if (nvmlDeviceGetCudaComputeCapability(device, &major, &minor) != NVML_SUCCESS)
    return "";
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string bus(nvmlDevice_t device) {
  nvmlPciInfo_t info{};
  return nvmlDeviceGetPciInfo_v3(device, &info) == NVML_SUCCESS ? info.busId : "";
}

std::string compute_mode(nvmlDevice_t device) {
  const std::string mode = count<nvmlDeviceGetComputeMode>(device);
  return mode.empty() ? mode : mode == "0" ? "Default" : mode == "2" ? "Prohibited" : "Exclusive_Process";
}

std::string nothing(nvmlDevice_t) {
  return "";
}

constexpr Field kFields[] = {
    {"count", "", "", count_of_devices},
    {"driver_version", "", "", driver_version},
    {"name", "gpu_name", "", text<nvmlDeviceGetName>},
    {"index", "", "", count<nvmlDeviceGetIndex>},
    {"uuid", "gpu_uuid", "", text<nvmlDeviceGetUUID>},
    {"pci.bus_id", "gpu_bus_id", "", bus},
    {"compute_cap", "", "", capability},
    {"compute_mode", "", "", compute_mode},
    {"persistence_mode", "", "", is_enabled<nvmlDeviceGetPersistenceMode>},
    {"display_mode", "", "", is_enabled<nvmlDeviceGetDisplayMode>},
    {"display_active", "", "", is_enabled<nvmlDeviceGetDisplayActive>},
    {"ecc.mode.current", "", "", is_enabled_now_or_then<nvmlDeviceGetEccMode, false>},
    {"ecc.mode.pending", "", "", is_enabled_now_or_then<nvmlDeviceGetEccMode, true>},
    {"mig.mode.current", "", "", is_enabled_now_or_then<nvmlDeviceGetMigMode, false>},
    {"mig.mode.pending", "", "", is_enabled_now_or_then<nvmlDeviceGetMigMode, true>},
    {"memory.total", "", "MiB", mebibytes<&nvmlMemory_t::total>},
    {"memory.used", "", "MiB", mebibytes<&nvmlMemory_t::used>},
    {"memory.free", "", "MiB", mebibytes<&nvmlMemory_t::free>},
    {"utilization.gpu", "", "%", percent<&nvmlUtilization_t::gpu>},
    {"utilization.memory", "", "%", percent<&nvmlUtilization_t::memory>},
    {"clocks.current.sm", "clocks.sm", "MHz", megahertz<nvmlDeviceGetClockInfo, NVML_CLOCK_SM>},
    {"clocks.current.graphics", "clocks.gr", "MHz", megahertz<nvmlDeviceGetClockInfo, NVML_CLOCK_GRAPHICS>},
    {"clocks.current.memory", "clocks.mem", "MHz", megahertz<nvmlDeviceGetClockInfo, NVML_CLOCK_MEM>},
    {"clocks.max.sm", "", "MHz", megahertz<nvmlDeviceGetMaxClockInfo, NVML_CLOCK_SM>},
    {"clocks.max.graphics", "clocks.max.gr", "MHz",
     megahertz<nvmlDeviceGetMaxClockInfo, NVML_CLOCK_GRAPHICS>},
    {"clocks.max.memory", "clocks.max.mem", "MHz", megahertz<nvmlDeviceGetMaxClockInfo, NVML_CLOCK_MEM>},
    // Functions that are REFUSED: src/nvml/functions.def.
    {"temperature.gpu", "", "", nothing},
    {"temperature.memory", "", "", nothing},
    {"power.draw", "", "W", nothing},
    {"power.draw.instant", "", "W", nothing},
    {"power.limit", "", "W", nothing},
    {"power.max_limit", "", "W", nothing},
    {"fan.speed", "", "%", nothing},
    {"pstate", "", "", nothing},
    {"serial", "gpu_serial", "", nothing},
    {"vbios_version", "", "", nothing},
    {"pcie.link.gen.current", "", "", nothing},
    {"pcie.link.gen.max", "", "", nothing},
    {"pcie.link.width.current", "", "", nothing},
    {"pcie.link.width.max", "", "", nothing},
};

} // namespace

const Field* find_field(std::string_view name) {
  for (const Field& field : kFields)
    if (name == field.name || (!name.empty() && name == field.other))
      return &field;
  return nullptr;
}

std::string value_of(std::string_view name, nvmlDevice_t device) {
  const Field* field = find_field(name);
  const std::string value = field ? field->value(device) : "";
  return value.empty() ? "[N/A]" : value;
}

} // namespace lemma::smi
