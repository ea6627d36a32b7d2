// block() draws kinds of statements; each has a function below that writes its lines and keeps to what is
// defined: no float whose NaN the ISA leaves open unless it is made canonical, no sum that the assembler may
// contract, no guarded instruction that must not be, shared memory only where barriers order it. What is
// exact comes from golden::exact_spellings().
#include "generate/defined_writer.h"

#include "golden/scalar.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>

namespace lemma::generate {
namespace {

using golden::Spelling;
using golden::Values;
using isa::Opcode;
using isa::OperandSpec;
using isa::Qual;
using isa::Type;

constexpr int kMostDepth = 3;

bool rounds_explicitly(const Spelling& s) {
  return s.has(Qual::rn) || s.has(Qual::rz) || s.has(Qual::rm) || s.has(Qual::rp);
}

// Without a rounding mode the assembler may contract a product and a sum.
bool may_be_contracted(const Spelling& s) {
  const std::vector<Type> types = s.types();
  const Opcode opcode = s.form->opcode;
  const bool floating = !types.empty() && isa::is_float(types.front());
  return floating && (opcode == Opcode::add || opcode == Opcode::sub || opcode == Opcode::mul) &&
         !rounds_explicitly(s);
}

// By opcode, so that the thousands of comparisons are no more frequent than the rest.
const std::vector<std::vector<Spelling>>& scalar_spellings() {
  static const std::vector<std::vector<Spelling>> table = [] {
    std::map<Opcode, std::vector<Spelling>> by_opcode;
    for (Spelling& s : golden::exact_spellings())
      if (!may_be_contracted(s))
        by_opcode[s.form->opcode].push_back(std::move(s));
    std::vector<std::vector<Spelling>> out;
    for (auto& [opcode, spellings] : by_opcode)
      for (int times = opcode == Opcode::cvt ? 4 : 1; times > 0; --times)
        out.push_back(spellings);
    return out;
  }();
  return table;
}

const std::vector<const isa::Form*>& mma_forms() {
  static const std::vector<const isa::Form*> forms = [] {
    std::vector<const isa::Form*> found;
    for (const isa::Form* form : isa::forms_of(Opcode::mma))
      if (golden::on_golden_target(*form))
        found.push_back(form);
    return found;
  }();
  return forms;
}

std::string indented(std::initializer_list<std::string> lines) {
  std::string out;
  for (const std::string& line : lines)
    out += "  " + line + "\n";
  return out;
}

} // namespace

std::vector<DefinedNode> DefinedWriter::block(size_t statements, int depth, bool diverged) {
  std::vector<DefinedNode> nodes;
  while (statements > 0) {
    const size_t inner = std::min<size_t>(statements, 1 + rng_.below(5));
    const size_t kind = rng_.below(100);
    if (kind < 8 && depth < kMostDepth) {
      nodes.push_back(branch(inner, depth));
      statements -= inner;
    } else if (kind < 15 && depth < kMostDepth) {
      nodes.push_back(loop(inner, depth, diverged));
      statements -= inner;
    } else {
      nodes.push_back({.before = statement(diverged), .inner = {}, .between = {}, .other = {}, .after = {}});
      --statements;
    }
  }
  return nodes;
}

DefinedNode DefinedWriter::branch(size_t statements, int depth) {
  const int label = labels_++;
  DefinedNode node;
  node.before = fmt::format("  @{}{} bra E{};\n", rng_.chance(50) ? "!" : "", predicate(), label);
  node.inner = block(statements, depth + 1, true);
  node.between = fmt::format("  bra X{0};\nE{0}:\n", label);
  if (rng_.chance(60))
    node.other = block(1 + rng_.below(3), depth + 1, true);
  node.after = fmt::format("X{}:\n", label);
  return node;
}

DefinedNode DefinedWriter::loop(size_t statements, int depth, bool diverged) {
  const int label = labels_++;
  const bool uniform = rng_.chance(50);
  DefinedNode node;
  node.before = uniform ? fmt::format("  mov.u32 %c{}, {};\nE{}:\n", depth, 1 + rng_.below(4), label)
                        : fmt::format("  and.b32 %c{0}, {2}, 3;\n  add.u32 %c{0}, %c{0}, 1;\nE{1}:\n", depth,
                                      label, word());
  node.inner = block(statements, depth + 1, diverged || !uniform);
  node.after = fmt::format("  sub.u32 %c{0}, %c{0}, 1;\n  setp.ne.u32 %q0, %c{0}, 0;\n  @%q0 bra E{1};\n",
                           depth, label);
  return node;
}

std::string DefinedWriter::statement(bool diverged) {
  const size_t kind = rng_.below(100);
  if (in_kernel_ && !diverged && kind < 30) {
    switch (rng_.below(8)) {
    case 0:
    case 1:
      return exchange();
    case 2:
      return shared_sum();
    case 3:
    case 4:
      return warp_wide();
    case 5:
      return matrix_moves();
    default:
      return matrix();
    }
  }
  if (kind < 38)
    return memory();
  if (kind < 42 && functions_ > 0)
    return call();
  return kind < 45 ? carry_chain() : scalar();
}

std::string DefinedWriter::operand(int bits) {
  return bits == 1 ? predicate() : bits == 16 ? half() : bits == 32 ? word() : wide();
}

std::vector<std::string> DefinedWriter::distinct(int bits, size_t count) {
  std::vector<int> indices(bits == 32 ? kWordRegisters : kDoubleRegisters);
  std::iota(indices.begin(), indices.end(), 0);
  std::vector<std::string> out;
  while (out.size() < count && !indices.empty()) {
    const size_t at = rng_.below(indices.size());
    out.push_back(fmt::format("%{}{}", bits == 32 ? 'r' : 'd', indices[at]));
    indices.erase(indices.begin() + static_cast<ptrdiff_t>(at));
  }
  return out;
}

// --- Arithmetic ------------------------------------------------------------------------------------

namespace {

// Whether a lane that is not to execute it keeps its register: the assembler compiles some instructions to
// several, of which not all are guarded (set of one type by a comparison of another, testp).
bool may_be_guarded(const Spelling& s) {
  constexpr Opcode kGuarded[] = {Opcode::add,  Opcode::sub,  Opcode::mul,  Opcode::mad, Opcode::and_,
                                 Opcode::or_,  Opcode::xor_, Opcode::not_, Opcode::fma, Opcode::selp,
                                 Opcode::setp, Opcode::popc, Opcode::prmt};
  return std::find(std::begin(kGuarded), std::end(kGuarded), s.form->opcode) != std::end(kGuarded);
}

// Floats are kept in registers of their type: the assembler takes an untyped register that an instruction of
// floats writes for a float, and converts its value where an integer instruction of another width reads it.
bool is_typed_float(Type type) {
  return type == Type::f32 || type == Type::f64;
}

std::string canonical_lane(std::string_view type, std::string_view reg, std::string_view nan) {
  return fmt::format("  setp.nan.{0} %q1, {1}, {1};\n  selp.b16 {1}, {2}, {1}, %q1;\n", type, reg, nan);
}

// Lines after which the result is the canonical NaN if it is one: which NaN comes of an instruction is left
// open.
std::string canonical(Type type, const std::string& reg) {
  switch (type) {
  case Type::f32:
    return fmt::format("  setp.nan.f32 %q1, {0}, {0};\n  selp.f32 {0}, 0f7FFFFFFF, {0}, %q1;\n", reg);
  case Type::f64:
    return fmt::format("  setp.nan.f64 %q1, {0}, {0};\n  selp.f64 {0}, 0d7FF8000000000000, {0}, %q1;\n", reg);
  case Type::f16:
  case Type::bf16:
    return canonical_lane(isa::to_string(type), reg, "0x7fff");
  case Type::f16x2:
  case Type::bf16x2: {
    const std::string_view lane = type == Type::f16x2 ? "f16" : "bf16";
    return fmt::format("  mov.b32 {{%v2, %v3}}, {};\n", reg) + canonical_lane(lane, "%v2", "0x7fff") +
           canonical_lane(lane, "%v3", "0x7fff") + fmt::format("  mov.b32 {}, {{%v2, %v3}};\n", reg);
  }
  default:
    return {};
  }
}

} // namespace

std::string DefinedWriter::source(const Spelling& s, const OperandSpec& spec, int index, std::string& lines) {
  const Type type = golden::type_of(s, spec);
  const int bits = golden::exact_register_bits(s, spec);
  if (!spec.reg)
    return fmt::format("{}", spec.ranged ? spec.min + static_cast<int64_t>(rng_.below(
                                                          static_cast<size_t>(spec.max - spec.min) + 1))
                                         : static_cast<int64_t>(rng_.below(256)));
  const std::string reg = operand(bits);
  const Values values = golden::exact_operand_values(s, spec);
  const auto limited = [&](std::string_view opcode, uint64_t value) {
    const std::string to = fmt::format("{}{}", bits == 16 ? "%v" : bits == 32 ? "%t" : "%u", index);
    lines += fmt::format("  {}.b{} {}, {}, {};\n", opcode, bits, to, reg, value);
    return to;
  };
  switch (values.kind) {
  case Values::Kind::nonzero:
    return limited("or", 1);
  case Values::Kind::bit_index:
    return limited("and", 31);
  case Values::Kind::small_signed:
    return limited("and", 15);
  case Values::Kind::position:
    return limited("and", 255);
  default:
    break;
  }
  if (is_typed_float(type)) {
    const std::string to = fmt::format("%{}{}", bits == 32 ? 'f' : 'e', index);
    lines += fmt::format("  mov.b{} {}, {};\n", bits, to, reg);
    return to;
  }
  const bool pairs = type == Type::u16x2 || type == Type::s16x2 || type == Type::u8x4 || type == Type::s8x4;
  if (spec.immediate && isa::is_integer(type) && bits >= 32 && !pairs && rng_.chance(12))
    return fmt::format("{}", rng_.below(100) + 1);
  return (spec.negatable && type == Type::pred && rng_.chance(40) ? "!" : "") + reg;
}

std::string DefinedWriter::scalar() {
  const Spelling& s = rng_.pick(rng_.pick(scalar_spellings()));
  std::string before, text, after;
  int index = 0;
  for (const OperandSpec& spec : s.form->operands) {
    text += text.empty() ? " " : ", ";
    if (!spec.written) {
      text += source(s, spec, index++, before);
      continue;
    }
    const Type type = golden::type_of(s, spec);
    const int bits = golden::exact_register_bits(s, spec);
    const std::string to = operand(bits);
    if (is_typed_float(type)) { // with what it held, for lanes that do not execute
      const std::string typed = bits == 32 ? "%f4" : "%e4";
      before += fmt::format("  mov.b{} {}, {};\n", bits, typed, to);
      after = canonical(type, typed) + fmt::format("  mov.b{} {}, {};\n", bits, to, typed);
      text += typed;
      continue;
    }
    after = canonical(type, to);
    text += to;
    const Type of_source = golden::type_of(s, s.form->operands[1]);
    const bool halves =
        of_source == Type::f16 || of_source == Type::bf16; // the assembler takes no second there
    std::string second = predicate();
    while (second == to)
      second = predicate();
    if (spec.has_second && !halves && (!spec.second_optional || rng_.chance(30)))
      text += "|" + second;
  }
  const std::string guard = may_be_guarded(s) && rng_.chance(20)
                                ? fmt::format("@{}{} ", rng_.chance(50) ? "!" : "", predicate())
                                : "";
  return before + fmt::format("  {}{}{};\n", guard, s.text, text) + after;
}

std::string DefinedWriter::carry_chain() {
  const bool sum = rng_.chance(50);
  const std::string type = rng_.chance(70) ? "u32" : "u64";
  const auto reg = [&] { return type == "u32" ? word() : wide(); };
  const std::string op = sum ? "add" : "sub";
  std::string out = fmt::format("  {}.cc.{} {}, {}, {};\n", op, type, reg(), reg(), reg());
  if (sum && rng_.chance(40))
    out = fmt::format("  mad.lo.cc.{} {}, {}, {}, {};\n", type, reg(), reg(), reg(), reg());
  for (size_t i = rng_.below(3); i > 0; --i)
    out += fmt::format("  {}c.cc.{} {}, {}, {};\n", op, type, reg(), reg(), reg());
  return out + fmt::format("  {}c.{} {}, {}, {};\n", op, type, reg(), reg(), reg());
}

// --- Memory of the thread's own ----------------------------------------------------------------------

// Local memory (64 bytes), the thread's 16 bytes of shared memory, its 64 bytes of scratch: all hold values.
std::string DefinedWriter::memory() {
  struct Kind {
    const char* type;
    int bytes; // of all elements
    int elements;
    int bits; // of a register
  };
  static constexpr Kind kKinds[] = {{"u8", 1, 1, 16},      {"s8", 1, 1, 16},     {"u16", 2, 1, 16},
                                    {"s16", 2, 1, 16},     {"b32", 4, 1, 32},    {"b64", 8, 1, 64},
                                    {"b16", 2, 1, 16},     {"v2.b32", 8, 2, 32}, {"v4.b32", 16, 4, 32},
                                    {"v2.b64", 16, 2, 64}, {"s64", 8, 1, 64},    {"v2.u16", 4, 2, 16},
                                    {"v4.u8", 4, 4, 16},   {"u32", 4, 1, 64},    {"s32", 4, 1, 64}};
  const Kind& kind = rng_.pick(kKinds);
  const size_t space = rng_.below(in_kernel_ ? 3 : 1);
  const int size = space == 1 ? 16 : 64;
  std::string lines = fmt::format("  and.b32 %t0, {}, {};\n", word(), (size - 1) & ~(kind.bytes - 1));
  std::string address, suffix;
  if (space == 0) {
    suffix = ".local";
    lines += "  cvt.u64.u32 %u0, %t0;\n  add.u64 %u0, %loc, %u0;\n";
    address = "%u0";
  } else if (space == 1) {
    suffix = ".shared";
    lines += "  add.u32 %t0, %own, %t0;\n";
    address = "%t0";
  } else {
    suffix = ".global";
    lines += "  cvt.u64.u32 %u0, %t0;\n  add.u64 %u0, %g, %u0;\n";
    address = "%u0";
  }
  if (space != 1 && rng_.chance(25)) { // the same, by a generic address
    lines += fmt::format("  cvta{}.u64 %u0, %u0;\n", suffix);
    suffix.clear();
  }
  std::vector<std::string> regs;
  const bool load = rng_.chance(50);
  std::string after;
  if (kind.bits == 16) { // by registers of integers; what they held, for lanes that do not execute
    for (int i = 0; i < kind.elements; ++i) {
      const std::string reg = word();
      regs.push_back(fmt::format("%v{}", i));
      lines += fmt::format("  cvt.u16.u32 {}, {};\n", regs.back(), reg);
      if (load)
        after +=
            fmt::format("  cvt.{0}32.{0}16 {1}, {2};\n", kind.type[0] == 's' ? 's' : 'u', reg, regs.back());
    }
  } else if (kind.elements == 1) {
    regs.push_back(operand(kind.bits));
  } else {
    regs = distinct(kind.bits, static_cast<size_t>(kind.elements));
  }
  const std::string data = regs.size() == 1 ? regs[0] : fmt::format("{{{}}}", fmt::join(regs, ", "));
  const std::string guard = rng_.chance(15) ? fmt::format("@{} ", predicate()) : "";
  return lines +
         (load ? fmt::format("  {}ld{}.{} {}, [{}];\n", guard, suffix, kind.type, data, address)
               : fmt::format("  {}st{}.{} [{}], {};\n", guard, suffix, kind.type, address, data)) +
         after;
}

std::string DefinedWriter::call() {
  return fmt::format(
      "  {{\n  .param .b32 to_a; .param .b64 to_b; .param .align 8 .b8 to_c[16]; .param .align 8 .b8 "
      "to_x[16];\n"
      "  st.param.b32 [to_a], {};\n  st.param.b64 [to_b], {};\n  st.param.v2.b32 [to_c], {{{}, {}}};\n"
      "  st.param.b64 [to_c+8], {};\n  call (to_x), f{}_{}, (to_a, to_b, to_c);\n  ld.param.b32 {}, [to_x];\n"
      "  ld.param.b64 {}, [to_x+8];\n  }}\n",
      word(), wide(), word(), word(), wide(), name_, rng_.below(static_cast<size_t>(functions_)), word(),
      wide());
}

// --- Of whole CTAs and warps ---------------------------------------------------------------------------

// Every thread stores, then loads what another stored; or words in rows, of as many threads as a tile has
// columns.
std::string DefinedWriter::exchange() {
  const size_t offset = 4 * rng_.below(4);
  std::string out = fmt::format("  st.shared.b32 [%own+{}], {};\n  bar.sync 0;\n", offset, word());
  if (rng_.chance(30))
    return out +
           fmt::format("  shr.u32 %t0, %me, {};\n  mad.lo.u32 %t0, %t0, {}, %me;\n  and.b32 %t0, %t0, {};\n"
                       "  mad.lo.u32 %t0, %t0, 4, %sh;\n  ld.shared.b32 {}, [%t0];\n  bar.sync 0;\n",
                       3 + rng_.below(3), rng_.below(40), 4 * DefinedProgram::kThreads - 1, word());
  out += fmt::format("  and.b32 %t0, {}, {};\n  mad.lo.u32 %t0, %t0, 16, %sh;\n", word(),
                     DefinedProgram::kThreads - 1);
  out += rng_.chance(50)
             ? fmt::format("  ld.shared.b32 {}, [%t0+{}];\n", word(), offset)
             : fmt::format("  ld.shared.v2.b32 {{{}}}, [%t0+8];\n", fmt::join(distinct(32, 2), ", "));
  return out + "  bar.sync 0;\n";
}

// A sum (or the like) whose order does not matter, of all threads, or of those with a predicate.
std::string DefinedWriter::shared_sum() {
  static constexpr const char* kOps[] = {"add.u32", "min.u32", "max.u32", "min.s32", "max.s32",
                                         "and.b32", "or.b32",  "xor.b32", "add.s32"};
  const std::string guard = rng_.chance(40) ? fmt::format("@{} ", predicate()) : "";
  const bool reduces = rng_.chance(60);
  const std::string address = fmt::format("[%sum+{}]", 4 * rng_.below(8));
  std::string out = "  bar.sync 0;\n";
  if (rng_.chance(50))
    out += fmt::format("  {}red.shared.{} {}, {};\n", guard, rng_.pick(kOps), address, word());
  else
    out += fmt::format("  {}atom.shared.{} %t0, {}, {};\n", guard, rng_.pick(kOps), address, word());
  out += fmt::format("  bar.sync 0;\n  ld.shared.b32 {}, {};\n", word(), address);
  if (reduces)
    out += rng_.chance(50) ? fmt::format("  bar.red.popc.u32 {}, 0, {};\n", word(), predicate())
                           : fmt::format("  bar.red.{}.pred {}, 0, {};\n", rng_.chance(50) ? "and" : "or",
                                         predicate(), predicate());
  return out + "  bar.sync 0;\n";
}

std::string DefinedWriter::shuffle() {
  static constexpr const char* kModes[] = {"up", "down", "bfly", "idx"};
  const std::string mode = rng_.pick(kModes);
  const int width = 32 >> rng_.below(4);
  const int clamp = (32 - width) << 8 | (mode == "up" ? 0 : 31);
  return indented(
      {fmt::format("and.b32 %t0, {}, 31;", word()),
       fmt::format("shfl.sync.{}.b32 {}|{}, {}, %t0, {:#x}, -1;", mode, word(), predicate(), word(), clamp)});
}

std::string DefinedWriter::warp_wide() {
  static constexpr const char* kSums[] = {"add.u32", "min.u32", "max.u32", "add.s32", "min.s32",
                                          "max.s32", "and.b32", "or.b32",  "xor.b32"};
  switch (rng_.below(6)) {
  case 0:
    return fmt::format("  redux.sync.{} {}, {}, -1;\n", rng_.pick(kSums), word(), word());
  case 1:
    return fmt::format("  vote.sync.ballot.b32 {}, {}{}, -1;\n", word(), rng_.chance(30) ? "!" : "",
                       predicate());
  case 2:
    return fmt::format("  vote.sync.{}.pred {}, {}{}, -1;\n", rng_.pick(std::array{"all", "any", "uni"}),
                       predicate(), rng_.chance(30) ? "!" : "", predicate());
  case 3: // few values, so that some match
    return rng_.chance(50)
               ? fmt::format("  and.b32 %t0, {}, 3;\n  match.any.sync.b32 {}, %t0, -1;\n", word(), word())
               : fmt::format("  and.b64 %u0, {}, 1;\n  match.all.sync.b64 {}|{}, %u0, -1;\n", wide(), word(),
                             predicate());
  default:
    return shuffle();
  }
}

std::string DefinedWriter::matrix() {
  for (;;) {
    const std::optional<Text> sampled = sample(*rng_.pick(mma_forms()), rng_);
    if (!sampled)
      continue;
    const auto& words = sampled->words;
    const bool doubles = std::find(words.begin(), words.end(), "f64") != words.end();
    // Accumulators of floats in registers of their type, as for scalar instructions.
    std::vector<std::string> types;
    std::copy_if(words.begin(), words.end(), std::back_inserter(types),
                 [](const std::string& word) { return isa::parse_type(word).has_value(); });
    const auto typed = [](const std::string& type) -> std::string_view {
      return type == "f32" ? "%f" : type == "f16" ? "%y" : "";
    };
    int vectors = 0;
    std::string out, operands, after;
    bool fits = true;
    for (size_t i = 0; i < sampled->operands.size(); ++i) {
      const OperandSpec& spec = *sampled->specs[i];
      // As many registers as the sampled vector has, of the width of its type.
      const std::string& text = sampled->operands[i];
      const bool vector = text.starts_with('{');
      const auto count = vector ? static_cast<size_t>(std::count(text.begin(), text.end(), ',')) + 1 : 1;
      operands += operands.empty() ? " " : ", ";
      if (spec.written) {
        std::vector<std::string> regs = distinct(doubles ? 64 : 32, count);
        fits &= regs.size() == count;
        if (const std::string_view name = typed(types.front()); !name.empty())
          for (size_t k = 0; k < regs.size(); ++k) {
            const std::string accumulator = fmt::format("{}{}", name, 8 + k);
            after += fmt::format("  mov.b32 {}, {};\n", regs[k], accumulator);
            regs[k] = accumulator;
          }
        operands += fmt::format("{{{}}}", fmt::join(regs, ", "));
      } else if (vector) {
        std::vector<std::string> regs;
        const std::string_view name = ++vectors == 3 ? typed(types.back()) : std::string_view(); // A, B, C
        for (size_t k = 0; k < count; ++k) {
          regs.push_back(doubles ? wide() : word());
          if (name.empty())
            continue;
          const std::string accumulator = fmt::format("{}{}", name, 16 + k);
          out += fmt::format("  mov.b32 {}, {};\n", accumulator, regs.back());
          regs.back() = accumulator;
        }
        operands += fmt::format("{{{}}}", fmt::join(regs, ", "));
      } else if (text.starts_with('%')) { // sparse metadata: both are legal for every type
        out += fmt::format("  mov.b32 %t0, {:#x};\n", rng_.chance(50) ? 0x44444444u : 0xeeeeeeeeu);
        operands += "%t0";
      } else {
        operands += text;
      }
    }
    if (!fits)
      continue;
    std::string head = sampled->opcode;
    for (const std::string& word : sampled->words)
      head += "." + word;
    return out + "  " + head + operands + ";\n" + after;
  }
}

// ldmatrix, stmatrix and movmatrix: rows are the 16 bytes of any threads, stores go to the warp's own.
std::string DefinedWriter::matrix_moves() {
  const size_t kind = rng_.below(3);
  if (kind == 0)
    return fmt::format("  movmatrix.sync.aligned.m8n8.trans.b16 {}, {};\n", word(), word());
  const size_t count = size_t{1} << rng_.below(3);
  const char* trans = rng_.chance(40) ? ".trans" : "";
  std::string out = "  bar.sync 0;\n";
  if (kind == 1) {
    out += fmt::format("  and.b32 %t0, {}, {};\n  mad.lo.u32 %t0, %t0, 16, %sh;\n", word(),
                       DefinedProgram::kThreads - 1);
    out += fmt::format("  ldmatrix.sync.aligned.m8n8.x{}{}.shared.b16 {{{}}}, [%t0];\n", count, trans,
                       fmt::join(distinct(32, count), ", "));
  } else {
    out += fmt::format("  stmatrix.sync.aligned.m8n8.x{}{}.shared.b16 [%own], {{{}}};\n", count, trans,
                       fmt::join(distinct(32, count), ", "));
  }
  return out + "  bar.sync 0;\n";
}

} // namespace lemma::generate
