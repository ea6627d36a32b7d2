// Which arithmetic instructions compiled code computes itself: a list, so that none becomes a handler's again
// unnoticed. That they compute what they should the arithmetic tests find (arithmetic_fixture.h).
#include "arithmetic_fixture.h"

#include "vgpu/compiled/compiled_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lemma::vgpu {
namespace {

class Emitters : public testing::Test {
protected:
  void SetUp() override {
    std::string why_not;
    if (!can_compile(&why_not))
      GTEST_SKIP() << "no compiled code: " << why_not;
  }
  static void expect(std::string_view spelling) {
    if (is_legal(spelling))
      EXPECT_TRUE(has_emitter(spelling)) << spelling;
    else
      ADD_FAILURE() << spelling << " is no instruction";
  }
  // `*` stands for each of the types.
  static void expect_each(std::string_view spelling, std::initializer_list<std::string_view> types) {
    const size_t star = spelling.find('*');
    for (const std::string_view type : types)
      expect(fmt::format("{}{}{}", spelling.substr(0, star), type, spelling.substr(star + 1)));
  }
};

TEST_F(Emitters, OfIntegers) {
  for (const char* const spelling :
       {"add.*", "sub.*", "mul.lo.*", "mul.hi.*", "mad.lo.*", "mad.hi.*", "sad.*", "min.*", "max.*"})
    expect_each(spelling, {"u16", "s16", "u32", "s32", "u64", "s64"});
  for (const char* const spelling : {"neg.*", "abs.*"})
    expect_each(spelling, {"s16", "s32", "s64"});
  for (const char* const spelling : {"mul.wide.*", "mad.wide.*"})
    expect_each(spelling, {"u16", "s16", "u32", "s32"});
  for (const char* const spelling :
       {"div.*", "rem.*", "mul24.lo.*", "mul24.hi.*", "mad24.lo.*", "mad24.hi.*", "szext.clamp.*"})
    expect_each(spelling, {"u32", "s32"});
  for (const char* const spelling : {"add.sat.s32", "sub.sat.s32", "mad.hi.sat.s32", "mad24.hi.sat.s32",
                                     "dp4a.u32.s32", "dp2a.lo.s32.u32", "dp2a.hi.u32.u32"})
    expect(spelling);
  for (const char* const spelling : {"add.cc.*", "addc.*", "addc.cc.*", "sub.cc.*", "subc.*", "subc.cc.*",
                                     "mad.lo.cc.*", "mad.hi.cc.*", "madc.lo.*", "madc.hi.cc.*"})
    expect_each(spelling, {"u32", "s32", "u64", "s64"});
  expect_each("add.*", {"u16x2", "s16x2"});
  for (const char* const spelling : {"min.*", "max.*"})
    expect_each(spelling, {"u16x2", "s16x2", "relu.s16x2", "relu.s32"});
}

TEST_F(Emitters, OfBits) {
  for (const char* const spelling : {"and.*", "or.*", "xor.*", "not.*"})
    expect_each(spelling, {"pred", "b16", "b32", "b64"});
  for (const char* const spelling : {"cnot.*", "shl.*"})
    expect_each(spelling, {"b16", "b32", "b64"});
  expect_each("shr.*", {"b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64"});
  expect_each("shf.*.b32", {"l.clamp", "l.wrap", "r.clamp", "r.wrap"});
  for (const char* const spelling : {"popc.*", "clz.*", "brev.*", "bfi.*"})
    expect_each(spelling, {"b32", "b64"});
  for (const char* const spelling : {"bfe.*", "bfind.*", "bfind.shiftamt.*"})
    expect_each(spelling, {"u32", "s32", "u64", "s64"});
  expect_each("bmsk.*.b32", {"clamp", "wrap"});
  expect("prmt.b32");
  CheckOptions options;
  options.lut = 0x96;
  for (const char* const spelling : {"lop3.b32", "lop3.or.b32", "lop3.and.b32"})
    EXPECT_TRUE(has_emitter(spelling, options)) << spelling;
}

TEST_F(Emitters, OfComparisons) {
  for (const char* const relation : {"eq", "lt", "ge"})
    expect_each(fmt::format("setp.{}.*", relation),
                {"u16", "s16", "u32", "s32", "u64", "s64", "f32", "ftz.f32", "f64"});
  expect_each("setp.*", {"neu.ftz.f32", "nan.f64", "lo.u32", "lt.and.s32", "gt.xor.f32"});
  expect_each("set.lt.*", {"u32.s32", "f32.f32", "s32.f64", "u32.u64"});
  for (const char* const type :
       {"b16", "u16", "s16", "b32", "u32", "s32", "f32", "b64", "u64", "s64", "f64"}) {
    expect(fmt::format("selp.{}", type));
    expect(fmt::format("slct.{}.s32", type));
    expect(fmt::format("slct.ftz.{}.f32", type));
  }
}

TEST_F(Emitters, OfConversions) {
  const std::initializer_list<std::string_view> integers = {"u8",  "s8",  "u16", "s16",
                                                            "u32", "s32", "u64", "s64"};
  for (const std::string_view to : integers) {
    expect_each(fmt::format("cvt.{}.*", to), integers);
    for (const char* const from : {"f32", "ftz.f32", "f64"}) {
      const bool ftz = std::string_view(from).starts_with("ftz");
      for (const char* const rounding : {"rni", "rzi", "rmi", "rpi"})
        expect(ftz ? fmt::format("cvt.{}.ftz.{}.f32", rounding, to)
                   : fmt::format("cvt.{}.{}.{}", rounding, to, from));
    }
    for (const char* const rounding : {"rn", "rz", "rm", "rp"})
      expect_each(fmt::format("cvt.{}.*.{}", rounding, to), {"f32", "f64"});
  }
  expect_each("cvt.sat.*", {"u8.s32", "s16.u32", "s32.s64", "u32.s16"});
  expect_each("cvt.*", {"f64.f32", "ftz.f64.f32", "rn.f32.f64", "rz.ftz.f32.f64", "rni.f32.f32",
                        "rpi.ftz.f32.f32", "rmi.f64.f64", "sat.f32.f32"});
}

} // namespace
} // namespace lemma::vgpu
