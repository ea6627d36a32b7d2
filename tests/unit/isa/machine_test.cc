// The table of the machines is consistent, says what CUDA's headers say, and is the one of
// docs/virtual-gpu.md.
#include "isa/machine.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace lemma::isa {
namespace {

using numeric::Arch;
using numeric::Evidence;

TEST(Machines, AreInOrder) {
  int last = 0;
  for (const Machine& machine : machines()) {
    EXPECT_GT(machine.sm, last);
    last = machine.sm;
    EXPECT_EQ(find_machine(machine.sm), &machine);
  }
  EXPECT_EQ(find_machine(91), nullptr);
}

// A family came with or after its architecture, and each of its members is an `a` too.
TEST(Machines, TargetsCameInOrder) {
  for (const Machine& machine : machines()) {
    SCOPED_TRACE(machine.sm);
    EXPECT_GT(machine.since.major, 0);
    if (machine.since_a.major) {
      EXPECT_GE(machine.since_a, machine.since);
    }
    if (machine.since_f.major) {
      EXPECT_GT(machine.since_a.major, 0);
      EXPECT_GE(machine.since_f, machine.since_a);
    }
    EXPECT_EQ(to_string(fullest_target(machine)),
              fmt::format("sm_{}{}", machine.sm, machine.sm >= 90 ? "a" : ""));
  }
}

// "PTX Module Directives: .target", and what ptxas 13.5 takes (tests/verify/ptxas_targets_test.cc asks it).
TEST(Machines, HaveTheTargetsOfPtx9) {
  const std::vector<std::string_view> known = {
      "sm_10",   "sm_11",   "sm_12",  "sm_13",   "sm_20",   "sm_21",  "sm_30",   "sm_32",   "sm_35",
      "sm_37",   "sm_50",   "sm_52",  "sm_53",   "sm_60",   "sm_61",  "sm_62",   "sm_70",   "sm_72",
      "sm_75",   "sm_80",   "sm_86",  "sm_87",   "sm_88",   "sm_89",  "sm_90",   "sm_90a",  "sm_100",
      "sm_100a", "sm_100f", "sm_103", "sm_103a", "sm_103f", "sm_107", "sm_107a", "sm_107f", "sm_110",
      "sm_110a", "sm_110f", "sm_120", "sm_120a", "sm_120f", "sm_121", "sm_121a", "sm_121f"};
  EXPECT_EQ(target_words(), known);
  for (const std::string_view word : known)
    EXPECT_EQ(to_string(parse_target(word).value_or(Target{})), word);
}

// The ISA's table of families: which target's code runs on which machine.
TEST(Machines, HaveTheFamiliesOfTheIsa) {
  const auto family = [](std::string_view first) {
    std::string members;
    for (const Machine& machine : machines())
      if (runs_on(*parse_target(first), machine.sm))
        members += fmt::format("{} ", machine.sm);
    return members;
  };
  EXPECT_EQ(family("sm_100f"), "100 103 107 ");
  EXPECT_EQ(family("sm_103f"), "103 107 ");
  EXPECT_EQ(family("sm_110f"), "110 ");
  EXPECT_EQ(family("sm_120f"), "120 121 ");
  EXPECT_EQ(family("sm_121f"), "121 ");
}

TEST(Machines, AreModelledFromOneOn) {
  ASSERT_FALSE(modelled_machines().empty());
  EXPECT_EQ(modelled_machines().front().sm, 70);
  for (const Machine& machine : machines()) {
    SCOPED_TRACE(machine.sm);
    const bool modelled = machine.sm >= modelled_machines().front().sm;
    EXPECT_EQ(machine.arithmetic.has_value(), modelled);
    EXPECT_EQ(arithmetic_of(machine.sm), machine.arithmetic);
    EXPECT_EQ(machine.sm_count != 0, modelled);
    EXPECT_EQ(machine.threads_per_sm != 0, modelled);
    EXPECT_EQ(machine.ctas_per_sm != 0, modelled);
    EXPECT_EQ(machine.shared_kib_per_sm > machine.reserved_kib, modelled);
    EXPECT_EQ(machine.shared_unit_bytes != 0, modelled);
    EXPECT_EQ(machine.cluster_ctas != 0, modelled);
    EXPECT_TRUE(modelled || machine.card.empty());
  }
  EXPECT_EQ(arithmetic_of(62), std::nullopt);
  EXPECT_EQ(arithmetic_of(91), std::nullopt);
}

// Each arithmetic is that of the machine it is called after, and a machine without one of its own has the
// nearest older one's.
TEST(Machines, HaveTheArithmeticOfTheNearest) {
  for (const Machine& machine : modelled_machines()) {
    std::string nearest;
    for (const Arch arch : numeric::kArchs)
      if (parse_target(numeric::to_string(arch))->sm <= machine.sm)
        nearest = numeric::to_string(arch);
    EXPECT_EQ(numeric::to_string(*machine.arithmetic), nearest) << machine.sm;
  }
  EXPECT_EQ(arithmetic_of(72), Arch::sm_70);
  EXPECT_EQ(arithmetic_of(87), Arch::sm_86);
  EXPECT_EQ(arithmetic_of(103), Arch::sm_100);
}

// A machine is measured where its bits were recorded.
TEST(Machines, OnlyRecordedOnesAreMeasured) {
  size_t measured = 0;
  for (const Machine& machine : modelled_machines()) {
    const bool recorded =
        std::filesystem::exists(std::string(LEMMA_GOLDEN "/") + to_string(fullest_target(machine)));
    EXPECT_EQ(machine.approximate == Evidence::measured, recorded) << machine.sm;
    measured += recorded;
  }
  EXPECT_GT(measured, 0u);
}

// arch_traits.h of libcu++ and cuda_occupancy.h once more, for the machines that they have.
TEST(Machines, HaveTheSizesOfCudasHeaders) {
  struct Size {
    int sm;
    uint32_t threads, ctas, shared_kib;
  };
  constexpr Size sizes[] = {{70, 2048, 32, 96},   {75, 1024, 16, 64},   {80, 2048, 32, 164},
                            {86, 1536, 16, 100},  {87, 1536, 16, 164},  {88, 1536, 16, 100},
                            {89, 1536, 24, 100},  {90, 2048, 32, 228},  {100, 2048, 32, 228},
                            {103, 2048, 32, 228}, {107, 1024, 16, 228}, {110, 1536, 24, 228},
                            {120, 1536, 24, 100}, {121, 1536, 24, 100}};
  for (const Size& size : sizes) {
    const Machine* machine = find_machine(size.sm);
    ASSERT_NE(machine, nullptr) << size.sm;
    SCOPED_TRACE(size.sm);
    EXPECT_EQ(machine->threads_per_sm, size.threads);
    EXPECT_EQ(machine->ctas_per_sm, size.ctas);
    EXPECT_EQ(machine->shared_kib_per_sm, size.shared_kib);
  }
  for (const Machine& machine : modelled_machines()) {
    SCOPED_TRACE(machine.sm);
    EXPECT_EQ(machine.reserved_kib, machine.sm >= 80 ? 1u : 0u);
    EXPECT_EQ(machine.shared_unit_bytes, machine.sm >= 80 ? 128u : 256u);
    EXPECT_EQ(machine.cluster_ctas > 1, machine.sm >= 90);
  }
}

TEST(Machines, AreTheTableOfTheDocs) {
  std::string table =
      "| machine | GPU | SMs | threads, CTAs of an SM | shared memory of an SM, a CTA | CTAs of a cluster | "
      "matrix products | approximate functions |\n|---|---|---|---|---|---|---|---|\n";
  for (const Machine& m : modelled_machines())
    table += fmt::format("| sm_{} | {} | {} | {}, {} | {}, {} KiB | {} | as {} | {} |\n", m.sm, m.card,
                         m.sm_count, m.threads_per_sm, m.ctas_per_sm, m.shared_kib_per_sm,
                         m.shared_kib_per_sm - m.reserved_kib,
                         m.cluster_ctas == 1 ? "" : fmt::format("{}", m.cluster_ctas),
                         numeric::to_string(*m.arithmetic), numeric::to_string(m.approximate));
  std::ifstream file(LEMMA_DOCS "/virtual-gpu.md");
  const std::string docs{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(docs.find("\n" + table + "\n"), std::string::npos)
      << "docs/virtual-gpu.md should have this table:\n"
      << table;
}

} // namespace
} // namespace lemma::isa
