// What handlers know of one instruction beyond its operands: a plan, made when the instruction is decoded,
// of the type that its family has, defined where the family's handlers are. A function's plans lie in
// tables, one a type, and an instruction names its plan by PlanId.
//
// Tests: tests/unit/vgpu/plans_test.cc.
#pragma once

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <vector>

namespace lemma::vgpu {

// Names one plan of a function, or none. Equal ids name the same plan.
class PlanId {
public:
  PlanId() = default;
  explicit operator bool() const { return type_ != 0; }
  friend bool operator==(const PlanId&, const PlanId&) = default;

private:
  template <class... T>
  friend class PlanTables;
  static constexpr uint32_t kTypeBits = 6, kIndexBits = 26;

  uint32_t type_ : kTypeBits = 0; // 1 more than the type's place in the list; 0: no plan
  uint32_t index_ : kIndexBits = 0;
};

template <class... T>
class PlanTables {
public:
  // Keeps the plan as long as the tables live, at an address that does not change. Whoever made it may go on
  // filling it in until an instruction executes with it. Throws std::length_error where there are 2^26 of
  // the type already.
  template <class P>
  PlanId add(std::shared_ptr<P> plan) {
    Table<P>& table = std::get<Table<P>>(tables_);
    if (table.size() >> PlanId::kIndexBits != 0)
      throw std::length_error("a function has too many plans of one type");
    PlanId id;
    id.type_ = kNumber<P>;
    id.index_ = static_cast<uint32_t>(table.size());
    table.push_back(std::move(plan));
    return id;
  }

  // The plan that the id names, which has to be of that type.
  template <class P>
  const P& get(PlanId id) const {
    assert(id.type_ == kNumber<P>);
    return *std::get<Table<P>>(tables_)[id.index_];
  }

  template <class P>
  size_t count() const {
    return std::get<Table<P>>(tables_).size();
  }
  // Of all types together.
  size_t size() const { return (std::get<Table<T>>(tables_).size() + ...); }

private:
  // A shared_ptr needs to know the whole type where it is made alone.
  template <class P>
  using Table = std::vector<std::shared_ptr<const P>>;

  template <class P>
  static constexpr uint32_t number_of() {
    static_assert((std::is_same_v<P, T> || ...), "a type of plan has to be in the list");
    uint32_t number = 0;
    bool found = false;
    ((found |= std::is_same_v<P, T>, number += !found), ...);
    return number + 1;
  }
  template <class P>
  static constexpr uint32_t kNumber = number_of<P>();
  static_assert(sizeof...(T) < 1u << PlanId::kTypeBits);

  std::tuple<Table<T>...> tables_;
};

// Every type of plan there is.
using Plans =
    PlanTables<struct ArrivePlan, struct BranchTable, struct BulkPlan, struct CallSite, struct CopyPlan,
               struct CtaConstants, struct FencedCopyPlan, struct FixedShuffle, struct LaunchConstants,
               struct LoadOfCopy, struct M8n8Plan, struct MbarrierPlan, struct MmaPlan, struct MmaRun,
               struct Refusal, struct ReplacePlan, struct RequestPlan, struct SettledRun, struct SurfacePlan,
               struct TensorAllocationPlan, struct TensorCommitPlan, struct TensorCpPlan,
               struct TensorMmaPlan, struct TensorMovePlan, struct TensorPlan, struct TensorShiftPlan,
               struct TexturePlan, struct WgmmaPlan, struct WmmaMovePlan>;

} // namespace lemma::vgpu
