// Launches belong to a product by the name of the function that the kernel was outlined from; copies of
// operands come before it. See bench_program.h.
#include "bench_program.h"

#include "bench_products.h"
#include "files.h"

#include "lemma/engine.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::cli {
namespace {

constexpr uint64_t kSeed = 1;

// Whether the launch is one of that function's.
bool is_of(const std::string& kernel, const MlirProduct& product) {
  return kernel.starts_with(product.function + "_kernel");
}

std::optional<ProductShape> shape_of(const MlirProduct& product) {
  if (product.m < 0 || product.n < 0 || product.k < 0)
    return std::nullopt;
  ProductShape shape{.type = product.is_tf32 ? "tf32" : shape_type(product.a),
                     .result = shape_type(product.c),
                     .m = static_cast<uint64_t>(product.m),
                     .n = static_cast<uint64_t>(product.n),
                     .k = static_cast<uint64_t>(product.k),
                     .a_transposed = product.a_transposed,
                     .b_transposed = product.b_transposed};
  return shape;
}

// Launches of a program in their order, put together: a product with the copies before it.
class Grouping {
public:
  explicit Grouping(const std::vector<MlirProduct>& products) : products_(products) {}

  Result<void, Error> add(const MlirLaunch& launch) {
    auto step = Step::launch(launch.kernel, launch.config, launch.arguments);
    if (!step)
      return Unexpected<Error>{std::move(step).error()};
    const Kernel& kernel = launch.kernel;
    const auto product = std::find_if(products_.begin(), products_.end(),
                                      [&](const MlirProduct& one) { return is_of(kernel.name(), one); });
    if (product != products_.end() && product->is_copy) {
      copies_.push_back(*std::move(step));
      return {};
    }
    if (product == products_.end())
      put({.label = kernel.name(), .launches = 1, .work = {*std::move(step)}}, {kernel.name(), {kernel}});
    else if (goes_on(*product, kernel)) {
      groups_.back().work.push_back(*std::move(step));
      keys_.back().kernels.push_back(kernel);
    } else if (!repeats(*product, kernel))
      begin(*product, kernel, *std::move(step));
    return {};
  }

  std::vector<BenchGroup> take() && { return std::move(groups_); }

private:
  // What a group is known by: a product's function, or a kernel's name; and the kernels that are launched for
  // it once.
  struct Key {
    std::string name;
    std::vector<Kernel> kernels;
    bool has(const Kernel& kernel) const {
      return std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
    }
  };

  // A further kernel of the product that was launched last: one that adds up its parts, say.
  bool goes_on(const MlirProduct& product, const Kernel& kernel) const {
    return !groups_.empty() && keys_.back().name == product.function && groups_.back().launches == 1 &&
           copies_.empty() && !keys_.back().has(kernel);
  }

  // A further kernel of a product that is launched again, and counted by its first.
  bool repeats(const MlirProduct& product, const Kernel& kernel) const {
    return std::any_of(keys_.begin(), keys_.end(), [&](const Key& key) {
      return key.name == product.function && key.has(kernel) && key.kernels.front() != kernel;
    });
  }

  void begin(const MlirProduct& product, const Kernel& kernel, Step step) {
    BenchGroup group{
        .label = product.function, .launches = 1, .shape = shape_of(product), .schedule = product.schedule};
    group.copies = copies_.size();
    group.work = std::move(copies_);
    copies_.clear();
    group.work.push_back(std::move(step));
    if (group.shape)
      group.label = label_of(*group.shape);
    put(std::move(group), {product.function, {kernel}});
  }

  // What the program launches again and again is timed once.
  void put(BenchGroup group, Key key) {
    const auto known = std::find_if(keys_.begin(), keys_.end(), [&](const Key& other) {
      return other.name == key.name && other.has(key.kernels.front());
    });
    if (known != keys_.end()) {
      ++groups_[static_cast<size_t>(known - keys_.begin())].launches;
      return;
    }
    keys_.push_back(std::move(key));
    groups_.push_back(std::move(group));
  }

  const std::vector<MlirProduct>& products_;
  std::vector<BenchGroup> groups_;
  std::vector<Key> keys_; // of each
  Work copies_;
};

Result<uint64_t, Stop> bytes_of(const MlirParameter& parameter, size_t position) {
  uint64_t bits = parameter.element_bits;
  for (const int64_t extent : parameter.shape) {
    if (extent < 0)
      return usage(fmt::format("argument {} is a {}, whose sizes only an --arg can say: in=FILE.npy",
                               position, parameter.type));
    if (extent != 0 && bits > (uint64_t{1} << 50) / static_cast<uint64_t>(extent))
      return usage(fmt::format("argument {}, a {}, is too large", position, parameter.type));
    bits *= static_cast<uint64_t>(extent);
  }
  return (bits + 7) / 8;
}

} // namespace

Result<std::vector<BenchProgram>, Stop> programs_of(const BenchProgram& common, const std::string& file,
                                                    const ProductWords& products, const std::string& device,
                                                    bool has_args) {
  BenchProgram program = common;
  if (file.empty() == products.types.empty())
    return usage("one of both is wanted: a FILE.mlir, or --matmul and its types");
  if (!file.empty()) {
    auto text = read_text(file);
    if (!text)
      return usage(std::move(text).error());
    program.text = *std::move(text);
    program.name = shown_path(file);
    return std::vector{program};
  }
  if (has_args)
    return usage("--arg is for a file: what --matmul multiplies is random");
  ProductWords wanted = products;
  if (wanted.sizes.empty())
    wanted.sizes = device == "cpu" ? "256" : "2048,4096,8192,16384";
  const auto shapes = products_of(wanted);
  if (!shapes)
    return Unexpected<Stop>{shapes.error()};
  std::vector<BenchProgram> programs;
  program.entry = "main";
  for (const ProductShape& shape : *shapes) {
    program.text = program_of(shape, products.epilogue);
    program.epilogue = products.epilogue;
    program.name = label_of(shape);
    program.shape = shape;
    program.allow_tf32 = shape.type == "tf32";
    programs.push_back(program);
  }
  return programs;
}

Result<std::unique_ptr<BenchMemory>, Stop>
BenchMemory::make(const Device& device, const BenchProgram& program, RunArguments& given) {
  auto parameters = host_parameters(program.text, program.entry, program.name);
  if (!parameters)
    return stop(std::move(parameters).error());
  auto memory = std::make_unique<BenchMemory>();
  if (!given.empty()) {
    auto arguments = given.for_host();
    if (!arguments)
      return Unexpected<Stop>{std::move(arguments).error()};
    memory->arguments_ = *std::move(arguments);
  }
  memory->buffers_.resize(parameters->size());
  memory->host_.resize(parameters->size());
  for (size_t i = 0; i < parameters->size(); ++i) {
    const MlirParameter& parameter = (*parameters)[i];
    if (given.empty()) {
      if (!parameter.is_memref)
        return usage(fmt::format("argument {} is a {}: give every argument by --arg", i, parameter.type));
      const auto bytes = bytes_of(parameter, i);
      if (!bytes)
        return Unexpected<Stop>{bytes.error()};
      memory->host_[i].resize(*bytes);
      if (auto filled = fill_random(memory->host_[i], parameter.element, kSeed + i); !filled)
        return usage(fmt::format("argument {}: {}; give every argument by --arg", i, filled.error().text));
      memory->arguments_.push_back(
          {.is_memory = true, .bytes = memory->host_[i], .shape = {}, .is_float = {}});
    }
    if (i >= memory->arguments_.size() || !parameter.is_memref || !parameter.on_device)
      continue; // that there are too few arguments the run will say
    MlirArgument& argument = memory->arguments_[i];
    auto buffer = device.allocate(argument.bytes.size(), {.name = fmt::format("argument {}", i)});
    if (!buffer)
      return stop(std::move(buffer).error());
    if (auto copied = buffer->copy_from(argument.bytes); !copied)
      return stop(std::move(copied).error());
    memory->buffers_[i] = *std::move(buffer);
    argument.buffer = &memory->buffers_[i];
    argument.bytes = {};
    memory->host_[i] = {};
  }
  return memory;
}

Result<BenchRun, Stop> run_once(const Device& device, const BenchProgram& program,
                                const BenchMemory& memory) {
  const Result<Engine, Error> engine = engine_of_environment();
  if (!engine)
    return usage(engine.error().text);
  std::vector<MlirLaunch> launches;
  auto ran =
      run_mlir(program.text, {.name = program.name,
                              .device = device.info().kind,
                              .opened = device,
                              .arch = program.arch,
                              .entry = program.entry,
                              .schedule = program.schedule,
                              .allow_tf32 = program.allow_tf32,
                              .arguments = memory.arguments(),
                              .launch = {.engine = *engine},
                              .compiled =
                                  [&](const std::vector<MlirProduct>& products) {
                                    // A product that stays the host's would read the device's memory.
                                    return !program.shape || !products.empty();
                                  },
                              .launched = [&](const MlirLaunch& launch) { launches.push_back(launch); },
                              .keeps_memory = true});
  if (!ran)
    return stop(std::move(ran).error());
  if (ran->stopped)
    return Unexpected<Stop>{{static_cast<ExitStatus>(ran->stopped->exit_status),
                             {.kind = ErrorKind::kernel_failed, .text = ran->stopped->text, .messages = {}}}};
  if (launches.empty())
    return usage(
        fmt::format("{} launches no kernel{}", program.name,
                    program.shape ? ": no product of these types becomes one (docs/matmul.md)" : ""));
  Grouping grouping(ran->products);
  for (const MlirLaunch& launch : launches)
    if (auto added = grouping.add(launch); !added)
      return stop(std::move(added).error());
  return BenchRun{std::move(grouping).take(), std::move(ran->kept)};
}

} // namespace lemma::cli
