// Atomics. PTX ISA: "atom", "red".
//
// From the forms: every operation and type in every space, each thread on memory of its own, so that old and
// new value are recorded. By hand: many threads on few addresses, where what is left (or the sum of what was
// returned) does not depend on who came first.
#include "golden/fill.h"
#include "golden/spelling.h"
#include "golden/templates.h"
#include "golden/thread_kernel.h"

#include <fmt/format.h>

namespace lemma::golden {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr uint64_t kUnits = 1024; // of a part
constexpr uint32_t kBlock = 128;

bool wanted_qualifier(Qual qual) {
  return qual != Qual::L2_cache_hint && qual != Qual::shared_cluster;
}
bool wanted_cluster_qualifier(Qual qual) {
  return qual != Qual::L2_cache_hint;
}

// Order and scope change nothing that one thread sees: they are tried with a few operations only.
bool wanted_spelling(const Spelling& s) {
  bool ordered = false;
  for (const Qual qual : {Qual::relaxed, Qual::acquire, Qual::release, Qual::acq_rel, Qual::cta,
                          Qual::cluster, Qual::gpu, Qual::sys})
    ordered = ordered || s.has(qual);
  if (!ordered)
    return true;
  const Type type = s.types().back();
  return (s.has(Qual::global) || (s.has(Qual::shared_cluster) && s.has(Qual::cluster))) &&
         (type == Type::u32 || type == Type::b32) &&
         (s.has(Qual::add) || s.has(Qual::exch) || s.has(Qual::cas));
}

int vector_of(const Spelling& s) {
  return s.has(Qual::v8) ? 8 : s.has(Qual::v4) ? 4 : s.has(Qual::v2) ? 2 : 1;
}

std::string operand(std::string_view name, int bits, int vector) {
  if (bits == 128)
    return fmt::format("%{}", name);
  if (vector == 1)
    return fmt::format("%{}0", name);
  std::string text = "{";
  for (int i = 0; i < vector; ++i)
    text += fmt::format("{}%{}{}", i == 0 ? "" : ", ", name, i);
  return text + "}";
}

// The thread's slot of a shared array, between a copy in and a copy out; %_s is its address. `space`:
// .shared, or .shared::cluster for a slot in the cluster's next CTA.
void to_shared(ThreadKernel& kernel, std::string_view space, int bytes, bool back) {
  const std::string word = bytes == 16 ? "v2.b64" : fmt::format("b{}", bytes * 8);
  const std::string registers = bytes == 16 ? "{%_x0, %_x1}" : "%_x0";
  kernel.body(back ? fmt::format("ld{}.{} {}, [%_s];", space, word, registers)
                   : fmt::format("ld.global.{} {}, [%m];", word, registers));
  kernel.body(back ? fmt::format("st.global.{} [%m], {};", word, registers)
                   : fmt::format("st{}.{} [%_s], {};", space, word, registers));
}

void declare_shared(ThreadKernel& kernel, int bytes, bool of_neighbour) {
  kernel.declare(fmt::format(".shared .align 16 .b8 slots[{}];", kBlock * static_cast<uint32_t>(bytes)));
  kernel.declare(fmt::format(".reg .b32 %_s;\n  .reg .b{} %_x<2>;", bytes == 16 ? 64 : bytes * 8));
  kernel.body("mov.u32 %_c, %tid.x;");
  kernel.body("mov.u32 %_s, slots;");
  kernel.body(fmt::format("mad.lo.u32 %_s, %_c, {}, %_s;", bytes));
  if (!of_neighbour)
    return;
  kernel.cluster(4);
  kernel.body("mov.u32 %_c, %cluster_ctarank;\n  add.u32 %_c, %_c, 1;\n  and.b32 %_c, %_c, 3;");
  kernel.body("mapa.shared::cluster.u32 %_s, %_s, %_c;");
}

Case make_alone(const Spelling& s) {
  const Type type = s.types().back();
  const int bits = isa::bits_of(type), bytes = bits / 8, vector = vector_of(s);
  const bool returns = s.form->opcode == Opcode::atom, of_neighbour = s.has(Qual::shared_cluster),
             shared = s.has(Qual::shared) || s.has(Qual::shared_cta) || of_neighbour;
  const char* space = of_neighbour ? ".shared::cluster" : ".shared";
  const bool cas = s.has(Qual::cas);
  ThreadKernel kernel(s.text, std::string(isa::to_string(s.form->opcode)) + s.text.substr(s.text.rfind('.')));
  kernel.memory("m", type, static_cast<uint32_t>(bits == 128 ? 8 : bytes),
                static_cast<uint32_t>(bits == 128 ? 2 : vector));
  std::vector<Element> planes;
  std::vector<uint32_t> per_unit;
  const Element any = values(values_of(bits == 128 ? Type::b64 : type));
  // Few values, so that every second comparison holds.
  const Element either = [](numeric::Random& random, const WarpDraw& warp, uint64_t) {
    return (warp.word & 0xffffffff) * 0x100000001 ^ random.bits(1);
  };
  planes.push_back(cas ? either : any);
  per_unit.push_back(static_cast<uint32_t>(bits == 128 ? 2 : vector));
  const int words = bits == 128 ? 2 : vector, word_bits = bits == 128 ? 64 : bits;
  const Type word_type = bits == 128 ? Type::b64 : type;
  std::vector<std::string> sources = {"b"};
  if (cas)
    sources.push_back("c");
  for (const std::string& source : sources)
    for (int i = 0; i < words; ++i) {
      kernel.in(fmt::format("{}{}", source, i), word_type, word_bits);
      planes.push_back(cas && source == "b" ? either : any);
      per_unit.push_back(1);
    }
  if (returns)
    for (int i = 0; i < words; ++i)
      kernel.out(fmt::format("d{}", i), word_type, word_bits);
  if (bits == 128) {
    for (const std::string& source : sources) {
      kernel.declare(fmt::format(".reg .b128 %{};", source));
      kernel.body(fmt::format("mov.b128 %{0}, {{%{0}0, %{0}1}};", source));
    }
    kernel.declare(".reg .b128 %d;");
  }
  if (shared) {
    declare_shared(kernel, bytes, of_neighbour);
    to_shared(kernel, space, bytes, false);
  }
  std::string statement = s.text + " ";
  if (returns)
    statement += operand("d", bits, vector) + ", ";
  statement += shared ? "[%_s]" : "[%m]";
  for (const std::string& source : sources)
    statement += ", " + operand(source, bits, vector);
  kernel.body(statement + ";");
  if (bits == 128)
    kernel.body("mov.b128 {%d0, %d1}, %d;");
  if (shared)
    to_shared(kernel, space, bytes, true);
  Case c = kernel.finish(kUnits);
  c.parts[0].name = "mixed";
  c.fill = fill_each(std::move(planes), std::move(per_unit));
  return c;
}

// --- Many threads on few addresses ---------------------------------------------------------------

constexpr uint64_t kThreads = 4096;
constexpr uint32_t kAddresses = 16;

struct Contended {
  const char* name;
  const char* statement; // [%_q]: the address, %b: the thread's value
  Type type;
  uint64_t bound; // values below it; 0: any
};
constexpr Contended kContended[] = {
    {"red.global.add.u32", "red.global.add.u32 [%_q], %b;", Type::u32, 0},
    {"red.global.add.u64", "red.global.add.u64 [%_q], %b;", Type::u64, 0},
    {"red.global.and.b32", "red.global.and.b32 [%_q], %b;", Type::b32, 0},
    {"red.global.or.b64", "red.global.or.b64 [%_q], %b;", Type::b64, 0},
    {"red.global.xor.b32", "red.global.xor.b32 [%_q], %b;", Type::b32, 0},
    {"red.global.min.s32", "red.global.min.s32 [%_q], %b;", Type::s32, 0},
    {"red.global.max.u32", "red.global.max.u32 [%_q], %b;", Type::u32, 0},
    {"red.global.min.u64", "red.global.min.u64 [%_q], %b;", Type::u64, 0},
    {"red.global.max.s64", "red.global.max.s64 [%_q], %b;", Type::s64, 0},
    {"red.global.inc.u32 to 99", "red.global.inc.u32 [%_q], 99;", Type::u32, 100},
    {"red.global.dec.u32 from 99", "red.global.dec.u32 [%_q], 99;", Type::u32, 100},
    {"red.global.add.f32 of small integers", "cvt.rn.f32.u32 %b, %b;\n  red.global.add.f32 [%_q], %b;",
     Type::f32, 1000},
    {"red.global.add.f64 of small integers", "cvt.rn.f64.u64 %b, %b;\n  red.global.add.f64 [%_q], %b;",
     Type::f64, 1000},
    {"red.relaxed.sys.global.add.u32", "red.relaxed.sys.global.add.u32 [%_q], %b;", Type::u32, 0},
    {"atom.global.add.u32 unused result", "atom.global.add.u32 %_c, [%_q], %b;", Type::u32, 0},
    // A counter that only compare-and-swap moves.
    {"atom.global.cas.b32 loop", R"(ld.relaxed.gpu.global.b32 %_c, [%_q];
RETRY:
  mov.b32 %_n, %_c;
  add.u32 %_w, %_n, %b;
  atom.global.cas.b32 %_c, [%_q], %_n, %_w;
  setp.ne.b32 %_t, %_c, %_n;
  @%_t bra RETRY;)",
     Type::u32, 0},
};

// Each thread adds to one of kAddresses words at the front of the output.
Case make_contended(const Contended& shape) {
  ThreadKernel kernel(fmt::format("{} contended", shape.name), "contended");
  const int bits = isa::bits_of(shape.type);
  kernel.memory("m", shape.type, static_cast<uint32_t>(bits / 8));
  kernel.in("b", shape.type, bits);
  kernel.in("where", Type::u32, 32);
  kernel.declare(".reg .b64 %_q;\n  .reg .pred %_t;");
  // %m of thread 0: the output plane's beginning.
  kernel.body(fmt::format("mul.wide.u32 %_q, %_i, {};", bits / 8));
  kernel.body("sub.u64 %_q, %m, %_q;");
  kernel.body(fmt::format("mad.wide.u32 %_q, %where, {}, %_q;", bits / 8));
  kernel.body(shape.statement);
  Case c = kernel.finish(kThreads);
  // Floating-point words must begin as integers too.
  const bool zero = isa::is_float(shape.type);
  c.fill = fill_each({zero ? Element([](numeric::Random&, const WarpDraw&, uint64_t) { return uint64_t{0}; })
                           : (shape.bound != 0 ? below(shape.bound) : any_bits()),
                      shape.bound != 0 ? below(shape.bound) : any_bits(), below(kAddresses)});
  return c;
}

// Every value that goes in by exchange comes out once: the sum of all returned, and of what is left, is
// fixed.
Case make_exchange() {
  ThreadKernel kernel("atom.global.exch.b64 sums", "contended");
  kernel.memory("m", Type::u64, 8);
  kernel.in("b", Type::u64, 64);
  kernel.in("where", Type::u32, 32);
  kernel.declare(".reg .b64 %_q, %_old;");
  for (const char* line :
       {"mul.wide.u32 %_q, %_i, 8;", "sub.u64 %_q, %m, %_q;", "mad.wide.u32 %_p, %where, 16, %_q;",
        "atom.global.exch.b64 %_old, [%_p], %b;",
        // What was there goes to the neighbour's sum; what is left is taken from it by the sign.
        "red.global.add.u64 [%_q+1024], %_old;"})
    kernel.body(line);
  Case c = kernel.finish(kThreads);
  // Only the total is fixed, not what each word holds in the end: make all values equal.
  const Element same = [](numeric::Random&, const WarpDraw&, uint64_t) { return uint64_t{0x123456789}; };
  c.fill = fill_each({same, same, below(kAddresses)});
  return c;
}

// A block counts in shared memory and its first threads write the counts: histogram.
Case make_histogram() {
  ThreadKernel kernel("histogram in shared memory", "contended");
  kernel.in("a", Type::u32, 32);
  kernel.out("count", Type::u32, 32);
  kernel.declare(fmt::format(".shared .align 4 .b32 counts[{}];\n  .reg .b32 %_s;", kBlock));
  for (const char* line : {"mov.u32 %_c, %tid.x;", "mov.u32 %_s, counts;", "mad.lo.u32 %_c, %_c, 4, %_s;",
                           "st.shared.u32 [%_c], 0;", "bar.sync 0;", "mad.lo.u32 %_s, %a, 4, %_s;",
                           "red.shared.add.u32 [%_s], 1;", "bar.sync 0;", "ld.shared.u32 %count, [%_c];"})
    kernel.body(line);
  Case c = kernel.finish(kThreads);
  c.fill = fill_each({below(kBlock)});
  return c;
}

// On another CTA's shared memory an H200 with driver 580.159 adds f16x2 and bf16x2 as if they were 32-bit
// integers. That is no rule of PTX, so these are not recorded; the virtual GPU adds what the ISA says.
bool is_packed_add(const Spelling& s) {
  return s.has(Qual::noftz) && (s.types()[0] == Type::f16x2 || s.types()[0] == Type::bf16x2);
}

} // namespace

std::vector<Case> cluster_atomic_cases() {
  std::vector<Case> cases;
  for (const Opcode opcode : {Opcode::atom, Opcode::red})
    for (const isa::Form* form : isa::forms_of(opcode))
      if (on_golden_target(*form))
        for (const Spelling& s : spellings_of(*form, wanted_cluster_qualifier))
          if (s.has(Qual::shared_cluster) && wanted_spelling(s) && !is_packed_add(s))
            cases.push_back(make_alone(s));
  return cases;
}

std::vector<Case> atomic_cases(std::string_view) {
  std::vector<Case> cases;
  for (const Opcode opcode : {Opcode::atom, Opcode::red})
    for (const isa::Form* form : isa::forms_of(opcode))
      if (on_golden_target(*form))
        for (const Spelling& s : spellings_of(*form, wanted_qualifier))
          if (wanted_spelling(s))
            cases.push_back(make_alone(s));
  for (const Contended& shape : kContended)
    cases.push_back(make_contended(shape));
  cases.push_back(make_exchange());
  cases.push_back(make_histogram());
  return cases;
}

} // namespace lemma::golden
