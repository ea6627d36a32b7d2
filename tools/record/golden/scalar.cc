// Scalar cases from the instruction forms. See scalar.h.
//
// A form is a pattern; every way to fill its slots is a spelling, and every spelling a kernel of one thread
// an element. What the operands are like follows from their types and from what the instruction does
// (Relation, kPositions below).
#include "golden/scalar.h"

#include "golden/spelling.h"
#include "golden/thread_kernel.h"
#include "golden/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <set>

namespace lemma::golden {
namespace {

using isa::Form;
using isa::Opcode;
using isa::OperandSpec;
using isa::Qual;
using isa::Type;

constexpr uint64_t kUnitsPerPart = 4096;

enum class Family : uint8_t { arithmetic, logic, compare, convert, video };
struct SectionFamily {
  std::string_view section; // with '-' at its end: all that begin so
  Family family;
};
// Sections of the ISA whose instructions' operands are registers, this lane's own. The ISA, IEEE 754 or, of
// the approximate functions, the hardware defines their results to the bit.
constexpr SectionFamily kSections[] = {
    {"integer-arithmetic-instructions-", Family::arithmetic},
    {"floating-point-instructions-", Family::arithmetic},
    {"half-precision-floating-point-instructions-", Family::arithmetic},
    {"mixed-precision-floating-point-instructions-", Family::arithmetic},
    {"logic-and-shift-instructions-", Family::logic},
    {"data-movement-and-conversion-instructions-prmt", Family::logic},
    {"comparison-and-selection-instructions-", Family::compare},
    {"half-precision-comparison-instructions-", Family::compare},
    {"data-movement-and-conversion-instructions-cvt", Family::convert},
    {"data-movement-and-conversion-instructions-cvt-pack", Family::convert},
    {"scalar-video-instructions-", Family::video},
    {"simd-video-instructions-", Family::video},
};

// Instructions whose operands of explicit type .u32 are shift amounts, positions or lengths.
constexpr Opcode kPositions[] = {Opcode::shl, Opcode::shr,   Opcode::shf, Opcode::bfe,
                                 Opcode::bfi, Opcode::szext, Opcode::bmsk};

template <class T, size_t N>
bool contains(const T (&list)[N], T value) {
  return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

// --- What the assembler refuses ------------------------------------------------------------------

bool unordered_of_integers(const Spelling& s) {
  const isa::TypeKind kind = isa::kind_of(s.types().back());
  for (const Qual qual : {Qual::lo, Qual::ls, Qual::hi, Qual::hs})
    if (s.has(qual) && kind != isa::TypeKind::unsigned_int)
      return true;
  for (const Qual qual : {Qual::lt, Qual::le, Qual::gt, Qual::ge})
    if (s.has(qual) && kind == isa::TypeKind::untyped)
      return true;
  return false;
}

// Whether every value of `from` is one of `to`.
bool includes(Type to, Type from) {
  const int to_bits = isa::bits_of(to), from_bits = isa::bits_of(from);
  if (isa::is_signed(to) == isa::is_signed(from))
    return to_bits >= from_bits;
  return isa::is_signed(to) && to_bits > from_bits;
}

bool refused_conversion(const Spelling& s) {
  const std::vector<Type> types = s.types();
  const Type to = types.front(), from = types.back();
  if (isa::is_integer(to) && isa::is_integer(from))
    return s.has(Qual::sat) && includes(to, from);
  if (to == Type::bf16 || from == Type::bf16) {
    const Type other = to == Type::bf16 ? from : to;
    return isa::is_integer(other) && (isa::bits_of(other) == 8 || s.has(Qual::sat));
  }
  if (to == Type::tf32)
    return s.has(Qual::rna) ? s.has(Qual::relu) : s.has(Qual::satfinite);
  return false;
}

// What ptxas 13 makes of a scalar video instruction for sm_90 and the ISA does not say: unsigned sums that
// .sat does not limit, negative values that become the largest byte or half, sums cut to 32 bits before .min
// and .max, signed products of vmad.u32.
bool assembled_otherwise(const Spelling& s) {
  const std::vector<Type> types = s.types();
  const Opcode opcode = s.form->opcode;
  if (opcode == Opcode::vset)
    return false;
  const bool to_signed = types[0] == Type::s32;
  const bool of_signed = types[1] == Type::s32 || types[2] == Type::s32;
  if (opcode == Opcode::vmad)
    return (s.has(Qual::sat) || s.has(Qual::shr7) || s.has(Qual::shr15)) &&
           !(to_signed && types[1] == Type::s32 && types[2] == Type::s32);
  const bool sums = opcode == Opcode::vadd || opcode == Opcode::vsub || opcode == Opcode::vabsdiff;
  const bool merges = s.form->operands[0].selects != isa::Selects::none;
  if (s.has(Qual::sat) && (merges || (sums && !to_signed)))
    return true;
  if (!s.has(Qual::min) && !s.has(Qual::max))
    return false;
  return sums || opcode == Opcode::vshl || (!to_signed && (of_signed || s.has(Qual::sat)));
}

// Combinations that a form's classes allow and the assembler refuses, or that mean nothing: it takes testp
// without saying what is tested.
bool refused(const Spelling& s) {
  switch (s.form->opcode) {
  case Opcode::set:
  case Opcode::setp:
    return unordered_of_integers(s);
  case Opcode::cvt:
    return refused_conversion(s);
  case Opcode::fma: {
    const Type type = s.types().back();
    return (type == Type::bf16 || type == Type::bf16x2) && !s.has(Qual::rn);
  }
  case Opcode::testp:
    return s.binding.value[0] == 0;
  case Opcode::vadd:
  case Opcode::vsub:
  case Opcode::vabsdiff:
  case Opcode::vmin:
  case Opcode::vmax:
  case Opcode::vshl:
  case Opcode::vshr:
  case Opcode::vmad:
  case Opcode::vset:
    return assembled_otherwise(s);
  default:
    return false;
  }
}

// --- Operands ------------------------------------------------------------------------------------

int register_bits(const Spelling& s, const OperandSpec& spec, bool wide_registers) {
  const Type type = type_of(s, spec);
  if (type == Type::pred)
    return 1;
  const int bits = isa::bits_of(type) * (spec.widened ? 2 : 1);
  if (wide_registers && spec.wider && isa::is_integer(type))
    return bits < 32 ? 32 : 64;
  return std::max(bits, 16);
}

Values operand_values(const Spelling& s, const OperandSpec& spec) {
  const Type type = type_of(s, spec);
  Values values = values_of(type);
  const Opcode opcode = s.form->opcode;
  if (spec.widened)
    values = values_of(isa::is_signed(type) ? (isa::bits_of(type) == 16 ? Type::s32 : Type::s64)
                                            : (isa::bits_of(type) == 16 ? Type::u32 : Type::u64));
  if (contains(kPositions, opcode) && spec.type == Type::u32)
    values.kind = Values::Kind::position;
  if (opcode == Opcode::fns && spec.name == "base")
    values.kind = Values::Kind::bit_index;
  if (opcode == Opcode::fns && spec.name == "offset")
    values.kind = Values::Kind::small_signed;
  // The result of a division by zero is left open.
  if ((opcode == Opcode::div || opcode == Opcode::rem) && spec.name == "b" && !values.is_float())
    values.kind = Values::Kind::nonzero;
  if (opcode == Opcode::dp4a && spec.name != "c")
    values = {.integer = numeric::IntegerFormat::u8, .lanes = 4};
  if (opcode == Opcode::dp2a && spec.name != "c")
    values = spec.name == "a" ? Values{.integer = numeric::IntegerFormat::u16, .lanes = 2}
                              : Values{.integer = numeric::IntegerFormat::u8, .lanes = 4};
  if (spec.selects == isa::Selects::halves)
    values = {.integer = numeric::IntegerFormat::u16, .lanes = 2};
  if (spec.selects == isa::Selects::bytes)
    values = {.integer = numeric::IntegerFormat::u8, .lanes = 4};
  return values;
}

Relation relation_of(Opcode opcode) {
  switch (opcode) {
  case Opcode::add:
    return Relation::sum;
  case Opcode::sub:
    return Relation::difference;
  case Opcode::mul:
    return Relation::product;
  case Opcode::div:
    return Relation::quotient;
  case Opcode::fma:
  case Opcode::mad:
    return Relation::fused;
  case Opcode::min:
  case Opcode::max:
  case Opcode::set:
  case Opcode::setp:
    return Relation::equal;
  default:
    return Relation::none;
  }
}

// What a conversion rounds to, by its first type; none for those that do not round.
std::optional<Target> target_of(const Spelling& s) {
  if (s.form->opcode != Opcode::cvt)
    return std::nullopt;
  const Type to = s.types().front();
  const Values values = values_of(to);
  if (to == Type::tf32)
    return Target{.is_float = true, .floating = numeric::FloatFormat::tf32};
  if (values.is_float())
    return Target{.is_float = true, .floating = values.floating};
  return Target{.is_float = false, .integer = values.integer};
}

// --- Cases ---------------------------------------------------------------------------------------

struct Source {
  Values values;
  int bits = 0; // of its register
};

void put(Inputs& inputs, const Part& part, size_t plane, const std::vector<uint64_t>& values,
         const Source& source, numeric::Random& random) {
  const int bits = source.values.bits();
  for (size_t i = 0; i < values.size(); ++i) {
    // What lies above the operand in a wider register means nothing.
    const uint64_t above = bits < source.bits ? random.next() << bits : 0;
    inputs.set(plane, part.first + i, values[i] | above);
  }
}

// One part for each class of operands; every value of a single 16-bit operand; ties of a conversion. `mixed`:
// one part of all classes, for the thousands of comparisons.
std::vector<Part> make_parts(std::span<const Source> sources, const std::optional<Target>& target,
                             bool mixed) {
  const uint64_t units = kUnitsPerPart;
  if (sources.size() == 1 && sources[0].values.bits() == 16)
    return {{.name = "every", .first = 0, .units = 65536}};
  if (mixed)
    return {{.name = "mixed", .first = 0, .units = std::size(numeric::kAllOperandClasses) * units / 4}};
  std::vector<Part> parts;
  for (const numeric::OperandClass oc : numeric::kAllOperandClasses)
    parts.push_back({std::string(numeric::to_string(oc)), parts.size() * units, units});
  if (target && (target->is_float || sources[0].values.is_float()))
    parts.push_back({"ties", parts.size() * units, units});
  return parts;
}

Operands part_operands(const Part& part, std::span<const Values> values, Relation relation,
                       const std::optional<Target>& target, numeric::Random& random) {
  Operands operands;
  if (part.name == "every") {
    operands.emplace_back(part.units);
    for (size_t i = 0; i < part.units; ++i)
      operands[0][i] = i;
    return operands;
  }
  if (part.name == "ties") {
    assert(target);
    for (const Values& v : values)
      operands.push_back(make_ties(v, *target, random, part.units));
    return operands;
  }
  operands.resize(values.size());
  for (const numeric::OperandClass oc : numeric::kAllOperandClasses) {
    if (part.name != "mixed" && part.name != numeric::to_string(oc))
      continue;
    const size_t count =
        part.name == "mixed" ? part.units / std::size(numeric::kAllOperandClasses) : part.units;
    const Operands made = make_operands(values, oc, relation, random, count);
    for (size_t k = 0; k < made.size(); ++k)
      operands[k].insert(operands[k].end(), made[k].begin(), made[k].end());
  }
  return operands;
}

Case finish(const ThreadKernel& kernel, const std::vector<Source>& sources, Relation relation,
            const std::optional<Target>& target, bool mixed) {
  const std::vector<Part> parts = make_parts(sources, target, mixed);
  Case c = kernel.finish(parts.back().first + parts.back().units);
  c.parts = parts;
  c.fill = [sources, relation, target](const Part& part, numeric::Random& random, Inputs& inputs) {
    std::vector<Values> values;
    for (const Source& s : sources)
      values.push_back(s.values);
    const Operands operands = part_operands(part, values, relation, target, random);
    for (size_t k = 0; k < operands.size(); ++k)
      put(inputs, part, k, operands[k], sources[k], random);
  };
  return c;
}

struct Variant {
  bool wide_registers = false; // cvt: registers wider than the types
  unsigned negated = 0;        // bit k: the k-th operand that may be negated is
  bool selects = false;        // video: parts of the registers that may be selected are
};

// Kernels of lop3 do 16 lookup tables each.
constexpr int kTablesPerKernel = 16;

// A selector that the operand may have, another one for every spelling and operand.
std::string selector_text(const Spelling& s, const OperandSpec& spec) {
  const std::string seed = s.text + spec.name;
  uint64_t random = numeric::hash128(seed.data(), seed.size()).low;
  const auto pick = [&](uint64_t count) {
    const uint64_t chosen = random % count;
    random /= count;
    return chosen;
  };
  const auto digits = [&](std::string text, int count, uint64_t below) {
    for (int i = 0; i < count; ++i)
      text += static_cast<char>('0' + pick(below));
    return text;
  };
  switch (spec.selects) {
  case isa::Selects::none:
    return {};
  case isa::Selects::part:
    return std::array{".b0", ".b1", ".b2", ".b3", ".h0", ".h1"}[pick(6)];
  case isa::Selects::mask2:
    return std::array{".h0", ".h1", ".h10"}[pick(3)];
  case isa::Selects::mask4: {
    const uint64_t mask = 1 + pick(15);
    std::string text = ".b";
    for (int i = 3; i >= 0; --i)
      if (mask >> i & 1)
        text += static_cast<char>('0' + i);
    return text;
  }
  case isa::Selects::halves:
    return digits(".h", 2, 4);
  case isa::Selects::bytes:
    return digits(".b", 4, 8);
  }
  return {};
}

std::string source_text(const Spelling& s, const OperandSpec& spec, bool negated) {
  const std::string_view sign = !negated ? "" : type_of(s, spec) == Type::pred ? "!" : "-";
  return fmt::format("{}%{}", sign, spec.name);
}

std::string variant_name(const Spelling& s, const Variant& variant) {
  std::string name = s.text;
  if (variant.wide_registers)
    name += " wide registers";
  unsigned index = 0;
  for (const OperandSpec& spec : s.form->operands)
    if (spec.negatable && (variant.negated >> index++ & 1) != 0)
      name += fmt::format(" {}{}", type_of(s, spec) == Type::pred ? "!" : "-", spec.name);
  if (variant.selects)
    for (const OperandSpec& spec : s.form->operands)
      if (spec.selects != isa::Selects::none)
        name += fmt::format(" {}{}", spec.name, selector_text(s, spec));
  return name;
}

Case make_case(const Spelling& s, const Variant& variant, Family family) {
  std::string relatives(isa::to_string(s.form->opcode)); // whole outputs are kept for each opcode and types
  for (const Type type : s.types())
    relatives += fmt::format(".{}", isa::to_string(type));
  ThreadKernel kernel(variant_name(s, variant), relatives);
  std::vector<Source> sources;
  std::string statement = s.text + " ";
  unsigned negatable = 0;
  for (const OperandSpec& spec : s.form->operands) {
    const Type type = type_of(s, spec);
    const int bits = register_bits(s, spec, variant.wide_registers);
    const bool negated = spec.negatable && (variant.negated >> negatable++ & 1) != 0;
    statement += &spec == s.form->operands.data() ? "" : ", ";
    if (spec.written) {
      kernel.out(spec.name, type, bits);
      statement += "%" + spec.name + (variant.selects ? selector_text(s, spec) : "");
      const bool half =
          type_of(s, s.form->operands[1]) == Type::f16 || type_of(s, s.form->operands[1]) == Type::bf16;
      if (spec.has_second && !half) { // the assembler takes no second predicate of these
        kernel.out("q", Type::pred, 1);
        statement += "|%q";
      }
      continue;
    }
    kernel.in(spec.name, type, bits);
    statement += source_text(s, spec, negated) + (variant.selects ? selector_text(s, spec) : "");
    sources.push_back({operand_values(s, spec), bits});
  }
  kernel.body(statement + ";");
  return finish(kernel, sources, relation_of(s.form->opcode), target_of(s),
                family == Family::compare || family == Family::video);
}

// lop3: all 256 tables, kTablesPerKernel a kernel.
void add_lop3(const Spelling& s, std::vector<Case>& cases) {
  const bool reduces = s.form->operands.back().name == "q";
  for (int base = 0; base < 256; base += kTablesPerKernel) {
    ThreadKernel kernel(fmt::format("{} tables {}..{}", s.text, base, base + kTablesPerKernel - 1), "lop3");
    std::vector<Source> sources;
    for (const char* name : {"a", "b", "c"}) {
      kernel.in(name, Type::b32, 32);
      sources.push_back({values_of(Type::b32), 32});
    }
    if (reduces) {
      kernel.in("q", Type::pred, 1);
      sources.push_back({values_of(Type::pred), 1});
    }
    for (int t = 0; t < kTablesPerKernel; ++t) {
      kernel.out(fmt::format("d{}", t), Type::b32, 32);
      if (reduces)
        kernel.out(fmt::format("p{}", t), Type::pred, 1);
      kernel.body(reduces ? fmt::format("{} %d{}|%p{}, %a, %b, %c, {}, {}%q;", s.text, t, t, base + t,
                                        t % 2 ? "!" : "")
                          : fmt::format("{} %d{}, %a, %b, %c, {};", s.text, t, base + t));
    }
    cases.push_back(finish(kernel, sources, Relation::none, std::nullopt, true));
  }
}

void add_cases(const Spelling& s, Family family, std::vector<Case>& cases) {
  if (s.form->opcode == Opcode::lop3)
    return add_lop3(s, cases);
  unsigned negatable = 0;
  bool wider = false;
  for (const OperandSpec& spec : s.form->operands) {
    negatable += spec.negatable ? 1 : 0;
    wider = wider || (spec.wider && isa::is_integer(type_of(s, spec)) && isa::bits_of(type_of(s, spec)) < 64);
  }
  // Comparisons have hundreds of spellings with a third operand: negate it in every second one.
  if (family == Family::compare && negatable == 1)
    return cases.push_back(make_case(
        s, {.negated = static_cast<unsigned>(numeric::hash128(s.text.data(), s.text.size()).low & 1)},
        family));
  for (unsigned negated = 0; negated < 1u << negatable; ++negated)
    cases.push_back(make_case(s, {.negated = negated}, family));
  if (family == Family::video)
    cases.push_back(make_case(s, {.selects = true}, family));
  const std::vector<Type> types = s.types();
  const bool of_bf16 =
      std::find(types.begin(), types.end(), Type::bf16) != types.end(); // no wider registers then
  if (wider && !of_bf16)
    cases.push_back(make_case(s, {.wide_registers = true}, family));
}

std::string_view group_of(Family family, Type first_type) {
  switch (family) {
  case Family::logic:
    return "logic";
  case Family::compare:
    return "compare";
  case Family::convert:
    return "convert";
  case Family::video:
    return "video";
  case Family::arithmetic:
    break;
  }
  switch (first_type) {
  case Type::f32:
    return "f32";
  case Type::f64:
    return "f64";
  case Type::f16:
  case Type::f16x2:
  case Type::bf16:
  case Type::bf16x2:
    return "half";
  default:
    return "integer";
  }
}

bool made_here(const Form& form) {
  if (!on_golden_target(form))
    return false;
  for (const isa::Slot& slot : form.slots)
    if (slot.group < 0 && slot.quals.size() == 1 && slot.quals[0] == Qual::cc)
      return false;
  return true;
}

std::optional<Family> family_of(const Form& form) {
  for (const SectionFamily& known : kSections)
    if (form.section == known.section ||
        (known.section.ends_with('-') && form.section.starts_with(known.section)))
      return known.family;
  return std::nullopt;
}

} // namespace

int exact_register_bits(const Spelling& spelling, const OperandSpec& spec) {
  return register_bits(spelling, spec, false);
}

Values exact_operand_values(const Spelling& spelling, const OperandSpec& spec) {
  return operand_values(spelling, spec);
}

std::vector<Spelling> exact_spellings() {
  std::vector<Spelling> spellings;
  for (const Form& form : isa::forms())
    if (family_of(form) && made_here(form))
      for (Spelling& s : spellings_of(form))
        if (!refused(s))
          spellings.push_back(std::move(s));
  return spellings;
}

std::vector<Case> scalar_cases(std::string_view group) {
  std::vector<Case> cases;
  std::set<std::string> seen; // two forms may share a spelling
  for (const Spelling& s : exact_spellings()) {
    const std::optional<Family> family = family_of(*s.form);
    const std::vector<Type> types = s.types();
    if (!family || group_of(*family, types.empty() ? Type::none : types.front()) != group)
      continue;
    std::vector<Case> made;
    add_cases(s, *family, made);
    for (Case& c : made)
      if (seen.insert(c.name).second)
        cases.push_back(std::move(c));
  }
  return cases;
}

} // namespace lemma::golden
