// Accesses to a CTA's shared memory that nothing has met with which they might conflict since all its threads
// have met at a barrier last.
//
// Reads of a page that nobody has written since then conflict with nothing, and only a write can conflict
// with them; nor do relaxed atomic operations of one size with each other. Until another access comes to the
// page they wait here, without a record, which costs less than to enter them in the shadow memory, and mostly
// the next barrier comes first.
//
// Tests: tests/unit/check/pending_test.cc.
#pragma once

#include "check/handover.h"
#include "check/shadow.h"
#include "vgpu/engine/observer.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <vector>

namespace lemma::check {

class Pending {
public:
  // Of so many bytes of shared memory.
  explicit Pending(uint64_t bytes) : pages_((bytes + Page::kBytes - 1) / Page::kBytes) {}

  // Who accesses, from which a Record is made when the access is entered.
  struct Who {
    const vgpu::Code* code = nullptr;
    vgpu::InstId instruction = {};
    uint32_t agent = 0; // a warp's
    Epoch epoch = 0;
  };
  // One that lanes make each for itself.
  struct Waiting {
    Who who;
    vgpu::AccessKind kind = vgpu::AccessKind::read;
    vgpu::Proxy proxy = vgpu::Proxy::generic;
    vgpu::LanesLie lie = vgpu::LanesLie::anyhow;
    LaneMask pieces = 0;
    uint32_t bytes = 0;   // of one
    uint32_t knew = 0;    // of an atomic operation: for knew()
    uint32_t offsets = 0; // of each piece, in their order; of the first where that says it all
  };

  // Whether a weak read may wait, and does from now on. Else the caller enters it.
  bool add_read(const vgpu::WarpAccess& access, const Who& who, vgpu::LanesLie lie) {
    return may_wait(access, [&](Use& use) { return use.written != since_ && use.updated != since_; }) &&
           add(access, who, lie, &Use::read);
  }
  // The same of a relaxed atomic operation that releases nothing and whose value nobody takes. `knew()` gives
  // what Waiting has.
  template <class F>
  bool add_update(const vgpu::WarpAccess& access, const Who& who, vgpu::LanesLie lie, F&& knew) {
    const auto may = [&](Use& use) {
      return use.written != since_ && use.entered != since_ && use.read != since_ &&
             (use.updated != since_ || use.update_bytes == access.piece_bytes);
    };
    if (!may_wait(access, may))
      return false;
    knew_.push_back(knew());
    return add(access, who, lie, &Use::updated);
  }
  // An access is entered that may not wait. Whether those that do have to be entered first: they are to be
  // taken.
  bool meet(const vgpu::Access& access) {
    const bool writes = vgpu::writes(access.kind);
    bool meets = false;
    each_page(access, [&](Use& use) {
      meets |= use.updated == since_ || (writes && use.read == since_);
      (writes ? use.written : use.entered) = since_;
    });
    return meets && !waiting_.empty() && !is_closed_;
  }
  // Those that wait, in their order: none waits any more, and none will before the next barrier, or the next
  // few, for where reads and writes take turns waiting is in vain.
  const std::vector<Waiting>& take() {
    is_closed_ = true;
    in_vain_ = std::min(2 * in_vain_ + 1, kMostInVain);
    closed_for_ = in_vain_;
    return waiting_;
  }
  const uint32_t* offsets(const Waiting& of) const { return &offsets_[of.offsets]; }
  // StrongWriter::knew of an atomic operation.
  const std::shared_ptr<const Known>& knew(const Waiting& of) const { return knew_[of.knew - 1]; }
  // All threads have met at a barrier.
  void forget() {
    if (!is_closed_ && !waiting_.empty())
      in_vain_ = 0;
    is_closed_ = closed_for_ > 0;
    closed_for_ -= is_closed_;
    waiting_.clear();
    offsets_.clear();
    knew_.clear();
    ++since_;
  }

private:
  static constexpr size_t kMost = 4096;
  static constexpr uint32_t kMostInVain = 31;
  // In which time between barriers, as since_, a page was last read and updated by what waits, and written
  // and otherwise accessed by what does not.
  struct Use {
    uint64_t read = 0, updated = 0, written = 0, entered = 0;
    uint32_t update_bytes = 0;
  };

  template <class F>
  void each_page(const vgpu::Access& access, F&& f) {
    const uint64_t last =
        std::min<uint64_t>((access.offset + access.bytes - 1) / Page::kBytes + 1, pages_.size());
    for (uint64_t i = access.offset / Page::kBytes; i < last; ++i)
      f(pages_[i]);
  }
  template <class F>
  bool may_wait(const vgpu::WarpAccess& access, F&& may) {
    bool all = !is_closed_ && waiting_.size() < kMost;
    if (all)
      each_page(access.access, [&](Use& use) { all &= may(use); });
    return all;
  }
  bool add(const vgpu::WarpAccess& access, const Who& who, vgpu::LanesLie lie, uint64_t Use::* use) {
    each_page(access.access, [&](Use& page) {
      page.*use = since_;
      page.update_bytes = access.piece_bytes;
    });
    waiting_.push_back({.who = who,
                        .kind = access.access.kind,
                        .proxy = access.access.proxy,
                        .lie = lie,
                        .pieces = access.pieces,
                        .bytes = access.piece_bytes,
                        .knew = static_cast<uint32_t>(knew_.size()),
                        .offsets = static_cast<uint32_t>(offsets_.size())});
    if (lie != vgpu::LanesLie::anyhow)
      offsets_.push_back(static_cast<uint32_t>(access.offset(std::countr_zero(access.pieces))));
    else
      access.each([&](int, uint64_t offset) { offsets_.push_back(static_cast<uint32_t>(offset)); });
    return true;
  }

  std::vector<Waiting> waiting_;
  std::vector<uint32_t> offsets_;
  std::vector<std::shared_ptr<const Known>> knew_; // of those updates that wait
  std::vector<Use> pages_;
  uint64_t since_ = 1;
  bool is_closed_ = false;
  uint32_t in_vain_ = 0, closed_for_ = 0; // barriers
};

} // namespace lemma::check
