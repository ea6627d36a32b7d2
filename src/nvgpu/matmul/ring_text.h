// How tiles of A and B come to a CTA of a kernel whose producer copies them by the tensor memory accelerator:
// on the host sizes, tensor maps and the grid; in the kernel the ring of stages in shared memory with its
// mbarriers, which tile of C a CTA makes, and the producer's loop. Text for the kernels of kernel.h and
// tcgen05_kernel.h.
//
// Not here: who multiplies and who stores.
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/text.h"

#include <string>

namespace lemma::nvgpu {

class RingText {
public:
  // `stored`: what the kernel stores: C, or sums of parts of K. `store_bytes` of shared memory for that come
  // behind the ring. Gives `text` words for all of this.
  RingText(const MatmulKernel& kernel, const MatmulKernel& stored, int64_t store_bytes, TemplateText& text);

  // Names of types: !shared, !barriers, boxes and tensor maps.
  void types();
  // On the host: sizes, the maps of A and B, the grid, %shared_bytes.
  void host();
  // Memory for sums of parts, and the map of what is stored.
  void host_of_store();
  // The gpu.launch, up to its body. `variables`: in shared memory, as "workgroup(...)"; empty: none.
  void launch(const std::string& variables);
  // Who a thread is: %thread, %warp, %lane, %is_first. The mbarriers %full and %empty of each stage.
  void begin();
  // By one thread: makes them. `more`: text that makes others.
  void init(const std::string& more);
  // Row and column of C where the part `part` of a tile begins, and the first of its steps along K: groups of
  // `group` rows of clusters, column by column.
  void place(const std::string& part);
  // Where along K a tile's part begins: %first_depth.
  void first_depth();
  // The stage after `stage`, and the parity of its phase, as NEXT_stage and NEXT_parity.
  void advance(const char* stage, const char* parity, const char* next);
  // The producer's work, of one thread.
  void bring();

  // Does a line of B lie along N? Of elements of other widths B is N x K, or was made so.
  bool is_mn_major_b() const { return !kernel_.b.transposed && kernel_.b.element_bytes == 2; }
  int64_t line() const { return kLineBytes / kernel_.a.element_bytes; } // elements
  // Rows of a box, which is what one copy brings.
  int64_t a_box_rows() const;
  int64_t b_box_rows() const;

private:
  void add(std::string_view text, const Words& more = {}) { text_.add(text, more); }
  void masks();
  void load(const char* matrix, bool mn_major, int64_t extent, int64_t sharing);

  const MatmulKernel& kernel_;
  const MatmulKernel& stored_;
  const Schedule& s_;
  TemplateText& text_;
};

// The element of a matrix as shared memory has it: tensor copies round f32 to tf32.
std::string multiplied(const MatmulOperand& operand);

} // namespace lemma::nvgpu
