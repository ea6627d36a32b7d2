// The forms of matrix instructions, made of the catalogue's rows, and forms as text.
#include "isa/catalogue.h"
#include "isa/form.h"
#include "layout/sparse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace lemma::isa {
namespace {

using layout::Matrix;

std::vector<Qual> shapes_of(const MatrixRow& row, std::vector<std::string>& errors) {
  std::vector<Qual> shapes;
  for (const int n : columns_of(row)) {
    const auto [m, widest, k] = row.shape;
    const std::string word = k == 0 ? fmt::format("m{}n{}", m, n) : fmt::format("m{}n{}k{}", m, n, k);
    if (const auto qual = parse_qual(word))
      shapes.push_back(*qual);
    else
      errors.push_back(fmt::format("no shape {} among the qualifiers", word));
  }
  return shapes;
}

// Builds a form word by word and operand by operand, in the ISA's order.
class Builder {
public:
  Builder(const MatrixRow& row, std::vector<std::string>& errors) : row_(row), errors_(errors) {
    form_.opcode = row.opcode;
    form_.matrix = &row;
    form_.since = row.since;
    form_.section = row.section;
    const auto targets = parse_targets(row.targets);
    if (!targets || row.section.empty())
      errors_.push_back(fmt::format("a row of {} names targets '{}' and section '{}'", to_string(row.opcode),
                                    row.targets, row.section));
    form_.targets = targets.value_or(TargetSet{});
  }

  Form take() { return std::move(form_); }

  // --- words ---

  void word(Qual qual, bool optional = false) {
    if (qual != Qual::none)
      add({.name = fmt::format(".{}", to_string(qual)), .quals = {qual}, .types = {}}, optional);
  }
  void fixed_word(Qual qual) {
    word(qual);
    form_.slots.back().fixed = true;
  }
  void words(std::initializer_list<Qual> quals) {
    for (const Qual qual : quals)
      word(qual);
  }
  // .sync.aligned; .aligned came to wmma with PTX 6.3, and the assembler does without it in wgmma.
  void sync_aligned() {
    words({Qual::sync, Qual::aligned});
    constexpr IsaVersion kWithAligned = {6, 3};
    Slot& aligned = form_.slots.back();
    const bool is_older = form_.since < kWithAligned;
    aligned.may_lack = is_older || row_.opcode == Opcode::wgmma_mma_async;
    if (is_older) {
      aligned.lack_until = {6, 2};
      form_.needs.push_back({Qual::aligned, Type::none, {kWithAligned, {}}});
    }
  }
  void choice(std::string name, std::vector<Qual> quals, bool optional = false) {
    add({.name = std::move(name), .quals = std::move(quals), .types = {}}, optional);
  }
  void space() { choice("ss", {Qual::global, Qual::shared, Qual::shared_cta}, true); }
  void shape() {
    std::vector<Qual> shapes = shapes_of(row_, errors_);
    if (shapes.size() > 1)
      choice("shape", std::move(shapes));
    else if (!shapes.empty())
      word(shapes[0]);
  }
  void bit_operation() {
    if (row_.op != Qual::none)
      words({row_.op, Qual::popc});
  }
  void multiplied_layouts() {
    if (row_.layouts == Layouts::any) {
      choice("alayout", {Qual::row, Qual::col});
      choice("blayout", {Qual::row, Qual::col});
    } else {
      words({Qual::row, Qual::col});
    }
  }
  // .kind::mxf4.block_scale{.scale_vec::2X}
  void kind() {
    word(row_.kind);
    if (row_.scale_vec == Qual::none)
      return;
    word(Qual::block_scale);
    word(row_.scale_vec, row_.kind != Qual::kind_mxf4nvf4);
  }
  void satfinite() {
    if (row_.satfinite)
      word(Qual::satfinite, true);
  }
  void rounding() {
    if (row_.rounding)
      choice("rnd", {Qual::rn, Qual::rz, Qual::rm, Qual::rp}, true);
  }
  void types() {
    for (const char letter : row_.spelled) {
      const TypeSet set = letter == 's' ? TypeSet(row_.scale) : types_of(row_, matrix_of(row_, letter));
      if (set.count == 1)
        add({.name = fmt::format(".{}", to_string(set.first())), .quals = {}, .types = {set.first()}}, false);
      else
        add({.name = row_.spelled == "m" ? "type" : fmt::format("{}type", letter),
             .quals = {},
             .types = {set.begin(), set.end()}},
            false);
    }
  }

  // --- operands ---

  OperandSpec& data(std::string name, Type type) {
    OperandSpec& spec = form_.operands.emplace_back();
    spec.written = name == "d";
    spec.immediate = !spec.written;
    spec.name = std::move(name);
    spec.type_slot = slot_named(fmt::format(".{}", to_string(type))); // then it is the instruction's own
    if (spec.type_slot < 0)
      spec.type = type;
    return spec;
  }
  OperandSpec& vector(std::string name, Type type, int elems) {
    OperandSpec& spec = data(std::move(name), type);
    spec.elems = static_cast<uint8_t>(elems);
    return spec;
  }
  OperandSpec& fragment(std::string name, Matrix matrix) {
    const auto [count, type] = registers_of(row_, matrix, types_of(row_, matrix).first());
    OperandSpec& spec = vector(std::move(name), type, count);
    spec.same_bits = type == Type::f64;
    return spec;
  }
  void result(bool may_sink) {
    OperandSpec& d = fragment("d", Matrix::d);
    (may_sink ? d.sink : d.no_sinks) = true;
  }
  void multiplicands() {
    fragment("a", Matrix::a);
    fragment("b", Matrix::b);
    fragment("c", Matrix::c);
  }
  void registers_only(std::string name, Type type) { data(std::move(name), type).immediate = false; }
  void immediate(std::string name, int64_t min, int64_t max, int64_t step = 1) {
    OperandSpec& spec = form_.operands.emplace_back();
    spec.name = std::move(name);
    spec.type = Type::b64;
    spec.reg = false;
    spec.ranged = true;
    spec.min = min;
    spec.max = max;
    spec.step = step;
  }
  void selector() { immediate("selector", 0, layout::selectors(metadata_of(row_)) - 1); }
  void address() {
    OperandSpec& spec = form_.operands.emplace_back();
    spec.kind = OperandSpec::Kind::address;
    spec.name = "a";
    spec.space_slot = slot_named("ss");
  }
  void stride() { data("stride", Type::u32).group = 0; }
  // Registers of 8 x 8 matrices, `times` for each of the class num; or just one.
  OperandSpec& matrices(std::string name, int times) {
    OperandSpec& spec = data(std::move(name), Type::b32);
    spec.same_bits = true;
    spec.elems_slot = slot_named("num");
    spec.elems_times = static_cast<uint8_t>(times);
    return spec;
  }
  // The scales of A and B and their selectors, {byte-id, thread-id}; nothing for a row that has none.
  void scales() {
    const int scales = scales_of(row_);
    if (scales == 0)
      return;
    for (const Matrix matrix : {Matrix::a, Matrix::b}) {
      const char letter = matrix == Matrix::a ? 'a' : 'b';
      OperandSpec& spec = data(fmt::format("scale-{}-data", letter), Type::b32);
      spec.elems_or[0] = 1; // {%r1} as well
      spec.same_bits = true;
      spec.immediate = false;
      OperandSpec& id = vector(fmt::format("id-{}", letter), Type::b16, 2);
      for (int byte = 0; byte < 4; byte += scales)
        id.one_of.push_back(byte);
      id.ranged = true;
      id.max = scale_fragment_of(row_, matrix).threads() - 1;
    }
  }

private:
  void add(Slot slot, bool optional) {
    slot.optional = optional;
    if (optional) {
      slot.group = static_cast<int8_t>(form_.group_parents.size());
      form_.group_parents.push_back(-1);
    }
    form_.slots.push_back(std::move(slot));
  }
  int8_t slot_named(std::string_view name) const {
    for (size_t i = 0; i < form_.slots.size(); ++i)
      if (form_.slots[i].name == name)
        return static_cast<int8_t>(i);
    return -1;
  }

  const MatrixRow& row_;
  std::vector<std::string>& errors_;
  Form form_;
};

// mma.sync and mma.sp.sync.
void make_mma(const MatrixRow& row, Builder& form) {
  form.word(row.sparse);
  form.sync_aligned();
  form.shape();
  form.multiplied_layouts();
  form.kind();
  form.satfinite();
  form.rounding();
  form.types();
  form.bit_operation();
  if (row.sparse == Qual::none) {
    form.result(row.sinks);
    form.multiplicands();
  } else {
    form.result(false);
    form.multiplicands();
    form.registers_only("e", Type::b32);
    form.selector();
  }
  form.scales();
}

void make_wmma_mma(const MatrixRow& row, Builder& form) {
  form.bit_operation();
  form.sync_aligned();
  form.multiplied_layouts();
  form.shape();
  form.rounding();
  form.types();
  form.satfinite();
  form.result(row.sinks);
  form.multiplicands();
}

// wmma.load and wmma.store.
void make_wmma_move(const MatrixRow& row, Builder& form) {
  constexpr Qual kLetters[] = {Qual::a, Qual::b, Qual::c, Qual::d};
  form.fixed_word(kLetters[static_cast<size_t>(row.matrix)]);
  form.sync_aligned();
  if (row.layouts == Layouts::row_col && row.matrix == Matrix::a)
    form.word(Qual::row);
  else if (row.layouts == Layouts::row_col && row.matrix == Matrix::b)
    form.word(Qual::col);
  else
    form.choice("layout", {Qual::row, Qual::col});
  form.shape();
  form.space();
  form.types();
  if (row.opcode == Opcode::wmma_load)
    form.fragment("d", row.matrix).sink = row.sinks;
  form.address();
  if (row.opcode == Opcode::wmma_store)
    form.fragment("r", row.matrix);
  form.stride();
}

// ldmatrix and stmatrix.
void make_rows_move(const MatrixRow& row, Builder& form) {
  const auto [m, n, k] = row.shape;
  form.sync_aligned();
  form.shape();
  form.choice("num",
              m * n == 256 ? std::vector{Qual::x1, Qual::x2} : std::vector{Qual::x1, Qual::x2, Qual::x4});
  if (m * n == 64 || m == 16)
    form.word(Qual::trans, m * n == 64);
  form.choice("ss", {Qual::shared, Qual::shared_cta}, true);
  if (row.packing != Qual::none)
    form.words({Qual::b8x16, row.packing});
  else
    form.types();
  if (row.opcode == Opcode::stmatrix) {
    form.address();
    form.matrices("r", 1).immediate = false;
  } else {
    form.matrices("d", m * n == 256 ? 2 : 1).sink = true;
    form.address();
  }
}

void make_movmatrix(Builder& form) {
  form.sync_aligned();
  form.shape();
  form.word(Qual::trans);
  form.types();
  form.data("d", Type::b32).same_bits = true;
  OperandSpec& a = form.data("a", Type::b32);
  a.same_bits = true;
  a.immediate = false;
}

void make_wgmma(const MatrixRow& row, bool a_in_registers, Builder& form) {
  const auto [count, type] = registers_of(row, Matrix::d, row.types.d.first());
  form.word(row.sparse);
  form.sync_aligned();
  form.shape();
  form.satfinite();
  form.types();
  form.bit_operation();
  OperandSpec& d = form.data("d", type);
  d.elems_slot = 2 + (row.sparse != Qual::none);
  d.elems_n = true;
  d.elems_over = static_cast<uint8_t>(row.shape.n / count);
  d.no_sinks = true;
  if (a_in_registers)
    form.vector("a", Type::b32, 4);
  else
    form.registers_only("a-desc", Type::b64);
  form.registers_only("b-desc", Type::b64);
  if (row.sparse != Qual::none) {
    form.registers_only("sp-meta", Type::b32);
    form.immediate("sp-sel", 0, layout::selectors(metadata_of(row)) - 1);
  }
  form.data("scale-d", Type::pred).negatable = true;
  if (row.numeric == Numeric::floating) {
    form.immediate("imm-scale-a", -1, 1, 2);
    form.immediate("imm-scale-b", -1, 1, 2);
  }
  if (row.transposes && !a_in_registers)
    form.immediate("imm-trans-a", 0, 1);
  if (row.transposes)
    form.immediate("imm-trans-b", 0, 1);
}

// --- text ---

std::string range_of(const OperandSpec& spec) {
  return fmt::format("({}..{}{})", spec.min, spec.max, spec.step == 1 ? "" : fmt::format("/{}", spec.step));
}

std::string text_of(const Form& form, const OperandSpec& spec) {
  if (spec.kind == OperandSpec::Kind::address)
    return fmt::format("[{}]", spec.name);
  std::string text = (spec.negatable ? "{!}" : "") + spec.name + ":";
  if (!spec.reg) {
    text += "imm";
  } else {
    const std::string_view type = spec.type_slot >= 0
                                      ? to_string(form.slots[static_cast<size_t>(spec.type_slot)].types[0])
                                      : to_string(spec.type);
    text += spec.same_bits ? fmt::format("bits({})", type) : std::string(type);
  }
  if (!spec.one_of.empty())
    text += fmt::format("({})", fmt::join(spec.one_of, " "));
  if (spec.ranged)
    text += range_of(spec);
  if (spec.elems_slot >= 0)
    text += fmt::format("[{}{}{}{}]", form.slots[static_cast<size_t>(spec.elems_slot)].name,
                        spec.elems_n ? ".n" : "",
                        spec.elems_times != 1 ? fmt::format("*{}", spec.elems_times) : "",
                        spec.elems_over != 1 ? fmt::format("/{}", spec.elems_over) : "");
  else if (spec.elems != 0)
    text += fmt::format("[{}]", spec.elems);
  else if (spec.elems_or[0] != 0)
    text += fmt::format("[0 {}]", spec.elems_or[0]);
  if (!spec.written && spec.reg && !spec.immediate)
    text += "-imm";
  return text + (spec.no_sinks ? "-_" : spec.sink ? "+_" : "");
}

// ".m64n(8..256/8)k16" of shapes that differ in N, evenly; else each.
std::string text_of(const std::vector<Qual>& quals) {
  std::string text;
  for (size_t i = 0; i < quals.size();) {
    const auto shape = matrix_shape(to_string(quals[i]));
    const auto n_at = [&](size_t at) {
      const auto other = matrix_shape(to_string(quals[at]));
      return other ? (*other)[1] : 0;
    };
    size_t last = i;
    if (shape && i + 1 < quals.size())
      for (const int step = n_at(i + 1) - n_at(i);
           step > 0 && last + 1 < quals.size() && n_at(last + 1) - n_at(last) == step;)
        ++last;
    if (!shape || last < i + 2) {
      text += fmt::format(" .{}", to_string(quals[i++]));
      continue;
    }
    text += fmt::format(" .m{}n({}..{}/{})k{}", (*shape)[0], n_at(i), n_at(last), n_at(i + 1) - n_at(i),
                        (*shape)[2]);
    i = last + 1;
  }
  return text;
}

} // namespace

std::vector<Form> matrix_forms(const MatrixRow& row, std::vector<std::string>& errors) {
  std::vector<Form> forms;
  for (int i = 0; i < forms_of_row(row); ++i) {
    Builder form(row, errors);
    switch (row.opcode) {
    case Opcode::wgmma_mma_async:
      make_wgmma(row, i == 1, form);
      break;
    case Opcode::wmma_mma:
      make_wmma_mma(row, form);
      break;
    case Opcode::wmma_load:
    case Opcode::wmma_store:
      make_wmma_move(row, form);
      break;
    case Opcode::ldmatrix:
    case Opcode::stmatrix:
      make_rows_move(row, form);
      break;
    case Opcode::movmatrix:
      make_movmatrix(form);
      break;
    default:
      make_mma(row, form);
    }
    forms.push_back(form.take());
  }
  return forms;
}

std::string syntax_of(const Form& form) {
  if (!form.syntax.empty())
    return std::string(form.syntax);
  std::string text(to_string(form.opcode));
  for (const Slot& slot : form.slots) {
    const std::string word = slot.name.starts_with('.') ? slot.name : fmt::format(".{}", slot.name);
    text += slot.optional ? fmt::format("{{{}}}", word) : word;
  }
  std::string_view before = "  ";
  for (const OperandSpec& spec : form.operands) {
    text += spec.group < 0 ? fmt::format("{}{}", before, text_of(form, spec))
                           : fmt::format("{{{}{}}}", before, text_of(form, spec));
    before = ", ";
  }
  return text;
}

std::string syntax_of(const MatrixRow& row) {
  return syntax_of(form_of(row));
}

std::string where_of(const Form& form) {
  if (!form.syntax.empty())
    return std::string(form.where);
  std::string text;
  for (const Slot& slot : form.slots) {
    if (slot.name.starts_with('.'))
      continue;
    text += fmt::format("{}{} =", text.empty() ? "" : "; ", slot.name);
    text += text_of(slot.quals);
    for (const Type type : slot.types)
      text += fmt::format(" .{}", to_string(type));
  }
  return text;
}

} // namespace lemma::isa
