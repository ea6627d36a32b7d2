// In this order: which target (choose_target), what every name means (collect, then resolve), then copies of
// what is kept, in which indices and names are those of the result (Copier). A function or variable of the
// result stands where the first module that names it does.
#include "ptx/link.h"

#include "isa/target.h"
#include "ptx/debug_strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace lemma::ptx {
namespace {

// One of a module's functions or variables.
struct Member {
  size_t module = 0;
  bool is_function = false;
  uint32_t index = 0;
};

// What one name of the result stands for.
struct Symbol {
  std::string name;            // in the result
  std::vector<Member> members; // all that are this, in the order of the modules
  size_t kept = 0;             // index of the one that is copied
  uint32_t index = kNone;      // in Module::functions or variables of the result
};

bool is_dynamic_shared(const Variable& variable) {
  return variable.space == StateSpace::shared && variable.linkage == Linkage::extern_;
}

class Linker {
public:
  Linker(std::span<const Module* const> modules, std::span<const std::string_view> provided)
      : modules_(modules), provided_(provided.begin(), provided.end()) {}

  LinkOutcome run() {
    choose_target();
    refuse_thread_variables();
    collect();
    for (Symbol& symbol : symbols_)
      resolve(symbol);
    if (out_.diagnostics.empty()) {
      rename_own();
      place();
      for (size_t i = 0; i < modules_.size(); ++i)
        copy_module(i);
    }
    std::stable_sort(out_.diagnostics.begin(), out_.diagnostics.end(),
                     [](const LinkDiagnostic& a, const LinkDiagnostic& b) {
                       return std::pair(a.module, a.diagnostic.range.begin) <
                              std::pair(b.module, b.diagnostic.range.begin);
                     });
    return std::move(out_);
  }

private:
  // --- what was given ---
  const Module& module(const Member& member) const { return *modules_[member.module]; }
  const Function& function(const Member& member) const { return module(member).functions[member.index]; }
  const Variable& variable(const Member& member) const { return module(member).variables[member.index]; }
  Linkage linkage(const Member& member) const {
    return member.is_function ? function(member).linkage : variable(member).linkage;
  }
  // Not seen by other modules; but an entry keeps its name.
  bool is_own(const Member& member) const {
    return linkage(member) == Linkage::none && !(member.is_function && function(member).is_entry);
  }
  const std::string& name(const Member& member) const {
    return member.is_function ? function(member).name : variable(member).name;
  }
  SourceRange range(const Member& member) const {
    return member.is_function ? function(member).range : variable(member).range;
  }
  // An alias has a body: that of its function.
  bool is_defined(const Member& member) const {
    return member.is_function ? function(member).has_body || function(member).alias_of != kNone
                              : linkage(member) != Linkage::extern_;
  }
  // "b.ptx:12"
  std::string place_of(const Member& member) const {
    const SourceText& source = *module(member).source;
    return fmt::format("{}:{}", source.name(), source.line_column(range(member).begin).line);
  }

  void error(const Member& at, std::string id, std::string message, std::vector<Diagnostic::Note> notes) {
    error(at.module, range(at), std::move(id), std::move(message), std::move(notes));
  }
  void error(size_t module, SourceRange range, std::string id, std::string message,
             std::vector<Diagnostic::Note> notes) {
    out_.diagnostics.push_back({module, Diagnostic{.severity = Severity::error,
                                                   .id = std::move(id),
                                                   .message = std::move(message),
                                                   .range = range,
                                                   .notes = std::move(notes)}});
  }

  void choose_target();
  void refuse_thread_variables();
  void collect();
  void resolve(Symbol& symbol);
  void check_one_kind(const Symbol& symbol);
  void check_agreement(const Symbol& symbol, const Member& declared);
  void rename_own();
  void place();
  void copy_module(size_t index);
  void copy_debug_strings(size_t index);

  friend class Copier;

  std::span<const Module* const> modules_;
  std::unordered_set<std::string_view> provided_;
  LinkOutcome out_;
  std::vector<Symbol> symbols_;
  std::vector<std::vector<uint32_t>> of_function_, of_variable_; // [module][index]: index of symbols_
};

// --- target ---

void Linker::choose_target() {
  const Module& first = *modules_.front();
  Module& result = out_.module;
  result.version = first.version;
  result.targets = first.targets;
  result.address_size_bits = first.address_size_bits;
  for (size_t i = 1; i < modules_.size(); ++i) {
    const Module& module = *modules_[i];
    result.version = std::max(result.version, module.version);
    if (module.address_size_bits != result.address_size_bits)
      error(i, module.target_range, "address-size",
            fmt::format("addresses of {} bits, and of {} bits in {}", module.address_size_bits,
                        result.address_size_bits, first.source->name()),
            {{"fix", "compile all for 64 bits"}});
    for (size_t option = 1; option < module.targets.size(); ++option)
      if (std::find(result.targets.begin() + 1, result.targets.end(), module.targets[option]) ==
          result.targets.end())
        result.targets.push_back(module.targets[option]);
    if (module.targets.empty() || result.targets.empty() || module.targets[0] == result.targets[0])
      continue;
    const auto ours = isa::parse_target(result.targets[0]), theirs = isa::parse_target(module.targets[0]);
    if (!ours || !theirs)
      continue;
    const bool ours_later = ours->sm > theirs->sm || (ours->sm == theirs->sm && theirs->suffix == 0);
    const isa::Target &later = ours_later ? *ours : *theirs, &earlier = ours_later ? *theirs : *ours;
    if (earlier.suffix != 0) // what has one runs on its own machine or family alone
      error(i, module.target_range, "target",
            fmt::format("{} and {} are for different machines: {} runs on {} only", module.targets[0],
                        result.targets[0], isa::to_string(earlier), isa::machines_of(earlier)),
            {{"fix", "compile all for one target"}});
    result.targets[0] = isa::to_string(later);
  }
  // What that asks for is in none of the modules' parts that the result has.
  std::erase(result.targets, "debug");
}

void Linker::refuse_thread_variables() {
  for (size_t i = 0; i < modules_.size(); ++i)
    if (modules_.size() > 1 && (!modules_[i]->thread_variables.registers.empty() ||
                                !modules_[i]->thread_variables.variables.empty()))
      out_.diagnostics.push_back(
          {i,
           Diagnostic{.severity = Severity::unsupported,
                      .id = "link",
                      .message = ".reg or .local at module scope (PTX 2.3 and older): such a module is not "
                                 "linked with others",
                      .range = modules_[i]->version_range,
                      .notes = {}}});
}

// --- names ---

// A name that other modules see is one symbol in all of them; of the others each is one.
void Linker::collect() {
  std::unordered_map<std::string_view, uint32_t> shared;
  const auto add = [&](const Member& member) {
    auto index = static_cast<uint32_t>(symbols_.size());
    if (!is_own(member))
      index = shared.try_emplace(name(member), index).first->second;
    if (index == symbols_.size())
      symbols_.push_back({.name = name(member), .members = {}});
    symbols_[index].members.push_back(member);
    return index;
  };
  for (size_t i = 0; i < modules_.size(); ++i) {
    of_variable_.emplace_back();
    for (uint32_t v = 0; v < modules_[i]->variables.size(); ++v)
      of_variable_[i].push_back(add({i, false, v}));
    of_function_.emplace_back();
    for (uint32_t f = 0; f < modules_[i]->functions.size(); ++f)
      of_function_[i].push_back(add({i, true, f}));
  }
}

// Which of its members is kept, and whether the others may go with it.
void Linker::resolve(Symbol& symbol) {
  const auto& members = symbol.members;
  const auto rank = [&](const Member& member) {
    if (!is_defined(member))
      return 0;
    const Linkage as = linkage(member);
    return as == Linkage::common ? 1 : as == Linkage::weak ? 2 : 3;
  };
  for (size_t i = 1; i < members.size(); ++i)
    if (rank(members[i]) > rank(members[symbol.kept]))
      symbol.kept = i;
  const Member& kept = members[symbol.kept];
  for (size_t i = 0; i < members.size(); ++i) {
    if (i == symbol.kept)
      continue;
    if (members[i].is_function != kept.is_function) {
      error(members[i], "link",
            fmt::format("'{}' is a {} here, and a {} at {}", symbol.name,
                        members[i].is_function ? "function" : "variable",
                        kept.is_function ? "function" : "variable", place_of(kept)),
            {{"fix", "give one of them another name"}});
      return;
    }
    if (rank(members[i]) == 3)
      error(members[i], "duplicate",
            fmt::format("'{}' is defined twice: here and at {}", symbol.name, place_of(kept)),
            {{"legal", "one definition that is .visible; any number that are .weak"}});
    check_agreement(symbol, members[i]);
  }
  const bool needs_none =
      kept.is_function ? provided_.contains(symbol.name) : is_dynamic_shared(variable(kept));
  if (rank(kept) == 0 && !needs_none)
    error(
        kept, "unresolved",
        fmt::format("no module defines the {} '{}'", kept.is_function ? "function" : "variable", symbol.name),
        {{"fix", fmt::format("link the module that has '{}', with .visible before it", symbol.name)}});
}

// Is what `other` declares, or defines too, like what is kept?
void Linker::check_agreement(const Symbol& symbol, const Member& other) {
  const Member& kept = symbol.members[symbol.kept];
  const auto differs = [&](const std::string& what) {
    error(other, "signature", fmt::format("'{}' differs from {}: {}", symbol.name, place_of(kept), what),
          {{"legal", "the same declaration in all modules"}});
  };
  if (!kept.is_function) {
    const Variable &ours = variable(kept), &theirs = variable(other);
    if (ours.space != theirs.space)
      differs(fmt::format(".{} here, .{} there", isa::to_string(theirs.space), isa::to_string(ours.space)));
    else if (ours.size_bytes != theirs.size_bytes && ours.size_bytes != 0 && theirs.size_bytes != 0 &&
             ours.linkage != Linkage::common && theirs.linkage != Linkage::common)
      differs(fmt::format("{} bytes here, {} there", theirs.size_bytes, ours.size_bytes));
    return;
  }
  const auto check = [&](const std::vector<Variable>& ours, const std::vector<Variable>& theirs,
                         std::string_view what) {
    if (ours.size() != theirs.size())
      return differs(fmt::format("{} {}s here, {} there", theirs.size(), what, ours.size()));
    for (size_t i = 0; i < ours.size(); ++i)
      if (ours[i].size_bytes != theirs[i].size_bytes || ours[i].space != theirs[i].space)
        return differs(fmt::format("{} {} has {} bytes here, {} there", what, i, theirs[i].size_bytes,
                                   ours[i].size_bytes));
  };
  check(function(kept).params, function(other).params, "parameter");
  check(function(kept).returns, function(other).returns, "return value");
}

// A module's own names, where another symbol has them: NAME$1, with a number that no text has behind it.
void Linker::rename_own() {
  std::unordered_set<std::string> taken;
  const auto is_own_symbol = [&](const Symbol& symbol) { return is_own(symbol.members[symbol.kept]); };
  for (const Symbol& symbol : symbols_)
    if (!is_own_symbol(symbol))
      taken.insert(symbol.name);
  const auto is_free = [&](const std::string& candidate) {
    return !taken.contains(candidate) && std::none_of(modules_.begin(), modules_.end(), [&](const Module* m) {
      return m->source->text().find(candidate) != std::string_view::npos;
    });
  };
  for (Symbol& symbol : symbols_) {
    if (!is_own_symbol(symbol) || taken.insert(symbol.name).second)
      continue;
    const std::string own = symbol.name;
    for (int number = 1; symbol.name == own || !is_free(symbol.name); ++number)
      symbol.name = fmt::format("{}${}", own, number);
    taken.insert(symbol.name);
  }
}

void Linker::place() {
  uint32_t functions = 0, variables = 0;
  for (const auto* table : {&of_variable_, &of_function_})
    for (const std::vector<uint32_t>& of_module : *table)
      for (const uint32_t index : of_module)
        if (Symbol& symbol = symbols_[index]; symbol.index == kNone)
          symbol.index = symbol.members[symbol.kept].is_function ? functions++ : variables++;
  out_.module.functions.resize(functions);
  out_.module.variables.resize(variables);
}

// --- copies ---

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

// Calls f(word, what follows it) for the words of a text, and puts in the place of each what f gives.
template <class F>
std::string with_words(std::string_view text, F&& f) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is_word(text[end]))
      ++end;
    if (end == at)
      out += text[at++];
    else
      out += f(std::string(text.substr(at, end - at)), text.substr(end));
    at = std::max(at, end);
  }
  return out;
}

// Copies of what one module has: with the result's indices and names.
class Copier {
public:
  Copier(const Linker& linker, size_t module, uint32_t first_location,
         const std::map<std::string, std::string>& debug_labels)
      : linker_(linker), module_(module), first_location_(first_location), debug_labels_(debug_labels) {
    const Module& from = *linker.modules_[module];
    for (uint32_t i = 0; i < from.functions.size(); ++i)
      names_.emplace(from.functions[i].name, &symbol_of(linker.of_function_[module][i]));
    for (uint32_t i = 0; i < from.variables.size(); ++i)
      names_.emplace(from.variables[i].name, &symbol_of(linker.of_variable_[module][i]));
  }

  // `inner`: what hides names of the module where the variable stands.
  Variable copy(const Variable& from, std::span<const Variable> inner = {}) const {
    Variable to = from;
    for (InitValue& value : to.init)
      if (std::none_of(inner.begin(), inner.end(), [&](const Variable& v) { return v.name == value.symbol; }))
        value.symbol = renamed(value.symbol);
    return to;
  }

  Function copy(const Function& from) const {
    Function to = from;
    for (Variable& variable : to.variables)
      variable = copy(variable, from.variables);
    for (TargetList& list : to.target_lists)
      if (list.is_call)
        for (std::string& name : list.names)
          name = renamed(name);
    for (Instruction& instruction : to.instructions) {
      if (instruction.location != kNone)
        instruction.location += first_location_;
      for (Operand& operand : instruction.operands)
        adapt(operand);
    }
    for (auto& [index, text] : to.unknown_instructions)
      text = with_words(text, [&](const std::string& word, std::string_view) { return renamed(word); });
    if (to.alias_of != kNone)
      to.alias_of = symbol_of(linker_.of_function_[module_][to.alias_of]).index;
    return to;
  }

  // A name of the module's scope as the result has it; any other stays.
  std::string renamed(const std::string& name) const {
    const auto at = names_.find(name);
    return at == names_.end() ? name : at->second->name;
  }
  // "label" or "label+bytes".
  std::string debug_place(const std::string& place) const {
    return with_words(place, [&](const std::string& word, std::string_view) {
      const auto at = debug_labels_.find(word);
      return at == debug_labels_.end() ? word : at->second;
    });
  }

private:
  const Symbol& symbol_of(uint32_t index) const { return linker_.symbols_[index]; }

  void adapt(Operand& operand) const {
    if (operand.kind == OperandKind::function)
      operand.symbol = symbol_of(linker_.of_function_[module_][operand.symbol]).index;
    else if (operand.kind == OperandKind::symbol && operand.symbol_scope == Operand::SymbolScope::module)
      operand.symbol = symbol_of(linker_.of_variable_[module_][operand.symbol]).index;
    for (Operand& elem : operand.elems)
      adapt(elem);
  }

  const Linker& linker_;
  size_t module_;
  uint32_t first_location_;
  const std::map<std::string, std::string>& debug_labels_;
  std::unordered_map<std::string_view, const Symbol*> names_;
};

// The labels of a module's strings, which name inlined functions, to what they are in the result.
std::map<std::string, std::string> debug_labels_of(const Module& module, size_t index) {
  std::map<std::string, std::string> labels;
  for (const DebugSection& section : module.sections)
    if (section.name == kDebugStrings)
      with_words(section.text, [&](const std::string& word, std::string_view rest) {
        if (rest.starts_with(':'))
          labels.emplace(word, index == 0 ? word : fmt::format("{}_{}", word, index));
        return word;
      });
  return labels;
}

void Linker::copy_debug_strings(size_t index) {
  const auto labels = debug_labels_of(*modules_[index], index);
  for (const DebugSection& section : modules_[index]->sections) {
    if (section.name != kDebugStrings)
      continue;
    if (out_.module.sections.empty())
      out_.module.sections.push_back({section.name, ""});
    out_.module.sections.front().text +=
        with_words(section.text, [&](const std::string& word, std::string_view) {
          const auto at = labels.find(word);
          return at == labels.end() ? word : at->second;
        });
  }
}

void Linker::copy_module(size_t index) {
  const Module& from = *modules_[index];
  Module& to = out_.module;
  const auto first_location = static_cast<uint32_t>(to.locations.size());
  const auto debug_labels = debug_labels_of(from, index);
  const Copier copier(*this, index, first_location, debug_labels);
  std::map<uint32_t, uint32_t> files;
  for (const auto& [number, file] : from.files) {
    auto at = std::find_if(to.files.begin(), to.files.end(),
                           [&](const auto& known) { return known.second.name == file.name; });
    if (at == to.files.end())
      at = to.files.emplace(to.files.empty() ? 1 : to.files.rbegin()->first + 1, file).first;
    files[number] = at->first;
  }
  for (LineLocation location : from.locations) {
    if (const auto at = files.find(location.file); at != files.end())
      location.file = at->second;
    if (const auto at = files.find(location.intermediate_file); at != files.end())
      location.intermediate_file = at->second;
    if (location.inlined_at != kNone)
      location.inlined_at += first_location;
    location.inlined_function = copier.debug_place(location.inlined_function);
    to.locations.push_back(std::move(location));
  }
  copy_debug_strings(index);
  for (IntermediateSource source : from.intermediate_sources) {
    source.file = files.at(source.file);
    to.intermediate_sources.push_back(std::move(source));
  }

  for (const Symbol& symbol : symbols_) {
    const Member& kept = symbol.members[symbol.kept];
    if (kept.module != index)
      continue;
    if (kept.is_function) {
      Function& function = to.functions[symbol.index] = copier.copy(this->function(kept));
      function.name = symbol.name;
      continue;
    }
    Variable& variable = to.variables[symbol.index] = copier.copy(this->variable(kept));
    variable.name = symbol.name;
    for (const Member& member : symbol.members)
      if (variable.linkage == Linkage::common && !member.is_function) {
        const Variable& other = this->variable(member);
        if (other.size_bytes > variable.size_bytes) {
          const uint32_t align = variable.align;
          variable = copier.copy(other);
          variable.name = symbol.name;
          variable.linkage = Linkage::common;
          variable.align = align;
        }
        variable.align = std::max(variable.align, other.align);
      }
  }
  for (const Alias& alias : from.aliases) {
    const Alias renamed{copier.renamed(alias.name), copier.renamed(alias.function)};
    if (std::find(to.aliases.begin(), to.aliases.end(), renamed) == to.aliases.end())
      to.aliases.push_back(renamed);
  }
  for (const std::string& pragma : from.pragmas)
    if (std::find(to.pragmas.begin(), to.pragmas.end(), pragma) == to.pragmas.end())
      to.pragmas.push_back(pragma);
}

} // namespace

LinkOutcome link(std::span<const Module* const> modules, std::span<const std::string_view> provided) {
  return Linker(modules, provided).run();
}

} // namespace lemma::ptx
