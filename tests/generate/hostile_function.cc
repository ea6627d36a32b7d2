// Statements of hostile programs. See hostile_function.h.
//
// A sampled instruction has registers chosen at random. Lines before it make those of them that are
// addresses, sizes, descriptors and member masks hold something that is mostly right, now and then not at
// all.
#include "generate/hostile_function.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

namespace lemma::generate {
namespace {

using isa::Opcode;
using isa::OperandSpec;
using isa::StateSpace;

constexpr int kMostDepth = 3; // of blocks within one another

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view p) { return text.starts_with(p); });
}

// How often an opcode is taken, 100 being usual.
size_t weight_of(std::string_view name) {
  // Not modelled: the program ends there.
  static constexpr std::string_view kUnmodelled[] = {"tcgen05.shift", "tex",   "tld4", "txq",     "suld",
                                                     "sust",          "sured", "suq",  "istypep", "multimem"};
  static constexpr std::string_view kEnds[] = {"trap", "brkpt", "exit", "ret", "bra", "clusterlaunchcontrol"};
  // Undefined unless something else has run before.
  static constexpr std::string_view kSecond[] = {"stackrestore", "mbarrier.inval", "barrier.cluster",
                                                 "setmaxnreg",   "tcgen05.",       "v"};
  static constexpr std::string_view kWaits[] = {"bar.", "barrier.", "mbarrier.try_wait", "bar"};
  static constexpr std::string_view kMemory[] = {
      "ld", "st", "atom", "red", "cp.", "mbarrier.", "tensormap", "alloca", "ldmatrix", "stmatrix", "wmma."};
  static constexpr std::string_view kMatrix[] = {"mma", "wgmma.mma_async"};
  if (starts_with_any(name, kUnmodelled))
    return 1;
  if (starts_with_any(name, kEnds))
    return 5;
  if (starts_with_any(name, kSecond) && !name.starts_with("vote"))
    return 25;
  if (starts_with_any(name, kWaits) && !name.starts_with("bar.warp"))
    return 30;
  if (starts_with_any(name, kMatrix))
    return 400;
  // Of which there are so many.
  static constexpr std::string_view kManifold[] = {"set", "min", "max", "fma", "add", "sub"};
  if (name == "cvt" || starts_with_any(name, kManifold))
    return name == "cvt" ? 4000 : 600;
  return starts_with_any(name, kMemory) ? 250 : 100;
}

bool is_register(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) && text.size() == prefix.size() + 1 && text.back() >= '0' &&
         text.back() <= '9';
}

bool is_wide(std::string_view reg) {
  return is_register(reg, "%rd") || is_register(reg, "%ul") || is_register(reg, "%sl");
}
bool is_word(std::string_view reg) {
  return is_register(reg, "%r") || is_register(reg, "%u") || is_register(reg, "%s");
}

} // namespace

HostileTable::HostileTable(std::string_view target, bool tensor) {
  const isa::Target parsed = isa::parse_target(target).value_or(isa::Target{90, 'a'});
  std::map<Opcode, std::vector<const isa::Form*>> by_opcode;
  for (const isa::Form& form : isa::forms())
    if (isa::is_available(form, {9, 0}, parsed) && !plain_instances(form).empty())
      by_opcode[form.opcode].push_back(&form);
  size_t sum = 0;
  for (auto& [opcode, forms] : by_opcode)
    entries_.push_back(
        {sum += tensor ? tensor_weight_of(isa::to_string(opcode), weight_of(isa::to_string(opcode)))
                       : weight_of(isa::to_string(opcode)),
         std::move(forms)});
}

const HostileTable& HostileTable::of(std::string_view target, bool tensor) {
  static std::map<std::pair<std::string, bool>, HostileTable> tables;
  const std::pair key(std::string(target), tensor);
  auto found = tables.find(key);
  if (found == tables.end())
    found = tables.emplace(key, HostileTable(target, tensor)).first;
  return found->second;
}

const isa::Form& HostileTable::pick(Rng& rng) const {
  const size_t at = rng.below(entries_.back().up_to);
  const auto entry = std::upper_bound(entries_.begin(), entries_.end(), at,
                                      [](size_t value, const Entry& e) { return value < e.up_to; });
  return *rng.pick(entry->forms);
}

// --- Statements ----------------------------------------------------------------------------------

void HostileFunction::write(size_t instructions) {
  initial_seed_ = rng_.below(1 << 16);
  block(instructions, 0);
}

void HostileFunction::block(size_t instructions, int depth) {
  while (instructions > 0) {
    const size_t kind = rng_.below(100);
    const size_t inner = std::min<size_t>(instructions, 1 + rng_.below(6));
    if (kind < 6 && depth < kMostDepth) {
      branch_over(inner, depth + 1);
      instructions -= inner;
    } else if (kind < 10 && depth < kMostDepth) {
      loop(inner, depth + 1);
      instructions -= inner;
    } else if (kind < 12 && (kind_.has_callees || kind_.recursive)) {
      call();
      --instructions;
    } else if (kind < 13) {
      indexed_branch();
      --instructions;
    } else {
      statement();
      --instructions;
    }
  }
}

void HostileFunction::statement() {
  std::optional<Text> text;
  while (!text || (kind_.tensor.is_on() && is_of_other_group(*text, kind_.tensor) && !wild()))
    text = sample(table_.pick(rng_), rng_);
  const bool tensor = kind_.tensor.is_on() && text->opcode.starts_with("tcgen05.");
  if (tensor)
    idesc_ = some_instruction_descriptor(*text, rng_);
  warpgroup_ |= text->opcode.starts_with("wgmma");
  for (size_t i = 0; i < text->operands.size(); ++i)
    prepare(text->operands[i], *text->specs[i], *text);
  if (tensor && !wild()) { // a warp's own, or one thread's
    const bool is_alone = kind_.tensor.cta_group == 2 || rng_.chance(97);
    line((!is_of_warp(*text) && is_alone ? "@%_one " : "") + text->str());
    return;
  }
  const bool guarded = rng_.chance(12);
  line((guarded ? fmt::format("@{}%p{} ", rng_.chance(50) ? "!" : "", rng_.below(kRegistersOfClass)) : "") +
       text->str());
}

void HostileFunction::branch_over(size_t instructions, int depth) {
  const int label = labels_++;
  line(fmt::format("@{}%p{} bra J{};", rng_.chance(50) ? "!" : "", rng_.below(kRegistersOfClass), label));
  block(instructions, depth);
  line(fmt::format("J{}:", label));
}

void HostileFunction::loop(size_t instructions, int depth) {
  const int label = labels_++;
  if (rng_.chance(50))
    line(fmt::format("mov.u32 %_n{}, {};", depth, 1 + rng_.below(4)));
  else
    line(fmt::format("and.b32 %_n{0}, %_lane, 3;", depth));
  line(fmt::format("J{}:", label));
  block(instructions, depth);
  line(fmt::format("sub.u32 %_n{0}, %_n{0}, 1;", depth));
  line(fmt::format("setp.gt.s32 %_more, %_n{}, 0;", depth));
  line(fmt::format("@%_more bra J{};", label));
}

void HostileFunction::call() {
  calls_ = true;
  const int label = labels_++;
  const std::string skip = fmt::format("J{}", label);
  if (kind_.recursive) {
    line("ld.param.u64 %_depth, [depth];");
    line("setp.eq.u64 %_more, %_depth, 0;");
    line(fmt::format("@%_more bra {};", skip));
    line("sub.u64 %_depth, %_depth, 1;");
  } else {
    line(fmt::format("mov.u64 %_depth, {};", wild() ? uint64_t{1000} : rng_.below(5)));
  }
  line("{");
  line(".param .b32 back; .param .b64 a; .param .align 16 .b8 b[64];");
  line("st.param.b64 [a], %_depth;");
  if (rng_.chance(70))
    line(fmt::format("st.param.v2.b32 [b+{}], {{%_lane, %_lane}};", 8 * rng_.below(8)));
  const char* callee = kind_.recursive || rng_.chance(50) ? "f1" : "f0";
  if (rng_.chance(25)) {
    line(fmt::format("mov.u64 %_f, {};", callee));
    if (wild())
      point_wildly("%_f");
    line(fmt::format("P{}: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 16 .b8 _[64]);",
                     label));
    line(fmt::format("call (back), %_f, (a, b), P{};", label));
  } else {
    line(fmt::format("call{} (back), {}, (a, b);", rng_.chance(50) ? ".uni" : "", callee));
  }
  line(fmt::format("ld.param.b32 %r{}, [back];", rng_.below(kRegistersOfClass)));
  line("}");
  line(skip + ":");
}

void HostileFunction::indexed_branch() {
  const int label = labels_;
  labels_ += 2;
  line(fmt::format("T{0}: .branchtargets J{0}, J{1};", label, label + 1));
  line(fmt::format("and.b32 %_index, %_lane, {};", wild() ? 3 : 1));
  line(fmt::format("brx.idx %_index, T{};", label));
  line(fmt::format("J{}:", label));
  statement();
  line(fmt::format("J{}:", label + 1));
}

// --- Operands ------------------------------------------------------------------------------------

namespace {

isa::Binding binding_of(const Text& text) {
  std::vector<isa::Qual> quals;
  std::vector<isa::Type> types;
  for (const std::string& word : text.words)
    if (const auto type = isa::parse_type(word))
      types.push_back(*type);
    else if (const auto qual = isa::parse_qual(word))
      quals.push_back(*qual);
  return isa::bind(*text.form, quals, types).value_or(isa::Binding{});
}

} // namespace

void HostileFunction::prepare_tensor(std::string& operand, const OperandSpec& spec, const Text& text) {
  // A field, or two, may be of something else.
  const auto mutated = [&](uint64_t bits, size_t width) {
    for (size_t i = wild() ? 1 + rng_.below(2) : 0; i > 0; --i)
      bits ^= uint64_t{1} << rng_.below(width);
    return bits;
  };
  // A register of 32 bits may be that of an address too.
  const bool is_number = !operand.starts_with('%') || (spec.name == "idesc" && !wild());
  std::string value;
  if (spec.name == "idesc")
    value = fmt::format("{:#x}", mutated(idesc_, 32));
  else if (spec.name.ends_with("-desc") && spec.name != "zero-column-mask-desc")
    value = fmt::format("{:#x}", mutated(some_matrix_descriptor(text, spec.name, idesc_, rng_), 64));
  else if (spec.name == "taddr" && !wild())
    value = "%_taddr";
  if (value.empty())
    return;
  if (is_number)
    operand = value;
  else
    line(fmt::format("mov.b{} {}, {};", is_wide(operand) ? 64 : 32, operand, value));
}

void HostileFunction::prepare(std::string& operand, const OperandSpec& spec, const Text& text) {
  if (spec.kind == OperandSpec::Kind::address)
    return prepare_address(operand, spec, text);
  if (kind_.tensor.is_on() && text.opcode.starts_with("tcgen05."))
    return prepare_tensor(operand, spec, text);
  if (spec.name == "membermask" && !operand.starts_with('%') && !wild())
    operand = "-1";
  if (spec.written || !operand.starts_with('%'))
    return;
  if (spec.name.ends_with("-desc"))
    return prepare_descriptor(operand);
  if (spec.name == "membermask" && is_word(operand) && !wild()) {
    line(rng_.chance(80) ? fmt::format("mov.b32 {}, -1;", operand)
                         : fmt::format("activemask.b32 {};", operand));
  } else if ((spec.name == "size" || spec.name.ends_with("Count") || spec.name == "count") && !wild()) {
    const uint64_t size = spec.name == "count" ? 1 + rng_.below(3) : 16 * (1 + rng_.below(8));
    if (is_word(operand) || is_wide(operand))
      line(fmt::format("mov.b{} {}, {};", is_wide(operand) ? 64 : 32, operand, size));
  } else if (spec.name == "stride" && is_word(operand) && !wild()) {
    line(fmt::format("mov.b32 {}, {};", operand, 8 * (1 + rng_.below(4))));
  } else if (spec.name == "phaseParity" && is_word(operand) && !wild()) {
    line(fmt::format("mov.b32 {}, {};", operand, rng_.below(2)));
  } else if (spec.name == "size" && is_word(operand)) {
    line(fmt::format("mov.b32 {}, {:#x};", operand,
                     rng_.pick(std::array{0u, 8u, 0x2000u, 0x80000000u, 0xfffffff0u})));
  }
}

void HostileFunction::prepare_address(std::string& operand, const OperandSpec& spec, const Text& text) {
  const std::string_view name = text.opcode;
  const size_t end = operand.find_first_of("+,]");
  const std::string base = operand.substr(1, end - 1);
  const StateSpace space = isa::space_of(spec, binding_of(text));
  // One address for the warp, or rows of 16 bytes.
  per_lane_ = !(name.starts_with("wmma") || name.starts_with("tensormap"));
  reads_ = name.starts_with("ld");
  if (spec.tensor_memory && kind_.tensor.is_on() && base.starts_with('%')) {
    if (wild())
      point_wildly(base);
    else
      line(tensor_pointer(base, text, spec.name, kind_.tensor, rng_));
  } else if (name.starts_with("mbarrier.") || spec.name == "mbar" || name.starts_with("cp.async.mbarrier")) {
    if (!wild() && end != operand.size() - 1 && operand[end] == '+') // an object, and nothing beside it
      operand.erase(end, operand.find(']') - end);
    if (base == "svar" && !wild())
      operand.replace(1, 4, rng_.chance(50) ? "mb0" : "mb1");
    else if (base.starts_with('%'))
      point_at_mbarrier(base, space);
  } else if ((spec.name == "tensorMap" || name.starts_with("tensormap.")) && base.starts_with('%')) {
    reads_map_ = spec.name == "tensorMap";
    if (!wild() && !reads_map_ && end != operand.size() - 1 && operand[end] == '+')
      operand.erase(end, operand.find(']') - end);
    point_at_map(base, space);
  } else if (base.starts_with('%')) {
    point(base, space);
    if (space == StateSpace::generic && name.ends_with("matrix") && is_wide(base) && !wild())
      line(fmt::format(
          "mov.u64 {0}, svar;\n  mad.wide.u32 {0}, %_lane, 16, {0};\n  cvta.shared.u64 {0}, {0};", base));
  }
  if (operand.find("+-32") != std::string::npos && !wild()) // below what it points to
    operand.replace(operand.find("+-32"), 4, "+32");
}

void HostileFunction::point_wildly(const std::string& reg) {
  const auto somewhere = [&] {
    const uint64_t edge = rng_.pick(machine_.edges);
    constexpr int64_t kSteps[] = {0, 0, -1, 1, -4, 4, -8, 8, -16, 16, -128, 128, -1024};
    return edge + static_cast<uint64_t>(rng_.pick(kSteps));
  };
  const int bits = is_word(reg) ? 32 : 64;
  const auto value = [&] {
    const uint64_t v = somewhere();
    return bits == 32 ? v & 0xffffffff : v;
  };
  line(fmt::format("mov.b{} {}, {:#x};", bits, reg, value()));
  if (rng_.chance(40))
    line(fmt::format("@%p{} mov.b{} {}, {:#x};", rng_.below(kRegistersOfClass), bits, reg, value()));
  if (rng_.chance(20))
    line(fmt::format("add.u{0} {1}, {1}, {2};", bits, reg, bits == 32 ? "%_lane" : "%_lane64"));
}

void HostileFunction::point(const std::string& reg, StateSpace space) {
  if (!is_wide(reg) && !is_word(reg))
    return;
  if (wild())
    return point_wildly(reg);
  const bool wide = is_wide(reg);
  const size_t offset = 16 * rng_.below(16);
  if (space == StateSpace::generic && !wide)
    return;
  const auto shared = [&] { line(fmt::format("mov.u{} {}, svar;", wide ? 64 : 32, reg)); };
  const auto global = [&] {
    if (rng_.chance(70))
      line(fmt::format("mov.b64 {}, %_buf;", reg));
    else
      line(fmt::format("mov.u64 {}, gvar;", reg));
  };
  if (!wide || space == StateSpace::shared || space == StateSpace::shared_cluster) {
    shared();
  } else if (space == StateSpace::const_) {
    line(fmt::format("mov.u64 {}, cvar;", reg));
  } else if (space == StateSpace::local) {
    line(fmt::format("mov.u64 {}, lvar;", reg));
  } else if (space == StateSpace::global || rng_.chance(60)) {
    global();
  } else if (rng_.chance(50)) {
    shared();
    line(fmt::format("cvta.shared.u64 {0}, {0};", reg));
  } else if (!reads_ || rng_.chance(50)) {
    line(fmt::format("mov.u64 {0}, lvar;\n  cvta.local.u64 {0}, {0};", reg));
  } else {
    line(fmt::format("mov.u64 {0}, cvar;\n  cvta.const.u64 {0}, {0};", reg));
  }
  if (offset)
    line(fmt::format("add.u{0} {1}, {1}, {2};", wide ? 64 : 32, reg, offset));
  if (per_lane_ ? rng_.chance(50) : wild()) {
    constexpr int kStrides[] = {2, 4, 8, 16, 16, 16, 32, 32};
    line(wide ? fmt::format("mad.wide.u32 {0}, %_lane, {1}, {0};", reg, rng_.pick(kStrides))
              : fmt::format("mad.lo.u32 {0}, %_lane, {1}, {0};", reg, rng_.pick(kStrides)));
  }
}

void HostileFunction::point_at_mbarrier(const std::string& reg, StateSpace space) {
  if (wild() || !(is_wide(reg) || is_word(reg)))
    return point(reg, space);
  const char* name = rng_.chance(50) ? "mb0" : "mb1";
  line(fmt::format("mov.u{} {}, {};", is_wide(reg) ? 64 : 32, reg, name));
  if (is_wide(reg) && space == StateSpace::generic)
    line(fmt::format("cvta.shared.u64 {0}, {0};", reg));
}

void HostileFunction::point_at_map(const std::string& reg, StateSpace space) {
  if (wild() || !is_wide(reg) || space == StateSpace::shared)
    return point(reg, space);
  if (kind_.is_entry && space == StateSpace::generic && rng_.chance(reads_map_ ? 60 : 2))
    line(fmt::format("mov.b64 {0}, map;\n  cvta.param.u64 {0}, {0};", reg));
  else
    line(fmt::format("mov.u64 {}, gmap;", reg)); // a global address is a generic one
}

void HostileFunction::prepare_descriptor(const std::string& reg) {
  const uint64_t start = wild() ? rng_.below(0x4000) : 0x40 + rng_.below(64);
  uint64_t bits = start | (rng_.below(33) << 16) | (rng_.below(65) << 32) | (rng_.below(4) << 62);
  if (wild())
    bits ^= uint64_t{1} << rng_.below(64) | uint64_t{1} << rng_.below(64);
  line(fmt::format("mov.b64 {}, {:#x};", reg, bits));
}

// --- The text ------------------------------------------------------------------------------------

namespace {

// Names %rd0 in the lines, each once, in order.
std::map<std::string, isa::Type> used_registers(std::span<const std::string> lines) {
  std::map<std::string, isa::Type> used;
  for (const std::string& text : lines)
    for (size_t at = text.find('%'); at != std::string::npos; at = text.find('%', at + 1)) {
      size_t end = at + 1;
      while (end < text.size() && (isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        ++end;
      const std::string_view name = std::string_view(text).substr(at, end - at);
      for (const RegisterClass& c : register_classes())
        if (is_register(name, c.name))
          used.emplace(std::string(name), c.type);
    }
  return used;
}

// A line that gives the register a value, or none: it is read unwritten.
std::string initial_value(const std::string& reg, isa::Type type, Rng& rng) {
  if (rng.chance(8))
    return "";
  const size_t offset = 16 * rng.below(4);
  switch (type) {
  case isa::Type::pred:
    return fmt::format("setp.{} {}, %_lane, {};", rng.chance(50) ? "lt.u32" : "ge.u32", reg,
                       rng.pick(std::array{0, 1, 7, 16, 31, 32}));
  case isa::Type::b128:
    return fmt::format("mov.b128 {}, {{%_lane64, %_buf}};", reg);
  case isa::Type::f16:
    return fmt::format("ld.param.b16 {}, [p0+{}];", reg, offset);
  case isa::Type::f16x2:
    return fmt::format("ld.param.b32 {}, [p0+{}];", reg, offset);
  default:
    break;
  }
  if (isa::bits_of(type) == 32 && rng.chance(30))
    return fmt::format("mov.b32 {}, %_lane;", reg);
  if (isa::bits_of(type) == 32 && rng.chance(30))
    return fmt::format("mov.b32 {}, {};", reg, rng.below(64));
  return fmt::format("ld.param.{} {}, [p0+{}];", isa::to_string(type), reg, offset);
}

} // namespace

std::string HostileFunction::initial_values() const {
  Rng rng(initial_seed_);
  std::string out;
  for (const auto& [reg, type] : used_registers(lines_))
    if (const std::string value = initial_value(reg, type, rng); !value.empty())
      out += "  " + value + "\n";
  return out;
}

std::string HostileFunction::str() const {
  std::string out = "{\n";
  std::vector<std::string_view> classes;
  for (const auto& [reg, type] : used_registers(lines_))
    for (const RegisterClass& c : register_classes())
      if (c.type == type && std::find(classes.begin(), classes.end(), c.name) == classes.end()) {
        classes.push_back(c.name);
        out += fmt::format("  .reg .{} {}<{}>;\n", isa::to_string(type), c.name, kRegistersOfClass);
      }
  if (kind_.tensor.is_on())
    out += kTensorRegisters;
  out += "  .reg .b32 %_lane, %_index, %_n1, %_n2, %_n3;\n  .reg .b64 %_buf, %_lane64, %_depth, %_f;\n"
         "  .reg .pred %_more;\n  .local .align 16 .b8 lvar[256];\n  .param .align 16 .b8 lp[64];\n"
         "  mov.u32 %_lane, %tid.x;\n  cvt.u64.u32 %_lane64, %_lane;\n";
  if (kind_.is_entry)
    out += "  ld.param.u64 %_buf, [buf];\n"
           "  setp.ne.u32 %_more, %_lane, 0;\n  @%_more bra READY;\n"
           "  mbarrier.init.shared.b64 [mb0], 1;\n  mbarrier.init.shared.b64 [mb1], 32;\nREADY:\n"
           "  mov.b64 %_f, map;\n  mad.wide.u32 %_f, %_lane, 4, %_f;\n  setp.ge.u32 %_more, %_lane, 32;\n"
           "  @%_more bra COPIED;\n  ld.param.b32 %_index, [%_f];\n  mov.u64 %_f, gmap;\n"
           "  mad.wide.u32 %_f, %_lane, 4, %_f;\n  st.global.b32 [%_f], %_index;\nCOPIED:\n" +
           (kind_.tensor.is_on() ? tensor_allocation(kind_.tensor) : "") + "  bar.sync 0;\n";
  else
    out += "  mov.u64 %_buf, gvar;\n";
  if (kind_.tensor.is_on())
    out += tensor_addresses(kind_.tensor);
  if (kind_.is_entry && kind_.tensor.fills)
    out += tensor_filling();
  out += initial_values() + "L0:\n";
  for (const std::string& text : lines_)
    out += "  " + text + "\n";
  if (!kind_.is_entry)
    out += "  st.param.b32 [out], %_lane;\n";
  out += "L1:\n";
  if (kind_.is_entry && kind_.tensor.is_on() && kind_.tensor.gives_back)
    out += tensor_deallocation(kind_.tensor);
  return out + "  ret;\n}\n";
}

} // namespace lemma::generate
