// Legality is asked from the newest value on: what is older than one that may not be given may not be either.
// See old_values.h.
#include "check/old_values.h"

#include <algorithm>

namespace lemma::check {
namespace {

// It is that warp's own, or all of these lanes may know of it.
bool is_known(const WarpKnowledge& warp, LaneMask lanes, uint64_t cluster, uint32_t agent, Epoch epoch) {
  if (warp.cluster() == cluster && warp.agent() == agent)
    return true;
  return std::ranges::any_of(warp.groups(), [&](const LaneGroup& group) {
    return (group.lanes & lanes) != 0 && group.knowledge.known.covers_any(cluster, agent, epoch);
  });
}

} // namespace

void History::replace(uint64_t value, uint32_t bytes, const SyncLocation& now, const StrongWriter& by) {
  if (bytes != bytes_)
    *this = {};
  bytes_ = bytes;
  if (values_.size() == kMostValues)
    values_.erase(values_.begin());
  OldValue& old = values_.emplace_back();
  old.value = value;
  old.then.released = now.released;
  old.then.writers = now.writers;
  old.then.version = now.version;
  old.replaced_by = by;
}

void History::has_read(uint64_t cluster, uint32_t agent, Epoch epoch, uint64_t version) {
  for (Read& read : reads_)
    if (read.cluster == cluster && read.agent == agent && read.epoch == epoch) {
      read.version = std::max(read.version, version);
      return;
    }
  if (reads_.size() == kMostReads) { // who has read what is no longer known
    values_.clear();
    reads_.clear();
  }
  reads_.push_back({cluster, agent, epoch, version});
}

std::vector<OldValue*> History::allowed(const WarpKnowledge& warp, LaneMask lanes, uint32_t bytes) {
  uint64_t newest_read = 0;
  for (const Read& read : reads_)
    if (is_known(warp, lanes, read.cluster, read.agent, read.epoch))
      newest_read = std::max(newest_read, read.version);
  std::vector<OldValue*> found;
  for (size_t i = bytes == bytes_ ? values_.size() : 0; i-- > 0;) {
    OldValue& old = values_[i];
    const StrongWriter& by = old.replaced_by;
    if (old.then.version < newest_read || is_known(warp, lanes, by.cluster, by.agent, by.epoch))
      break;
    if (old.given < kMostTimes)
      found.push_back(&old);
  }
  return found;
}

} // namespace lemma::check
