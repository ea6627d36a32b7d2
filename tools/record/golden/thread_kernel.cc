// PTX text of one-thread-one-element kernels. See thread_kernel.h.
#include "golden/thread_kernel.h"

#include <fmt/format.h>

#include <cctype>

namespace lemma::golden {

std::string entry_name(std::string_view case_name) {
  std::string entry = "k_";
  for (const char c : case_name) {
    if (std::isalnum(static_cast<unsigned char>(c)))
      entry += c;
    else if (c == '!')
      entry += "not_";
    else if (entry.back() != '_')
      entry += '_';
  }
  return entry;
}

std::string kernel_head(std::string_view entry, size_t maps) {
  std::string parameters, addresses;
  for (size_t i = 0; i < maps; ++i) {
    parameters += fmt::format(", .param .align 64 .b8 map{}[128]", i);
    addresses += fmt::format(
        "  .reg .b64 %_map{0};\n  mov.b64 %_map{0}, map{0};\n  cvta.param.u64 %_map{0}, %_map{0};\n", i);
  }
  return fmt::format(R"(.visible .entry {}(.param .u64 in, .param .u64 out{})
{{
  .reg .b64 %_in, %_out, %_p;
  .reg .b32 %_i, %_n, %_c, %_w;
  .reg .b16 %_h;
  ld.param.u64 %_in, [in];
  ld.param.u64 %_out, [out];
  cvta.to.global.u64 %_in, %_in;
  cvta.to.global.u64 %_out, %_out;
  mov.u32 %_c, %ctaid.x;
  mov.u32 %_n, %ntid.x;
  mov.u32 %_i, %tid.x;
  mad.lo.u32 %_i, %_c, %_n, %_i;
)",
                     entry, parameters) +
         addresses;
}

ThreadKernel::ThreadKernel(std::string name, std::string family)
    : name_(std::move(name)), family_(std::move(family)) {}

ThreadKernel::Register ThreadKernel::make_register(std::string_view name, isa::Type type, int bits) {
  Register r{.plane = {.name = std::string(name), .type = type}, .bits = bits};
  r.plane.element_bytes = bits == 1 ? 1 : static_cast<uint32_t>(bits) / 8;
  return r;
}

void ThreadKernel::declare_register(const Register& r) {
  declare(fmt::format(".reg .{} %{};", r.bits == 1 ? "pred" : fmt::format("b{}", r.bits), r.plane.name));
}

void ThreadKernel::in(std::string_view name, isa::Type type, int bits) {
  in_.push_back(make_register(name, type, bits));
  declare_register(in_.back());
}

void ThreadKernel::out(std::string_view name, isa::Type type, int bits) {
  out_.push_back(make_register(name, type, bits));
  declare_register(out_.back());
}

void ThreadKernel::memory(std::string_view name, isa::Type type, uint32_t element_bytes, uint32_t per_unit) {
  Register r;
  r.plane = {
      .name = std::string(name) + "0", .type = type, .element_bytes = element_bytes, .per_unit = per_unit};
  in_.push_back(r);
  r.plane.name = name;
  r.plane.initial = static_cast<int>(in_.size() - 1);
  out_.push_back(r);
  declare(fmt::format(".reg .b64 %{};", name));
}

Case ThreadKernel::finish(uint64_t units) const {
  Case c;
  c.name = name_;
  c.family = family_.empty() ? name_ : family_;
  c.entry = entry_name(name_);
  c.block[0] = block_;
  c.grid[0] = static_cast<uint32_t>(units / block_);
  if (cluster_ != 0)
    c.cluster = {cluster_, 1, 1};
  c.units = units;
  c.parts = {{.name = "all", .first = 0, .units = units}};
  for (const Register& r : in_)
    c.inputs.push_back(r.plane);
  for (const Register& r : out_)
    c.outputs.push_back(r.plane);
  lay_out(c.inputs, units);
  lay_out(c.outputs, units);

  c.common = prefix_;
  c.text = kernel_head(c.entry) + "  and.b32 %_n, %_i, 31;\n" + declarations_;
  for (size_t k = 0; k < in_.size(); ++k)
    c.text += load_text(in_[k], c.inputs[k]);
  for (size_t k = 0; k < out_.size(); ++k)
    if (out_[k].bits == 0)
      c.text += fmt::format("  mad.wide.u32 %{0}, %_i, {1}, %_out;\n  add.u64 %{0}, %{0}, {2};\n",
                            out_[k].plane.name, c.outputs[k].unit_bytes(), c.outputs[k].offset_bytes);
  const char* meet =
      cluster_ == 0 ? "" : "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n";
  c.text += meet + body_ + meet;
  for (size_t k = 0; k < out_.size(); ++k)
    c.text += store_text(out_[k], c.outputs[k]);
  c.text += "  ret;\n}\n";
  return c;
}

std::string ThreadKernel::load_text(const Register& r, const Plane& plane) {
  if (r.bits == 0)
    return {};
  const std::string address = fmt::format("  mad.wide.u32 %_p, %_i, {}, %_in;\n", plane.element_bytes);
  if (r.bits == 1)
    return address + fmt::format("  ld.global.u8 %_h, [%_p+{}];\n  setp.ne.b16 %{}, %_h, 0;\n",
                                 plane.offset_bytes, plane.name);
  return address + fmt::format("  ld.global.b{} %{}, [%_p+{}];\n", r.bits, plane.name, plane.offset_bytes);
}

std::string ThreadKernel::store_text(const Register& r, const Plane& plane) {
  if (r.bits == 0)
    return {};
  const std::string address = fmt::format("  mad.wide.u32 %_p, %_i, {}, %_out;\n", plane.element_bytes);
  if (r.bits == 1)
    return address + fmt::format("  selp.b16 %_h, 1, 0, %{};\n  st.global.u8 [%_p+{}], %_h;\n", plane.name,
                                 plane.offset_bytes);
  return address + fmt::format("  st.global.b{} [%_p+{}], %{};\n", r.bits, plane.offset_bytes, plane.name);
}

} // namespace lemma::golden
