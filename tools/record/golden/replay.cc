// Running cases on a device. See replay.h.
#include "golden/replay.h"

#include "lemma/engine.h"
#include "support/processors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <deque>
#include <future>
#include <optional>

namespace lemma::golden {
namespace {

constexpr size_t kKernelsPerModule = 64;

// Cases that share a module.
struct Batch {
  std::vector<const Case*> cases;
  std::future<Result<Module, Error>> module;
};

std::string module_text(std::span<const Case* const> cases) {
  std::vector<Case> copies;
  for (const Case* c : cases) {
    Case& copy = copies.emplace_back();
    copy.name = c->name;
    copy.text = c->text;
    copy.common = c->common;
  }
  return golden::module_text(copies);
}

std::string describe(const Error& error) {
  std::string text = error.text;
  for (const Message& message : error.messages)
    text += "\n" + message.rendered;
  return text;
}

class Runner {
public:
  Runner(const Group& group, const RunOptions& options, const CaseDone& done)
      : group_(group), options_(options), done_(done) {}

  Result<DeviceInfo, std::string> run(const std::function<bool(const Case&)>& wanted) {
    if (const auto opened = open(); !opened)
      return fail(opened.error());
    const DeviceInfo info = device().info();
    std::vector<const Case*> cases;
    for (const Case& c : group_.cases)
      if (!wanted || wanted(c))
        cases.push_back(&c);
    // A GPU's compiler takes seconds for a long group: use the cores. The virtual GPU's decoder takes none to
    // speak of.
    const size_t ahead = options_.device == "cuda" ? std::max(2u, usable_processors()) : 1;
    std::deque<Batch> batches;
    for (size_t next = 0; next < cases.size() || !batches.empty();) {
      while (next < cases.size() && batches.size() < ahead) {
        Batch batch;
        for (; next < cases.size() && batch.cases.size() < kKernelsPerModule; ++next)
          batch.cases.push_back(cases[next]);
        batch.module = std::async(std::launch::async, [this, device = device(), cases = batch.cases] {
          return load(device, cases);
        });
        batches.push_back(std::move(batch));
      }
      run_batch(batches.front());
      batches.pop_front();
    }
    return info;
  }

private:
  Result<void, std::string> open() {
    Result<Device, Error> device = Device::open(options_.device);
    if (!device)
      return fail(device.error().text);
    device_ = std::move(*device);
    return {};
  }

  Result<Module, Error> load(const Device& device, std::span<const Case* const> cases) const {
    return device.load_ptx(module_text(cases), {.name = group_.name + ".ptx", .arch = options_.arch});
  }

  void run_batch(Batch& batch) {
    const Result<Module, Error> module = batch.module.get();
    for (const Case* c : batch.cases) {
      const std::vector<std::byte> inputs = make_inputs(*c, group_.name, options_.seed);
      std::vector<std::byte> outputs = initial_outputs(*c, inputs);
      std::optional<std::string> error;
      if (module)
        error = launch(*c, *module, inputs, outputs);
      if (!error)
        error = run_alone(*c, inputs, outputs);
      done_(*c, inputs, outputs, *error);
    }
  }

  // In a module of its own: a kernel that the compiler refused, or whose module a fault took, or which
  // another kernel of its module keeps from loading.
  std::string run_alone(const Case& c, std::span<const std::byte> inputs, std::span<std::byte> outputs) {
    if (lost_)
      (void)open(); // if that fails, so does all that follows, and says so
    lost_ = false;
    const Case* alone[] = {&c};
    const Result<Module, Error> module = load(device(), alone);
    if (!module)
      return describe(module.error());
    return launch(c, *module, inputs, outputs).value_or("the device was lost");
  }

  // Empty when all went well; none when an earlier fault took the module.
  std::optional<std::string> launch(const Case& c, const Module& module, std::span<const std::byte> inputs,
                                    std::span<std::byte> outputs) {
    if (lost_)
      return std::nullopt;
    const Result<Kernel, Error> kernel = module.kernel(c.entry);
    if (!kernel)
      return describe(kernel.error());
    const Result<Buffer, Error> in = fill(inputs), out = fill(outputs);
    if (!in || !out)
      return describe(in ? out.error() : in.error());
    const Result<Engine, Error> engine = engine_of_environment();
    if (!engine)
      return describe(engine.error());
    LaunchConfig config;
    config.engine = *engine;
    config.grid = c.grid;
    config.block = c.block;
    config.cluster = c.cluster;
    config.shared_bytes = c.shared_bytes;
    config.schedule = options_.schedule;
    config.observer = options_.observer;
    config.check = static_cast<bool>(options_.found);
    std::vector<Argument> arguments{*in, *out};
    for (const MapParameter& parameter : c.maps) {
      TensorMap map = parameter.map;
      map.address = parameter.of_output ? out->address() + c.outputs[parameter.plane].offset_bytes
                                        : in->address() + c.inputs[parameter.plane].offset_bytes;
      Result<Argument, Error> encoded = device().encode(map);
      if (!encoded)
        return describe(encoded.error());
      arguments.push_back(*std::move(encoded));
    }
    Result<Report, Error> report = kernel->launch(config, arguments);
    if (!report) {
      lost_ = report.error().kind == ErrorKind::device_lost;
      if (lost_)
        return std::nullopt;
      return describe(report.error());
    }
    if (options_.found)
      options_.found(c, std::move(report->findings));
    if (!report->ok()) {
      lost_ = options_.device == "cuda";
      return report->fault ? std::string(to_string(report->fault->kind)) + ": " + report->fault->message
                           : std::string(to_string(report->outcome));
    }
    if (const auto copied = out->copy_to(outputs); !copied)
      return describe(copied.error());
    return std::string();
  }

  Result<Buffer, Error> fill(std::span<const std::byte> bytes) {
    Result<Buffer, Error> buffer = device().allocate(std::max<size_t>(bytes.size(), 16));
    if (buffer && !bytes.empty())
      if (const auto copied = buffer->copy_from(bytes); !copied)
        return fail(copied.error());
    return buffer;
  }

  const Group& group_;
  const RunOptions& options_;
  const CaseDone& done_;
  // From the first open() on.
  Device& device() {
    assert(device_);
    return *device_;
  }

  std::optional<Device> device_;
  bool lost_ = false; // a fault took the device's context and the modules with it
};

} // namespace

Result<DeviceInfo, std::string> run_group(const Group& group, const RunOptions& options,
                                          const std::function<bool(const Case&)>& wanted,
                                          const CaseDone& done) {
  return Runner(group, options, done).run(wanted);
}

} // namespace lemma::golden
