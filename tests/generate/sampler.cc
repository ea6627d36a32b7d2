// Sampler fills a form's slots, then its operands, by the random numbers or, for plain_instances(), by fixed
// choices; combinations that are too wide are drawn again. mutate() changes one token; how often in which way
// is the number of its cases' labels. What an operand of a form may be written as is in Sampler::scalar() and
// operand().
#include "generate/sampler.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lemma::generate {

using isa::Binding;
using isa::Form;
using isa::Opcode;
using isa::OperandSpec;
using isa::Qual;
using isa::Slot;
using isa::Type;

namespace {

// Registers of the module; eight of each.
constexpr RegisterClass kRegisters[] = {
    {Type::pred, "%p"}, {Type::b8, "%c"},   {Type::u8, "%uc"},    {Type::s8, "%sc"},  {Type::b16, "%rs"},
    {Type::u16, "%us"}, {Type::s16, "%ss"}, {Type::f16, "%h"},    {Type::b32, "%r"},  {Type::u32, "%u"},
    {Type::s32, "%s"},  {Type::f32, "%f"},  {Type::f16x2, "%hh"}, {Type::b64, "%rd"}, {Type::u64, "%ul"},
    {Type::s64, "%sl"}, {Type::f64, "%fd"}, {Type::b128, "%rq"}};

std::string reg(Type type, Rng& rng) {
  for (const RegisterClass& c : kRegisters)
    if (c.type == type)
      return fmt::format("{}{}", c.name, rng.below(kRegistersOfClass));
  return fmt::format("%r{}", rng.below(kRegistersOfClass));
}

Type untyped(int bits) {
  switch (bits) {
  case 8:
    return Type::b8;
  case 16:
    return Type::b16;
  case 64:
    return Type::b64;
  case 128:
    return Type::b128;
  default:
    return Type::b32;
  }
}

class Sampler {
public:
  Sampler(const Form& form, Rng& rng) : form_(form), rng_(rng) {}
  // Nothing optional but what slot `slot` is in; that has its word `word`, and others have their first.
  Sampler(const Form& form, Rng& rng, size_t slot, size_t word)
      : form_(form), rng_(rng), plain_(true), slot_(slot), word_(word) {}

  std::optional<Text> run() {
    for (const OperandSpec& spec : form_.operands)
      if (spec.kind != OperandSpec::Kind::data && spec.kind != OperandSpec::Kind::address &&
          spec.kind != OperandSpec::Kind::label)
        return std::nullopt;
    Text text;
    text.opcode = isa::to_string(form_.opcode);
    text.form = &form_;
    do { // some combinations of vector length and type are too wide
      text.words.clear();
      binding_ = {};
      fill_slots(text);
    } while (!plain_ && (!widths_fit() || has_small_address()));
    if (!widths_fit() || has_small_address())
      return std::nullopt;
    std::vector<int> group_choice; // per operand group: 0 out, 1 in
    for (const OperandSpec& spec : form_.operands) {
      if (spec.group >= 0 && static_cast<size_t>(spec.group) >= group_choice.size())
        group_choice.push_back(rng_.chance(50));
      if (spec.if_slot >= 0) {
        const Qual qual = binding_.qual(spec.if_slot);
        if (!(spec.if_qual == Qual::none ? qual != Qual::none : qual == spec.if_qual))
          continue;
      } else if (spec.group >= 0 && !group_choice[static_cast<size_t>(spec.group)]) {
        continue;
      }
      text.operands.push_back(operand(spec));
      text.specs.push_back(&spec);
    }
    return text;
  }

private:
  void fill_slots(Text& text) {
    std::vector<int> group(form_.group_parents.size());
    for (size_t g = 0; g < group.size(); ++g)
      group[g] = !plain_ && rng_.chance(30) &&
                 (form_.group_parents[g] < 0 || group[static_cast<size_t>(form_.group_parents[g])]);
    if (plain_ && slot_ < form_.slots.size())
      for (int g = form_.slots[slot_].group; g >= 0; g = form_.group_parents[static_cast<size_t>(g)])
        group[static_cast<size_t>(g)] = 1;
    for (size_t s = 0; s < form_.slots.size(); ++s) {
      const Slot& slot = form_.slots[s];
      if (slot.group >= 0 && !group[static_cast<size_t>(slot.group)])
        continue;
      if (slot.is_type()) {
        const Type type = plain_ ? slot.types[s == slot_ ? word_ : 0] : rng_.pick(slot.types);
        binding_.value[s] = static_cast<uint16_t>(type);
        text.words.emplace_back(isa::to_string(type));
      } else {
        const Qual qual = plain_ ? slot.quals[s == slot_ ? word_ : 0] : rng_.pick(slot.quals);
        binding_.value[s] = static_cast<uint16_t>(qual);
        text.words.emplace_back(isa::to_string(qual));
      }
    }
  }

  // cvta of 32-bit addresses is for modules with such addresses.
  bool has_small_address() const {
    return (form_.opcode == Opcode::cvta || form_.opcode == Opcode::cvta_to) &&
           binding_.type(only_type_slot()) == Type::u32;
  }
  int only_type_slot() const {
    for (size_t s = 0; s < form_.slots.size(); ++s)
      if (form_.slots[s].is_type())
        return static_cast<int>(s);
    return -1;
  }

  bool widths_fit() const {
    return std::all_of(form_.operands.begin(), form_.operands.end(), [&](const OperandSpec& spec) {
      const int bits = isa::bits_of(type_of(spec)) * std::max(isa::elems_of(spec, binding_), 1);
      return spec.most_bits == 0 || (spec.exact_bits ? bits == spec.most_bits : bits <= spec.most_bits);
    });
  }

  Type type_of(const OperandSpec& spec) const { return isa::type_of(spec, binding_); }

  std::string scalar(const OperandSpec& spec) {
    const Type type = type_of(spec);
    if (!spec.one_of.empty())
      return fmt::format("{}", rng_.pick(spec.one_of));
    if (!spec.reg && spec.sink)
      return "_";
    if (!spec.reg && spec.ranged)
      return fmt::format("{}", spec.min + spec.step * static_cast<int64_t>(rng_.below(static_cast<size_t>(
                                                          (spec.max - spec.min) / spec.step + 1))));
    if (!spec.reg)
      return fmt::format("{}", rng_.below(8));
    if (spec.immediate && type != Type::pred && rng_.chance(15)) {
      if (type == Type::f32 || type == Type::f64)
        return rng_.chance(50) ? "1.5" : type == Type::f32 ? "0f3F800000" : "0d3FF0000000000000";
      if (!isa::is_float(type) && type != Type::u16x2 && type != Type::s16x2 && type != Type::u8x4 &&
          type != Type::s8x4)
        return fmt::format("{}", spec.ranged ? spec.min : static_cast<int64_t>(rng_.below(16)));
    }
    if (type == Type::pred)
      return (spec.negatable && rng_.chance(30) ? "!" : "") + reg(type, rng_);
    int bits = isa::bits_of(type) * (spec.widened ? 2 : 1);
    bits = std::max(bits, 8);
    if (spec.widened) {
      const bool is_signed = isa::is_signed(type);
      if (rng_.chance(50))
        return reg(bits == 64 ? (is_signed ? Type::s64 : Type::u64) : (is_signed ? Type::s32 : Type::u32),
                   rng_);
      return reg(untyped(bits), rng_);
    }
    const bool declared = std::any_of(std::begin(kRegisters), std::end(kRegisters),
                                      [&](const RegisterClass& c) { return c.type == type; });
    const std::string sign = spec.negatable && rng_.chance(30) ? "-" : "";
    const std::string name = reg(declared && rng_.chance(60) ? type : untyped(bits), rng_);
    return sign + name +
           (spec.selects != isa::Selects::none && rng_.chance(40) ? selector(spec.selects) : "");
  }

  std::string selector(isa::Selects selects) {
    const auto digits = [&](std::string text, int count, size_t below) {
      for (int i = 0; i < count; ++i)
        text += static_cast<char>('0' + rng_.below(below));
      return text;
    };
    switch (selects) {
    case isa::Selects::part:
      return rng_.chance(50) ? digits(".b", 1, 4) : digits(".h", 1, 2);
    case isa::Selects::mask2:
      return rng_.chance(50) ? ".h10" : digits(".h", 1, 2);
    case isa::Selects::mask4:
      return rng_.chance(50) ? ".b310" : digits(".b", 1, 4);
    case isa::Selects::halves:
      return digits(".h", 2, 4);
    case isa::Selects::bytes:
      return digits(".b", 4, 8);
    case isa::Selects::none:
      break;
    }
    return {};
  }

  size_t elems(const OperandSpec& spec) const { return static_cast<size_t>(isa::elems_of(spec, binding_)); }

  std::string data(const OperandSpec& spec) {
    const size_t n = elems(spec);
    if (n == 0) {
      std::string text = scalar(spec);
      if (spec.has_second && (!spec.second_optional || rng_.chance(50)))
        text += "|" + reg(Type::pred, rng_);
      return text;
    }
    std::vector<std::string> parts;
    OperandSpec element = spec;
    element.immediate = spec.immediate && n > 1;
    for (size_t i = 0; i < n; ++i) {
      parts.push_back(scalar(element));
      if (spec.ranged)
        element.one_of.clear(); // with both, the list is the first element's
    }
    const auto is_number = [](const std::string& part) { return part.front() != '%' && part.front() != '_'; };
    const bool is_of_matrix = form_.matrix || form_.opcode == Opcode::stmatrix;
    if (is_of_matrix && !spec.written && std::all_of(parts.begin(), parts.end(), is_number) && !spec.ranged) {
      element.immediate = false; // a vector of numbers alone has no type
      parts.front() = scalar(element);
    }
    std::string text = fmt::format("{{{}}}", fmt::join(parts, ", "));
    if (spec.has_second && !spec.second_optional)
      text += "|" + reg(Type::pred, rng_);
    return text;
  }

  std::string base(const OperandSpec& spec) {
    const isa::StateSpace space = isa::space_of(spec, binding_);
    if (spec.tensor_memory)
      return reg(Type::b32, rng_);
    const bool symbol = rng_.chance(30);
    switch (space) {
    case isa::StateSpace::shared:
    case isa::StateSpace::shared_cluster:
      return symbol ? "svar" : rng_.chance(50) ? reg(Type::b32, rng_) : reg(Type::b64, rng_);
    case isa::StateSpace::const_:
      return symbol ? "cvar" : reg(Type::b64, rng_);
    case isa::StateSpace::local:
      return symbol ? "lvar" : reg(Type::b64, rng_);
    case isa::StateSpace::param:
      return form_.opcode == Opcode::st ? "lp" : "p0";
    case isa::StateSpace::global:
      return symbol ? "gvar" : reg(Type::u64, rng_);
    default:
      return reg(Type::b64, rng_);
    }
  }

  std::string operand(const OperandSpec& spec) {
    if (spec.kind == OperandSpec::Kind::label)
      return rng_.chance(50) ? "L0" : "L1";
    if (spec.kind != OperandSpec::Kind::address)
      return data(spec);
    std::string text = base(spec);
    if (spec.parts.empty() && !spec.bare && rng_.chance(20))
      text += rng_.chance(50) ? "+16" : "+-32";
    for (const OperandSpec& part : spec.parts)
      text += ", " + data(part);
    return fmt::format("[{}]", text);
  }

  const Form& form_;
  Rng& rng_;
  Binding binding_;
  bool plain_ = false;
  size_t slot_ = 0;
  size_t word_ = 0;
};

constexpr std::string_view kTypes[] = {
    "pred", "b8",  "b16",   "b32",  "b64",    "b128", "u8",  "u16",  "u32",   "u64",   "s8",   "s16", "s32",
    "s64",  "f16", "f16x2", "bf16", "bf16x2", "f32",  "f64", "tf32", "u16x2", "s16x2", "u8x4", "s8x4"};
constexpr std::string_view kQuals[] = {
    "rn",   "rz",      "rm",      "rp",   "ftz", "sat",   "approx",   "hi",     "lo",    "wide",    "cc",
    "eq",   "lt",      "ltu",     "and",  "or",  "xor",   "global",   "shared", "local", "param",   "v2",
    "v4",   "relaxed", "acquire", "gpu",  "sys", "cta",   "volatile", "uni",    "sync",  "aligned", "NaN",
    "relu", "rzi",     "rni",     "full", "to",  "clamp", "wrap",     "nc",     "ca",    "cg"};

std::string some_operand(Rng& rng) {
  switch (rng.below(10)) {
  case 0:
    return fmt::format("{}", rng.below(100));
  case 1:
    return "-1";
  case 2:
    return "1.5";
  case 3:
    return "0f3F800000";
  case 4:
    return reg(Type::pred, rng);
  case 5:
    return fmt::format("{{{}, {}}}", reg(Type::b32, rng), reg(Type::b32, rng));
  default:
    return reg(rng.pick(kRegisters).type, rng);
  }
}

void swap_two(std::vector<std::string>& items, Rng& rng) {
  const size_t i = rng.below(items.size());
  const size_t j = (i + 1 + rng.below(items.size() - 1)) % items.size();
  std::swap(items[i], items[j]);
}

// A register of the same size where the operand is a register, else any.
std::string like_operand(const std::string& operand, Rng& rng) {
  std::string_view best;
  Type type = Type::none;
  for (const RegisterClass& c : kRegisters)
    if (operand.starts_with(c.name) && c.name.size() > best.size()) {
      best = c.name;
      type = c.type;
    }
  if (type == Type::none)
    return some_operand(rng);
  for (;;) {
    const RegisterClass& other = rng.pick(kRegisters);
    if (isa::bits_of(other.type) == isa::bits_of(type) && (other.type != type || type == Type::pred))
      return reg(other.type, rng);
    if (type == Type::b128)
      return reg(type, rng);
  }
}

} // namespace

Rng Rng::of_bytes(std::span<const uint8_t> bytes) {
  Rng rng(bytes.size());
  for (const uint8_t byte : bytes)
    rng.state_ = (rng.state_ ^ byte) * 0x100000001b3u;
  rng.bytes_ = bytes;
  return rng;
}

size_t Rng::below_from_bytes(size_t n) {
  size_t value = 0;
  for (size_t left = n - 1; left != 0 && !bytes_.empty(); left >>= 8) {
    value = value << 8 | bytes_.front();
    bytes_ = bytes_.subspan(1);
  }
  return value % n;
}

uint64_t Rng::next() {
  if (first_)
    return 0;
  uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

std::string Text::str() const {
  std::string out = opcode;
  for (const std::string& word : words)
    out += "." + word;
  if (!operands.empty())
    out += fmt::format(" {}", fmt::join(operands, ", "));
  return out + ";";
}

std::optional<Text> sample(const Form& form, Rng& rng) {
  return Sampler(form, rng).run();
}

std::vector<Text> plain_instances(const Form& form) {
  constexpr size_t kLong = 8;
  Rng first = Rng::first();
  std::vector<Text> instances;
  const auto add = [&](size_t slot, size_t word) {
    if (auto text = Sampler(form, first, slot, word).run())
      instances.push_back(*std::move(text));
  };
  add(form.slots.size(), 0);
  for (size_t s = 0; s < form.slots.size(); ++s) {
    const size_t words = std::max(form.slots[s].quals.size(), form.slots[s].types.size());
    const bool optional = form.slots[s].group >= 0;
    for (size_t word = optional ? 0 : 1; word < words; ++word)
      if (words <= kLong || word == 0 || word == words / 2 || word == words - 1)
        add(s, word);
  }
  return instances;
}

Mutant mutate(const Text& original, Rng& rng) {
  Mutant mutant{original, ""};
  Text& text = mutant.text;
  const Opcode opcode = isa::parse_opcode(text.opcode).value_or(Opcode::none);
  std::vector<size_t> types, quals;
  for (size_t i = 0; i < text.words.size(); ++i)
    (isa::parse_type(text.words[i]) ? types : quals).push_back(i);
  const auto same_class =
      [&](const std::string& word) -> std::string { // another value of a class that has the word
    std::vector<std::string> others;
    for (const Form* form : isa::forms_of(opcode))
      for (const Slot& slot : form->slots) {
        const auto qual = isa::parse_qual(word);
        const auto type = isa::parse_type(word);
        if (qual && slot.has(*qual))
          for (const Qual q : slot.quals)
            others.emplace_back(isa::to_string(q));
        if (type && slot.has(*type))
          for (const Type t : slot.types)
            others.emplace_back(isa::to_string(t));
      }
    std::erase(others, word);
    return others.empty() ? word : rng.pick(others);
  };
  const auto some_qual = [&]() -> std::string {
    const auto own = vocabulary(opcode, false);
    return !own.empty() && rng.chance(75) ? rng.pick(own) : std::string(rng.pick(kQuals));
  };
  const auto some_type = [&]() -> std::string {
    const auto own = vocabulary(opcode, true);
    return !own.empty() && rng.chance(75) ? rng.pick(own) : std::string(rng.pick(kTypes));
  };
  for (;;) {
    switch (rng.below(17)) {
    case 0:
    case 15:
      if (quals.empty())
        continue;
      mutant.kind = "replace-qualifier";
      {
        std::string& word = text.words[rng.pick(quals)];
        word = rng.chance(70) ? same_class(word) : some_qual();
      }
      break;
    case 1:
      if (text.words.empty())
        continue;
      mutant.kind = "drop-word";
      text.words.erase(text.words.begin() + static_cast<std::ptrdiff_t>(rng.below(text.words.size())));
      break;
    case 2: {
      if (text.words.empty())
        continue;
      mutant.kind = "duplicate-word";
      const size_t i = rng.below(text.words.size());
      text.words.insert(text.words.begin() + static_cast<std::ptrdiff_t>(i), text.words[i]);
      break;
    }
    case 3:
      mutant.kind = "insert-qualifier";
      text.words.insert(text.words.begin() + static_cast<std::ptrdiff_t>(rng.below(text.words.size() + 1)),
                        some_qual());
      break;
    case 4:
      if (types.empty())
        continue;
      mutant.kind = "replace-type";
      {
        std::string& word = text.words[rng.pick(types)];
        word = rng.chance(70) ? same_class(word) : some_type();
      }
      break;
    case 5:
    case 11:
    case 12:
    case 13:
      if (text.words.size() < 2)
        continue;
      mutant.kind = "swap-words";
      swap_two(text.words, rng);
      break;
    case 6:
    case 7:
    case 14:
      if (text.operands.empty())
        continue;
      mutant.kind = "replace-operand";
      {
        std::string& operand = text.operands[rng.below(text.operands.size())];
        operand = rng.chance(80) ? like_operand(operand, rng) : some_operand(rng);
      }
      break;
    case 8:
      if (text.operands.empty())
        continue;
      mutant.kind = "drop-operand";
      text.operands.erase(text.operands.begin() +
                          static_cast<std::ptrdiff_t>(rng.below(text.operands.size())));
      break;
    case 9:
      mutant.kind = "insert-operand";
      text.operands.insert(text.operands.begin() +
                               static_cast<std::ptrdiff_t>(rng.below(text.operands.size() + 1)),
                           some_operand(rng));
      break;
    case 10:
    case 16:
      if (text.operands.size() < 2)
        continue;
      mutant.kind = "swap-operands";
      std::swap(text.operands[rng.below(text.operands.size())],
                text.operands[rng.below(text.operands.size())]);
      break;
    default:
      continue;
    }
    return mutant;
  }
}

bool is_scalar(Opcode opcode) {
  static constexpr std::string_view kOthers[] = {"cp.",
                                                 "mma",
                                                 "wmma.",
                                                 "wgmma.",
                                                 "tcgen05.",
                                                 "tex",
                                                 "tld4",
                                                 "txq",
                                                 "su",
                                                 "istypep",
                                                 "ldmatrix",
                                                 "stmatrix",
                                                 "movmatrix",
                                                 "multimem",
                                                 "tensormap",
                                                 "mbarrier",
                                                 "clusterlaunchcontrol",
                                                 "red.async",
                                                 "st.async",
                                                 "st.bulk",
                                                 "createpolicy",
                                                 "setmaxnreg",
                                                 "v"};
  const std::string_view name = isa::to_string(opcode);
  if (name.starts_with("vote") || name.starts_with("sub"))
    return true;
  return std::none_of(std::begin(kOthers), std::end(kOthers),
                      [&](std::string_view o) { return name.starts_with(o); });
}

std::vector<std::string> vocabulary(Opcode opcode, bool types) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view word) {
    if (std::find(out.begin(), out.end(), word) == out.end())
      out.emplace_back(word);
  };
  for (const Form* form : isa::forms_of(opcode))
    for (const Slot& slot : form->slots) {
      if (types)
        for (const Type t : slot.types)
          add(isa::to_string(t));
      else
        for (const Qual q : slot.quals)
          add(isa::to_string(q));
    }
  return out;
}

std::span<const RegisterClass> register_classes() {
  return kRegisters;
}

bool has_register(Type type, int sm, std::string_view version) {
  switch (type) {
  case Type::b128:
    return sm >= 70 && version >= "8.3";
  case Type::f16x2:
    return sm >= 53;
  default:
    return true;
  }
}

std::string module_of(std::string_view instruction, std::string_view target, std::string_view version) {
  const int sm = isa::parse_target(target).value_or(isa::Target{.sm = 70}).sm;
  std::string text = fmt::format(".version {}\n.target {}\n.address_size 64\n"
                                 ".global .align 16 .b8 gvar[256];\n.const .align 16 .b8 cvar[256];\n"
                                 ".visible .entry k(.param .align 16 .b8 p0[64])\n{{\n",
                                 version, target);
  for (const RegisterClass& c : kRegisters)
    if (has_register(c.type, sm, version))
      text += fmt::format(".reg .{} {}<{}>;\n", isa::to_string(c.type), c.name, kRegistersOfClass);
  text += ".shared .align 16 .b8 svar[256];\n.local .align 16 .b8 lvar[256];\n.param .align 16 .b8 "
          "lp[64];\nL0:\n";
  return text + std::string(instruction) + "\nL1:\nret;\n}\n";
}

} // namespace lemma::generate
