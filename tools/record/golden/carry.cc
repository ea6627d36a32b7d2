// Carry chains. PTX ISA: "Extended-Precision Integer Arithmetic Instructions".
//
// The carry is a flag that only these instructions see: each case sets it from an operand, runs its
// instruction and reads the flag back. subc takes and leaves a borrow.
#include "golden/templates.h"
#include "golden/thread_kernel.h"
#include "golden/values.h"
#include "isa/form.h"

#include <fmt/format.h>

namespace lemma::golden {
namespace {

using isa::Type;

constexpr uint64_t kUnits = 4096; // of a part

struct Shape {
  const char* name;   // with {} for the type
  int sources;        // a, b, c
  bool reads, writes; // the flag
  bool subtracts;
};
constexpr Shape kShapes[] = {
    {"add.cc", 2, false, true, false},    {"addc", 2, true, false, false},
    {"addc.cc", 2, true, true, false},    {"sub.cc", 2, false, true, true},
    {"subc", 2, true, false, true},       {"subc.cc", 2, true, true, true},
    {"mad.lo.cc", 3, false, true, false}, {"mad.hi.cc", 3, false, true, false},
    {"madc.lo", 3, true, false, false},   {"madc.hi", 3, true, false, false},
    {"madc.lo.cc", 3, true, true, false}, {"madc.hi.cc", 3, true, true, false},
};

Case finish(const ThreadKernel& kernel, const std::vector<Values>& values) {
  Case c = kernel.finish(kUnits * std::size(numeric::kAllOperandClasses));
  c.parts.clear();
  for (const numeric::OperandClass oc : numeric::kAllOperandClasses)
    c.parts.push_back({std::string(numeric::to_string(oc)), c.parts.size() * kUnits, kUnits});
  c.fill = [values](const Part& part, numeric::Random& random, Inputs& inputs) {
    for (const numeric::OperandClass oc : numeric::kAllOperandClasses) {
      if (numeric::to_string(oc) != part.name)
        continue;
      const Operands operands = make_operands(values, oc, Relation::equal, random, part.units);
      for (size_t k = 0; k < operands.size(); ++k)
        for (size_t i = 0; i < part.units; ++i)
          inputs.set(k, part.first + i, operands[k][i]);
    }
  };
  return c;
}

Case make_one(const Shape& shape, Type type) {
  const int bits = isa::bits_of(type);
  const std::string text = fmt::format("{}.{}", shape.name, isa::to_string(type));
  ThreadKernel kernel(text, std::string(shape.name).substr(0, std::string_view(shape.name).find('.')));
  std::vector<Values> values;
  std::string sources;
  for (int k = 0; k < shape.sources; ++k) {
    const std::string name(1, static_cast<char>('a' + k));
    kernel.in(name, type, bits);
    values.push_back(values_of(type));
    sources += ", %" + name;
  }
  kernel.out("d", type, bits);
  if (shape.reads) {
    kernel.in("carry", Type::u32, 32);
    values.push_back({.kind = Values::Kind::predicate}); // 0 or 1
    kernel.declare(".reg .b32 %t;");
    // carry + 0xffffffff carries out of 32 bits just if the operand is 1; 0 - carry borrows.
    kernel.body(shape.subtracts ? "sub.cc.u32 %t, 0, %carry;" : "add.cc.u32 %t, %carry, 0xffffffff;");
  }
  kernel.body(fmt::format("{} %d{};", text, sources));
  if (shape.writes) {
    kernel.out("flag", Type::u32, 32);
    kernel.body(shape.subtracts ? "subc.u32 %flag, 0, 0;" : "addc.u32 %flag, 0, 0;");
  }
  return finish(kernel, values);
}

// Sums, differences and products of many words, as compilers write them.
Case make_chain(std::string_view name, int words, bool subtracts, int bits) {
  ThreadKernel kernel(std::string(name), "chain");
  std::vector<Values> values;
  const Type type = bits == 32 ? Type::u32 : Type::u64;
  for (int k = 0; k < 2 * words; ++k) {
    kernel.in(fmt::format("{}{}", k < words ? 'a' : 'b', k % words), type, bits);
    values.push_back(values_of(type));
  }
  const char* op = subtracts ? "sub" : "add";
  for (int k = 0; k < words; ++k) {
    kernel.out(fmt::format("d{}", k), type, bits);
    kernel.body(fmt::format("{}{}{}.u{} %d{}, %a{}, %b{};", op, k > 0 ? "c" : "", k + 1 < words ? ".cc" : "",
                            bits, k, k, k));
  }
  return finish(kernel, values);
}

Case make_product() {
  ThreadKernel kernel("chain product of 64 bits from words", "product");
  std::vector<Values> values(4, values_of(Type::u32));
  for (const char* name : {"a0", "a1", "b0", "b1"})
    kernel.in(name, Type::u32, 32);
  for (const char* name : {"d0", "d1", "d2", "d3"})
    kernel.out(name, Type::u32, 32);
  for (const char* line :
       {"mul.lo.u32 %d0, %a0, %b0;", "mul.hi.u32 %d1, %a0, %b0;", "mad.lo.cc.u32 %d1, %a1, %b0, %d1;",
        "madc.hi.u32 %d2, %a1, %b0, 0;", "mad.lo.cc.u32 %d1, %a0, %b1, %d1;",
        "madc.hi.cc.u32 %d2, %a0, %b1, %d2;", "addc.u32 %d3, 0, 0;", "mad.lo.cc.u32 %d2, %a1, %b1, %d2;",
        "madc.hi.u32 %d3, %a1, %b1, %d3;"})
    kernel.body(line);
  return finish(kernel, values);
}

} // namespace

std::vector<Case> carry_cases(std::string_view) {
  std::vector<Case> cases;
  for (const Shape& shape : kShapes)
    for (const Type type : {Type::u32, Type::s32, Type::u64, Type::s64})
      cases.push_back(make_one(shape, type));
  cases.push_back(make_chain("chain sum of 5 words", 5, false, 32));
  cases.push_back(make_chain("chain sum of 3 double words", 3, false, 64));
  cases.push_back(make_chain("chain difference of 5 words", 5, true, 32));
  cases.push_back(make_chain("chain difference of 3 double words", 3, true, 64));
  cases.push_back(make_product());
  return cases;
}

} // namespace lemma::golden
