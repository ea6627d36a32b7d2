// Reads the rows of the form tables into Forms: the notation of forms/README.md.
#include "isa/form.h"

#include "isa/catalogue.h"
#include "isa/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <mutex>

namespace lemma::isa {
namespace {

constexpr size_t kRowCount = 0
#define OPCODE(...)
#define BLOCK(...)
#define FORM(...) +1
#include "isa/forms/all.inc"
#undef FORM
#undef BLOCK
#undef OPCODE
    ;

// BLOCK(...) says what the rows after it have in common, until the next.
constexpr std::array<FormRow, kRowCount> kRows = [] {
  std::array<FormRow, kRowCount> rows;
  FormRow block;
  size_t next = 0;
#define OPCODE(...)
#define BLOCK(...) block = row_like(FormRow{}, __VA_ARGS__);
#define FORM(...) rows[next++] = form_row(block, __VA_ARGS__);
#include "isa/forms/all.inc"
#undef FORM
#undef BLOCK
#undef OPCODE
  return rows;
}();

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \n\t");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \n\t") - begin + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t at = text.find(separator);
    if (const std::string_view part = trim(text.substr(0, at)); !part.empty())
      parts.push_back(part);
    text.remove_prefix(at == std::string_view::npos ? text.size() : at + 1);
  }
  return parts;
}

std::optional<StateSpace> space_named(std::string_view word) {
  const auto qual = parse_qual(word);
  return qual ? space_of(*qual) : std::nullopt;
}

struct Range {
  int64_t lo = 0;
  int64_t hi = 0;
  int64_t step = 1;
};

// "lo..hi" or "lo..hi/step".
std::optional<Range> parse_range(std::string_view text) {
  Range range;
  const char* const end = text.end();
  auto at = std::from_chars(text.begin(), end, range.lo);
  if (at.ec != std::errc() || end - at.ptr < 2 || at.ptr[0] != '.' || at.ptr[1] != '.')
    return std::nullopt;
  at = std::from_chars(at.ptr + 2, end, range.hi);
  if (at.ec == std::errc() && at.ptr != end && *at.ptr == '/')
    at = std::from_chars(at.ptr + 1, end, range.step);
  return at.ec == std::errc() && at.ptr == end && range.step > 0 ? std::optional(range) : std::nullopt;
}

// The opcode of a row: the longest of them that the literal words at its head make; none if none is.
Opcode opcode_of(std::string_view head) {
  head = head.substr(0, head.find('{'));
  for (;;) {
    if (const auto opcode = parse_opcode(head))
      return *opcode;
    const size_t dot = head.rfind('.');
    if (dot == std::string_view::npos)
      return Opcode::none;
    head = head.substr(0, dot);
  }
}

std::string_view head_of(std::string_view syntax) {
  return syntax.substr(0, std::min(syntax.find_first_of(" \n"), syntax.size()));
}

// Reads one row. What is wrong with it goes to `errors`; the table is part of the program, and the build
// checks it, so reading just goes on.
class RowReader {
public:
  RowReader(const FormRow& row, std::vector<std::string>& errors) : row_(row), errors_(errors) {}

  Form read() {
    form_.syntax = row_.syntax;
    form_.where = row_.where;
    form_.since = row_.since;
    form_.section = row_.section;
    if (form_.section.empty())
      wrong("no section");
    form_.until = row_.until;
    form_.targets = read_targets(row_.targets);
    form_.until_targets = read_targets(row_.until_targets);
    read_needs();
    read_classes();
    const std::string_view head = head_of(row_.syntax);
    read_head(head);
    text_ = trim(std::string_view(row_.syntax).substr(head.size()));
    read_operands();
    for (const auto& cls : classes_)
      if (!cls.used)
        wrong(fmt::format("class {} is not used", cls.name));
    return std::move(form_);
  }

private:
  struct Class {
    std::string_view name;
    std::vector<std::string> values;
    bool used = false;
  };

  void wrong(std::string_view what) { errors_.push_back(fmt::format("{}: {}", row_.syntax, what)); }

  TargetSet read_targets(std::string_view text) {
    auto set = parse_targets(text);
    if (!set)
      wrong(fmt::format("'{}' names what is no target", text));
    return set.value_or(TargetSet{});
  }

  // ".relaxed .acquire 8.0 sm_80": words, a version, targets.
  void read_needs() {
    for (const std::string_view text : split(row_.needs, ';')) {
      std::vector<std::string_view> words;
      Need need;
      std::string targets;
      for (const std::string_view part : split(text, ' '))
        if (part.front() == '.')
          words.push_back(part.substr(1));
        else if (part.size() == 3 && part[1] == '.')
          need.since = {part[0] - '0', part[2] - '0'};
        else
          targets += fmt::format("{}{}", targets.empty() ? "" : " ", part);
      if (words.empty() || !need.since.major)
        wrong(fmt::format("needs: '{}' lacks words or a version", text));
      need.targets = read_targets(targets);
      for (const std::string_view word : words) {
        const size_t dot = word.find('.'); // of two: .sys.b128
        if (dot != std::string_view::npos) {
          const auto qual = parse_qual(word.substr(0, dot));
          const auto type = parse_type(word.substr(dot + 1));
          if (!qual || !type)
            wrong(fmt::format("needs: no qualifier and type .{}", word));
          form_.needs.push_back({qual.value_or(Qual::none), type.value_or(Type::none), need});
        } else if (const auto type = parse_type(word))
          form_.needs.push_back({Qual::none, *type, need});
        else if (const auto qual = parse_qual(word))
          form_.needs.push_back({*qual, Type::none, need});
        else
          wrong(fmt::format("needs: no qualifier .{}", word));
      }
    }
  }

  // ".m64n(8..256/8)k16" stands for one value a step.
  void expand_value(std::string_view value, std::vector<std::string>& out) {
    const size_t open = value.find('(');
    if (open == std::string_view::npos) {
      out.emplace_back(value);
      return;
    }
    const size_t close = value.find(')');
    const auto range = parse_range(value.substr(open + 1, close - open - 1));
    if (!range)
      return wrong("bad range in a class");
    const std::string_view tail = value.substr(close + 1);
    for (int64_t n = range->lo; n <= range->hi; n += range->step)
      out.push_back(fmt::format("{}{}{}", value.substr(0, open), n, tail));
  }

  void read_classes() {
    for (const std::string_view text : split(row_.where, ';')) {
      const size_t equal = text.find('=');
      if (equal == std::string_view::npos) {
        wrong("where: no =");
        continue;
      }
      Class cls{trim(text.substr(0, equal)), {}, false};
      for (const std::string_view value : split(text.substr(equal + 1), ' ')) {
        if (value.front() != '.')
          wrong(fmt::format("where: '{}' lacks its dot", value));
        expand_value(value.substr(1), cls.values);
      }
      classes_.push_back(std::move(cls));
    }
  }

  void add_value(Slot& slot, std::string_view value) {
    if (const auto type = parse_type(value))
      slot.types.push_back(*type);
    else if (const auto qual = parse_qual(value))
      slot.quals.push_back(*qual);
    else
      wrong(fmt::format("no qualifier .{}", value));
  }

  void add_slot(std::string_view word, int8_t group) {
    Slot slot;
    slot.may_lack = word.ends_with('?');
    if (slot.may_lack)
      word.remove_suffix(1);
    slot.fixed = word.ends_with('!');
    if (slot.fixed)
      word.remove_suffix(1);
    slot.group = group;
    slot.optional = group >= 0;
    const auto cls =
        std::find_if(classes_.begin(), classes_.end(), [&](const Class& c) { return c.name == word; });
    if (cls != classes_.end()) {
      slot.name = word;
      cls->used = true;
      for (const std::string& value : cls->values)
        add_value(slot, value);
      if (!slot.quals.empty() && !slot.types.empty())
        wrong(fmt::format("class {} mixes types and other qualifiers", word));
    } else {
      slot.name = fmt::format(".{}", word);
      add_value(slot, word);
    }
    form_.slots.push_back(std::move(slot));
    if (form_.slots.size() > kMaxSlots)
      wrong("too many slots");
  }

  void read_head(std::string_view head) {
    form_.opcode = opcode_of(head);
    const size_t best = to_string(form_.opcode).size();
    if (form_.opcode == Opcode::none)
      wrong("no opcode");
    int8_t group = -1;
    for (size_t i = best; i < head.size();) {
      if (head[i] == '{') {
        form_.group_parents.push_back(group);
        group = static_cast<int8_t>(form_.group_parents.size() - 1);
        ++i;
      } else if (head[i] == '}') {
        if (group < 0)
          return wrong("unbalanced }");
        group = form_.group_parents[static_cast<size_t>(group)];
        ++i;
      } else if (head[i] == '.') {
        const size_t end = std::min(head.find_first_of(".{}", i + 1), head.size());
        add_slot(head.substr(i + 1, end - i - 1), group);
        i = end;
      } else {
        return wrong("bad head");
      }
    }
    if (group >= 0)
      wrong("unbalanced {");
  }

  // Operands: a character reader over text_.
  void skip() {
    while (at_ < text_.size() && text_[at_] == ' ')
      ++at_;
  }
  bool eat(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token))
      return false;
    at_ += token.size();
    return true;
  }
  std::string_view word(std::string_view extra) {
    skip();
    const size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_' ||
                                  extra.find(text_[at_]) != std::string_view::npos))
      ++at_;
    return text_.substr(begin, at_ - begin);
  }

  int8_t find_slot(std::string_view name) const {
    for (size_t i = 0; i < form_.slots.size(); ++i)
      if (form_.slots[i].name == name)
        return static_cast<int8_t>(i);
    return -1;
  }
  int8_t only_type_slot() const {
    int8_t found = -1;
    for (size_t i = 0; i < form_.slots.size(); ++i)
      if (form_.slots[i].is_type()) {
        if (found >= 0)
          return -1;
        found = static_cast<int8_t>(i);
      }
    return found;
  }

  void read_type_name(OperandSpec& spec, std::string_view name) {
    int8_t slot = find_slot(name);
    if (slot < 0)
      slot = find_slot(fmt::format(".{}", name));
    if (slot >= 0 && form_.slots[static_cast<size_t>(slot)].is_type())
      spec.type_slot = slot;
    else if (const auto type = parse_type(name))
      spec.type = *type;
    else
      wrong(fmt::format("operand {}: no type {}", spec.name, name));
  }

  void read_range(OperandSpec& spec) {
    spec.ranged = true;
    const size_t close = text_.find(')', at_);
    const std::string_view text = text_.substr(at_, close - at_);
    if (text.find("..") == std::string_view::npos) {
      spec.ranged = false;
      for (const std::string_view value : split(text, ' '))
        spec.one_of.push_back(whole_number(value).value_or(0));
      at_ = close + 1;
      return;
    }
    if (const auto range = parse_range(text)) {
      spec.min = range->lo;
      spec.max = range->hi;
      spec.step = range->step;
    } else {
      wrong("bad range");
    }
    at_ = close + 1;
  }

  // After the colon: u32, type, wide(type), wider(type), bits(type), imm(0..7), label, ...; then [n] and
  // +flags.
  void read_type(OperandSpec& spec) {
    const std::string_view name = word("");
    if (name == "wide" || name == "wider" || name == "bits" || name == "only" || name == "fixed") {
      (name == "wide"    ? spec.widened
       : name == "wider" ? spec.wider
       : name == "bits"  ? spec.same_bits
       : name == "only"  ? spec.only
                         : spec.fixed) = true;
      if (!eat("("))
        wrong("expected (");
      read_type_name(spec, word(""));
      if (!eat(")"))
        wrong("expected )");
      if (eat("("))
        read_range(spec);
    } else if (name == "imm") {
      spec.reg = false;
      spec.type = Type::b64;
      if (eat("("))
        read_range(spec);
    } else if (name == "label") {
      spec.kind = OperandSpec::Kind::label;
    } else if (name == "func") {
      spec.kind = OperandSpec::Kind::function;
    } else if (name == "list") {
      spec.kind = OperandSpec::Kind::list;
    } else if (name == "proto") {
      spec.kind = OperandSpec::Kind::proto;
    } else {
      read_type_name(spec, name);
      while (eat("("))
        read_range(spec);
    }
    read_elems(spec);
    spec.exact_bits = eat("=");
    if (spec.exact_bits || eat("<="))
      spec.most_bits = static_cast<uint16_t>(number(word("")).value_or(0));
    read_flags(spec);
  }

  template <class T>
  static std::optional<T> parsed(std::string_view text) {
    T n = 0;
    return std::from_chars(text.data(), text.data() + text.size(), n).ec == std::errc() ? std::optional(n)
                                                                                        : std::nullopt;
  }
  static std::optional<int> number(std::string_view text) { return parsed<int>(text); }
  static std::optional<int64_t> whole_number(std::string_view text) { return parsed<int64_t>(text); }

  void read_elems(OperandSpec& spec) {
    if (!eat("["))
      return;
    const std::string_view count = word("");
    const auto fixed = number(count);
    if (fixed)
      spec.elems = static_cast<uint8_t>(*fixed);
    else
      spec.elems_slot = find_slot(count);
    if (!fixed && spec.elems_slot < 0)
      wrong(fmt::format("operand {}: no class {}", spec.name, count));
    for (uint8_t& other : spec.elems_or)
      if (const auto n = number(word("")))
        other = static_cast<uint8_t>(*n);
    spec.elems_n = eat(".n");
    if (eat("*"))
      spec.elems_times = static_cast<uint8_t>(number(word("")).value_or(0));
    else if (eat("/"))
      spec.elems_over = static_cast<uint8_t>(number(word("")).value_or(1));
    else if (eat("-"))
      spec.elems_less = static_cast<uint8_t>(number(word("")).value_or(0));
    if (!eat("]"))
      wrong("expected ]");
  }

  void read_flags(OperandSpec& spec) {
    for (;;) {
      if (eat("-imm"))
        spec.immediate = false;
      else if (eat("-_"))
        spec.no_sinks = true;
      else if (eat("-reg"))
        spec.reg = false;
      else if (eat("-sreg"))
        spec.plain = true;
      else if (eat("+sel"))
        spec.selects = Selects::part;
      else if (eat("+mask2"))
        spec.selects = Selects::mask2;
      else if (eat("+mask4"))
        spec.selects = Selects::mask4;
      else if (eat("+halves"))
        spec.selects = Selects::halves;
      else if (eat("+bytes"))
        spec.selects = Selects::bytes;
      else if (eat("+sreg"))
        spec.special = true;
      else if (eat("+sym"))
        spec.symbol = true;
      else if (eat("+{_}"))
        spec.holes = true;
      else if (eat("+_"))
        spec.sink = true;
      else
        return;
    }
  }

  void default_type(OperandSpec& spec) {
    spec.type_slot = only_type_slot();
    if (spec.type_slot < 0)
      wrong(fmt::format("operand {} needs a type", spec.name));
  }

  void default_space(OperandSpec& spec) {
    spec.space_slot = find_slot("ss");
    if (spec.space_slot >= 0)
      return;
    for (const Slot& slot : form_.slots)
      if (slot.quals.size() == 1 && slot.group < 0)
        if (const auto space = space_of(slot.quals[0])) {
          spec.space = *space;
          return;
        }
  }

  OperandSpec read_address() {
    OperandSpec spec;
    spec.kind = OperandSpec::Kind::address;
    spec.name = word("-");
    if (eat(":")) {
      const std::string_view name = word(":");
      if (const int8_t slot = find_slot(name); slot >= 0)
        spec.space_slot = slot;
      else if (name == "tensor")
        spec.tensor_memory = true;
      else if (name == "bare")
        spec.bare = true;
      else if (name == "generic")
        spec.space = StateSpace::generic;
      else if (const auto space = space_named(name))
        spec.space = *space;
      else
        wrong(fmt::format("operand {}: no space {}", spec.name, name));
    } else {
      default_space(spec);
    }
    while (eat(",")) {
      OperandSpec part;
      part.name = word("-");
      if (eat(":"))
        read_type(part);
      else
        default_type(part);
      spec.parts.push_back(std::move(part));
    }
    if (!eat("]"))
      wrong("expected ]");
    return spec;
  }

  void read_operand(int8_t group) {
    OperandSpec spec;
    if (eat("[")) {
      spec = read_address();
    } else {
      spec.negatable = eat("{!}") || eat("{-}");
      spec.name = word("-");
      if (spec.name.empty())
        return wrong("expected an operand"), void(at_ = text_.size());
      spec.written = !spec.negatable && (spec.name == "d" || spec.name == "p");
      std::string_view second;
      bool second_optional = false;
      if (eat("{|")) {
        second = word("");
        second_optional = true;
        if (!eat("}"))
          wrong("expected }");
      } else if (eat("|")) {
        second = word("");
      }
      if (eat(":"))
        read_type(spec);
      else if (spec.name == "p")
        spec.type = Type::pred;
      else
        default_type(spec);
      if (!second.empty()) {
        spec.has_second = true;
        spec.second_optional = second_optional;
        spec.written = true;
      }
      spec.immediate = spec.immediate && !spec.written;
    }
    spec.group = group;
    if (eat("if "))
      read_condition(spec);
    form_.operands.push_back(std::move(spec));
  }

  void read_condition(OperandSpec& spec) {
    const std::string_view name = word(".:");
    spec.if_slot = find_slot(name);
    if (spec.if_slot < 0 && name.starts_with('.'))
      if (const auto qual = parse_qual(name.substr(1)))
        for (size_t i = 0; i < form_.slots.size(); ++i)
          if (form_.slots[i].has(*qual)) {
            spec.if_slot = static_cast<int8_t>(i);
            spec.if_qual = *qual;
          }
    if (spec.if_slot < 0)
      wrong(fmt::format("operand {}: no class {}", spec.name, name));
  }

  void read_operands() {
    int8_t group = -1;
    int8_t groups = 0;
    while (skip(), at_ < text_.size()) {
      if (text_.substr(at_).starts_with("{!}") || text_.substr(at_).starts_with("{-}") ||
          !(eat("{,") || eat("{"))) {
        if (eat("}")) {
          group = -1;
        } else if (!eat(",")) {
          read_operand(group);
        }
      } else {
        group = groups++;
      }
    }
    if (group >= 0)
      wrong("unbalanced { in the operands");
  }

  const FormRow& row_;
  std::vector<std::string>& errors_;
  Form form_;
  std::vector<Class> classes_;
  std::string_view text_;
  size_t at_ = 0;
};

// Forms are made an opcode at a time: a program has few of the opcodes, and making all takes milliseconds.
class Tables {
public:
  Tables() : opcodes_(kOpcodeCount) {
    for (const FormRow& row : kRows)
      opcodes_[static_cast<size_t>(opcode_of(head_of(row.syntax)))].rows.push_back({&row, nullptr, count_++});
    for (const MatrixRow& row : matrix_rows()) {
      opcodes_[static_cast<size_t>(row.opcode)].rows.push_back({nullptr, &row, count_});
      count_ += static_cast<size_t>(forms_of_row(row));
    }
    forms_ = std::allocator<Form>().allocate(count_);
  }

  std::span<const Form* const> of(Opcode opcode) {
    PerOpcode& of = opcodes_[static_cast<size_t>(opcode)];
    std::call_once(of.once, [&] {
      std::vector<std::string> errors;
      for (const RowOf& row : of.rows) {
        size_t at = row.first_form;
        if (row.scalar)
          std::construct_at(&forms_[at++], read_form(*row.scalar, errors));
        else
          for (Form& form : matrix_forms(*row.matrix, errors)) // forms_of_row() of them
            std::construct_at(&forms_[at++], std::move(form));
        for (size_t i = row.first_form; i < at; ++i)
          of.forms.push_back(&forms_[i]);
      }
      const std::lock_guard lock(errors_mutex_);
      errors_.insert(errors_.end(), errors.begin(), errors.end());
    });
    return of.forms;
  }

  std::span<const Form> all() {
    for (int i = 0; i < kOpcodeCount; ++i)
      of(static_cast<Opcode>(i));
    return {forms_, count_};
  }

  std::span<const std::string> errors() {
    all();
    return errors_;
  }

private:
  struct RowOf { // one of the two
    const FormRow* scalar;
    const MatrixRow* matrix;
    size_t first_form;
  };
  struct PerOpcode {
    std::once_flag once;
    std::vector<RowOf> rows;
    std::vector<const Form*> forms;
  };

  size_t count_ = 0;
  Form* forms_ = nullptr; // made when their opcode is asked for: until then their memory is not touched
  std::vector<PerOpcode> opcodes_;
  std::mutex errors_mutex_;
  std::vector<std::string> errors_;
};

Tables& tables() {
  static Tables& instance = *new Tables; // never destroyed: the process ends sooner
  return instance;
}

} // namespace

Form read_form(const FormRow& row, std::vector<std::string>& errors) {
  return RowReader(row, errors).read();
}

bool Slot::has(Qual qual) const {
  return std::find(quals.begin(), quals.end(), qual) != quals.end();
}
bool Slot::has(Type type) const {
  return std::find(types.begin(), types.end(), type) != types.end();
}

bool is_available(const Form& form, IsaVersion version, Target target) {
  return form.since <= version && form.targets.contains(target) &&
         !(form.until.major && version > form.until && form.until_targets.contains(target));
}

const Need* need_of(Qual qual) {
  static const std::vector<std::optional<Need>> needs = [] {
    std::vector<std::optional<Need>> table(kQualCount);
#define TYPE_NEED(...)
#define NEED(name, major, minor, targets)                                                                    \
  table[static_cast<size_t>(Qual::name)] = Need{{major, minor}, parse_targets(targets).value_or(TargetSet{})};
#include "isa/qualifier_needs.def"
#undef NEED
#undef TYPE_NEED
    return table;
  }();
  const auto& need = needs[static_cast<size_t>(qual)];
  return need ? &*need : nullptr;
}

const Need* need_of(Type type) {
#define NEED(...)
#define TYPE_NEED(name, major, minor, targets)                                                               \
  if (type == Type::name) {                                                                                  \
    static const Need need{{major, minor}, parse_targets(targets).value_or(TargetSet{})};                    \
    return &need;                                                                                            \
  }
#include "isa/qualifier_needs.def"
#undef NEED
#undef TYPE_NEED
  return nullptr;
}

const Need& need_of(SpecialRegister sreg) {
  static const std::vector<Need> needs = {
      Need{},
#define SREG(name, spelling, type, major, minor, targets)                                                    \
  Need{{major, minor}, parse_targets(targets).value_or(TargetSet{})},
#include "isa/special_registers.def"
#undef SREG
  };
  return needs[static_cast<size_t>(sreg)];
}

std::span<const Form> forms() {
  return tables().all();
}
std::span<const Form* const> forms_of(Opcode opcode) {
  return tables().of(opcode);
}
std::span<const std::string> row_errors() {
  return tables().errors();
}

} // namespace lemma::isa
