// Which registers somebody may still read: what compiled code has in registers of the host, and nobody will,
// it does not bring to the frame.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "vgpu/compiled/unit.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace lemma::vgpu {

class Liveness {
public:
  explicit Liveness(const Code& code);

  // Of the lanes that go on at a segment's begin. Registers whose values a constant group (constant_groups.h)
  // may leave in the frame for later always are; so are all of a function that is too large to tell.
  bool is_live(uint32_t pc, Place place) const;

private:
  using Set = std::vector<uint64_t>; // a bit for each register
  struct Part {
    uint32_t begin = 0;
    Set reads, writes, live; // before it writes them, at its begin
    std::vector<uint32_t> successors;
    bool goes_anywhere = false;
  };

  void number_registers();
  void look_at(Part& part, const Segment& segment);
  void connect(const std::vector<Segment>& segments);
  void spread();

  const Code& code_;
  std::unordered_map<Place, uint32_t> numbers_;
  std::vector<bool> always_; // by number
  std::vector<Part> parts_;  // by segment
};

} // namespace lemma::vgpu
