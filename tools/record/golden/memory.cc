// Loads and stores of every width in every space, initializers, generic addresses, moves, special registers.
// PTX ISA: "ld", "st", "mov", "cvta", "isspacep", "Initializers", "Special Registers".
#include "golden/fill.h"
#include "golden/templates.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

namespace lemma::golden {
namespace {

using isa::Type;

constexpr uint64_t kUnits = 1024;

Case finish(const ThreadKernel& kernel, std::vector<Element> planes, std::vector<uint32_t> per_unit = {}) {
  Case c = kernel.finish(kUnits);
  c.parts[0].name = "random";
  c.fill = fill_each(std::move(planes), std::move(per_unit));
  return c;
}

// 32 bytes of each thread's own in a space: `%q` is their address there.
struct Space {
  const char* name; // of ld and st: ".shared"
  const char* declare;
  const char* point;         // sets %q
  bool of_neighbour = false; // in the shared memory of the cluster's next CTA
};
constexpr Space kSpaces[] = {
    {".global", "", "mov.b64 %q, %m;"},
    {"", "", "mov.b64 %q, %m;"},
    {".shared", ".shared .align 32 .b8 bytes[4096];",
     "mov.u64 %q, bytes;\n  mov.u32 %_c, %tid.x;\n  mad.wide.u32 %q, %_c, 32, %q;"},
    {".shared::cta", ".shared .align 32 .b8 bytes[4096];",
     "mov.u64 %q, bytes;\n  mov.u32 %_c, %tid.x;\n  mad.wide.u32 %q, %_c, 32, %q;"},
    {".local", ".local .align 32 .b8 bytes[32];", "mov.u64 %q, bytes;"},
};

// The bytes lie in the next CTA of a cluster of four.
constexpr Space kClusterSpaces[] = {
    {".shared::cluster", ".shared .align 32 .b8 bytes[4096];",
     "mov.u64 %q, bytes;\n  mov.u32 %_c, %tid.x;\n  mad.wide.u32 %q, %_c, 32, %q;\n"
     "  mov.u32 %_c, %cluster_ctarank;\n  add.u32 %_c, %_c, 1;\n  and.b32 %_c, %_c, 3;\n"
     "  mapa.shared::cluster.u64 %q, %q, %_c;",
     true},
    {"", ".shared .align 32 .b8 bytes[4096];",
     "cvta.shared.u64 %q, bytes;\n  mov.u32 %_c, %tid.x;\n  mad.wide.u32 %q, %_c, 32, %q;\n"
     "  mov.u32 %_c, %cluster_ctarank;\n  add.u32 %_c, %_c, 1;\n  and.b32 %_c, %_c, 3;\n"
     "  mapa.u64 %q, %q, %_c;",
     true},
};

bool elsewhere(const Space& space) {
  return *space.declare != '\0';
}

// Brings the thread's 32 bytes of global memory at %m to %q, or back.
void copy_bytes(ThreadKernel& kernel, const Space& space, bool back) {
  if (!elsewhere(space))
    return;
  for (int offset = 0; offset < 32; offset += 8) {
    kernel.body(back ? fmt::format("ld{}.b64 %_p, [%q+{}];", space.name, offset)
                     : fmt::format("ld.global.b64 %_p, [%m+{}];", offset));
    kernel.body(back ? fmt::format("st.global.b64 [%m+{}], %_p;", offset)
                     : fmt::format("st{}.b64 [%q+{}], %_p;", space.name, offset));
  }
}

ThreadKernel with_bytes(const std::string& name, const std::string& family, const Space& space) {
  ThreadKernel kernel(name, family);
  kernel.memory("m", Type::b64, 8, 4);
  kernel.declare(".reg .b64 %q;");
  if (elsewhere(space))
    kernel.declare(space.declare);
  if (space.of_neighbour)
    kernel.cluster(4);
  kernel.body(space.point);
  copy_bytes(kernel, space, false);
  return kernel;
}

// Every type into registers as wide and wider, at every aligned offset.
void add_loads(std::vector<Case>& cases, const Space& space) {
  for (const Type type : {Type::b8, Type::u8, Type::s8, Type::b16, Type::u16, Type::s16, Type::b32, Type::u32,
                          Type::s32, Type::f32, Type::b64, Type::u64, Type::s64, Type::f64}) {
    const int bits = isa::bits_of(type);
    ThreadKernel kernel = with_bytes(fmt::format("ld{}.{}", space.name, isa::to_string(type)), "ld", space);
    const bool is_float = isa::is_float(type);
    for (int width = std::max(16, bits); width <= (is_float ? bits : 64); width *= 2)
      for (const int offset : {0, bits / 8, 32 - bits / 8}) {
        const std::string name = fmt::format("d{}_{}", width, offset);
        const Type shown = isa::is_signed(type) ? (width == 16   ? Type::s16
                                                   : width == 32 ? Type::s32
                                                                 : Type::s64)
                                                : (width == 16   ? Type::b16
                                                   : width == 32 ? Type::b32
                                                                 : Type::b64);
        kernel.out(name, is_float ? type : shown, width);
        kernel.body(fmt::format("ld{}.{} %{}, [%q+{}];", space.name, isa::to_string(type), name, offset));
      }
    cases.push_back(finish(kernel, {any_bits()}, {4}));
  }
}

// Every type from registers as wide and wider; bytes around it stay.
void add_stores(std::vector<Case>& cases, const Space& space) {
  for (const Type type : {Type::b8, Type::u8, Type::s8, Type::b16, Type::u16, Type::s16, Type::b32, Type::s32,
                          Type::f32, Type::b64, Type::u64, Type::f64}) {
    const int bits = isa::bits_of(type);
    ThreadKernel kernel = with_bytes(fmt::format("st{}.{}", space.name, isa::to_string(type)), "st", space);
    const bool is_float = isa::is_float(type);
    int offset = bits / 8;
    for (int width = std::max(16, bits); width <= (is_float ? bits : 64);
         width *= 2, offset += bits / 8 * 2) {
      kernel.in(fmt::format("a{}", width),
                width == 16   ? Type::b16
                : width == 32 ? Type::b32
                              : Type::b64,
                width);
      kernel.body(fmt::format("st{}.{} [%q+{}], %a{};", space.name, isa::to_string(type), offset, width));
    }
    const size_t planes = kernel.inputs();
    copy_bytes(kernel, space, true);
    std::vector<uint32_t> per_unit(planes, 1);
    per_unit[0] = 4;
    cases.push_back(finish(kernel, std::vector<Element>(planes, any_bits()), per_unit));
  }
}

std::string vector_text(const char* name, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i)
    text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

void add_vectors(std::vector<Case>& cases, const Space& space) {
  for (const auto& [count, bits] : {std::pair{2, 8}, {4, 8}, {2, 16}, {4, 16}, {2, 32}, {4, 32}, {2, 64}})
    for (const bool load : {true, false}) {
      const std::string spelling = fmt::format("{}{}.v{}.b{}", load ? "ld" : "st", space.name, count, bits);
      ThreadKernel kernel = with_bytes(spelling, load ? "ld" : "st", space);
      const int width = std::max(16, bits), offset = 32 - count * bits / 8;
      const Type shown = width == 16 ? Type::b16 : width == 32 ? Type::b32 : Type::b64;
      for (int i = 0; i < count; ++i)
        load ? kernel.out(fmt::format("d{}", i), shown, width)
             : kernel.in(fmt::format("d{}", i), shown, width);
      kernel.body(load ? fmt::format("{} {}, [%q+{}];", spelling, vector_text("d", count), offset)
                       : fmt::format("{} [%q+{}], {};", spelling, offset, vector_text("d", count)));
      const size_t planes = kernel.inputs();
      copy_bytes(kernel, space, true);
      std::vector<uint32_t> per_unit(planes, 1);
      per_unit[0] = 4;
      cases.push_back(finish(kernel, std::vector<Element>(planes, any_bits()), per_unit));
    }
}

// Orders, scopes and cache operators change nothing that one thread sees.
void add_modifiers(std::vector<Case>& cases) {
  for (const char* modifier : {".weak", ".volatile", ".relaxed.cta", ".relaxed.gpu", ".relaxed.sys",
                               ".acquire.gpu", ".relaxed.cluster", ".acquire.cluster"}) {
    ThreadKernel kernel = with_bytes(
        fmt::format("ld{0} and st{1}", modifier,
                    std::string_view(modifier).starts_with(".acquire") ? ".release.gpu" : modifier),
        "ordered", kSpaces[0]);
    kernel.out("d", Type::b32, 32);
    kernel.in("a", Type::b64, 64);
    kernel.body(fmt::format("ld{}.global.b32 %d, [%q+4];", modifier));
    kernel.body(fmt::format("st{}.global.b64 [%q+16], %a;",
                            std::string_view(modifier).starts_with(".acquire") ? ".release.gpu" : modifier));
    cases.push_back(finish(kernel, {any_bits(), any_bits()}, {4, 1}));
  }
  for (const char* modifier :
       {".global.nc", ".global.ca", ".global.cg", ".global.cs", ".global.lu", ".global.cv",
        ".global.L1::evict_last", ".global.nc.L1::no_allocate.L2::128B", ".global.L2::256B"}) {
    ThreadKernel kernel = with_bytes(fmt::format("ld{}.v4.u32", modifier), "cached", kSpaces[0]);
    for (int i = 0; i < 4; ++i)
      kernel.out(fmt::format("d{}", i), Type::u32, 32);
    kernel.body(fmt::format("ld{}.v4.u32 {}, [%q+16];", modifier, vector_text("d", 4)));
    cases.push_back(finish(kernel, {any_bits()}, {4}));
  }
}

// --- Variables -----------------------------------------------------------------------------------

constexpr const char* kVariables = R"(
.const .align 4 .f32 numbers[6] = { 1.0, -2.5, 0f7f800000, 0f80000000, 3.0, -0.1 };
.const .align 8 .f64 doubles[3] = { 0.1, 0dfff8000000000001, -1e300 };
.global .align 8 .b8 bytes[24] = { 1, 2, 0xff, -1, 65, 6 };
.global .align 2 .u16 halves[5] = { 65535, -1, 0x1234 };
.global .align 8 .s64 wide[3] = { -1, 0x8000000000000000, 5 };
.global .align 4 .u32 matrix[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
.global .align 8 .u64 pointers[4] = { bytes, bytes+3, generic(halves), matrix };
.global .align 4 .u32 zeros[4];
)";

Case make_variables() {
  ThreadKernel kernel("initialized variables", "variables");
  kernel.prefix(kVariables);
  kernel.in("a", Type::u32, 32);
  kernel.declare(".reg .b64 %q, %r;");
  const struct {
    const char* name;
    const char* space;
    const char* type;
    int elements, bytes;
    Type shown;
  } variables[] = {{"numbers", "const", "f32", 6, 4, Type::f32}, {"doubles", "const", "f64", 3, 8, Type::f64},
                   {"bytes", "global", "u8", 24, 1, Type::b16},  {"halves", "global", "u16", 5, 2, Type::b16},
                   {"wide", "global", "u64", 3, 8, Type::b64},   {"matrix", "global", "u32", 6, 4, Type::u32},
                   {"zeros", "global", "u32", 4, 4, Type::u32}};
  for (const auto& v : variables) {
    kernel.out(v.name, v.shown, std::max(16, v.bytes * 8));
    kernel.body(fmt::format("rem.u32 %_c, %a, {};", v.elements));
    kernel.body(fmt::format("mov.u64 %q, {};", v.name));
    kernel.body(fmt::format("mad.wide.u32 %q, %_c, {}, %q;", v.bytes));
    kernel.body(fmt::format("ld.{}.{} %{}, [%q];", v.space, v.type, v.name));
  }
  // What the pointers point at, and how far they lie apart.
  for (int i = 0; i < 4; ++i) {
    kernel.out(fmt::format("at{}", i), Type::b16, 16);
    kernel.body(fmt::format("ld.global.u64 %q, [pointers+{}];", 8 * i));
    kernel.body(fmt::format("ld{}.u16 %at{}, [%q+{}];", i == 2 ? "" : ".global", i, i == 1 ? 1 : 0));
  }
  kernel.out("apart", Type::u64, 64);
  kernel.body("ld.global.u64 %q, [pointers];");
  kernel.body("ld.global.u64 %r, [pointers+8];");
  kernel.body("sub.u64 %apart, %r, %q;");
  return finish(kernel, {below(24 * 5 * 7)});
}

// --- Generic addresses ---------------------------------------------------------------------------

Case make_generic() {
  ThreadKernel kernel("generic addresses", "generic");
  kernel.prefix(".global .align 8 .b64 in_global;\n.const .align 8 .b64 in_const = 77;\n");
  kernel.declare(".shared .align 8 .b8 in_shared[1024];\n  .local .align 8 .b8 in_local[16];\n"
                 "  .reg .b64 %q, %g, %back;\n  .reg .pred %_t;\n  .reg .b32 %_x;");
  kernel.in("a", Type::b64, 64);
  kernel.out("spaces", Type::b32, 32);
  kernel.out("same", Type::b32, 32);
  kernel.out("sum", Type::b64, 64);
  kernel.body("mov.u32 %spaces, 0;\n  mov.u32 %same, 0;\n  mov.u64 %sum, 0;\n  mov.u32 %_c, %tid.x;");
  const struct {
    const char* space;
    const char* variable;
    bool of_thread; // shared: each thread its own 8 bytes
    bool writable;
  } variables[] = {{"global", "in_global", false, false},
                   {"const", "in_const", false, false},
                   {"shared", "in_shared", true, true},
                   {"local", "in_local", false, true}};
  int bit = 0;
  for (const auto& v : variables) {
    kernel.body(fmt::format("mov.u64 %q, {};", v.variable));
    if (v.of_thread)
      kernel.body("mad.wide.u32 %q, %_c, 8, %q;");
    kernel.body(fmt::format("cvta.{}.u64 %g, %q;", v.space));
    kernel.body(fmt::format("cvta.to.{}.u64 %back, %g;", v.space));
    kernel.body(fmt::format("setp.eq.u64 %_t, %back, %q;\n  @%_t add.u32 %same, %same, {};", 1 << bit));
    for (const char* space : {"global", "const", "shared", "local"})
      kernel.body(fmt::format("isspacep.{} %_t, %g;\n  @%_t add.u32 %spaces, %spaces, {};", space,
                              1u << (4 * bit + (space[0] == 'g'   ? 0
                                                : space[0] == 'c' ? 1
                                                : space[0] == 's' ? 2
                                                                  : 3))));
    if (v.writable)
      kernel.body(fmt::format(
          "st.b64 [%g], %a;\n  ld.{}.b64 %back, [%q];\n  add.u64 %sum, %sum, %back;\n"
          "  add.u64 %a, %a, 1;\n  st.{}.b64 [%q], %a;\n  ld.b64 %back, [%g];\n  add.u64 %sum, %sum, %back;",
          v.space, v.space));
    else
      kernel.body("ld.b64 %back, [%g];\n  add.u64 %sum, %sum, %back;");
    ++bit;
  }
  return finish(kernel, {any_bits()});
}

// The kernel's own parameters, read through generic addresses.
Case make_kernel_parameters() {
  ThreadKernel kernel("kernel parameters by generic addresses", "generic");
  kernel.declare(".reg .b64 %q, %g, %back, %x, %y;\n  .reg .pred %_t;");
  kernel.out("same", Type::b32, 32);
  kernel.body("mov.u32 %same, 0;");
  for (const char* line :
       {"mov.b64 %q, out;", "cvta.param.u64 %g, %q;", "isspacep.param %_t, %g;",
        "@%_t add.u32 %same, %same, 1;", "isspacep.param::entry %_t, %g;", "@%_t add.u32 %same, %same, 2;",
        "isspacep.global %_t, %g;", "@%_t add.u32 %same, %same, 4;", "cvta.to.param.u64 %back, %g;",
        "setp.eq.u64 %_t, %back, %q;", "@%_t add.u32 %same, %same, 8;", "ld.b64 %x, [%g];",
        "ld.param.b64 %y, [out];", "setp.eq.u64 %_t, %x, %y;", "@%_t add.u32 %same, %same, 16;",
        "ld.param.b64 %x, [%back];", "setp.eq.u64 %_t, %x, %y;", "@%_t add.u32 %same, %same, 32;"})
    kernel.body(line);
  return finish(kernel, {});
}

// Structs by value to and from a function.
Case make_parameters() {
  ThreadKernel kernel("parameters of functions", "parameters");
  kernel.prefix(R"(
.func (.param .align 8 .b8 r[16]) shuffle(.param .align 8 .b8 s[24], .param .b16 h, .param .b8 c)
{
  .reg .b64 %x; .reg .b32 %y, %z; .reg .b16 %h, %c;
  ld.param.b64 %x, [s+8];
  ld.param.b32 %y, [s+4];
  ld.param.b32 %z, [s+20];
  ld.param.b16 %h, [h];
  ld.param.s8 %c, [c];
  st.param.b64 [r], %x;
  st.param.v2.b16 [r+8], {%h, %c};
  xor.b32 %y, %y, %z;
  st.param.b32 [r+12], %y;
  ret;
}
)");
  kernel.in("a", Type::b64, 64);
  kernel.in("b", Type::b64, 64);
  kernel.in("h", Type::b16, 16);
  kernel.out("d", Type::b64, 64);
  kernel.out("e", Type::b32, 32);
  kernel.out("f", Type::b32, 32);
  kernel.declare(".reg .b64 %_x;\n  .param .align 8 .b8 s[24];\n  .param .b16 p;\n  .param .b8 c;\n  .param "
                 ".align 8 .b8 r[16];");
  for (const char* line : {"st.param.b64 [s], %a;", "st.param.b64 [s+8], %b;", "xor.b64 %_x, %a, %b;",
                           "st.param.b64 [s+16], %_x;", "st.param.b16 [p], %h;", "st.param.b8 [c], %h;",
                           "call (r), shuffle, (s, p, c);", "ld.param.b64 %d, [r];",
                           "ld.param.b32 %e, [r+8];", "ld.param.b32 %f, [r+12];"})
    kernel.body(line);
  return finish(kernel, {any_bits(), any_bits(), any_bits()});
}

// --- Moves ---------------------------------------------------------------------------------------

Case make_packs() {
  ThreadKernel kernel("mov packs and unpacks", "mov");
  kernel.in("a", Type::b64, 64);
  kernel.in("b", Type::b64, 64);
  kernel.declare(".reg .b32 %_x<2>;\n  .reg .b16 %_y<4>;\n  .reg .b128 %_q;\n  .reg .b64 %_z;");
  for (const char* name : {"d", "e", "f", "g"})
    kernel.out(name, Type::b64, 64);
  kernel.out("x", Type::b32, 32);
  kernel.out("y", Type::b32, 32);
  for (const char* line :
       {"mov.b64 {%_x0, %_x1}, %a;", "mov.b64 %d, {%_x1, %_x0};", "mov.b64 {%_y0, %_y1, %_y2, %_y3}, %a;",
        "mov.b64 %e, {%_y3, %_y1, %_y0, %_y2};", "mov.b32 %x, {%_y2, %_y0};", "mov.b32 {_, %_y1}, %_x0;",
        "mov.b32 %y, {%_y1, %_y3};", "mov.b128 %_q, {%a, %b};", "mov.b128 {%f, %g}, %_q;",
        "mov.b64 {_, %_x0}, %b;", "cvt.u64.u32 %_z, %_x0;", "add.u64 %d, %d, %_z;"})
    kernel.body(line);
  return finish(kernel, {any_bits(), any_bits()});
}

// Predicates, bytes and 128-bit registers.
Case make_odd_moves() {
  ThreadKernel kernel("mov of predicates, bytes and 128 bits", "mov");
  kernel.in("a", Type::b64, 64);
  kernel.in("b", Type::b32, 32);
  kernel.in("p", Type::pred, 1);
  kernel.declare(".reg .b8 %_y<4>;\n  .reg .b128 %_q, %_r;\n  .reg .b64 %_z;\n  .reg .b16 %_x<2>;");
  kernel.out("q", Type::pred, 1);
  kernel.out("n", Type::pred, 1);
  kernel.out("d", Type::b32, 32);
  kernel.out("h", Type::b16, 16);
  kernel.out("e", Type::b64, 64);
  kernel.out("f", Type::b64, 64);
  for (const char* line :
       {"mov.pred %q, %p;", "mov.pred %n, !%p;", "mov.b32 {%_y0, %_y1, %_y2, %_y3}, %b;",
        "mov.b32 %d, {%_y2, %_y3, %_y0, %_y1};", "mov.b16 %h, {%_y3, %_y1};", "mov.b16 {%_y0, %_y1}, %h;",
        "mov.b32 {%_x0, %_x1}, %d;", "mov.b16 {%_y2, %_y3}, %_x1;", "mov.b32 %_c, {%_y0, %_y1, %_y2, %_y3};",
        "cvt.u64.u32 %_z, %_c;", "mov.b128 %_q, {%a, %_z};", "mov.b128 %_r, %_q;", "mov.b128 {%f, %e}, %_r;"})
    kernel.body(line);
  return finish(kernel, {any_bits(), any_bits(), below(2)});
}

// Literals and constant expressions, as the assembler evaluates them.
Case make_constants() {
  static constexpr const char* k32[] = {
      "0x7f",     "0777",        "0b1011",     "-1",        "4294967295", "0xdeadbeefU",    "~5",
      "-(3+4)*2", "7/2",         "-7/2",       "-7 % 3",    "1<<31",      "0x80000000>>4",  "3<4",
      "4<=3",     "5==5",        "5!=5",       "0xf0&0x3c", "0xf0^0x3c",  "0xf0|0x3c",      "1&&0",
      "1||0",     "!7",          "!0",         "1?2:3",     "0?2:3",      "(.s64)-1 >> 60", "(.u64)-1 >> 60",
      "WARP_SZ",  "WARP_SZ*4-1", "0f3f800000", "0f7fc00001"};
  static constexpr const char* k64[] = {"0x123456789abcdef0",
                                        "-1",
                                        "0x8000000000000000",
                                        "1<<40",
                                        "(1<<40)/-3",
                                        "0xffffffffffffffff>>1",
                                        "0d3ff0000000000001",
                                        "9223372036854775807+1",
                                        "18446744073709551615U/10",
                                        "-9223372036854775807-1"};
  ThreadKernel kernel("literals and constant expressions", "constants");
  kernel.in("a", Type::b32, 32);
  int index = 0;
  for (const char* text : k32) {
    kernel.out(fmt::format("w{}", index), Type::b32, 32);
    kernel.body(fmt::format("mov.b32 %w{}, {};", index++, text));
  }
  for (const char* text : k64) {
    kernel.out(fmt::format("x{}", index), Type::b64, 64);
    kernel.body(fmt::format("mov.b64 %x{}, {};", index++, text));
  }
  // Immediate operands of other instructions: narrower than the literal, floating, on the left.
  const struct {
    const char* statement;
    Type type;
    int bits;
  } statements[] = {
      {"add.u32 {}, %a, -1;", Type::u32, 32},      {"sub.u32 {}, 5, %a;", Type::u32, 32},
      {"mul.wide.s32 {}, %a, -3;", Type::s64, 64}, {"and.b32 {}, %a, 0xff00ff00;", Type::b32, 32},
      {"shl.b32 {}, %a, 7;", Type::b32, 32},       {"fma.rn.f32 {}, %a, 2.5, 0f3dcccccd;", Type::f32, 32},
      {"add.rn.f32 {}, %a, 0.1;", Type::f32, 32},  {"mov.f64 {}, 0.1;", Type::f64, 64},
      {"mov.f64 {}, 1e-300;", Type::f64, 64},      {"mov.f32 {}, 1e-37;", Type::f32, 32},
      {"mov.f32 {}, -0.0;", Type::f32, 32},        {"prmt.b32 {}, %a, 0x11223344, 0x7531;", Type::b32, 32},
      {"mov.u16 {}, 65535;", Type::b16, 16},       {"mov.s16 {}, -2;", Type::b16, 16}};
  for (const auto& s : statements) {
    const std::string name = fmt::format("y{}", index++);
    kernel.out(name, s.type, s.bits);
    kernel.body(fmt::format(fmt::runtime(s.statement), "%" + name));
  }
  return finish(kernel, {any_bits()});
}

// --- Special registers ---------------------------------------------------------------------------

// A grid and block of three dimensions; each register in a word of its own.
Case make_special_registers() {
  static constexpr const char* kRegisters[] = {"tid.x",
                                               "tid.y",
                                               "tid.z",
                                               "ntid.x",
                                               "ntid.y",
                                               "ntid.z",
                                               "ctaid.x",
                                               "ctaid.y",
                                               "ctaid.z",
                                               "nctaid.x",
                                               "nctaid.y",
                                               "nctaid.z",
                                               "laneid",
                                               "lanemask_eq",
                                               "lanemask_lt",
                                               "lanemask_le",
                                               "lanemask_gt",
                                               "lanemask_ge",
                                               "clusterid.x",
                                               "clusterid.y",
                                               "nclusterid.x",
                                               "nclusterid.z",
                                               "cluster_ctaid.x",
                                               "cluster_nctaid.x",
                                               "cluster_ctarank",
                                               "cluster_nctarank",
                                               "dynamic_smem_size"};
  Case c;
  c.name = "special registers";
  c.family = "special registers";
  c.entry = entry_name(c.name);
  c.grid = {3, 2, 2};
  c.block = {10, 3, 2};
  c.units = 3 * 2 * 2 * 10 * 3 * 2;
  c.parts = {{"all", 0, c.units}};
  for (const char* name : kRegisters) {
    Plane plane;
    plane.name = name;
    plane.type = Type::b32;
    c.outputs.push_back(plane);
  }
  lay_out(c.outputs, c.units);
  c.text = kernel_head(c.entry) + R"(  .reg .b32 %t, %x;
  mov.u32 %_i, %ctaid.z;
  mov.u32 %t, %ctaid.y;  mad.lo.u32 %_i, %_i, 2, %t;
  mov.u32 %t, %ctaid.x;  mad.lo.u32 %_i, %_i, 3, %t;
  mov.u32 %t, %tid.z;    mad.lo.u32 %_i, %_i, 2, %t;
  mov.u32 %t, %tid.y;    mad.lo.u32 %_i, %_i, 3, %t;
  mov.u32 %t, %tid.x;    mad.lo.u32 %_i, %_i, 10, %t;
  mad.wide.u32 %_p, %_i, 4, %_out;
)";
  for (const Plane& plane : c.outputs)
    c.text +=
        fmt::format("  mov.u32 %x, %{};\n  st.global.u32 [%_p+{}], %x;\n", plane.name, plane.offset_bytes);
  c.text += "  ret;\n}\n";
  return c;
}

} // namespace

std::vector<Case> cluster_memory_cases() {
  std::vector<Case> cases;
  for (const Space& space : kClusterSpaces) {
    add_loads(cases, space);
    add_stores(cases, space);
    add_vectors(cases, space);
  }
  return cases;
}

std::vector<Case> memory_cases(std::string_view) {
  std::vector<Case> cases;
  for (const Space& space : kSpaces) {
    add_loads(cases, space);
    add_stores(cases, space);
    add_vectors(cases, space);
  }
  add_modifiers(cases);
  cases.push_back(make_variables());
  cases.push_back(make_generic());
  cases.push_back(make_kernel_parameters());
  cases.push_back(make_parameters());
  cases.push_back(make_packs());
  cases.push_back(make_odd_moves());
  cases.push_back(make_constants());
  cases.push_back(make_special_registers());
  return cases;
}

} // namespace lemma::golden
