// `lemma run FILE`: launches one kernel with arguments from files and the command line, writes its outputs,
// compares them, and says how it went. FILE.mlir is compiled to PTX first; with host code, and without
// --grid, the program runs whole: it launches its kernels itself.
//
// Standard output has the kernel's printf and --stats (with --json: one JSON object, and nothing else);
// standard error has everything that is said about the run.
//
// Tests: tests/cli/.
#include "arg_spec.h"
#include "command.h"
#include "compare.h"
#include "files.h"
#include "json_output.h"
#include "memref_argument.h"
#include "progress.h"
#include "tensor_map_file.h"

#include "lemma/lemma.h"
#include "lemma/mlir.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

namespace lemma::cli {
namespace {

constexpr const char* kFooter =
    R"(FILE.mlir (nvgpu dialect): with host code it runs whole, from --entry (main); else, or with --grid, one gpu.func is
launched, with one --arg for each of its arguments: a memref takes memory (in, out, inout, buf).

An argument SPEC, in the order of the kernel's parameters:
  u8|s8|u16|s16|u32|s32|u64|s64|f32|f64=VALUE
                        a value: decimal, 0x hex, float text; 0f3F800000 gives a float's bits
  tmap=@FILE.json       a tensor map (CUtensorMap) of the memory of another --arg, by value: {"arg": 0, "type": "bf16",
                        "dims": [K, M], "strides_bytes": [2*K], "box": [64, 128], "swizzle": "128B"};
                        memory that is no parameter of the kernel comes after the last one
  bytes=@FILE           the file's bytes by value (a struct); the size must be the parameter's
  buf=BYTES             scratch memory; a read before the first write is reported
  in=FILE               memory that holds FILE
  out=FILE:BYTES        zeroed memory, written to FILE afterwards; FILE.npy may name its type: out=d.npy:f32[64,64]
  inout=FILE:OUTFILE    memory that holds FILE, written to OUTFILE afterwards
  expect=FILE[:TOLERANCE]
                        no argument: the out or inout before it must hold FILE, bit for bit or within TOLERANCE
Files that end in .npy are read and written as such; all others are raw bytes.

Examples:
  lemma run vector_add.ptx --grid 16 --block 256 --arg in=a.npy --arg in=b.npy --arg out=c.npy:16384 \
      --arg expect=expected.npy --arg u32=4096
  lemma run gemm.mlir
  lemma run gemm.ptx --entry gemm --grid 8,8 --block 128 --smem 49152 --stats --arg buf=0x10000 --arg u32=1
Exit status: 0 success; 1 kernel fault, failed comparison or rejected file; 2 wrong command line; 3 unsupported.)";

struct RunOptions {
  std::string file, device = "cpu", arch, entry, grid, block, cluster, smem = "0", async = "eager",
                    seed = "0", max_instructions = "0";
  bool deterministic = false, stats = false, json = false;
  std::vector<std::string> args;
};

// Why the run ends before its end.
struct Stop {
  ExitStatus status = kUsage;
  Error error;
};

Unexpected<Stop> usage(std::string text) {
  return fail(Stop{kUsage, {.kind = ErrorKind::invalid_argument, .text = std::move(text), .messages = {}}});
}

Unexpected<Stop> stop(Error error) {
  ExitStatus status = kFailed;
  if (error.kind == ErrorKind::invalid_argument)
    status = kUsage;
  if (error.kind == ErrorKind::unsupported || error.kind == ErrorKind::unavailable)
    status = kUnsupported;
  return fail(Stop{status, std::move(error)});
}

// One --arg: what it said, the file behind it, the memory it became.
struct ArgumentState {
  Spec spec;
  std::optional<npy::Array> file;
  std::optional<TensorMapFile> map;
  Buffer buffer;
};

struct OutputComparison {
  std::string got, want;
  Comparison result;
};

// "X[,Y[,Z]]", each from 1 to 2^32 - 1.
Result<Dim3, Stop> parse_dim3(const char* option, const std::string& text) {
  Dim3 dim{1, 1, 1};
  size_t begin = 0;
  for (size_t i = 0;; ++i) {
    const size_t comma = text.find(',', begin);
    const std::optional<uint64_t> value = parse_unsigned(std::string_view(text).substr(begin, comma - begin));
    if (i > 2 || !value || *value == 0 || *value > UINT32_MAX)
      return usage(fmt::format("{} {}: a size is X[,Y[,Z]], each from 1 up", option, text));
    dim[i] = static_cast<uint32_t>(*value);
    if (comma == text.npos)
      return dim;
    begin = comma + 1;
  }
}

Result<uint64_t, Stop> parse_number(const char* option, const std::string& text,
                                    uint64_t highest = UINT64_MAX) {
  const std::optional<uint64_t> value = parse_unsigned(text);
  if (!value || *value > highest)
    return usage(fmt::format("{} {}: a number from 0 to {}, decimal or 0x hex", option, text, highest));
  return *value;
}

class Runner {
public:
  explicit Runner(const RunOptions& options) : options_(options) {}

  int run() {
    if (options_.json)
      json_.emplace();
    const Result<ExitStatus, Stop> done = steps();
    if (!done)
      return show_stop(done.error());
    return *done;
  }

private:
  Result<ExitStatus, Stop> steps();
  Result<void, Stop> read_command_line();
  Result<void, Stop> read_argument_files();
  Result<std::string, Stop> read_program() const;
  bool is_mlir() const { return file_.ends_with(".mlir"); }
  Result<ExitStatus, Stop> run_whole(const std::string& text);
  Result<std::string, Stop> compile(const std::string& text);
  Result<std::vector<Argument>, Stop> make_arguments(const Device& device, size_t parameters);
  Result<void, Stop> pass_to_mlir(const Device& device, const MlirParameter& parameter, size_t index,
                                  std::vector<Argument>& arguments);
  Result<Argument, Stop> encode(const Device& device, const ArgumentState& state) const;
  Result<void, Stop> allocate(const Device& device, ArgumentState& state, size_t position) const;
  Result<void, Stop> write_outputs();
  npy::Array output_array(size_t index) const;

  int show_stop(const Stop& stop);
  void show_text(const Module& module, const Kernel& kernel, const Device& device,
                 const Report& report) const;
  void show_stats(const Stats& stats) const;
  void show_json(const Module& module, const Kernel& kernel, const Device& device, const Report& report,
                 ExitStatus status);
  std::string arithmetic_text(const Module& module, const Device& device) const;

  const RunOptions& options_;
  std::optional<JsonOutput> json_;
  LaunchConfig config_;
  std::string file_;
  std::optional<MlirKernel> mlir_;       // of FILE.mlir
  std::vector<ArgumentState> arguments_; // expect included, in the order given
  std::vector<OutputComparison> comparisons_;
};

Result<void, Stop> Runner::read_command_line() {
  file_ = options_.file;
  for (const std::string& text : options_.args) {
    // `--arg a=b FILE.ptx`: --arg takes several, so the file may have been taken for one more.
    if (file_.empty() && text.find('=') == text.npos) {
      file_ = text;
      continue;
    }
    auto spec = parse_spec(text);
    if (!spec)
      return usage(std::move(spec).error());
    if (spec->kind == SpecKind::expect &&
        (arguments_.empty() ||
         (arguments_.back().spec.kind != SpecKind::out && arguments_.back().spec.kind != SpecKind::inout)))
      return usage(fmt::format("--arg {}: it must follow the out or inout that it compares with", text));
    arguments_.emplace_back().spec = *std::move(spec);
  }
  if (file_.empty())
    return usage("FILE is missing");

  const auto grid = parse_dim3("--grid", options_.grid.empty() ? "1" : options_.grid);
  const auto block = parse_dim3("--block", options_.block.empty() ? "1" : options_.block);
  const auto cluster = parse_dim3("--cluster", options_.cluster.empty() ? "1" : options_.cluster);
  for (const auto* size : {&grid, &block, &cluster})
    if (!*size)
      return Unexpected<Stop>{size->error()};
  const auto smem = parse_number("--smem", options_.smem, UINT32_MAX);
  const auto seed = parse_number("--seed", options_.seed);
  const auto max_instructions = parse_number("--max-instructions", options_.max_instructions);
  for (const auto* number : {&smem, &seed, &max_instructions})
    if (!*number)
      return Unexpected<Stop>{number->error()};
  config_.grid = *grid;
  config_.block = *block;
  if (!options_.cluster.empty())
    config_.cluster = *cluster;
  config_.shared_bytes = static_cast<uint32_t>(*smem);
  config_.seed = *seed;
  config_.max_instructions = *max_instructions;
  config_.deterministic = options_.deterministic;
  config_.async = options_.async == "late" ? AsyncMode::late : AsyncMode::eager;
  return {};
}

Result<void, Stop> Runner::read_argument_files() {
  for (ArgumentState& argument : arguments_) {
    if (argument.spec.path.empty())
      continue;
    if (argument.spec.kind == SpecKind::tmap) {
      auto map = read_tensor_map(argument.spec.path);
      if (!map)
        return usage(fmt::format("--arg {}: {}", argument.spec.text, map.error()));
      argument.map = *std::move(map);
      continue;
    }
    auto array = read_array(argument.spec.path);
    if (!array)
      return usage(fmt::format("--arg {}: {}", argument.spec.text, array.error()));
    argument.file = *std::move(array);
  }
  return {};
}

Result<std::string, Stop> Runner::read_program() const {
  const auto bytes = read_file(file_);
  if (!bytes)
    return usage(bytes.error());
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

// A program with host code: it has its own launches, arguments and output.
Result<ExitStatus, Stop> Runner::run_whole(const std::string& text) {
  if (!arguments_.empty())
    return usage(
        fmt::format("{} has host code, which makes its arguments itself; give --grid and --block to launch a "
                    "gpu.func of it with --arg",
                    file_));
  const auto status = run_mlir(text, {.name = file_,
                                      .device = options_.device,
                                      .arch = options_.arch,
                                      .entry = options_.entry.empty() ? "main" : options_.entry,
                                      .launch = config_});
  if (!status)
    return stop(status.error());
  if (json_)
    json_->print({{"file", file_}, {"exit_status", *status}});
  // What the program returns is its own word on how it went.
  return *status == 0 ? kSuccess : kFailed;
}

// FILE.mlir to PTX; the gpu.func's arguments are kept.
Result<std::string, Stop> Runner::compile(const std::string& text) {
  auto compiled = compile_mlir(text, {.name = file_, .arch = options_.arch});
  if (!compiled)
    return stop(std::move(compiled).error());
  for (const Message& message : compiled->messages)
    fmt::print(stderr, "{}", message.rendered);
  for (MlirKernel& kernel : compiled->kernels)
    if (options_.entry.empty() || kernel.name == options_.entry)
      mlir_ = std::move(kernel); // of several and no --entry, the device says that one must be chosen
  return std::move(compiled->text);
}

Result<void, Stop> Runner::allocate(const Device& device, ArgumentState& state, size_t position) const {
  const Spec& spec = state.spec;
  const uint64_t size = state.file ? state.file->data.size() : spec.size_bytes;
  const std::string name = fmt::format("arg {} ({})", position, spec.text.substr(0, spec.text.find('=')));
  auto buffer = device.allocate(size, {.name = name, .poisoned = spec.kind == SpecKind::buf});
  if (!buffer)
    return stop(std::move(buffer).error());
  state.buffer = *std::move(buffer);
  if (state.file)
    if (auto copied = state.buffer.copy_from(state.file->data); !copied)
      return stop(std::move(copied).error());
  return {};
}

// A tensor map names its memory by the option's position.
Result<Argument, Stop> Runner::encode(const Device& device, const ArgumentState& state) const {
  const auto wrong = [&](const std::string& text) {
    return usage(fmt::format("--arg {}: {}", state.spec.text, text));
  };
  const uint64_t index = state.map->argument;
  if (index >= arguments_.size())
    return wrong(
        fmt::format("\"arg\" is {}, but the --arg options are 0 to {}", index, arguments_.size() - 1));
  const Buffer& buffer = arguments_[index].buffer;
  if (buffer.address() == 0)
    return wrong(fmt::format("\"arg\" is {}, and --arg {} is no memory (in, out, inout or buf)", index,
                             arguments_[index].spec.text));
  TensorMap map = state.map->map;
  map.address = buffer.address();
  auto argument = device.encode(map);
  if (!argument)
    return wrong(argument.error().text);
  return *std::move(argument);
}

// One --arg as the parameters that the argument of a gpu.func became.
Result<void, Stop> Runner::pass_to_mlir(const Device& device, const MlirParameter& parameter, size_t index,
                                        std::vector<Argument>& arguments) {
  ArgumentState& state = arguments_[index];
  const auto wrong = [&](const std::string& text) {
    return usage(fmt::format("--arg {}: {}", state.spec.text, text));
  };
  if (parameter.is_memref) {
    if (state.buffer.address() == 0)
      return wrong(
          fmt::format("the argument is a {}: give it memory (in, out, inout or buf)", parameter.type));
    const std::vector<uint64_t>& shape =
        state.spec.shape.empty() && state.file ? state.file->shape : state.spec.shape;
    auto expanded = expand_memref(parameter, state.buffer.address(), state.buffer.size_bytes(), shape);
    if (!expanded)
      return wrong(expanded.error());
    arguments.insert(arguments.end(), expanded->begin(), expanded->end());
    return {};
  }
  // The argument is the address of a map in memory.
  auto map = encode(device, state);
  if (!map)
    return Unexpected<Stop>{std::move(map).error()};
  auto buffer = device.allocate(map->bytes().size(), {.name = "tensor map"});
  if (!buffer)
    return stop(std::move(buffer).error());
  if (auto copied = buffer->copy_from(map->bytes()); !copied)
    return stop(std::move(copied).error());
  state.buffer = *std::move(buffer);
  arguments.emplace_back(state.buffer);
  return {};
}

// Memory that comes after the kernel's last parameter is there for the tensor maps that name it.
Result<std::vector<Argument>, Stop> Runner::make_arguments(const Device& device, size_t parameters) {
  // Memory first: tensor maps may name what comes after them.
  size_t position = 0;
  for (ArgumentState& state : arguments_) {
    const SpecKind kind = state.spec.kind;
    if (kind == SpecKind::expect)
      continue;
    if (kind != SpecKind::scalar && kind != SpecKind::bytes && kind != SpecKind::tmap)
      if (auto allocated = allocate(device, state, position); !allocated)
        return Unexpected<Stop>{std::move(allocated).error()};
    ++position;
  }
  std::vector<Argument> arguments;
  size_t passed = 0; // arguments of a gpu.func
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArgumentState& state = arguments_[i];
    const bool mapped = std::any_of(arguments_.begin(), arguments_.end(), [&](const ArgumentState& other) {
      return other.map && other.map->argument == i;
    });
    if (mapped && arguments.size() >= parameters)
      continue;
    if (mlir_ && state.spec.kind != SpecKind::expect) {
      if (passed == mlir_->parameters.size())
        return usage(fmt::format("--arg {}: {} takes {} arguments", state.spec.text, mlir_->name, passed));
      const MlirParameter& parameter = mlir_->parameters[passed++];
      if (parameter.is_memref || state.spec.kind == SpecKind::tmap) {
        if (auto done = pass_to_mlir(device, parameter, i, arguments); !done)
          return Unexpected<Stop>{std::move(done).error()};
        continue;
      }
    }
    switch (state.spec.kind) {
    case SpecKind::expect:
      break;
    case SpecKind::scalar:
      arguments.push_back(Argument::from_bytes(state.spec.value));
      break;
    case SpecKind::bytes:
      arguments.push_back(Argument::from_bytes(state.file->data));
      break;
    case SpecKind::tmap: {
      auto map = encode(device, state);
      if (!map)
        return Unexpected<Stop>{std::move(map).error()};
      arguments.push_back(*std::move(map));
      break;
    }
    default:
      arguments.emplace_back(state.buffer);
    }
  }
  if (mlir_ && passed < mlir_->parameters.size())
    return usage(fmt::format("{} takes {} arguments; argument {} ({}) and those after it are missing",
                             mlir_->name, mlir_->parameters.size(), passed, mlir_->parameters[passed].type));
  return arguments;
}

// What an output will be written as: its contents follow.
npy::Array Runner::output_array(size_t index) const {
  const ArgumentState& argument = arguments_[index];
  const uint64_t size = argument.buffer.size_bytes();
  npy::Array array{.dtype = "|u1", .shape = {size}, .data = std::vector<std::byte>(size)};
  const auto take_form = [&](const npy::Array& from) {
    if (from.data.size() == size) {
      array.dtype = from.dtype;
      array.shape = from.shape;
    }
  };
  if (!argument.spec.dtype.empty()) {
    array.dtype = argument.spec.dtype;
    array.shape = argument.spec.shape;
  } else if (argument.file) {
    take_form(*argument.file);
  } else if (index + 1 < arguments_.size() && arguments_[index + 1].spec.kind == SpecKind::expect &&
             is_npy(arguments_[index + 1].spec.path)) {
    take_form(*arguments_[index + 1].file);
  }
  return array;
}

// Writes every output and compares those that an expect follows.
Result<void, Stop> Runner::write_outputs() {
  npy::Array output;
  std::string output_path;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArgumentState& argument = arguments_[i];
    if (argument.spec.kind == SpecKind::out || argument.spec.kind == SpecKind::inout) {
      output = output_array(i);
      output_path = argument.spec.out_path;
      if (auto copied = argument.buffer.copy_to(output.data); !copied)
        return stop(std::move(copied).error());
      if (auto written = write_array(output_path, output); !written)
        return usage(std::move(written).error());
    } else if (argument.spec.kind == SpecKind::expect) {
      npy::Array want = *argument.file;
      if (!is_npy(argument.spec.path) &&
          want.data.size() == output.data.size()) { // raw: the output knows the type
        want.dtype = output.dtype;
        want.shape = output.shape;
      }
      comparisons_.push_back(
          {output_path, argument.spec.path, compare(output.data, want, argument.spec.tolerance)});
    }
  }
  return {};
}

Result<ExitStatus, Stop> Runner::steps() {
  if (auto read = read_command_line(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  auto text = read_program();
  if (!text)
    return Unexpected<Stop>{std::move(text).error()};
  if (is_mlir() && options_.grid.empty() && has_host_code(*text))
    return run_whole(*text);
  if (options_.grid.empty() || options_.block.empty())
    return usage("--grid and --block are required: CTAs, and threads of a CTA");
  if (is_mlir()) {
    text = compile(*text);
    if (!text)
      return Unexpected<Stop>{std::move(text).error()};
  }
  if (auto read = read_argument_files(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  const auto device = Device::open(options_.device);
  if (!device)
    return stop(device.error());
  const auto module = device->load_ptx(*std::move(text), {.name = file_, .arch = options_.arch});
  if (!module)
    return stop(module.error());
  const auto kernel = module->kernel(options_.entry);
  if (!kernel)
    return stop(kernel.error());
  const auto arguments = make_arguments(*device, kernel->parameters().size());
  if (!arguments)
    return Unexpected<Stop>{arguments.error()};

  Progress progress(kernel->name(), uint64_t{config_.grid[0]} * config_.grid[1] * config_.grid[2]);
  config_.progress = [&](uint64_t done, uint64_t) { progress.update(done); };
  const auto report = kernel->launch(config_, *arguments);
  progress.finish();
  if (!report)
    return stop(report.error());
  std::fflush(stdout); // device printf before what is said about the run

  ExitStatus status = report->outcome == Outcome::finished      ? kSuccess
                      : report->outcome == Outcome::unsupported ? kUnsupported
                                                                : kFailed;
  if (report->ok()) {
    if (auto written = write_outputs(); !written)
      return Unexpected<Stop>{std::move(written).error()};
    for (const OutputComparison& comparison : comparisons_)
      if (!comparison.result.equal)
        status = kFailed;
  }
  if (json_)
    show_json(*module, *kernel, *device, *report, status);
  else
    show_text(*module, *kernel, *device, *report);
  return status;
}

int Runner::show_stop(const Stop& stop) {
  if (json_)
    json_->print({{"file", file_},
                  {"exit_status", stop.status},
                  {"error", to_json(stop.error)},
                  {"diagnostics", to_json(stop.error.messages)}});
  for (const Message& message : stop.error.messages)
    fmt::print(stderr, "{}", message.rendered);
  if (stop.error.messages.empty())
    fmt::print(stderr, "lemma: {}\n", stop.error.text);
  if (stop.status == kUsage)
    fmt::print(stderr, "`lemma run --help` says more.\n");
  return stop.status;
}

// "arithmetic of sm_90 (the module's .target sm_90a)"
std::string Runner::arithmetic_text(const Module& module, const Device& device) const {
  if (device.info().kind == "cuda")
    return fmt::format("arithmetic of {} (the GPU's own; the module's .target is {})", module.arithmetic(),
                       module.target());
  return fmt::format("arithmetic of {} ({})", module.arithmetic(),
                     options_.arch.empty() ? "the module's .target " + module.target()
                                           : "--arch " + options_.arch);
}

void Runner::show_text(const Module& module, const Kernel& kernel, const Device& device,
                       const Report& report) const {
  for (const Message& message : module.messages())
    fmt::print(stderr, "{}", message.rendered);
  fmt::print(stderr, "{}", report.rendered);
  fmt::print(stderr, "{}: {} on {}, {}{}\n", file_, kernel.name(), device.info().name,
             arithmetic_text(module, device),
             report.used_approximate ? "; approximate instructions ran: not owed to be a GPU's bits" : "");
  for (const OutputComparison& c : comparisons_)
    fmt::print(stderr, "{}", render(c.result, c.got, c.want));
  if (options_.stats)
    show_stats(report.stats);
}

void Runner::show_stats(const Stats& stats) const {
  const auto rate = [&](std::optional<uint64_t> count) {
    return stats.seconds > 0 ? static_cast<double>(count.value_or(0)) / stats.seconds * 1e-9 : 0.0;
  };
  if (stats.warp_instructions)
    fmt::print("warp instructions  {}\n", *stats.warp_instructions);
  if (stats.lane_instructions)
    fmt::print("lane instructions  {} ({:.3f} G/s)\n", *stats.lane_instructions,
               rate(stats.lane_instructions));
  if (stats.matrix_flops)
    fmt::print("matrix FLOPs       {} ({:.3f} GFLOP/s)\n", *stats.matrix_flops, rate(stats.matrix_flops));
  fmt::print("time               {:.6f} s\n", stats.seconds);
}

void Runner::show_json(const Module& module, const Kernel& kernel, const Device& device, const Report& report,
                       ExitStatus status) {
  using nlohmann::json;
  const DeviceInfo& info = device.info();
  json out = {{"file", file_},
              {"kernel", kernel.name()},
              {"exit_status", status},
              {"outcome", to_string(report.outcome)},
              {"device",
               {{"kind", info.kind}, {"name", info.name}, {"driver", info.driver}, {"target", info.target}}},
              {"arithmetic",
               {{"arch", module.arithmetic()},
                {"target", module.target()},
                {"from", info.kind == "cuda"     ? "device"
                         : options_.arch.empty() ? ".target"
                                                 : "--arch"}}},
              {"fault", report.fault ? to_json(*report.fault) : json(nullptr)},
              {"uninitialized", {{"count", report.uninitialized_reads}, {"first", json::array()}}},
              {"waiting", json::array()},
              {"warnings", report.warnings},
              {"approximate", report.used_approximate},
              {"stats", to_json(report.stats)},
              {"diagnostics", to_json(module.messages())},
              {"comparisons", json::array()}};
  for (const UninitializedRead& read : report.uninitialized)
    out["uninitialized"]["first"].push_back(to_json(read));
  for (const Waiting& waiting : report.waiting)
    out["waiting"].push_back(to_json(waiting));
  for (const OutputComparison& c : comparisons_) {
    json comparison = to_json(c.result);
    comparison["output"] = c.got;
    comparison["expected"] = c.want;
    out["comparisons"].push_back(std::move(comparison));
  }
  json_->print(out);
}

} // namespace

Command add_run(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("run", "run a kernel of a PTX file, or an MLIR program");
  const auto o = std::make_shared<RunOptions>();
  app->add_option("FILE", o->file, "PTX text, or MLIR (FILE.mlir)");
  app->add_option("--device", o->device, "cpu: the virtual GPU; cuda: a real one")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app->add_option("--arch", o->arch, "whose arithmetic the virtual GPU has (default: the file's .target)")
      ->type_name("sm_90a");
  app->add_option("--entry", o->entry,
                  "the kernel; may be left out if there is one; of a whole program the host function (main)")
      ->type_name("NAME");
  app->add_option("--grid", o->grid, "CTAs")->type_name("X[,Y[,Z]]");
  app->add_option("--block", o->block, "threads of a CTA")->type_name("X[,Y[,Z]]");
  app->add_option("--cluster", o->cluster, "CTAs of a cluster (default: as the kernel declares)")
      ->type_name("X[,Y[,Z]]");
  app->add_option("--smem", o->smem, "dynamic shared memory of a CTA")->type_name("BYTES");
  app->add_option("--seed", o->seed, "moves every choice of the schedule")->type_name("N");
  app->add_flag("--deterministic", o->deterministic, "CTAs in a fixed order: floating-point atomics repeat");
  app->add_option("--async", o->async,
                  "eager: asynchronous operations complete when issued; late: as late as the ISA allows")
      ->check(CLI::IsMember({"eager", "late"}))
      ->capture_default_str();
  app->add_flag("--stats", o->stats, "print instructions, matrix FLOPs, time and FLOP/s");
  app->add_flag("--json", o->json, "print one JSON object; device printf goes to standard error");
  app->add_option("--max-instructions", o->max_instructions, "fault when a warp has executed so many")
      ->type_name("N");
  app->add_option("--arg", o->args, "kernel arguments in order, see below")
      ->type_name("SPEC")
      ->expected(1, -1);
  app->footer(kFooter);
  return {app, [o] { return Runner(*o).run(); }};
}

} // namespace lemma::cli
