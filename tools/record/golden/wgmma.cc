// Cases of wgmma: a unit is a warpgroup, a CTA of its own. See matrix.h.
//
// Its shared memory is filled from memory, byte by byte as generated, so that where the hardware finds an
// element is checked with what it computes. Accumulators, and A where it comes in registers, are raw
// registers, planes of [unit][register][thread].
//
// Forms meet every accumulator, both sources of A, widths of N, swizzles, major orders, signs and scale-d:
// each case has its own mixture, so that every value of each occurs for every type. The cases named
// "descriptor" have random offsets, start addresses and base offsets.
//
// Of wgmma.mma_async.sp the same, with random metadata in every thread, legal in those too that the sparsity
// selector leaves out.
#include "golden/matrix.h"
#include "golden/sparse_values.h"
#include "golden/thread_kernel.h"
#include "layout/smem_descriptor.h"
#include "layout/sparse.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::golden {
namespace {

using isa::Type;
using layout::SmemDescriptor;
using layout::Swizzle;

constexpr uint32_t kThreads = 128;
constexpr uint32_t kRows = 64;
constexpr uint32_t kOutputsPerPart = 8192;
constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128};

// Types and modifiers of a form.
struct WgmmaForm {
  std::string types = {}; // ".f32.f16.f16", with .satfinite and .and.popc in their places
  std::string suffix = {};
  Type d = Type::none, a = Type::none, b = Type::none;
  uint32_t k = 0;
  bool has_scales = false, has_transposes = false;
  bool multiple_of_16 = false; // N, but for 8 and 24
  bool sparse = false;

  // K elements: of A as it is stored, and of B.
  uint32_t a_row_bytes() const { return 32; }
  uint32_t b_row_bytes() const { return sparse ? 64 : 32; }
};

std::vector<WgmmaForm> wgmma_forms(bool sparse) {
  std::vector<WgmmaForm> forms;
  for (const Type d : {Type::f32, Type::f16})
    forms.push_back({.types = "",
                     .d = d,
                     .a = Type::f16,
                     .b = Type::f16,
                     .k = 16,
                     .has_scales = true,
                     .has_transposes = true});
  forms.push_back({.types = "",
                   .d = Type::f32,
                   .a = Type::bf16,
                   .b = Type::bf16,
                   .k = 16,
                   .has_scales = true,
                   .has_transposes = true});
  forms.push_back(
      {.types = "", .d = Type::f32, .a = Type::tf32, .b = Type::tf32, .k = 8, .has_scales = true});
  for (const Type d : {Type::f32, Type::f16})
    for (const Type a : {Type::e4m3, Type::e5m2})
      for (const Type b : {Type::e4m3, Type::e5m2})
        forms.push_back({.types = "", .d = d, .a = a, .b = b, .k = 32, .has_scales = true});
  for (const char* satfinite : {"", ".satfinite"})
    for (const Type a : {Type::s8, Type::u8})
      for (const Type b : {Type::s8, Type::u8})
        forms.push_back(
            {.types = satfinite, .d = Type::s32, .a = a, .b = b, .k = 32, .multiple_of_16 = true});
  if (!sparse)
    forms.push_back({.types = "",
                     .suffix = ".and.popc",
                     .d = Type::s32,
                     .a = Type::b1,
                     .b = Type::b1,
                     .k = 256,
                     .multiple_of_16 = true});
  for (WgmmaForm& form : forms) {
    form.sparse = sparse;
    form.k *= sparse ? 2 : 1;
    form.types += fmt::format(".{}.{}.{}{}", isa::to_string(form.d), isa::to_string(form.a),
                              isa::to_string(form.b), form.suffix);
  }
  return forms;
}

// What one case fixes.
struct WgmmaCase {
  WgmmaForm form;
  uint32_t n = 64;
  bool a_in_registers = false;
  Swizzle swizzle_a = Swizzle::none, swizzle_b = Swizzle::none;
  bool transpose_a = false, transpose_b = false;
  bool negate_a = false, negate_b = false;
  bool scale_d = true;
  uint32_t advance = 0; // bytes along K from the start of the swizzle line; K-major only
  bool random_descriptor = false;
  int selector = 0; // sparse

  uint32_t d_registers() const { return form.d == Type::f16 ? n / 4 : n / 2; }
};

// The usual descriptor of a matrix of `rows` at an offset, and the bytes that it spans. Rows longer than a
// swizzle line reach into the next one.
SmemDescriptor usual(Swizzle swizzle, bool mn_major, uint32_t rows, uint32_t row_bytes, uint32_t advance) {
  const uint32_t line = line_bytes(swizzle);
  SmemDescriptor d{.swizzle = swizzle};
  if (!mn_major) {
    d.stride = swizzle == Swizzle::none ? 8 * row_bytes : 8 * line;
    d.leading = 128;
    d.start = swizzle == Swizzle::none ? 0 : advance;
  } else if (swizzle == Swizzle::none) {
    d.stride = 128;
    d.leading = rows / 8 * 128;
  } else {
    d.stride = 8 * line;
    d.leading = row_bytes / 2 * line;
  }
  return d;
}

uint32_t span_of(Swizzle swizzle, bool mn_major, uint32_t rows, uint32_t row_bytes) {
  const uint32_t line = line_bytes(swizzle);
  if (swizzle == Swizzle::none)
    return rows * row_bytes;
  if (mn_major)
    return (rows * 2 + line - 1) / line * line * row_bytes / 2;
  return rows * line + (row_bytes > line ? row_bytes - line : 0);
}

uint32_t round_up(uint32_t bytes) {
  return (bytes + 1023) / 1024 * 1024;
}

std::string name_of(const WgmmaCase& w) {
  const auto matrix = [](Swizzle swizzle, bool transposed) {
    return fmt::format("{}{}", swizzle == Swizzle::none ? 0 : line_bytes(swizzle), transposed ? "t" : "");
  };
  std::string name = fmt::format("m64n{}k{}{}", w.n, w.form.k, w.form.types);
  if (w.random_descriptor)
    name += ".descriptor";
  name += w.a_in_registers ? ".a-reg" : ".a-" + matrix(w.swizzle_a, w.transpose_a);
  name += ".b-" + matrix(w.swizzle_b, w.transpose_b);
  if (w.advance)
    name += fmt::format(".k+{}", w.advance);
  name += w.negate_a ? ".neg-a" : "";
  name += w.negate_b ? ".neg-b" : "";
  name += w.form.sparse ? fmt::format(".selector{}", w.selector) : "";
  return name + (w.scale_d ? "" : ".no-c");
}

Type memory_type(Type type) {
  return type == Type::b1 ? Type::u8 : type;
}

Values values_for(Type type) {
  if (type == Type::e4m3 || type == Type::e5m2) {
    Values values = values_of(type == Type::e4m3 ? Type::e4m3x2 : Type::e5m2x2);
    values.lanes = 1;
    return values;
  }
  return values_of(memory_type(type));
}

uint32_t element_size(Type type) {
  return static_cast<uint32_t>(isa::bits_of(memory_type(type))) / 8;
}

// Loads or stores the registers of a plane [unit][register][thread].
std::string transfer(bool load, std::string_view name, uint32_t count, const Plane& plane) {
  std::string text = fmt::format("  mad.wide.u32 %_p, %_u, {}, {};\n  mad.wide.u32 %_p, %_t, 4, %_p;\n",
                                 plane.unit_bytes(), load ? "%_in" : "%_out");
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = plane.offset_bytes + i * kThreads * 4;
    text += load ? fmt::format("  ld.global.b32 %{}{}, [%_p+{}];\n", name, i, at)
                 : fmt::format("  st.global.b32 [%_p+{}], %{}{};\n", at, name, i);
  }
  return text;
}

std::string registers(std::string_view name, uint32_t count) {
  std::string text = "{";
  for (uint32_t i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

Plane register_plane(std::string name, Type element, uint32_t count) {
  const uint32_t in_word = 4 / element_size(element);
  return {.name = std::move(name),
          .type = memory_type(element),
          .element_bytes = element_size(element),
          .per_unit = count * kThreads * in_word,
          .dims = {{"register", count}, {"thread", kThreads}, {"element", in_word}}};
}

// Statements that make %_da and %_db, the descriptors, from %_base, the address of the tile.
std::string descriptor_text(const WgmmaCase& w, uint32_t b_offset, const Plane* random) {
  std::string text = "  .reg .b64 %_da, %_db, %_base;\n  .reg .b32 %_s;\n  mov.u32 %_s, tile;\n"
                     "  and.b32 %_s, %_s, 262143;\n  shr.u32 %_s, %_s, 4;\n  cvt.u64.u32 %_base, %_s;\n";
  if (!w.a_in_registers)
    text += fmt::format("  add.u64 %_da, %_base, {:#x};\n",
                        usual(w.swizzle_a, w.transpose_a, kRows, w.form.a_row_bytes(), w.advance).encode());
  if (random)
    return text + fmt::format("  mad.wide.u32 %_p, %_u, 8, %_in;\n  ld.global.b64 %_db, [%_p+{}];\n"
                              "  add.u64 %_db, %_db, %_base;\n",
                              random->offset_bytes);
  SmemDescriptor b = usual(w.swizzle_b, w.transpose_b, w.n, w.form.b_row_bytes(), w.advance);
  b.start += b_offset;
  return text + fmt::format("  add.u64 %_db, %_base, {:#x};\n", b.encode());
}

constexpr uint32_t kDescriptorBytes = 32768; // that a random descriptor of 64 columns may lead to

uint64_t random_descriptor(Swizzle swizzle, numeric::Random& random) {
  SmemDescriptor d{.swizzle = swizzle};
  const auto multiple = [&](uint64_t below, uint32_t of) {
    return static_cast<uint32_t>(random.below(below)) * of;
  };
  // Lines of 128 bytes and more are mostly strides of whole lines; some are not.
  const uint32_t unit = random.bits(1) != 0 ? line_bytes(swizzle) : 16;
  d.stride = multiple(2048 / unit, unit);
  d.leading = multiple(2048 / unit, unit);
  d.start = multiple(4096 / 16, 16);
  d.base_offset = random.bits(1) != 0 ? static_cast<uint32_t>(random.bits(3)) : 0;
  return d.encode();
}

// Without a fill.
Case start_case(const WgmmaCase& w, std::string name, std::vector<Part> parts) {
  const uint32_t a_span = span_of(w.swizzle_a, w.transpose_a, kRows, w.form.a_row_bytes()),
                 b_span = span_of(w.swizzle_b, w.transpose_b, w.n, w.form.b_row_bytes());
  const uint32_t a_bytes = w.a_in_registers ? 0 : round_up(a_span + w.advance);
  const uint32_t b_bytes = w.random_descriptor ? kDescriptorBytes : round_up(b_span + w.advance);
  Case c;
  c.name = std::move(name);
  c.family = (w.form.sparse ? ".sp" : "") + w.form.types + (w.random_descriptor ? ".descriptor" : "");
  c.entry = entry_name(c.name);
  c.unit_name = "warpgroup";
  c.block[0] = kThreads;
  const auto plane_of = [](std::string name, Type type, uint32_t bytes) {
    return Plane{.name = std::move(name),
                 .type = memory_type(type),
                 .element_bytes = element_size(type),
                 .per_unit = bytes / element_size(type)};
  };
  // A first where it is in shared memory, else in registers.
  c.inputs = {w.a_in_registers ? register_plane("a", w.form.a, 4) : plane_of("a", w.form.a, a_bytes),
              plane_of("b", w.form.b, b_bytes), register_plane("c", w.form.d, w.d_registers())};
  if (w.random_descriptor)
    c.inputs.push_back({.name = "descriptor", .type = Type::b64, .element_bytes = 8, .per_unit = 1});
  const size_t metadata = c.inputs.size();
  if (w.form.sparse)
    c.inputs.push_back(register_plane("metadata", Type::u32, 1));
  c.outputs = {register_plane("d", w.form.d, w.d_registers())};
  c.parts = std::move(parts);
  c.units = c.parts.back().first + c.parts.back().units;
  c.grid[0] = static_cast<uint32_t>(c.units);
  lay_out(c.inputs, c.units);
  lay_out(c.outputs, c.units);

  c.text = kernel_head(c.entry) + "  .reg .b32 %_u, %_t;\n  .reg .pred %_sd;\n  mov.u32 %_u, %ctaid.x;\n"
                                  "  mov.u32 %_t, %tid.x;\n  .reg .b32 %_v<4>;\n";
  c.text += fmt::format("  .shared .align 1024 .b8 tile[{}];\n", a_bytes + b_bytes);
  c.text += fmt::format("  .reg .b32 %d<{}>;\n  .reg .b32 %a<4>;\n", w.d_registers());
  c.text += descriptor_text(w, a_bytes, w.random_descriptor ? &c.inputs[3] : nullptr);
  const auto fill_shared = [&](const Plane& plane, uint32_t at, uint32_t bytes) {
    c.text += fmt::format("  mov.u32 %_s, tile;\n  mad.lo.u32 %_s, %_t, 16, %_s;\n"
                          "  mad.wide.u32 %_p, %_u, {}, %_in;\n  mad.wide.u32 %_p, %_t, 16, %_p;\n",
                          plane.unit_bytes());
    for (uint32_t i = 0; i < bytes; i += kThreads * 16) {
      const bool part = bytes - i < kThreads * 16;
      if (part)
        c.text += fmt::format("  setp.lt.u32 %_sd, %_t, {};\n", (bytes - i) / 16);
      const char* guard = part ? "@%_sd " : "";
      c.text += fmt::format("  {0}ld.global.v4.b32 {{%_v0, %_v1, %_v2, %_v3}}, [%_p+{1}];\n"
                            "  {0}st.shared.v4.b32 [%_s+{2}], {{%_v0, %_v1, %_v2, %_v3}};\n",
                            guard, plane.offset_bytes + i, at + i);
    }
  };
  if (w.a_in_registers)
    c.text += transfer(true, "a", 4, c.inputs[0]);
  else
    fill_shared(c.inputs[0], 0, a_bytes);
  fill_shared(c.inputs[1], a_bytes, b_bytes);
  c.text += transfer(true, "d", w.d_registers(), c.inputs[2]);
  if (w.form.sparse)
    c.text += "  .reg .b32 %e<1>;\n" + transfer(true, "e", 1, c.inputs[metadata]);
  c.text += fmt::format("  fence.proxy.async;\n  bar.sync 0;\n  setp.{}.u32 %_sd, %_t, 4096;\n"
                        "  wgmma.fence.sync.aligned;\n",
                        w.scale_d ? "lt" : "gt");
  c.text += fmt::format("  wgmma.mma_async{}.sync.aligned.m64n{}k{}{} {}, {}, %_db, {}%_sd",
                        w.form.sparse ? ".sp" : "", w.n, w.form.k, w.form.types,
                        registers("d", w.d_registers()), w.a_in_registers ? registers("a", 4) : "%_da",
                        w.form.sparse ? fmt::format("%e0, {}, ", w.selector) : "");
  if (w.form.has_scales)
    c.text += fmt::format(", {}, {}", w.negate_a ? -1 : 1, w.negate_b ? -1 : 1);
  if (w.form.has_transposes && !w.a_in_registers)
    c.text += fmt::format(", {}", int{w.transpose_a});
  if (w.form.has_transposes)
    c.text += fmt::format(", {}", int{w.transpose_b});
  c.text += ";\n  wgmma.commit_group.sync.aligned;\n  wgmma.wait_group.sync.aligned 0;\n";
  c.text += transfer(false, "d", w.d_registers(), c.outputs[0]) + "  ret;\n}\n";

  return c;
}

Case make_case(const WgmmaCase& w) {
  const uint64_t units = w.random_descriptor ? 64 : std::max(1u, kOutputsPerPart / (kRows * w.n));
  std::vector<Part> parts;
  if (w.random_descriptor)
    parts = {{"ordinary", 0, units}};
  else
    for (const numeric::OperandClass oc : numeric::kAllOperandClasses)
      parts.push_back({std::string(numeric::to_string(oc)), parts.size() * units, units});
  Case c = start_case(w, name_of(w), std::move(parts));
  const size_t metadata = w.random_descriptor ? 4 : 3; // sparse: the last plane

  const MatrixFormats formats{values_for(w.form.a), values_for(w.form.b), values_for(w.form.d),
                              c.inputs[0].per_unit, c.inputs[1].per_unit, c.inputs[2].per_unit};
  c.fill = [formats, w, metadata](const Part& part, numeric::Random& random, Inputs& inputs) {
    const numeric::OperandClass oc = operand_class(part.name);
    for (uint64_t unit = part.first; unit < part.first + part.units; ++unit) {
      MatrixOperands m = make_matrix_operands(formats, oc, random);
      if (w.form.sparse && oc == numeric::OperandClass::cancelling)
        pair_for_sparse(m);
      const std::vector<uint64_t>* planes[] = {&m.a, &m.b, &m.c};
      for (size_t k = 0; k < 3; ++k)
        for (size_t i = 0; i < planes[k]->size(); ++i)
          inputs.set(k, unit * planes[k]->size() + i, (*planes[k])[i]);
      if (w.random_descriptor)
        inputs.set(3, unit, random_descriptor(w.swizzle_b, random));
      for (uint64_t thread = 0; w.form.sparse && thread < kThreads; ++thread)
        inputs.set(metadata, unit * kThreads + thread, make_metadata(isa::bits_of(w.form.a), false, random));
    }
  };
  return c;
}

// The cases of one form: all widths with both sources of A, the other choices turning; then every swizzle and
// major order.
void add_cases(const WgmmaForm& form, size_t index, std::vector<Case>& cases) {
  size_t turn = index;
  const int selectors = form.sparse ? layout::selectors(layout::metadata_fragment(
                                          kRows, static_cast<int>(form.k), isa::bits_of(form.a)))
                                    : 1;
  const auto add = [&](WgmmaCase w) {
    w.selector = static_cast<int>(turn / 4) % selectors;
    w.negate_a = form.has_scales && (turn & 1) != 0;
    w.negate_b = form.has_scales && (turn & 2) != 0;
    w.scale_d = turn % 5 != 4;
    ++turn;
    cases.push_back(make_case(w));
  };
  for (const uint32_t n : {8u, 24u, 64u, 128u, form.multiple_of_16 ? 192u : 184u, 256u})
    for (const bool a_in_registers : {false, true}) {
      WgmmaCase w{.form = form, .n = n, .a_in_registers = a_in_registers};
      w.swizzle_a = kSwizzles[turn % 4];
      w.swizzle_b = kSwizzles[(turn / 2 + 3) % 4];
      w.transpose_b = form.has_transposes && turn % 3 == 2;
      add(w);
    }
  for (const Swizzle swizzle : kSwizzles)
    for (int transposes = 0; transposes < (form.has_transposes ? 4 : 1); ++transposes) {
      WgmmaCase w{.form = form, .swizzle_a = swizzle, .swizzle_b = swizzle};
      w.transpose_a = (transposes & 1) != 0;
      w.transpose_b = (transposes & 2) != 0;
      if (transposes == 0 && swizzle != Swizzle::none)
        w.advance = line_bytes(swizzle) - std::min(form.b_row_bytes(), line_bytes(swizzle));
      w.n = 40 + 8 * static_cast<uint32_t>(turn % 3);
      if (form.multiple_of_16)
        w.n = 48;
      add(w);
    }
}

std::vector<Case> cases_of(bool sparse) {
  std::vector<Case> cases;
  const std::vector<WgmmaForm> forms = wgmma_forms(sparse);
  for (size_t i = 0; i < forms.size(); ++i)
    add_cases(forms[i], i, cases);
  for (const Swizzle swizzle : kSwizzles)
    for (const bool transpose : {false, true})
      cases.push_back(make_case({.form = forms[0],
                                 .n = 64,
                                 .a_in_registers = true,
                                 .swizzle_b = swizzle,
                                 .transpose_b = transpose,
                                 .random_descriptor = true}));
  return cases;
}

} // namespace

Case wgmma_case(const MatrixSpelling& s, int n, int selector, std::string name, std::vector<Part> parts) {
  const isa::MatrixRow& row = *s.row;
  const bool floating = row.numeric == isa::Numeric::floating;
  const std::string shape = fmt::format(".m{}n{}k{}", row.shape.m, n, row.shape.k);
  const WgmmaForm form{.types = s.text.substr(s.text.find(shape) + shape.size()),
                       .d = s.d,
                       .a = s.a,
                       .b = s.b,
                       .k = static_cast<uint32_t>(row.shape.k),
                       .has_scales = floating,
                       .has_transposes = row.transposes,
                       .sparse = row.sparse != isa::Qual::none};
  return start_case({.form = form,
                     .n = static_cast<uint32_t>(n),
                     .a_in_registers = true,
                     .selector = std::max(selector, 0)},
                    std::move(name), std::move(parts));
}

std::vector<Case> wgmma_sp_cases(std::string_view) {
  return cases_of(true);
}

std::vector<Case> wgmma_cases(std::string_view) {
  std::vector<Case> cases = cases_of(false);
  for (Case& c : wgmma_address_cases())
    cases.push_back(std::move(c));
  return cases;
}

} // namespace lemma::golden
