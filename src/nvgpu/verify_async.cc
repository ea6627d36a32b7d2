// Rules of asynchronous copies (cp.async), mbarriers and tensor copies (TMA).
//
// Not checked here: values that only a run knows (coordinates, counts, alignment of addresses), and whether
// the target has the instructions (the lowering knows the target). PTX ISA: "cp.async", "mbarrier",
// "cp.async.bulk.tensor", "Tensor-map". CUDA driver: cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col. Tests:
// tests/mlir/dialect/{async_copy,mbarrier,tma}_invalid.mlir.
#include "nvgpu/dialect.h"
#include "nvgpu/matrix_type.h"
#include "nvgpu/tensor_map_type.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Matchers.h"

namespace lemma::nvgpu {

using namespace mlir;

namespace {

// No space may be any; that the program means global memory is all that there is to go by.
bool may_be_global(Attribute memory_space) {
  if (!memory_space)
    return true;
  if (const auto number = dyn_cast<IntegerAttr>(memory_space))
    return number.getInt() == 0 || number.getInt() == 1;
  if (const auto space = dyn_cast<gpu::AddressSpaceAttr>(memory_space))
    return space.getValue() == gpu::AddressSpace::Global;
  return false;
}

LogicalResult check_indices(Operation* op, StringRef name, MemRefType type, size_t indices) {
  if (static_cast<int64_t>(indices) == type.getRank())
    return success();
  return op->emitOpError("has ") << indices << " indices for the " << name << ", a memref of rank "
                                 << type.getRank();
}

LogicalResult check_contiguous(Operation* op, StringRef name, MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return op->emitOpError("the ") << name << " has no strides: " << type;
  // One element alone lies next to itself.
  if (strides.empty() || strides.back() == 1 || type.getShape().back() == 1)
    return success();
  auto error = op->emitOpError("copies elements that lie next to each other, but the last dimension of the ");
  error << name << " has ";
  if (ShapedType::isDynamic(strides.back()))
    return error << "a stride that is not known; legal: 1";
  return error << "stride " << strides.back() << "; legal: 1";
}

} // namespace

int64_t element_bits(Type element) {
  if (const auto vector = dyn_cast<VectorType>(element))
    return vector.isScalable() ? 0 : vector.getNumElements() * element_bits(vector.getElementType());
  return element.isIntOrFloat() ? storage_bits(element) : 0;
}

LogicalResult DeviceAsyncCopyOp::verify() {
  const auto from = cast<MemRefType>(getSrc().getType());
  const auto to = cast<MemRefType>(getDst().getType());
  if (!is_shared_memory(to.getMemorySpace()))
    return emitOpError("writes shared memory (#gpu.address_space<workgroup> or 3); the destination is ")
           << to;
  if (!may_be_global(from.getMemorySpace()))
    return emitOpError("reads global memory (#gpu.address_space<global>, 1 or none); the source is ") << from;
  if (from.getElementType() != to.getElementType())
    return emitOpError("element types differ: ")
           << from.getElementType() << " in the source, " << to.getElementType() << " in the destination";
  if (failed(check_indices(*this, "source", from, getSrcIndices().size())) ||
      failed(check_indices(*this, "destination", to, getDstIndices().size())) ||
      failed(check_contiguous(*this, "source", from)) || failed(check_contiguous(*this, "destination", to)))
    return failure();

  const int64_t bits = element_bits(to.getElementType());
  if (bits == 0 || (bits % 8 != 0 && !is_packed(to.getElementType())))
    return emitOpError("does not copy elements of ")
           << to.getElementType()
           << "; legal: integers, floats and vectors of them, of whole bytes or of 4 bits";
  const int64_t elements = getDstElements().getSExtValue();
  const int64_t copied = elements < 0 || elements > 128 ? 0 : elements * bits;
  const bool bypasses = getBypassL1().value_or(false);
  if (copied == 128 || (!bypasses && (copied == 32 || copied == 64)))
    return success();
  auto error = emitOpError("copies ");
  error << elements << " elements of " << bits << " bits";
  if (copied != 0 && copied % 8 == 0)
    error << ", " << copied / 8 << " bytes";
  error << (bypasses ? "; legal with bypassL1: 16 bytes" : "; legal: 4, 8 and 16 bytes");
  SmallVector<int64_t> legal;
  for (const int64_t bytes : {4, 8, 16})
    if (8 * bytes % bits == 0 && (bytes == 16 || !bypasses))
      legal.push_back(8 * bytes / bits);
  if (!legal.empty()) {
    error << ", dstElements of ";
    llvm::interleaveComma(legal, error);
  }
  return error;
}

LogicalResult DeviceAsyncWaitOp::verify() {
  if (const auto groups = getNumGroups(); groups && static_cast<int32_t>(*groups) < 0)
    return emitOpError("numGroups is ") << static_cast<int32_t>(*groups) << "; legal: 0 and up";
  return success();
}

// mbarriers

namespace {

LogicalResult check_group(Operation* op, MBarrierGroupType type) {
  if (!is_shared_memory(type.getMemorySpace()))
    return op->emitOpError(
               "mbarriers lie in shared memory (memorySpace = #gpu.address_space<workgroup> or 3), not in ")
           << type.getMemorySpace();
  if (type.getNumBarriers() == 0)
    return op->emitOpError("the group has no mbarriers; legal: num_barriers of 1 and up");
  return success();
}

// [%id] may be left out where there is but one.
LogicalResult check_barrier(Operation* op, MBarrierGroupType type, Value id) {
  if (failed(check_group(op, type)))
    return failure();
  if (!id && type.getNumBarriers() > 1)
    return op->emitOpError("which of the group's ")
           << type.getNumBarriers()
           << " mbarriers? Write [%id] after the group; only a group of one needs none";
  return success();
}

LogicalResult check_barrier(Operation* op, MBarrierGroupType type, OperandRange operands) {
  const IdAndPredicate last(operands);
  const size_t legal = (last.id ? 1 : 0) + (last.predicate ? 1 : 0);
  if (operands.size() != legal || (legal == 2 && operands.front() != last.id))
    return op->emitOpError("has ") << operands.size()
                                   << " operands after the count; legal: the mbarrier's index, then a "
                                      "predicate (i1), each of which may be left out";
  return check_barrier(op, type, last.id);
}

} // namespace

LogicalResult MBarrierCreateOp::verify() {
  return check_group(*this, getBarriers().getType());
}
LogicalResult MBarrierGetOp::verify() {
  return check_barrier(*this, getBarriers().getType(), getMbarId());
}
LogicalResult MBarrierInitOp::verify() {
  return check_barrier(*this, getBarriers().getType(), getIdAndPredicate());
}
LogicalResult MBarrierTestWaitOp::verify() {
  return check_barrier(*this, getBarriers().getType(), getMbarId());
}
LogicalResult MBarrierArriveOp::verify() {
  return check_barrier(*this, getBarriers().getType(), getMbarId());
}
LogicalResult MBarrierArriveNoCompleteOp::verify() {
  return check_barrier(*this, getBarriers().getType(), getMbarId());
}
LogicalResult MBarrierArriveExpectTxOp::verify() {
  return check_barrier(*this, getBarriers().getType(), getIdAndPredicate());
}
LogicalResult MBarrierTryWaitParityOp::verify() {
  return check_barrier(*this, getBarriers().getType(), getMbarId());
}
LogicalResult MBarrierArriveClusterOp::verify() {
  return check_barrier(*this, getBarriers().getType(), getIdAndPredicate());
}

// Tensor maps

namespace {

LogicalResult check_map(Operation* op, TensorMapDescriptorType type, TensorMode mode,
                        std::optional<Im2colCorners> corners = std::nullopt) {
  const MemRefType box = type.getTensor();
  if (!is_shared_memory(box.getMemorySpace()))
    return op->emitOpError("the tensor of a tensor map is a box in shared memory "
                           "(#gpu.address_space<workgroup> or 3), not ")
           << box;
  // A box lies densely, whatever strides its memref has: it may be a part of a larger one.
  SmallVector<int64_t> strides;
  int64_t offset = 0;
  if (!box.hasStaticShape() || failed(box.getStridesAndOffset(strides, offset)))
    return op->emitOpError("a box has known extents, and its memref is strided; the tensor map's is ") << box;
  if (!tensor_type(box.getElementType()))
    return op->emitOpError("tensor maps have no element type ")
           << box.getElementType() << "; legal: integers and floats of 8, 16, 32 and 64 bits, and tf32";
  if (const std::string wrong = wrong_with(type, mode, corners); !wrong.empty())
    return op->emitOpError("no tensor map is like that (dimensions counted from the innermost): ") << wrong;
  return success();
}

// A tf32 is an f32 in memory, which loads round.
bool is_element_of(Type memory, Type map) {
  return memory == map || (memory.isF32() && map.isTF32());
}

// The box and what it is copied to or from. Of a memref only the start counts: a box lies densely, swizzled
// or interleaved, whatever strides the memref has.
LogicalResult check_box(Operation* op, StringRef name, MemRefType memref, TensorMapDescriptorType type) {
  const MemRefType box = type.getTensor();
  if (!is_shared_memory(memref.getMemorySpace()))
    return op->emitOpError("the ") << name << " is shared memory (#gpu.address_space<workgroup> or 3), not "
                                   << memref;
  if (!is_element_of(memref.getElementType(), box.getElementType()))
    return op->emitOpError("element types differ: ") << memref.getElementType() << " in the " << name << ", "
                                                     << box.getElementType() << " in the tensor map";
  if (memref.hasStaticShape() && memref.getNumElements() != box.getNumElements())
    return op->emitOpError("copies the tensor map's box of ")
           << box.getNumElements() << " elements, " << box << ", but the " << name << " has "
           << memref.getNumElements() << ", " << memref;
  return success();
}

LogicalResult check_coordinates(Operation* op, TensorMapDescriptorType type, size_t coordinates) {
  const int64_t rank = type.getTensor().getRank();
  if (static_cast<int64_t>(coordinates) == rank)
    return success();
  return op->emitOpError("has ") << coordinates << " coordinates for a tensor map of rank " << rank
                                 << "; legal: one for each dimension, the innermost first";
}

} // namespace

LogicalResult TmaAsyncLoadOp::verify() {
  const TensorMapDescriptorType type = getTensorMapDescriptor().getType();
  if (getCoordinatesAndOffsets().size() < offsets())
    return emitOpError("im2colOffsetCount is ")
           << offsets() << ", but there are only " << getCoordinatesAndOffsets().size()
           << " coordinates and offsets";
  const size_t offsets = this->offsets();
  if (failed(check_barrier(*this, getBarriers().getType(), getMbarId())) ||
      failed(check_map(*this, type, offsets ? TensorMode::im2col : TensorMode::tile)) ||
      failed(check_box(*this, "destination", cast<MemRefType>(getDst().getType()), type)) ||
      failed(check_coordinates(*this, type, getCoordinates().size())))
    return failure();
  const int64_t rank = type.getTensor().getRank();
  if (offsets != 0 && static_cast<int64_t>(offsets) != rank - 2)
    return emitOpError("has ") << offsets << " im2col offsets for a tensor map of rank " << rank
                               << "; legal: " << rank - 2
                               << ", one for each dimension but batch and channels";
  return success();
}

LogicalResult TmaAsyncStoreOp::verify() {
  const TensorMapDescriptorType type = getTensorMapDescriptor().getType();
  if (failed(check_map(*this, type, TensorMode::tile)) ||
      failed(check_box(*this, "source", cast<MemRefType>(getSrc().getType()), type)))
    return failure();
  return check_coordinates(*this, type, getCoordinates().size());
}

LogicalResult TmaCreateDescriptorOp::verify() {
  const TensorMapDescriptorType type = getTensorMap().getType();
  const MemRefType box = type.getTensor();
  const auto lower = getPixelBoxLower(), upper = getPixelBoxUpper();
  const auto channels = getChannelsPerPixel(), pixels = getPixelsPerColumn();
  const bool im2col = lower || upper || channels || pixels;
  if (im2col && !(lower && upper && channels && pixels))
    return emitOpError(
               "an im2col map has pixelBoxLower, pixelBoxUpper, channelsPerPixel and pixelsPerColumn; ")
           << "missing: "
           << (!lower      ? "pixelBoxLower"
               : !upper    ? "pixelBoxUpper"
               : !channels ? "channelsPerPixel"
                           : "pixelsPerColumn");
  std::optional<Im2colCorners> corners;
  if (im2col)
    corners = {*lower, *upper};
  if (failed(check_map(*this, type, im2col ? TensorMode::im2col : TensorMode::tile, corners)))
    return failure();

  const Type element = cast<UnrankedMemRefType>(getTensor().getType()).getElementType();
  if (!is_element_of(element, box.getElementType()))
    return emitOpError("element types differ: ")
           << element << " in the tensor, " << box.getElementType() << " in the tensor map";

  const auto dimensions = static_cast<int64_t>(getBoxDimensions().size());
  if (!im2col) {
    if (dimensions != box.getRank())
      return emitOpError("has ") << dimensions << " box dimensions for a tensor map of rank " << box.getRank()
                                 << "; legal: one for each dimension, the outermost first";
    for (const auto& [i, extent] : llvm::enumerate(getBoxDimensions())) {
      IntegerAttr known;
      const int64_t declared = box.getDimSize(static_cast<unsigned>(i));
      if (matchPattern(extent, m_Constant(&known)) && known.getInt() != declared)
        return emitOpError("has ") << known.getInt() << " for dimension " << i
                                   << " of its box, but the tensor map's type " << box << " has " << declared
                                   << "; legal: what the type says";
    }
    return success();
  }
  if (dimensions != 0)
    return emitOpError("has ") << dimensions << " box dimensions, but an im2col map has no box; legal: box[]";
  const auto channels_of_box = static_cast<uint64_t>(box.getShape().back());
  const auto pixels_of_box = static_cast<uint64_t>(box.getNumElements()) / channels_of_box;
  if (*channels != channels_of_box || *pixels != pixels_of_box)
    return emitOpError("moves ") << *pixels << " pixels of " << *channels
                                 << " channels, but the tensor map's type " << box << " has " << pixels_of_box
                                 << " of " << channels_of_box;
  return success();
}

} // namespace lemma::nvgpu
