// Rules about a module outside its instructions: target and version, variables, parameters, launch bounds.
// PTX ISA: "PTX Module Directives", "Performance-Tuning Directives", "Variables", "Parameter State Space".
#include "verify/verifier.h"

#include "isa/machine.h"
#include "ptx/parameters.h"
#include "support/align.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::verify {
namespace {

using isa::StateSpace;
using isa::Type;
using isa::TypeKind;
using ptx::Linkage;
using ptx::Variable;

constexpr uint64_t kConstantBytes = 65536;      // of all .const variables of a module
constexpr uint64_t kSmallParameterBytes = 4352; // of an entry's parameters before PTX 8.1 or sm_70
constexpr uint64_t kParameterBytes = 32764;

// Bytes that variables take together with the next one; UINT64_MAX stands for all that do not fit 64 bits.
uint64_t with_variable(uint64_t bytes, const Variable& v) {
  const uint64_t begin = align_up(bytes, v.align);
  return begin < bytes || v.size_bytes > UINT64_MAX - begin ? UINT64_MAX : begin + v.size_bytes;
}

bool is_opaque(Type type) {
  return isa::kind_of(type) == TypeKind::opaque;
}

// Types that stand in instructions only: bf16, tf32, e4m3, ...
bool is_fundamental(Type type) {
  switch (type) {
  case Type::pred:
  case Type::b8:
  case Type::b16:
  case Type::b32:
  case Type::b64:
  case Type::b128:
  case Type::u8:
  case Type::u16:
  case Type::u32:
  case Type::u64:
  case Type::s8:
  case Type::s16:
  case Type::s32:
  case Type::s64:
  case Type::f16:
  case Type::f16x2:
  case Type::f32:
  case Type::f64:
    return true;
  default:
    return is_opaque(type);
  }
}

// The last minor version of each major one. Later major versions are unknown, and may be anything.
constexpr int kLastMinor[] = {0, 5, 3, 2, 3, 1, 5, 8, 8};
constexpr int kMajors = static_cast<int>(std::size(kLastMinor)); // from 1 on

bool exists(isa::IsaVersion version) {
  return version.major >= kMajors || (version.major > 0 && version.minor <= kLastMinor[version.major]);
}

// "8.0 to 8.8" of 8.9.
std::string versions_like(isa::IsaVersion version) {
  const int major = std::clamp(version.major, 1, kMajors - 1);
  return fmt::format("{}.0 to {}.{}", major, major, kLastMinor[major]);
}

bool is_target_option(std::string_view word) {
  return word == "debug" || word == "texmode_unified" || word == "texmode_independent";
}

class ModuleCheck {
public:
  explicit ModuleCheck(Context& context) : context_(context), module_(context.module) {}

  void run() {
    check_header();
    uint64_t constant_bytes = 0;
    check_declarations(module_.thread_variables);
    for (const Variable& v : module_.variables) {
      check_variable(v, nullptr);
      if (v.space == StateSpace::const_) {
        const uint64_t before = constant_bytes;
        constant_bytes = with_variable(before, v);
        if (constant_bytes > kConstantBytes && before <= kConstantBytes)
          context_
              .error("const-size", v.range,
                     fmt::format("{} ({} bytes) does not fit: the constants before it take {} bytes", v.name,
                                 v.size_bytes, before))
              .notes.push_back({"legal", fmt::format("{} bytes of .const in a module", kConstantBytes)});
      }
    }
    for (const Function& f : module_.functions)
      check_function(f);
    check_directives(context_);
    check_shared(context_);
  }

private:
  Diagnostic& error(std::string_view id, SourceRange range, std::string message) {
    return context_.error(id, range, std::move(message));
  }

  void check_header() {
    if (context_.version > isa::kNewestVersion)
      context_.diagnostics.push_back(
          {Severity::warning,
           "ptx-version",
           fmt::format("PTX {}.{} is newer than what is known here, {}.{}: read as far as it is understood",
                       context_.version.major, context_.version.minor, isa::kNewestVersion.major,
                       isa::kNewestVersion.minor),
           module_.version_range,
           {{"note", fmt::format("an assembler for PTX {}.{} refuses the file", isa::kNewestVersion.major,
                                 isa::kNewestVersion.minor)}}});
    if (!exists(context_.version)) {
      Diagnostic& d =
          error("ptx-version", module_.version_range,
                fmt::format("there is no PTX {}.{}", context_.version.major, context_.version.minor));
      d.notes.push_back({"legal", versions_like(context_.version)});
      d.notes.push_back({"see", "PTX ISA, .version; Release Notes"});
    }
    bool first = true;
    for (const std::string& word : module_.targets) {
      if (const auto target = isa::parse_target(word))
        check_target(word, *target);
      else if (first || !is_target_option(word))
        error("target", module_.target_range, fmt::format("'{}' is no target", word));
      else if (word == "debug" || word == "texmode_independent")
        context_.need_part(".target " + word, module_.target_range);
      first = false;
    }
    if (has_option("debug") && module_.sections.empty())
      error("target", module_.target_range, ".target debug, and there is no debug information")
          .notes.push_back({"legal", "a .section, such as .debug_info"});
    if (module_.address_size_bits == 32 && context_.target.sm >= 75)
      error("address-size", {}, fmt::format("{} has no 32-bit addresses", isa::to_string(context_.target)))
          .notes.push_back({"legal", ".address_size 64"});
  }

  bool has_option(std::string_view word) const {
    return std::find(module_.targets.begin(), module_.targets.end(), word) != module_.targets.end();
  }

  void check_target(const std::string& word, isa::Target target) {
    const auto since = isa::target_since(target);
    if (!since) {
      Diagnostic& d = error("target", module_.target_range, fmt::format("there is no target {}", word));
      const auto near = nearest(word, isa::target_words());
      if (!near.empty())
        d.notes.push_back({"did you mean", near.front()});
    } else if (exists(context_.version) && context_.version < *since) {
      Diagnostic& d = error(
          "ptx-version", module_.target_range,
          fmt::format("PTX {}.{} has no target {}", context_.version.major, context_.version.minor, word));
      d.notes.push_back({"legal", fmt::format(".version {}.{} or later", since->major, since->minor)});
      context_.offer_version(d, *since);
    }
    if (since && isa::number_now(target.sm) != target.sm)
      context_.diagnostics.push_back(
          {Severity::warning,
           "target",
           fmt::format("{} is an old name", word),
           module_.target_range,
           {{"now", isa::to_string(isa::Target{isa::number_now(target.sm), target.suffix})},
            {"see", "PTX ISA, .target"}}});
  }

  // `function`: where the variable is declared; null at module scope.
  void check_variable(const Variable& v, const Function* function) {
    check_type(v.name, v.type, v.range);
    if (v.type == Type::pred)
      error("variable-type", v.range, fmt::format("{}: predicates live in registers only", v.name));
    else if (!check_vector(v.name, v.vector_elems, v.type, v.range))
      return;
    else if (v.vector_elems > 1 && v.space == StateSpace::param)
      error("variable-type", v.range, fmt::format("{}: parameters cannot be vectors", v.name))
          .notes.push_back({"legal", "an array: .param .align 16 .b8 name[16]"});
    if (is_opaque(v.type) && function)
      error("variable-type", v.range,
            fmt::format("{}: textures and surfaces are declared at module scope", v.name));
    if (v.type == Type::samplerref && !has_option("texmode_independent"))
      error("variable-type", v.range, fmt::format("{}: samplers need .target texmode_independent", v.name))
          .notes.push_back(
              {"legal", fmt::format(".target {}, texmode_independent", module_.targets.front())});
    check_size(v);
    check_initializer(v);
    if (v.linkage == Linkage::common && v.space != StateSpace::global)
      error("linkage", v.range, fmt::format("{}: .common is for .global variables", v.name));
  }

  bool check_vector(const std::string& name, int elems, Type type, SourceRange range) {
    if (elems == 1 || (elems <= 4 && elems * isa::bits_of(type) <= 128))
      return true;
    error("vector-length", range, fmt::format("{} is too long a vector", name))
        .notes.push_back({"legal", ".v2 or .v4, of 128 bits together at most"});
    return false;
  }

  void check_type(const std::string& name, Type type, SourceRange range) {
    if (!is_fundamental(type))
      error("variable-type", range,
            fmt::format("{}: .{} is a type of instructions, not of variables", name, isa::to_string(type)))
          .notes.push_back({"legal", fmt::format(".b{}", std::max(8, isa::bits_of(type)))});
    if (const isa::Need* need = isa::need_of(type); need && !context_.has(*need))
      context_.refuse(*need, fmt::format("{}: .{}", name, isa::to_string(type)), range);
  }

  void check_size(const Variable& v) {
    const bool incomplete = v.is_array && !v.dims.empty() && std::count(v.dims.begin(), v.dims.end(), 0) > 0;
    if (incomplete && v.linkage != Linkage::extern_ && v.init.empty() && v.space != StateSpace::param)
      error("variable-size", v.range, fmt::format("{} has no size", v.name))
          .notes.push_back({"legal", "a size, an initializer, or .extern"});
  }

  void check_initializer(const Variable& v) {
    for (const ptx::InitValue& value : v.init)
      if (!value.symbol.empty())
        check_initial_address(v, value);
  }

  void check_initial_address(const Variable& v, const ptx::InitValue& value) {
    const auto of = space_of_global(value.symbol);
    if (of && *of != StateSpace::global && *of != StateSpace::const_)
      error("initializer", value.range,
            fmt::format("{}: {} lives in the .{} space", v.name, value.symbol, isa::to_string(*of)))
          .notes.push_back({"legal", "addresses of .global and .const variables and of functions"});
  }

  std::optional<StateSpace> space_of_global(const std::string& name) {
    if (spaces_.empty())
      for (const Variable& v : module_.variables)
        spaces_.emplace(v.name, v.space);
    const auto it = spaces_.find(name);
    return it == spaces_.end() ? std::nullopt : std::optional(it->second);
  }

  void check_function(const Function& f) {
    for (const Variable& v : f.params)
      check_parameter(v, f.is_entry);
    for (const Variable& v : f.returns)
      check_parameter(v, false);
    check_declarations(f);
    if (f.is_entry)
      check_parameter_space(f);
    else if (f.returns.size() > 1)
      error("return", f.range, fmt::format("{} returns more than one value", f.name))
          .notes.push_back({"legal", "one return parameter, which may be an array"});
    if (f.bounds.noreturn && !f.returns.empty())
      error("noreturn", f.range, fmt::format("{} returns a value and is .noreturn", f.name));
  }

  // Those of all threads are checked once, as a function's that has no others.
  void check_declarations(const Function& f) {
    for (size_t i = f.thread_variables; i < f.variables.size(); ++i)
      check_variable(f.variables[i], &f);
    for (uint32_t i = f.thread_registers; i < f.registers.size(); ++i) {
      const ptx::Register& r = f.registers[i];
      if (i > 0 && r.stem == f.registers[i - 1].stem)
        continue; // of one declaration
      const std::string name = f.register_name(i);
      check_type(name, r.type, f.range);
      check_vector(name, r.vector_elems, r.type, f.range);
    }
  }

  void check_parameter(const Variable& v, bool of_entry) {
    if (v.space != StateSpace::reg)
      check_variable(v, nullptr);
    else if (v.type == Type::pred)
      error("variable-type", v.range, fmt::format("{}: a predicate cannot be passed to a function", v.name))
          .notes.push_back({"legal", "a number, made by selp"});
    if (v.space != StateSpace::reg && v.type == Type::f16x2)
      error("variable-type", v.range, fmt::format("{}: .f16x2 is no type of parameters", v.name))
          .notes.push_back({"legal", ".b32"});
    if (!of_entry && is_opaque(v.type)) {
      Diagnostic& d =
          error("variable-type", v.range,
                fmt::format("{}: only an entry has parameters of type .{}", v.name, isa::to_string(v.type)));
      d.notes.push_back({"legal", ".param .u64, the address of the texture or surface"});
      d.notes.push_back({"see", "PTX ISA, Texture Sampler and Surface Types"});
    }
    if (of_entry && std::count(v.dims.begin(), v.dims.end(), 0) > 0)
      error("variable-size", v.range, fmt::format("{}: an entry's parameter has a size", v.name));
  }

  void check_parameter_space(const Function& f) {
    const uint64_t bytes = ptx::lay_out_parameters(f).bytes;
    const bool large = context_.version >= isa::IsaVersion{8, 1} && context_.target.sm >= 70;
    const uint64_t most = large ? kParameterBytes : kSmallParameterBytes;
    if (bytes > most)
      error("parameter-size", f.params.back().range,
            fmt::format("the parameters of {} take {} bytes", f.name, bytes))
          .notes.push_back({"legal", fmt::format("{} bytes{}", most,
                                                 large ? "" : "; 32764 from PTX 8.1 on, for sm_70 and up")});
  }

  Context& context_;
  const Module& module_;
  std::unordered_map<std::string_view, StateSpace> spaces_;
};

} // namespace

void check_module(Context& context) {
  ModuleCheck(context).run();
}

} // namespace lemma::verify
