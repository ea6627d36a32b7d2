// PTX text of fragments. See fragment_text.h.
#include "golden/fragment_text.h"

#include <fmt/format.h>

namespace lemma::golden {

FragmentText fragment_registers(const isa::MatrixRow& row, layout::Matrix matrix, isa::Type type) {
  const isa::FragmentRegisters r = isa::registers_of(row, matrix, type);
  FragmentText out{.element = type, .count = r.count};
  out.bits = isa::bits_of(r.type);
  out.elems = out.bits / isa::bits_of(type);
  return out;
}

FragmentText word_registers(isa::Type element, int count) {
  return {.element = element, .count = count, .bits = 32, .elems = 32 / isa::bits_of(element)};
}

Plane fragment_plane(std::string name, const FragmentText& fragment) {
  const auto count = static_cast<uint32_t>(fragment.count);
  if (isa::bits_of(fragment.element) < 8)
    return {.name = std::move(name),
            .type = isa::Type::u8,
            .element_bytes = 1,
            .per_unit = count * 32 * 4,
            .dims = {{"register", count}, {"lane", 32}, {"byte", 4}}};
  return {.name = std::move(name),
          .type = fragment.element,
          .element_bytes = static_cast<uint32_t>(isa::bits_of(fragment.element)) / 8,
          .per_unit = fragment.per_warp(),
          .dims = {{"register", count}, {"lane", 32}, {"element", static_cast<uint32_t>(fragment.elems)}}};
}

std::string declare_fragment(std::string_view name, const FragmentText& fragment) {
  return fmt::format("  .reg .{} %{}<{}>;\n", fragment.bits == 64 ? "f64" : "b32", name, fragment.count);
}

std::string register_list(std::string_view name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

std::string transfer_fragment(bool load, std::string_view name, const FragmentText& fragment,
                              const Plane& plane) {
  const int bytes = fragment.bits / 8;
  std::string text = fmt::format("  mad.wide.u32 %_p, %_w, {}, {};\n  mad.wide.u32 %_p, %_n, {}, %_p;\n",
                                 plane.unit_bytes(), load ? "%_in" : "%_out", bytes);
  for (int i = 0; i < fragment.count; ++i) {
    const uint64_t offset = plane.offset_bytes + static_cast<uint64_t>(i) * 32 * static_cast<uint64_t>(bytes);
    text += load ? fmt::format("  ld.global.b{} %{}{}, [%_p+{}];\n", fragment.bits, name, i, offset)
                 : fmt::format("  st.global.b{} [%_p+{}], %{}{};\n", fragment.bits, offset, name, i);
  }
  return text;
}

} // namespace lemma::golden
