// The --arg options of `lemma run`.
//
// Tests: tests/cli/, tests/mlir/run/.
#include "run_arguments.h"

#include "files.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::cli {
namespace {

Unexpected<Stop> wrong(const Spec& spec, const std::string& text) {
  return usage(fmt::format("--arg {}: {}", spec.text, text));
}

bool is_output(const Spec& spec) {
  return spec.kind == SpecKind::out || spec.kind == SpecKind::inout;
}

} // namespace

bool RunArguments::State::is_memory() const {
  return is_output(spec) || spec.kind == SpecKind::in || spec.kind == SpecKind::buf;
}

Result<void, Stop> RunArguments::add(const std::string& text) {
  auto spec = parse_spec(text);
  if (!spec)
    return usage(std::move(spec).error());
  if (spec->kind == SpecKind::expect && (arguments_.empty() || !is_output(arguments_.back().spec)))
    return wrong(*spec, "it must follow the out or inout that it compares with");
  arguments_.emplace_back().spec = *std::move(spec);
  return {};
}

Result<void, Stop> RunArguments::read_files() {
  for (State& argument : arguments_) {
    if (argument.spec.path.empty())
      continue;
    if (argument.spec.kind == SpecKind::tmap) {
      auto map = read_tensor_map(argument.spec.path);
      if (!map)
        return wrong(argument.spec, map.error());
      argument.map = *std::move(map);
      continue;
    }
    auto array = read_array(argument.spec.path);
    if (!array)
      return wrong(argument.spec, array.error());
    argument.file = std::make_shared<const npy::Array>(*std::move(array));
  }
  return {};
}

bool RunArguments::has_outputs() const {
  return std::any_of(arguments_.begin(), arguments_.end(),
                     [](const State& argument) { return is_output(argument.spec); });
}

Result<void, Stop> RunArguments::check_outputs() const {
  for (const State& argument : arguments_)
    if (is_output(argument.spec))
      if (auto writable = check_writable(argument.spec.out_path); !writable)
        return usage(std::move(writable).error());
  return {};
}

Result<void, Stop> RunArguments::allocate(const Device& device, State& state, size_t position) const {
  const Spec& spec = state.spec;
  const std::string name = fmt::format("arg {} ({})", position, spec.text.substr(0, spec.text.find('=')));
  auto buffer = device.allocate(state.size_bytes(), {.name = name, .poisoned = spec.kind == SpecKind::buf});
  if (!buffer)
    return stop(std::move(buffer).error());
  state.buffer = *std::move(buffer);
  if (state.file)
    if (auto copied = state.buffer.copy_from(state.file->data); !copied)
      return stop(std::move(copied).error());
  return {};
}

// A tensor map names its memory by the option's position.
Result<Argument, Stop> RunArguments::encode(const Device& device, const State& state) const {
  const uint64_t index = state.tensor_map().argument;
  if (index >= arguments_.size())
    return wrong(state.spec, fmt::format("\"arg\" is {}, but the --arg options are 0 to {}", index,
                                         arguments_.size() - 1));
  const Buffer& buffer = arguments_[index].buffer;
  if (buffer.address() == 0)
    return wrong(state.spec, fmt::format("\"arg\" is {}, and --arg {} is no memory (in, out, inout or buf)",
                                         index, arguments_[index].spec.text));
  TensorMap map = state.tensor_map().map;
  map.address = buffer.address();
  auto argument = device.encode(map);
  if (!argument)
    return wrong(state.spec, argument.error().text);
  return *std::move(argument);
}

// One --arg as the parameters that the argument of a gpu.func became.
Result<void, Stop> RunArguments::pass_to_mlir(const Device& device, const MlirParameter& parameter,
                                              State& state, std::vector<Argument>& arguments) const {
  if (parameter.is_memref) {
    if (!state.is_memory())
      return wrong(state.spec, fmt::format("the argument is a {}: give it memory (in, out, inout or buf)",
                                           parameter.type));
    const auto words =
        expand_memref(parameter, state.buffer.address(), state.buffer.size_bytes(), state.shape());
    if (!words)
      return wrong(state.spec, words.error().text);
    arguments.insert(arguments.end(), words->begin(), words->end());
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

bool RunArguments::is_mapped(size_t index) const {
  return std::any_of(arguments_.begin(), arguments_.end(),
                     [&](const State& other) { return other.map && other.map->argument == index; });
}

Result<std::vector<Argument>, Stop> RunArguments::for_kernel(const Device& device, size_t parameters,
                                                             const MlirKernel* mlir) {
  // Memory first: tensor maps may name what comes after them.
  size_t position = 0;
  for (State& state : arguments_) {
    if (state.is_memory())
      if (auto allocated = allocate(device, state, position); !allocated)
        return Unexpected<Stop>{std::move(allocated).error()};
    position += state.spec.kind != SpecKind::expect;
  }
  std::vector<Argument> arguments;
  size_t passed = 0; // arguments of a gpu.func
  for (size_t i = 0; i < arguments_.size(); ++i) {
    State& state = arguments_[i];
    if (state.spec.kind == SpecKind::expect || (arguments.size() >= parameters && is_mapped(i)))
      continue;
    if (mlir) {
      if (passed == mlir->parameters.size())
        return wrong(state.spec, fmt::format("{} takes {} arguments", mlir->name, passed));
      const MlirParameter& parameter = mlir->parameters[passed++];
      if (parameter.is_memref || state.spec.kind == SpecKind::tmap) {
        if (auto done = pass_to_mlir(device, parameter, state, arguments); !done)
          return Unexpected<Stop>{std::move(done).error()};
        continue;
      }
    }
    if (state.spec.kind == SpecKind::scalar) {
      arguments.push_back(Argument::from_bytes(state.spec.value));
    } else if (state.spec.kind == SpecKind::bytes) {
      arguments.push_back(Argument::from_bytes(state.contents().data));
    } else if (state.spec.kind == SpecKind::tmap) {
      auto map = encode(device, state);
      if (!map)
        return Unexpected<Stop>{std::move(map).error()};
      arguments.push_back(*std::move(map));
    } else {
      arguments.emplace_back(state.buffer);
    }
  }
  if (mlir && passed < mlir->parameters.size())
    return usage(fmt::format("{} takes {} arguments; argument {} ({}) and those after it are missing",
                             mlir->name, mlir->parameters.size(), passed, mlir->parameters[passed].type));
  return arguments;
}

Result<std::vector<MlirArgument>, Stop> RunArguments::for_host() {
  std::vector<MlirArgument> arguments;
  for (State& state : arguments_) {
    if (state.spec.kind == SpecKind::expect)
      continue;
    if (state.spec.kind == SpecKind::tmap || state.spec.kind == SpecKind::bytes)
      return wrong(state.spec, "a host function takes values and memory (in, out, inout or buf)");
    state.host = state.file ? state.file->data : state.spec.value;
    if (state.is_memory())
      state.host.resize(state.size_bytes());
    arguments.push_back({.is_memory = state.is_memory(), .bytes = state.host, .shape = state.shape()});
  }
  return arguments;
}

// What an output will be written as: its contents follow.
npy::Array RunArguments::output_array(size_t index) const {
  const State& argument = arguments_[index];
  const uint64_t size = argument.size_bytes();
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
    take_form(arguments_[index + 1].contents());
  }
  return array;
}

RunArguments RunArguments::afresh() const {
  RunArguments made;
  for (const State& argument : arguments_) {
    State& copy = made.arguments_.emplace_back();
    copy.spec = argument.spec;
    copy.file = argument.file;
    copy.map = argument.map;
  }
  return made;
}

std::vector<std::string> RunArguments::output_names() const {
  std::vector<std::string> names;
  for (const State& argument : arguments_)
    if (is_output(argument.spec))
      names.push_back(argument.spec.out_path);
  return names;
}

Result<std::vector<std::vector<std::byte>>, Error> RunArguments::outputs() const {
  std::vector<std::vector<std::byte>> all;
  for (const State& argument : arguments_)
    if (is_output(argument.spec))
      if (auto copied = copy_memory(argument, all.emplace_back(argument.size_bytes())); !copied)
        return fail(copied.error());
  return all;
}

Result<void, Error> RunArguments::copy_memory(const State& argument, std::span<std::byte> to) {
  if (argument.host.empty())
    return argument.buffer.copy_to(to);
  std::copy(argument.host.begin(), argument.host.end(), to.begin());
  return {};
}

Result<std::vector<OutputComparison>, Stop> RunArguments::write_outputs() const {
  std::vector<OutputComparison> comparisons;
  FileWriter files;
  npy::Array output;
  std::string output_path;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const State& argument = arguments_[i];
    if (is_output(argument.spec)) {
      output = output_array(i);
      output_path = argument.spec.out_path;
      if (auto copied = copy_memory(argument, output.data); !copied)
        return stop(std::move(copied).error());
      if (auto added = files.add(output_path, array_file(output_path, output)); !added)
        return usage(std::move(added).error());
    } else if (argument.spec.kind == SpecKind::expect) {
      npy::Array want = argument.contents();
      if (!is_npy(argument.spec.path) &&
          want.data.size() == output.data.size()) { // raw: the output knows the type
        want.dtype = output.dtype;
        want.shape = output.shape;
      }
      comparisons.push_back(
          {output_path, argument.spec.path, compare(output.data, want, argument.spec.tolerance)});
    }
  }
  if (auto written = files.commit(); !written)
    return usage(std::move(written).error());
  return comparisons;
}

} // namespace lemma::cli
