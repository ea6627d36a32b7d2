// The C API (include/lemma/c.h) over the C++ one.
#include "lemma/c.h"
#include "lemma/lemma.h"

#include <fmt/format.h>

#include <map>
#include <memory>
#include <mutex>
#include <new>

struct lemma_device {
  // What a call has found stays until it is done, though another thread frees it.
  using SharedBuffer = std::shared_ptr<lemma::Buffer>;

  lemma::Device device;
  std::mutex mutex;                         // of `buffers`, held for moments only
  std::map<uint64_t, SharedBuffer> buffers; // by address
};

struct lemma_module {
  lemma::Module module;
};

struct lemma_stop {
  std::atomic<bool> requested{false};
};

struct lemma_report {
  lemma::Report report;
  std::string text; // findings too
};

namespace {

thread_local std::string last_error;

static_assert(static_cast<int>(lemma::ErrorKind::invalid_argument) + 1 == LEMMA_INVALID_ARGUMENT &&
              static_cast<int>(lemma::ErrorKind::internal) + 1 == LEMMA_INTERNAL &&
              static_cast<int>(lemma::Outcome::internal) == LEMMA_INTERNAL_FAULT &&
              static_cast<int>(lemma::Outcome::stopped) == LEMMA_STOPPED);

lemma_status failed(const lemma::Error& error) {
  last_error = error.text;
  for (const lemma::Message& message : error.messages)
    last_error += "\n" + message.rendered.substr(0, message.rendered.find_last_not_of('\n') + 1);
  return static_cast<lemma_status>(static_cast<int>(error.kind) + 1);
}

lemma_status invalid(std::string text) {
  last_error = std::move(text);
  return LEMMA_INVALID_ARGUMENT;
}

// No exception may reach C.
template <class F>
lemma_status guarded(F f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    last_error.clear();
    return LEMMA_OUT_OF_MEMORY;
  } catch (const std::exception& problem) {
    try {
      last_error = problem.what();
    } catch (const std::bad_alloc&) {
      last_error.clear();
    }
    return LEMMA_INTERNAL;
  }
}

// The allocation that an address lies in, and where.
struct Place {
  lemma_device::SharedBuffer buffer;
  uint64_t offset = 0;
};
Place find(lemma_device& device, uint64_t address) {
  const std::lock_guard lock(device.mutex);
  auto after = device.buffers.upper_bound(address);
  if (after == device.buffers.begin())
    return {};
  --after;
  return {after->second, address - after->first};
}

const lemma::CheckedAccess kNoAccess;

lemma_access access_of(const lemma::CheckedAccess& access) {
  lemma_access made = {};
  made.ptx_line = access.place.ptx_line;
  made.instruction = access.place.instruction.c_str();
  made.file = access.place.file.c_str();
  made.line = access.place.line;
  made.function = access.place.function.c_str();
  std::copy(access.cta.begin(), access.cta.end(), made.cta);
  made.warp = access.warp;
  made.lane = access.lane;
  made.what = access.what.c_str();
  return made;
}

} // namespace

extern "C" {

const char* lemma_version(void) {
  static const std::string text(lemma::version());
  return text.c_str();
}

const char* lemma_last_error(void) {
  return last_error.c_str();
}

lemma_status lemma_device_open(const char* kind, lemma_device** device) {
  return lemma_device_open_limited(kind, nullptr, 0, device);
}

lemma_status lemma_device_open_limited(const char* kind, const char* arch, uint64_t max_memory_bytes,
                                       lemma_device** device) {
  return guarded([&] {
    if (!kind || !device)
      return invalid("lemma_device_open: null");
    auto opened = lemma::Device::open(kind, {.arch = arch ? arch : "", .max_memory_bytes = max_memory_bytes});
    if (!opened)
      return failed(opened.error());
    *device = new lemma_device{*std::move(opened), {}, {}};
    return LEMMA_OK;
  });
}

void lemma_device_close(lemma_device* device) {
  delete device;
}

const char* lemma_device_name(const lemma_device* device) {
  return device ? device->device.info().name.c_str() : "";
}

lemma_status lemma_allocate(lemma_device* device, uint64_t size_bytes, int poisoned, uint64_t* address) {
  return guarded([&] {
    if (!device || !address)
      return invalid("lemma_allocate: null");
    auto buffer = device->device.allocate(size_bytes, {.name = "lemma_allocate", .poisoned = poisoned != 0});
    if (!buffer)
      return failed(buffer.error());
    auto shared = std::make_shared<lemma::Buffer>(*std::move(buffer));
    *address = shared->address();
    const std::lock_guard lock(device->mutex);
    device->buffers.emplace(*address, std::move(shared));
    return LEMMA_OK;
  });
}

lemma_status lemma_free(lemma_device* device, uint64_t address) {
  return guarded([&] {
    if (!device)
      return invalid("lemma_free: null");
    std::unique_lock lock(device->mutex);
    const auto freed = device->buffers.extract(address);
    lock.unlock(); // freeing waits for the launch that runs
    return freed ? LEMMA_OK : invalid(fmt::format("lemma_free: 0x{:x} is no allocation", address));
  });
}

lemma_status lemma_copy_to_device(lemma_device* device, uint64_t address, const void* source,
                                  uint64_t size_bytes) {
  return guarded([&] {
    const Place place = device ? find(*device, address) : Place{};
    if (!place.buffer || (!source && size_bytes > 0))
      return invalid(fmt::format("lemma_copy_to_device: 0x{:x} is in no allocation, or null", address));
    const auto done =
        place.buffer->copy_from({static_cast<const std::byte*>(source), size_bytes}, place.offset);
    return done ? LEMMA_OK : failed(done.error());
  });
}

lemma_status lemma_copy_from_device(lemma_device* device, void* destination, uint64_t address,
                                    uint64_t size_bytes) {
  return guarded([&] {
    const Place place = device ? find(*device, address) : Place{};
    if (!place.buffer || (!destination && size_bytes > 0))
      return invalid(fmt::format("lemma_copy_from_device: 0x{:x} is in no allocation, or null", address));
    const auto done = place.buffer->copy_to({static_cast<std::byte*>(destination), size_bytes}, place.offset);
    return done ? LEMMA_OK : failed(done.error());
  });
}

lemma_status lemma_module_load(lemma_device* device, const char* text, size_t text_bytes, const char* name,
                               const char* arch, lemma_module** module) {
  return guarded([&] {
    if (!device || !text || !module)
      return invalid("lemma_module_load: null");
    auto loaded = device->device.load_ptx({text, text_bytes},
                                          {.name = name ? name : "<ptx>", .arch = arch ? arch : ""});
    if (!loaded)
      return failed(loaded.error());
    *module = new lemma_module{*std::move(loaded)};
    return LEMMA_OK;
  });
}

void lemma_module_unload(lemma_module* module) {
  delete module;
}

lemma_stop* lemma_stop_create(void) {
  return new (std::nothrow) lemma_stop;
}

void lemma_stop_request(lemma_stop* stop) {
  stop->requested.store(true);
}

void lemma_stop_release(lemma_stop* stop) {
  delete stop;
}

lemma_status lemma_launch(lemma_module* module, const char* kernel, const lemma_launch_config* config,
                          const void* const* arguments, const size_t* sizes, size_t argument_count,
                          lemma_report** report) {
  return guarded([&] {
    if (!module || !config || !report || (argument_count > 0 && (!arguments || !sizes)))
      return invalid("lemma_launch: null");
    const auto found = module->module.kernel(kernel ? kernel : "");
    if (!found)
      return failed(found.error());
    std::vector<lemma::Argument> values;
    for (size_t i = 0; i < argument_count; ++i) {
      if (!arguments[i] && sizes[i] > 0)
        return invalid(fmt::format("lemma_launch: argument {} is null", i));
      values.push_back(lemma::Argument::from_bytes({static_cast<const std::byte*>(arguments[i]), sizes[i]}));
    }
    lemma::LaunchConfig launch;
    std::copy(config->grid, config->grid + 3, launch.grid.begin());
    std::copy(config->block, config->block + 3, launch.block.begin());
    std::copy(config->cluster, config->cluster + 3, launch.cluster.begin());
    launch.shared_bytes = config->shared_bytes;
    launch.cooperative = config->cooperative != 0;
    launch.deterministic = config->deterministic != 0;
    launch.async = config->async_late == 0   ? lemma::AsyncMode::eager
                   : config->async_late == 2 ? lemma::AsyncMode::random
                                             : lemma::AsyncMode::late;
    launch.seed = config->seed;
    launch.max_instructions = config->max_instructions;
    launch.check = config->check != 0;
    launch.check_ctas = config->check_ctas;
    launch.schedule = config->schedule;
    launch.stop = config->stop ? &config->stop->requested : nullptr;
    auto launched = found->launch(launch, values);
    if (!launched)
      return failed(launched.error());
    std::string text = launched->rendered + lemma::to_text(launched->findings);
    *report = new lemma_report{*std::move(launched), std::move(text)};
    return LEMMA_OK;
  });
}

void lemma_report_release(lemma_report* report) {
  delete report;
}

lemma_outcome lemma_report_outcome(const lemma_report* report) {
  return report ? static_cast<lemma_outcome>(report->report.outcome) : LEMMA_INTERNAL_FAULT;
}

const char* lemma_report_text(const lemma_report* report) {
  return report ? report->text.c_str() : "";
}

size_t lemma_report_finding_count(const lemma_report* report) {
  return report ? report->report.findings.size() : 0;
}

lemma_status lemma_report_finding(const lemma_report* report, size_t index, lemma_finding* finding) {
  if (!report || !finding || index >= report->report.findings.size())
    return invalid("lemma_report_finding: null, or no such finding");
  const lemma::Finding& found = report->report.findings[index];
  *finding = {};
  finding->id = found.id.c_str();
  finding->is_note = found.is_note;
  finding->message = found.message.c_str();
  finding->memory = found.memory.c_str();
  finding->fix = found.fix.c_str();
  finding->kernel = found.kernel.c_str();
  finding->text = found.rendered.c_str();
  finding->count = found.count;
  finding->access = access_of(found.access);
  finding->has_earlier = found.earlier.has_value();
  finding->earlier = access_of(found.earlier ? *found.earlier : kNoAccess);
  return LEMMA_OK;
}

double lemma_report_seconds(const lemma_report* report) {
  return report ? report->report.stats.seconds : 0;
}

uint64_t lemma_report_lane_instructions(const lemma_report* report) {
  return report ? report->report.stats.lane_instructions.value_or(0) : 0;
}

uint64_t lemma_report_matrix_flops(const lemma_report* report) {
  return report ? report->report.stats.matrix_flops.value_or(0) : 0;
}

} // extern "C"
