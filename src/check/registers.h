// What a warp knows of the registers that its wgmma.mma_async have: accumulators, and A where it comes from
// registers. Whoever touches one asks here whether a product that has it is in flight, and a product asks
// whether a wgmma.fence lies between it and the instruction that wrote the register.
//
// A product is in flight from its issue until a wgmma.wait_group that covers its group, whatever the host
// executed when. A plain move carries what stands in a register with all that is known of it: ptxas gives
// both names one register, so what is wrong with the move alone is a note.
//
// PTX ISA: "wgmma.fence", "wgmma.commit_group", "wgmma.wait_group". Tests:
// tests/unit/check/registers_test.cc.
#pragma once

#include "check/advice.h"
#include "check/knowledge.h"
#include "lemma/report.h"
#include "vgpu/engine/exec.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace lemma::check {

class WgmmaRegisters {
public:
  // A finding, and the instruction that it is kept under: one of a wgmma.fence or wait that is missing.
  using Report = std::function<void(Finding, Advice, vgpu::InstId)>;

  void fence() { ++fences_; }
  void wait() { ++waits_; }
  // `x` is at a wgmma.mma_async; `groups`: of the warp's products.
  void issue(const vgpu::Exec& x, const GroupsOfThread& groups, const Report& report);
  // `x` is at another instruction that names some of the registers.
  void touch(const vgpu::Exec& x, const GroupsOfThread& groups, const Report& report);

private:
  struct Product {
    vgpu::InstId instruction = {}; // none: there is none
    vgpu::InstId first = {};       // of its group
    Epoch group = 0;
    uint32_t waits = 0, fences = 0; // of the warp, when it was issued
    int position = 0;               // of the register among its operands
  };
  struct Touch {
    vgpu::InstId instruction = {};
    uint32_t fences = 0;
    bool moves = false; // a plain mov
  };
  struct Register {
    Product accumulator;         // the last to have it as one, if nothing was written since
    Product reader;              // the last to have it in A
    Touch written, read;         // by others
    uint32_t product_fences = 0; // when a product last had it
  };
  // Of one activation of a function.
  struct Frame {
    const vgpu::Frame* frame = nullptr;
    uint64_t activation = 0;
    std::vector<Register> registers; // by Code::wgmma_numbers
  };
  enum class Deed : uint8_t { reads, writes, accumulates };

  std::vector<Register>& registers_of(const vgpu::Exec& x);
  static bool in_flight(const Product& product, const GroupsOfThread& groups) {
    return product.instruction && product.group > groups.done;
  }
  bool same_shape(const vgpu::Code& code, vgpu::InstId one, vgpu::InstId other);
  // The product in flight, and what is done to its register.
  std::pair<Finding, Advice> early(const vgpu::Exec& x, const GroupsOfThread& groups, const Product& product,
                                   bool in_a, const vgpu::Slot& slot, Deed deed) const;
  // Since the last fence: a finding if there is one.
  bool check_fence(const vgpu::Exec& x, const Register& reg, const Product& product, bool in_a,
                   const Report& report) const;
  bool check_accumulator(const vgpu::Exec& x, const GroupsOfThread& groups, const Register& reg, int position,
                         const Report& report);

  std::vector<Frame> frames_;
  uint32_t fences_ = 0, waits_ = 0;
  Product last_; // issued
  // What same_shape() was last asked.
  vgpu::InstId shape_of_ = {}, shape_of_other_ = {};
  bool shape_is_same_ = false;
};

} // namespace lemma::check
