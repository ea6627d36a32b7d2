// Instructions of tcgen05 by name. Those that move data are called as PTX spells them. A product's shape and
// types are in its instruction descriptor, not in its spelling: here they follow it, as wgmma has them,
//
//   tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f32.f16.f16                                   D A B
//   tcgen05.mma.cta_group::1.kind::mxf4.block_scale.scale_vec::2X.m128n64k64.f32.e2m1.e2m1.ue8m0    and
//   scales
//
// and what is left out at the end is the first that is legal. K = 96, which sm_103 alone has, is a shape as
// others are. Which there are the forms of src/isa say, which shapes and types the rules of src/layout.
//
// Not here: who holds what (tensor_matrix.cc). Tests: tests/unit/inspect/tensor_test.cc, tests/cli/.
#pragma once

#include "isa/form.h"
#include "isa/matrix_model.h"
#include "lemma/result.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::inspect {

// A word of tcgen05 begins so.
inline constexpr std::string_view kTensorPrefix = "tcgen05.";

// Products that differ in shape and types alone.
struct TensorFamily {
  std::string words; // PTX's own: "tcgen05.mma.cta_group::1.kind::f16"
  isa::Binding binding;
  isa::TensorWords meaning;

  const isa::Form& form() const { return *binding.form; }
};
// All, in the order of the kinds. The first spelling of each, for a choice of words that mean the same.
const std::vector<TensorFamily>& tensor_families();

// What a family may have, as layout::wrong() says; M, N and types in ascending order and that of their codes.
struct TensorChoices {
  std::vector<uint32_t> m, k;
  std::vector<layout::TensorFormat> d, a, b;
  std::vector<layout::ScaleFormat> scales; // none: it is not block scaled
};
TensorChoices choices_of(const TensorFamily& family);
// N that go with M and K.
std::vector<uint32_t> columns_of(const TensorFamily& family, uint32_t m, uint32_t k);

// One product.
struct TensorName {
  TensorFamily family;
  layout::TensorInstructionDescriptor descriptor; // with its bits

  const layout::TensorInstruction& instruction() const { return family.meaning.instruction; }
  uint32_t scales() const; // of a row
};
std::string spelling_of(const TensorName& name);
// Of all its shapes and types.
std::vector<std::string> spellings_of(const TensorFamily& family);
// "tcgen05.mma.cta_group::1.kind::f16.mMnNk16.{f16,f32}.{f16,bf16}.{f16,bf16}"
std::string pattern_of(const TensorFamily& family);

// The family of PTX's words, any that a form has. Error: what is wrong with them, or which there are.
Result<TensorFamily, std::string> find_tensor_family(std::string_view words);
// `name`: as above, or the beginning of one family's. The error is some lines that say which there are, or
// what is legal.
Result<TensorName, std::string> find_tensor(std::string_view name);

// tcgen05.ld, ld.red, st and cp: the words bound to their form. None: they are not such.
std::optional<isa::Binding> find_tensor_move(std::string_view words);

// The arithmetic on a machine; none: it has no such product, or nobody has said how it computes it.
std::optional<numeric::DotModel> model_of(const TensorName& name, numeric::Arch arch);
// Has the target the products?
bool contains(const TensorFamily& family, isa::Target target);
// Has its machine the product, sm_100's as much as sm_100a's?
bool is_in(const TensorName& name, isa::Target target);

// As rows_like() and begins_matrix_name() of matrix_name.h.
std::vector<const TensorFamily*> tensor_families_like(const std::vector<std::string>& words);
bool begins_tensor_name(std::string_view word);

} // namespace lemma::inspect
