// What may stand for an operand: a whole vector register in the place of a list of registers, and the sum of
// a register and a constant. PTX ISA: "Vectors as Operands", "Constant Expressions", "mov".
#include "golden/fill.h"
#include "golden/templates.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

namespace lemma::golden {
namespace {

using isa::Type;

constexpr uint64_t kUnits = 1024;

// From %a, %b, %c, %d, which %t holds too, to %s. %m: 16 bytes of the thread's own.
struct Kernel {
  const char* name;
  const char* body;
  const char* before = ""; // functions
};
constexpr const char* kDeclarations = ".reg .v4 .b32 %t, %s; .reg .v2 .b32 %g, %h; .reg .v2 .b64 %l;\n"
                                      "  .reg .v4 .b16 %q; .reg .v2 .b16 %k; .reg .b64 %e; .reg .b128 %o;\n"
                                      "  .reg .v4 .f32 %f; .reg .b16 %i;";

constexpr Kernel kKernels[] = {
    {"mov.v4.b32", "mov.v4.b32 %s, %t;"},
    {"mov.v4.b32 list", "mov.v4.b32 %s, {%t.w, %a, %t.y, %b};"},
    {"mov.v4.b32 permutes", R"(mov.v4.b32 {%t.x, %t.y, %t.z, %t.w}, {%t.w, %t.z, %t.y, %t.x};
  mov.v4.b32 {%s.r, %s.g, %s.b, %s.a}, %t;)"},
    {"mov.v4.b32 tid", "mov.v4.b32 %s, %tid;"},
    {"mov.v2.b32", R"(mov.v2.b32 %g, {%t.y, %t.x};
  mov.v2.b32 %h, %g;
  mov.v4.b32 %s, {%h.x, %h.y, %g.y, %g.x};)"},
    {"mov.v2.b64", R"(mov.b128 %o, %t;
  mov.b128 %l, %o;
  mov.v2.b64 %l, {%l.y, %l.x};
  mov.b64 {%s.x, %s.y}, %l.x;
  mov.b64 {%s.z, %s.w}, %l.y;)"},
    {"mov.v4.b16", R"(mov.v2.b32 %g, {%a, %b};
  mov.b64 %e, %g;
  mov.b64 %q, %e;
  mov.v4.b16 %q, {%q.w, %q.x, %q.y, %q.z};
  mov.b64 %e, %q;
  mov.b64 %h, %e;
  mov.v4.b32 %s, {%h.x, %h.y, %c, %d};)"},
    {"mov.b32 of v2", R"(mov.b32 %k, %a;
  mov.v2.b16 %k, {%k.y, %k.x};
  mov.b32 %s.x, %k;
  mov.v2.b32 %g, {%b, %c};
  mov.b64 %e, %g;
  mov.b64 {%s.w, %s.y}, %e;
  mov.b32 %s.z, %d;)"},
    {"mov.b128 of v4", R"(mov.b128 %o, %t;
  mov.b128 {%s.w, %s.x, %s.y, %s.z}, %o;)"},
    {"ld.v4 st.v4", R"(st.global.v4.b32 [%m], %t;
  ld.global.v4.b32 %s, [%m];)"},
    {"ld.v2 st.v2", R"(mov.v2.b32 %g, {%d, %a};
  st.global.v2.b32 [%m+8], %g;
  st.global.v2.b32 [%m], {%b, %g.x};
  ld.global.v2.b32 %h, [%m+8];
  mov.v4.b32 %s, {%h.x, %h.y, %c, %g.y};)"},
    {"st.v4 of f32", R"(mov.v4.b32 %f, %t;
  st.global.v4.f32 [%m], %f;
  mov.v4.b32 %s, %t;)"},
    {"call", R"(call (%s), turn, (%t, %a);)",
     R"(.func (.reg .v4 .b32 r) turn(.reg .v4 .b32 v, .reg .b32 a) {
  add.u32 r.x, v.y, a;
  mov.b32 r.y, v.z;
  mov.b32 r.z, v.w;
  mov.b32 r.w, v.x;
  ret;
}
)"},
    {"sums", R"(add.u32 %s.x, %a+5, %b+-7;
  st.global.b32 [%m], %c+0x7fffffff;
  ld.global.b32 %s.y, [%m];
  mov.b32 %s.z, %d+1;
  mad.lo.u32 %s.w, %a+1, %b+2, %c+3;)"},
    {"sums of other widths", R"(mov.b64 %e, {%a, %b};
  mov.b64 {%s.x, %s.y}, %e+-3;
  cvt.u16.u32 %i, %c;
  cvt.u32.u16 %s.z, %i+0xfff0;
  setp.lt.s32 %_q, %d+10, 0;
  selp.b32 %s.w, %d+1, %d+2, %_q;)"},
};

Case make_one(const Kernel& k) {
  ThreadKernel kernel(k.name, "operands");
  std::vector<Element> planes;
  for (const char* name : {"a", "b", "c", "d"}) {
    kernel.in(name, Type::b32, 32);
    planes.push_back(any_bits());
  }
  kernel.memory("m", Type::b32, 4, 4);
  planes.push_back(any_bits());
  for (const char* name : {"x", "y", "z", "w"})
    kernel.out(name, Type::b32, 32);
  kernel.prefix(k.before);
  kernel.declare(kDeclarations);
  kernel.declare(".reg .pred %_q;");
  for (const auto& [element, from] : {std::pair("x", "a"), {"y", "b"}, {"z", "c"}, {"w", "d"}})
    kernel.body(fmt::format("mov.b32 %t.{}, %{};", element, from));
  kernel.body(k.body);
  for (const char* element : {"x", "y", "z", "w"})
    kernel.body(fmt::format("mov.b32 %{0}, %s.{0};", element));
  Case c = kernel.finish(kUnits);
  c.parts[0].name = "random";
  c.fill = fill_each(std::move(planes), {1, 1, 1, 1, 4});
  return c;
}

} // namespace

std::vector<Case> operand_cases(std::string_view) {
  std::vector<Case> cases;
  for (const Kernel& kernel : kKernels)
    cases.push_back(make_one(kernel));
  return cases;
}

} // namespace lemma::golden
