// Cases that no form can give: written by hand, one file a group.
//
// Tests: tests/unit/golden/, tests/golden/.
#pragma once

#include "golden/case.h"

namespace lemma::golden {

std::vector<Case> carry_cases(std::string_view group); // add.cc, addc, sub.cc, subc, mad.cc, madc, and chains
std::vector<Case> warp_cases(std::string_view group);  // shfl, vote, match, redux, elect, activemask
std::vector<Case> atomic_cases(std::string_view group);     // atom, red
std::vector<Case> divergence_cases(std::string_view group); // branches, loops, calls, barriers, predication
std::vector<Case> memory_cases(std::string_view group);     // ld, st, mov, cvta, special registers
std::vector<Case>
operand_cases(std::string_view group); // vector registers, sums of a register and a constant
std::vector<Case> constant_cases(std::string_view group); // divisions by numbers that the assembler knows
// mapa, barrier.cluster, registers of clusters, and what follows: on the memory of another CTA
std::vector<Case> cluster_cases(std::string_view group);
std::vector<Case> cluster_memory_cases(); // ld, st
std::vector<Case> cluster_atomic_cases(); // atom, red

std::vector<Case>
async_copy_cases(std::string_view group); // cp.async, bulk copies and reductions, st.async, red.async
std::vector<Case> mbarrier_cases(std::string_view group); // states, pending counts, phases

} // namespace lemma::golden
