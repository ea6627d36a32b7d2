// Demangled and partial names of kernels, and what numbered parameters are called.
// src/runtime/kernel_names.h.
#include "runtime/kernel_names.h"

#include <gtest/gtest.h>

namespace lemma::runtime {
namespace {

using Texts = std::vector<std::string>;

std::vector<KernelInfo> kernels(const Texts& names) {
  std::vector<KernelInfo> all;
  for (const std::string& name : names)
    all.emplace_back().name = name;
  return all;
}

const Texts kNames = {"_Z5saxpyPffi",           // saxpy(float*, float, int)
                      "_ZN2ns4gemmILi64EEEvPf", // void ns::gemm<64>(float*)
                      "_ZN2ns4gemmILi128EEEvPf",
                      "_ZN12_GLOBAL__N_14copyEPiS0_",
                      "plain",
                      "plain_2"};

// The name that it finds; else the error.
std::string found(std::string_view name) {
  const std::vector<KernelInfo> all = kernels(kNames);
  const auto index = find_kernel(all, name);
  return index ? all[*index].name : index.error().text;
}

TEST(KernelNames, Demangles) {
  EXPECT_EQ(demangled("_Z5saxpyPffi"), "saxpy(float*, float, int)");
  EXPECT_EQ(demangled("saxpy"), "saxpy");
  EXPECT_EQ(demangled("_Z!"), "_Z!");
}

TEST(KernelNames, AreBriefInMessages) {
  EXPECT_EQ(brief_name("_Z5saxpyPffi"), "saxpy");
  EXPECT_EQ(brief_name("_ZN2ns4gemmILi64EEEvPf"), "ns::gemm<64>");
  EXPECT_EQ(brief_name("_ZNK1S1gEv"), "S::g");
  EXPECT_EQ(brief_name("_ZN34_INTERNAL_2f0bd2b6_4_k_cu_b2a4c8e16__ldcgEPK7__half2"), "__ldcg");
  EXPECT_EQ(brief_name("_ZN3cub9BlockScanI" + std::string(20, 'i') + "E3SumILi3EEEvv"),
            "cub::BlockScan<...>::Sum<...>");
  EXPECT_EQ(brief_name("_ZN3cub17CUB_300001_SM_90010ThreadLoadIiEEvv"), "cub::ThreadLoad<int>");
  EXPECT_EQ(brief_name("_ZN3cub4CUB_3SumEv"), "cub::CUB_::Sum");
  EXPECT_EQ(brief_name("_ZZ5tiledPK6__halfS1_PfiE2sa"), "tiled::sa");
  EXPECT_EQ(brief_name("_ZZZ5tiledPfENKUliE_clEiE4rows"), "tiled::{lambda(int)#1}::operator()::rows");
  EXPECT_EQ(brief_name("_ZZN12_GLOBAL__N_14copyEPiE1s"), "(anonymous namespace)::copy::s");
  EXPECT_EQ(brief_name("_ZZNK1S1gEiE1t"), "S::g::t");
  EXPECT_EQ(brief_name("row_sums"), "row_sums");
  EXPECT_EQ(brief_name(""), "");
}

TEST(KernelNames, AreBriefInsideOfMessages) {
  EXPECT_EQ(with_brief_names("8 bytes past the end of _ZZ5scalePfE4tile (64 bytes), in _Z5scalePf"),
            "8 bytes past the end of scale::tile (64 bytes), in scale");
  EXPECT_EQ(with_brief_names("a_Zb, _Z!, x + 0x10"), "a_Zb, _Z!, x + 0x10");
  EXPECT_EQ(with_brief_names(""), "");
}

// Each argument is twice as long as the one before it: such a name is not written out.
TEST(KernelNames, OutlinesNamesThatWouldGrow) {
  std::string name = "_ZN2ns1kI1AIiiE";
  for (const char c : std::string("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    name += std::string("S_IS") + c + "_S" + c + "_E";
  EXPECT_EQ(demangled(name + "EEvv"), "ns::k<...>");
  EXPECT_EQ(demangled("_Z" + std::string(5000, 'P')), "_Z" + std::string(5000, 'P'));
  EXPECT_EQ(demangled("_ZN99999999999999999999999" + std::string(5000, 'P')),
            "_ZN99999999999999999999999" + std::string(5000, 'P'));
}

TEST(KernelNames, FindsByEveryForm) {
  for (const char* name :
       {"_Z5saxpyPffi", "saxpy(float*, float, int)", "saxpy(float*,float,int)", "saxpy", "axp"})
    EXPECT_EQ(found(name), "_Z5saxpyPffi") << name;
  for (const char* name : {"void ns::gemm<64>(float*)", "ns::gemm<64>", "gemm<64>", "gemm<6"})
    EXPECT_EQ(found(name), "_ZN2ns4gemmILi64EEEvPf") << name;
  for (const char* name : {"(anonymous namespace)::copy", "copy"})
    EXPECT_EQ(found(name), "_ZN12_GLOBAL__N_14copyEPiS0_") << name;
  EXPECT_EQ(found("plain"), "plain"); // in full, though a part of another too
  EXPECT_EQ(found("n_2"), "plain_2");
}

TEST(KernelNames, ListsWhatItMayBe) {
  EXPECT_EQ(found("gemm"), "'gemm' may be 2 kernels of the module: ns::gemm<64>, ns::gemm<128>");
  EXPECT_EQ(found("saxpi"),
            "the module has no kernel 'saxpi' (did you mean saxpy?); it has: saxpy, ns::gemm<64>, "
            "ns::gemm<128>, (anonymous namespace)::copy, plain, plain_2");
  EXPECT_EQ(found(""), "the module has 6 kernels, name one: saxpy, ns::gemm<64>, ns::gemm<128>, "
                       "(anonymous namespace)::copy, plain, plain_2");
}

TEST(KernelNames, ReadsParameterTypes) {
  EXPECT_EQ(parameter_types("f(float*, A<int, (B)3>, void (*)(int, int))"),
            (Texts{"float*", "A<int, (B)3>", "void (*)(int, int)"}));
  EXPECT_EQ(parameter_types("f()"), Texts{});
  EXPECT_EQ(parameter_types("f"), Texts{});
}

TEST(KernelNames, LabelsNumberedParameters) {
  const std::string k = "_Z5saxpyPffi";
  EXPECT_EQ(parameter_labels(k, Texts{k + "_param_0", k + "_param_1", k + "_param_2"}),
            (Texts{"float*", "float", "int"}));
  EXPECT_EQ(parameter_labels(k, Texts{k + "_param_0", "x"}), (Texts{"parameter 0", "x"}));
  EXPECT_EQ(parameter_labels("k", Texts{"k_param_0"}), Texts{"parameter 0"});
  EXPECT_EQ(parameter_labels("k", Texts{"k_param_0", "y", "k_param_2"}, Texts{"a", "b", ""}),
            (Texts{"a", "y", "parameter 2"}));
  EXPECT_EQ(parameter_labels("k", Texts{"k_param_0"}, Texts{"a", "b"}), Texts{"parameter 0"});
}

} // namespace
} // namespace lemma::runtime
