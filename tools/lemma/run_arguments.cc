// The --arg options of `lemma run`.
//
// Tests: tests/cli/, tests/mlir/run/.
#include "run_arguments.h"

#include "files.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace lemma::cli {
namespace {

Unexpected<Stop> wrong(const Spec& spec, const std::string& text) {
  return usage(fmt::format("--arg {}: {}", spec.text, text));
}

bool is_output(const Spec& spec) {
  return spec.kind == SpecKind::out || spec.kind == SpecKind::inout || spec.kind == SpecKind::get;
}

// Whether it is given to the kernel, or to the tensor maps.
bool is_argument(const Spec& spec) {
  return spec.kind != SpecKind::expect && spec.kind != SpecKind::set && spec.kind != SpecKind::get;
}

// "a.npy" of "in=data/a.npy", "a" of "a:in=data/a.npy"; empty: it has no name.
std::string name_of(const Spec& spec) {
  if (!spec.label.empty())
    return spec.label;
  return std::filesystem::path(spec.path.empty() ? spec.out_path : spec.path).filename().string();
}

// Whether a tensor map that names its memory so means this one.
bool is_called(const Spec& spec, const std::string& name) {
  return spec.label == name || spec.path == name || spec.out_path == name ||
         (spec.label.empty() && name_of(spec) == name);
}

// "in", "f32"
std::string_view kind_of(const Spec& spec) {
  const std::string_view text = spec.text;
  const size_t begin = spec.label.empty() ? 0 : spec.label.size() + 1;
  return text.substr(begin, text.find('=') - begin);
}

// "arg 0 (x: in)", in faults.
std::string memory_name(const Spec& spec, size_t position, const std::string& parameter) {
  constexpr size_t kLongest = 40; // C++ types can be long
  std::string name = parameter;
  if (!spec.label.empty() || parameter.empty())
    name = name_of(spec);
  if (name.size() > kLongest)
    name = name.substr(0, kLongest) + "...";
  return fmt::format("arg {} ({}{}{})", position, name, name.empty() ? "" : ": ", kind_of(spec));
}

// A number must be of the kind that the parameter is declared as; one declared .b32 takes what has its size.
// `type` is that of PTX or MLIR: ".f32", "index".
Result<void, Stop> check_kind(const Spec& spec, size_t position, const std::string& label,
                              std::string_view type) {
  type.remove_prefix(type.starts_with('.') ? 1 : 0);
  const bool wants_float = type == "f32" || type == "f64";
  const bool wants_integer = type == "index" || (type.size() <= 3 && std::string_view("usi").find(type[0]) !=
                                                                         std::string_view::npos);
  const std::string parameter =
      fmt::format("parameter {}{}", position,
                  label.empty() || label == fmt::format("parameter {}", position) ? "" : " (" + label + ")");
  const std::string value = spec.text.substr(spec.text.find('=') + 1);
  if (spec.kind != SpecKind::scalar && wants_float)
    return wrong(spec, fmt::format("{} is {}, a number: {}=VALUE", parameter, type, type));
  if (spec.kind != SpecKind::scalar || (!wants_float && !wants_integer))
    return {};
  const bool is_float = spec.type.starts_with('f');
  if (is_float && wants_integer)
    return wrong(spec,
                 fmt::format("{} is {}, an integer: {}={}", parameter, type, type == "index" ? "u64" : type,
                             value.find_first_not_of("0123456789") == value.npos ? value : "VALUE"));
  if (!is_float && wants_float) {
    const std::string bits = type == "f32" ? "0f and 8 hex digits" : "0d and 16 hex digits";
    return wrong(spec, fmt::format("{} is {}, a floating-point number: {}={}; {} give its bits", parameter,
                                   type, type, value.starts_with("0x") ? "VALUE" : value, bits));
  }
  return {};
}

} // namespace

bool RunArguments::State::is_memory() const {
  return spec.kind == SpecKind::out || spec.kind == SpecKind::inout || spec.kind == SpecKind::in ||
         spec.kind == SpecKind::buf;
}

std::string RunArguments::State::dtype() const {
  if (!spec.dtype.empty())
    return spec.dtype;
  return file && is_npy(spec.path) ? file->dtype : std::string();
}

Result<void, Stop> RunArguments::add(const std::string& text) {
  auto spec = parse_spec(text);
  if (!spec)
    return usage(std::move(spec).error());
  if (spec->kind == SpecKind::expect && (arguments_.empty() || !is_output(arguments_.back().spec)))
    return wrong(*spec, "it must follow the out, inout or get that it compares with");
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
  for (State& argument : arguments_)
    if (argument.map)
      if (auto resolved = resolve_map(argument); !resolved)
        return resolved;
  return {};
}

// The number that faults call an argument by: `expect` is none, nor what is about variables.
size_t RunArguments::position_of(size_t index) const {
  return static_cast<size_t>(std::count_if(arguments_.begin(),
                                           arguments_.begin() + static_cast<std::ptrdiff_t>(index),
                                           [](const State& state) { return is_argument(state.spec); }));
}

Result<void, Stop> RunArguments::resolve_map(State& state) const {
  const TensorMapFile& map = state.tensor_map();
  const std::string said =
      map.name.empty() ? fmt::format("{}", map.argument) : fmt::format("\"{}\"", map.name);
  std::vector<size_t> found;
  std::string names;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Spec& spec = arguments_[i].spec;
    if (!is_argument(spec))
      continue;
    if (map.name.empty() ? position_of(i) == map.argument
                         : arguments_[i].is_memory() && is_called(spec, map.name))
      found.push_back(i);
    if (arguments_[i].is_memory() && !name_of(spec).empty())
      names += (names.empty() ? "" : ", ") + name_of(spec);
  }
  if (found.empty())
    return wrong(state.spec,
                 map.name.empty()
                     ? fmt::format("\"arg\" is {}, but the --arg options are 0 to {}", said,
                                   position_of(arguments_.size()) - 1)
                     : fmt::format("\"arg\" is {}, and no memory among the --arg options has that label or "
                                   "file; there are: {}",
                                   said, names.empty() ? "none" : names));
  if (found.size() > 1)
    return wrong(state.spec,
                 fmt::format("\"arg\" is {}, which may be --arg {} or --arg {}: LABEL:in=FILE "
                             "gives memory a label of its own",
                             said, arguments_[found[0]].spec.text, arguments_[found[1]].spec.text));
  if (!arguments_[found[0]].is_memory())
    return wrong(state.spec, fmt::format("\"arg\" is {}, and --arg {} is no memory (in, out, inout or buf)",
                                         said, arguments_[found[0]].spec.text));
  state.mapped = found[0];
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

Result<void, Stop> RunArguments::allocate(const Device& device, State& state, const std::string& name) const {
  const Spec& spec = state.spec;
  auto buffer = device.allocate(state.size_bytes(), {.name = name, .poisoned = spec.kind == SpecKind::buf});
  if (!buffer)
    return stop(std::move(buffer).error());
  state.buffer = *std::move(buffer);
  if (state.file)
    if (auto copied = state.buffer.copy_from(state.file->data); !copied)
      return stop(std::move(copied).error());
  return {};
}

Result<void, Stop> RunArguments::allocate_all(const Device& device, const Kernel& kernel,
                                              const MlirKernel* mlir) {
  size_t position = 0;
  for (State& state : arguments_) {
    if (!is_argument(state.spec))
      continue;
    std::string label;
    if (mlir && position < mlir->parameters.size())
      label = mlir->parameters[position].type;
    else if (!mlir && position < kernel.parameters().size())
      label = kernel.parameters()[position].label;
    if (state.is_memory())
      if (auto allocated = allocate(device, state, memory_name(state.spec, position, label)); !allocated)
        return allocated;
    ++position;
  }
  return {};
}

Result<Argument, Stop> RunArguments::encode(const Device& device, const State& state) const {
  TensorMap map = state.tensor_map().map;
  map.address = arguments_[state.mapped].buffer.address();
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
    if (const std::string dtype = state.dtype(); !dtype.empty())
      if (const auto checked = check_array(parameter, dtype, state.shape()); !checked)
        return wrong(state.spec, checked.error().text);
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
                     [&](const State& other) { return other.map && other.mapped == index; });
}

// One --arg as one parameter.
Result<void, Stop> RunArguments::pass_to_kernel(const Device& device, const Kernel& kernel,
                                                const State& state, std::vector<Argument>& arguments) const {
  if (arguments.size() < kernel.parameters().size()) {
    const Parameter& parameter = kernel.parameters()[arguments.size()];
    if (auto checked = check_kind(state.spec, arguments.size(), parameter.label, parameter.type); !checked)
      return checked;
  }
  if (state.spec.kind == SpecKind::tmap) {
    auto map = encode(device, state);
    if (!map)
      return Unexpected<Stop>{std::move(map).error()};
    arguments.push_back(*std::move(map));
  } else if (state.spec.kind == SpecKind::scalar) {
    arguments.push_back(Argument::from_bytes(state.spec.value));
  } else if (state.spec.kind == SpecKind::bytes) {
    arguments.push_back(Argument::from_bytes(state.contents().data));
  } else {
    arguments.emplace_back(state.buffer);
  }
  return {};
}

Result<void, Stop> RunArguments::resolve_variable(const Device& device, const Module& module,
                                                  State& state) const {
  const auto variable = module.variable(state.spec.variable);
  if (!variable)
    return wrong(state.spec, variable.error().text);
  if (state.spec.kind == SpecKind::get) {
    state.variable_address = variable->address;
    if (state.spec.size_bytes == 0)
      state.spec.size_bytes = variable->size_bytes;
    if (state.spec.size_bytes > variable->size_bytes)
      return wrong(state.spec, fmt::format("variable {} ({}) has {} bytes", variable->name, variable->type,
                                           variable->size_bytes));
    return {};
  }
  const std::vector<std::byte>& data = state.contents().data;
  if (data.size() != variable->size_bytes)
    return wrong(state.spec, fmt::format("it has {} bytes, variable {} ({}) has {}", data.size(),
                                         variable->name, variable->type, variable->size_bytes));
  if (auto written = device.write(variable->address, data); !written)
    return stop(std::move(written).error());
  return {};
}

Result<std::vector<Argument>, Stop> RunArguments::for_kernel(const Device& device, const Module& module,
                                                             const Kernel& kernel, const MlirKernel* mlir) {
  device_ = device;
  for (State& state : arguments_)
    if (!state.spec.variable.empty())
      if (auto resolved = resolve_variable(device, module, state); !resolved)
        return Unexpected<Stop>{std::move(resolved).error()};
  // Memory first: tensor maps may name what comes after them.
  if (auto allocated = allocate_all(device, kernel, mlir); !allocated)
    return Unexpected<Stop>{std::move(allocated).error()};
  std::vector<Argument> arguments;
  unused_.clear();
  size_t passed = 0; // arguments of a gpu.func
  for (size_t i = 0; i < arguments_.size(); ++i) {
    State& state = arguments_[i];
    if (!is_argument(state.spec))
      continue;
    const bool all_have_one =
        mlir ? passed >= mlir->parameters.size() : arguments.size() >= kernel.parameters().size();
    if (all_have_one && state.is_memory()) {
      if (!is_mapped(i))
        unused_.push_back(fmt::format("arg {} ({})", position_of(i), state.spec.text));
      continue;
    }
    if (mlir) {
      if (all_have_one)
        return wrong(state.spec, fmt::format("{} takes {} arguments", mlir->name, passed));
      const MlirParameter& parameter = mlir->parameters[passed++];
      if (parameter.is_memref || state.spec.kind == SpecKind::tmap) {
        if (auto done = pass_to_mlir(device, parameter, state, arguments); !done)
          return Unexpected<Stop>{std::move(done).error()};
        continue;
      }
      if (auto checked = check_kind(state.spec, passed - 1, "", parameter.type); !checked)
        return Unexpected<Stop>{std::move(checked).error()};
    }
    if (auto done = pass_to_kernel(device, kernel, state, arguments); !done)
      return Unexpected<Stop>{std::move(done).error()};
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
    if (!state.spec.variable.empty())
      return wrong(state.spec, "the variables of a whole program are its own: give --grid, and a kernel");
    if (state.spec.kind == SpecKind::tmap || state.spec.kind == SpecKind::bytes)
      return wrong(state.spec, "a host function takes values and memory (in, out, inout or buf)");
    state.host = state.file ? state.file->data : state.spec.value;
    if (state.is_memory())
      state.host.resize(state.size_bytes());
    MlirArgument& argument = arguments.emplace_back();
    argument = {.is_memory = state.is_memory(), .bytes = state.host, .shape = state.shape()};
    if (argument.is_memory)
      argument.dtype = state.dtype();
    if (state.spec.kind == SpecKind::scalar)
      argument.is_float = state.spec.type.starts_with('f');
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
    copy.mapped = argument.mapped;
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

Result<void, Error> RunArguments::copy_memory(const State& argument, std::span<std::byte> to) const {
  if (argument.spec.kind == SpecKind::get)
    return assert(device_), device_->read(argument.variable_address, to);
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
