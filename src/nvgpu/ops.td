// The operations of the nvgpu dialect. Attributes and types: dialect.td. Rules: verify_*.cc. PTX: lower_*.cc.
//
// Names and order of operands and attributes are LLVM 22's, so that its generic form is ours: what we have besides is an
// attribute, or comes last, and operands have segment sizes only where upstream's have.
#ifndef LEMMA_NVGPU_OPS_TD
#define LEMMA_NVGPU_OPS_TD

include "dialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class NVGPU_Op<string mnemonic, list<Trait> traits = []> : Op<NVGPU_Dialect, mnemonic, traits>;
class NVGPU_CheckedOp<string mnemonic, list<Trait> traits = []> : NVGPU_Op<mnemonic, traits> { let hasVerifier = 1; }

def NVGPU_I1OrIndex : AnyTypeOf<[I1, Index]>;
def NVGPU_IntegerAttr : AnyAttrOf<[I32Attr, I64Attr], "32-bit or 64-bit integer", "::mlir::IntegerAttr",
                                  "::llvm::cast<::mlir::IntegerAttr>($_self)">;

//===----------------------------------------------------------------------===//
// Matrix products of a warp
//===----------------------------------------------------------------------===//

def NVGPU_LdMatrixOp : NVGPU_CheckedOp<"ldmatrix", [MemoryEffects<[MemRead]>]> {
  let summary = "loads 8x8 matrices of 16-bit units from shared memory, one row a lane";
  let description = [{
    Lane i gives the address of row i % 8 of matrix i / 8; `numTiles` matrices (1, 2 or 4) come as the vector
    `numTiles` x (elements of 32 bits). `transpose` needs 16-bit elements.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemReadAt<0, FullEffect>]>:$srcMemref, Variadic<Index>:$indices,
                       BoolAttr:$transpose, I32Attr:$numTiles);
  let results = (outs AnyVectorOfNonZeroRank:$res);
  let assemblyFormat = "$srcMemref `[` $indices `]` attr-dict `:` type($srcMemref) `->` type($res)";
}

def NVGPU_StMatrixOp : NVGPU_CheckedOp<"stmatrix"> {
  let summary = "stores 8x8 matrices of 16-bit units to shared memory, one row a lane";
  let description = [{
    The other way round than `ldmatrix`: lane i gives the address of row i % 8 of matrix i / 8, and the vector has 1, 2
    or 4 matrices, a row for each. `transpose` needs 16-bit elements.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$value, Arg<AnyMemRef, "", [MemWriteAt<0, FullEffect>]>:$dstMemref,
                       Variadic<Index>:$indices, UnitAttr:$transpose);
  let assemblyFormat = "$value `,` $dstMemref `[` $indices `]` attr-dict `:` type($value) `,` type($dstMemref)";
}

class NVGPU_MmaOp<string mnemonic> : NVGPU_CheckedOp<mnemonic, [Pure]> {
  let results = (outs AnyVectorOfNonZeroRank:$res);
}

def NVGPU_MmaSyncOp : NVGPU_MmaOp<"mma.sync"> {
  let summary = "matrix product of a warp: D = A * B + C";
  let description = [{
    Vectors are what a lane holds: of A and B, a row for each 32-bit register (64-bit for f64); of C and D, a row for
    each pair of columns. f32 operands with `tf32Enabled`, or tf32 ones, multiply as tf32. Integers are signed unless
    their type is unsigned (ui8, ui4). `satfinite` clamps integer sums. `bitOp` is for i1, `layoutA` and `layoutB`
    for f16 m8n8k4.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$matrixA, AnyVectorOfNonZeroRank:$matrixB,
                       AnyVectorOfNonZeroRank:$matrixC, I64ArrayAttr:$mmaShape, OptionalAttr<UnitAttr>:$tf32Enabled,
                       OptionalAttr<UnitAttr>:$satfinite, OptionalAttr<NVGPU_BitOpAttr>:$bitOp,
                       OptionalAttr<NVGPU_LayoutAttr>:$layoutA, OptionalAttr<NVGPU_LayoutAttr>:$layoutB);
  let assemblyFormat = [{
    `(` $matrixA `,` $matrixB `,` $matrixC `)` attr-dict
    `:` `(` type($matrixA) `,` type($matrixB) `,` type($matrixC) `)` `->` type($res)
  }];
}

def NVGPU_SparseMetadata : FixedVectorOfLengthAndType<[2], [I16]>,
                           BuildableType<"::mlir::VectorType::get({2}, $_builder.getI16Type())">;

def NVGPU_MmaSparseSyncOp : NVGPU_MmaOp<"mma.sp.sync"> {
  let summary = "matrix product of a warp with a structured sparse A";
  let description = [{
    A has the non-zero half of each row's elements; the metadata says which they are. `sparsitySelector` names the
    lanes of a quad whose metadata counts.
  }];
  let arguments = (ins AnyVectorOfNonZeroRank:$matrixA, AnyVectorOfNonZeroRank:$matrixB,
                       AnyVectorOfNonZeroRank:$matrixC, NVGPU_SparseMetadata:$sparseMetadata, I64ArrayAttr:$mmaShape,
                       DefaultValuedAttr<I32Attr, "0">:$sparsitySelector, OptionalAttr<UnitAttr>:$tf32Enabled,
                       OptionalAttr<UnitAttr>:$satfinite);
  let assemblyFormat = [{
    `(` $matrixA `,` $matrixB `,` $matrixC `)` `metadata` `(` $sparseMetadata `)` attr-dict
    `:` `(` type($matrixA) `,` type($matrixB) `,` type($matrixC) `)` `->` type($res)
  }];
}

def NVGPU_RcpOp : NVGPU_Op<"rcp", [Pure, SameOperandsAndResultType]> {
  let summary = "reciprocal of each element";
  let arguments = (ins VectorOfNonZeroRankOf<[F32]>:$in,
                       DefaultValuedAttr<NVGPU_RcpRoundingAttr, "RcpRoundingMode::approx">:$rounding, UnitAttr:$ftz);
  let results = (outs VectorOfNonZeroRankOf<[F32]>:$out);
  let assemblyFormat = "$in `{` `rounding` `=` $rounding (`,` `ftz` $ftz^)? `}` attr-dict `:` type($out)";
}

//===----------------------------------------------------------------------===//
// Asynchronous copies (cp.async)
//===----------------------------------------------------------------------===//

def NVGPU_DeviceAsyncCopyOp : NVGPU_CheckedOp<"device_async_copy", [AttrSizedOperandSegments]> {
  let summary = "starts a copy from global to shared memory: 4, 8 or 16 bytes a thread";
  let description = [{
    With `srcElements` only so many are read; the rest of `dstElements` becomes zero. `bypassL1` caches in L2 alone,
    which needs 16 bytes.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWriteAt<0, FullEffect>]>:$dst, Variadic<Index>:$dstIndices,
                       Arg<AnyMemRef, "", [MemReadAt<0, FullEffect>]>:$src, Variadic<Index>:$srcIndices,
                       IndexAttr:$dstElements, Optional<Index>:$srcElements, OptionalAttr<UnitAttr>:$bypassL1);
  let results = (outs NVGPU_DeviceAsyncToken:$asyncToken);
  let assemblyFormat = [{
    $src `[` $srcIndices `]` `,` $dst `[` $dstIndices `]` `,` $dstElements (`,` $srcElements^)?
    attr-dict `:` type($src) `to` type($dst)
  }];
}

def NVGPU_DeviceAsyncCreateGroupOp : NVGPU_Op<"device_async_create_group"> {
  let summary = "puts all copies that the thread has started since the last group into a group";
  let arguments = (ins Variadic<NVGPU_DeviceAsyncToken>:$inputTokens);
  let results = (outs NVGPU_DeviceAsyncToken:$asyncToken);
  let assemblyFormat = "$inputTokens attr-dict";
}

def NVGPU_DeviceAsyncWaitOp : NVGPU_CheckedOp<"device_async_wait"> {
  let summary = "waits until at most numGroups (default 0) of the thread's newest groups are not complete";
  let arguments = (ins NVGPU_DeviceAsyncToken:$asyncDependencies, OptionalAttr<I32Attr>:$numGroups);
  let assemblyFormat = "$asyncDependencies attr-dict";
}

//===----------------------------------------------------------------------===//
// mbarriers. Without [%id]: the only one of the group
//===----------------------------------------------------------------------===//

def NVGPU_MBarrierCreateOp : NVGPU_CheckedOp<"mbarrier.create"> {
  let summary = "reserves shared memory for a group of mbarriers";
  let results = (outs NVGPU_MBarrierGroup:$barriers);
  let assemblyFormat = "attr-dict `->` type($barriers)";
}

def NVGPU_MBarrierGetOp : NVGPU_CheckedOp<"mbarrier.get", [Pure]> {
  let summary = "address of an mbarrier in the shared window";
  let arguments = (ins NVGPU_MBarrierGroup:$barriers, Optional<Index>:$mbarId);
  let results = (outs AnyTypeOf<[I32, I64]>:$mbarrierPointer);
  let assemblyFormat = "$barriers (`[` $mbarId^ `]`)? attr-dict `:` type($barriers) `->` type($mbarrierPointer)";
}

// Operands of which both the second-last and the last may be missing: [%id] is an index, the predicate an i1.
class NVGPU_MBarrierCountOp<string mnemonic> : NVGPU_CheckedOp<mnemonic> {
  code idAndPredicate = [{
    ::mlir::Value getMbarId() { return IdAndPredicate(getIdAndPredicate()).id; }
    ::mlir::Value getPredicate() { return IdAndPredicate(getIdAndPredicate()).predicate; }
  }];
  let extraClassDeclaration = idAndPredicate;
}

def NVGPU_MBarrierInitOp : NVGPU_MBarrierCountOp<"mbarrier.init"> {
  let summary = "makes an mbarrier that expects `count` arrivals a phase";
  let arguments = (ins NVGPU_MBarrierGroup:$barriers, Index:$count, Variadic<NVGPU_I1OrIndex>:$idAndPredicate);
  let assemblyFormat = [{
    custom<CountOfBarrier>($barriers, $count, $idAndPredicate, type($idAndPredicate)) attr-dict `:` type($barriers)
  }];
}

def NVGPU_MBarrierTestWaitOp : NVGPU_CheckedOp<"mbarrier.test.wait"> {
  let summary = "whether the phase of a token is complete";
  let arguments = (ins NVGPU_MBarrierGroup:$barriers, NVGPU_MBarrierToken:$token, Optional<Index>:$mbarId);
  let results = (outs I1:$waitComplete);
  let assemblyFormat = [{
    $barriers (`[` $mbarId^ `]`)? `,` $token attr-dict `:` type($barriers) `,` type($token)
  }];
}

def NVGPU_MBarrierArriveOp : NVGPU_CheckedOp<"mbarrier.arrive"> {
  let summary = "arrives; the token is the phase's state";
  let arguments = (ins NVGPU_MBarrierGroup:$barriers, Optional<Index>:$mbarId);
  let results = (outs NVGPU_MBarrierToken:$token);
  let assemblyFormat = "$barriers (`[` $mbarId^ `]`)? attr-dict `:` type($barriers) `->` type($token)";
}

def NVGPU_MBarrierArriveNoCompleteOp : NVGPU_CheckedOp<"mbarrier.arrive.nocomplete"> {
  let summary = "arrives `count` times, which must not complete the phase";
  let arguments = (ins NVGPU_MBarrierGroup:$barriers, Optional<Index>:$mbarId, Index:$count);
  let results = (outs NVGPU_MBarrierToken:$token);
  let assemblyFormat = "$barriers (`[` $mbarId^ `]`)? `,` $count attr-dict `:` type($barriers) `->` type($token)";
}

def NVGPU_MBarrierArriveExpectTxOp : NVGPU_MBarrierCountOp<"mbarrier.arrive.expect_tx"> {
  let summary = "arrives and expects `txcount` more bytes in the phase";
  let arguments = (ins NVGPU_MBarrierGroup:$barriers, Index:$txcount, Variadic<NVGPU_I1OrIndex>:$idAndPredicate);
  let assemblyFormat = [{
    custom<CountOfBarrier>($barriers, $txcount, $idAndPredicate, type($idAndPredicate)) attr-dict `:` type($barriers)
  }];
}

def NVGPU_MBarrierArriveClusterOp : NVGPU_MBarrierCountOp<"mbarrier.arrive.cluster"> {
  let summary = "arrives at the mbarrier that the CTA of that rank in the cluster has in the same place";
  let description = [{ Releases at the scope of the cluster. Who waits there needs `{cluster}`. }];
  let arguments = (ins NVGPU_MBarrierGroup:$barriers, Index:$rank, Variadic<NVGPU_I1OrIndex>:$idAndPredicate);
  let assemblyFormat = [{
    custom<CountOfBarrier>($barriers, $rank, $idAndPredicate, type($idAndPredicate)) attr-dict `:` type($barriers)
  }];
}

def NVGPU_MBarrierTryWaitParityOp : NVGPU_CheckedOp<"mbarrier.try_wait.parity"> {
  let summary = "waits until the phase of that parity is complete";
  let description = [{
    `phaseParity` is an i1, or an index of which bit 0 counts. `ticks` is the time of one try. With `cluster` it acquires
    what threads of the whole cluster have released.
  }];
  let arguments = (ins NVGPU_MBarrierGroup:$barriers, NVGPU_I1OrIndex:$phaseParity, Index:$ticks,
                       Optional<Index>:$mbarId, UnitAttr:$cluster);
  let hasCustomAssemblyFormat = 1; // the text does not say the parity's type
}

//===----------------------------------------------------------------------===//
// Tensor maps (TMA)
//===----------------------------------------------------------------------===//

def NVGPU_TmaCreateDescriptorOp : NVGPU_CheckedOp<"tma.create.descriptor"> {
  let summary = "host: makes the tensor map of a tensor";
  let description = [{
    `boxDimensions` are outermost first, as the memref's. With `pixelBoxLower`, `pixelBoxUpper` (a corner of the
    bounding box for each spatial dimension, innermost first), `channelsPerPixel` and `pixelsPerColumn` the map is an
    im2col one and has no box.
  }];
  let arguments = (ins AnyUnrankedMemRef:$tensor, Variadic<Index>:$boxDimensions,
                       OptionalAttr<DenseI32ArrayAttr>:$pixelBoxLower, OptionalAttr<DenseI32ArrayAttr>:$pixelBoxUpper,
                       OptionalAttr<I32Attr>:$channelsPerPixel, OptionalAttr<I32Attr>:$pixelsPerColumn);
  let results = (outs NVGPU_TensorMapDescriptor:$tensorMap);
  let assemblyFormat = [{
    $tensor `box` `[` $boxDimensions `]` attr-dict `:` type($tensor) `->` type($tensorMap)
  }];
}

def NVGPU_TmaFenceOp : NVGPU_Op<"tma.fence.descriptor"> {
  let summary = "makes a tensor map that memory copies have changed visible to tensor copies";
  let arguments = (ins NVGPU_TensorMapDescriptor:$tensorMapDescriptor);
  let assemblyFormat = "$tensorMapDescriptor attr-dict `:` type($tensorMapDescriptor)";
}

def NVGPU_TmaPrefetchOp : NVGPU_Op<"tma.prefetch.descriptor"> {
  let summary = "brings a tensor map into the cache";
  let arguments = (ins NVGPU_TensorMapDescriptor:$tensorMapDescriptor, Optional<I1>:$predicate);
  let assemblyFormat = [{
    $tensorMapDescriptor (`,` `predicate` `=` $predicate^)? attr-dict `:` type($tensorMapDescriptor)
  }];
}

def NVGPU_TmaAsyncLoadOp : NVGPU_CheckedOp<"tma.async.load", [AttrSizedOperandSegments]> {
  let summary = "starts a tensor copy from global to shared memory; the mbarrier counts its bytes";
  let description = [{
    `coordinates` are innermost first. `im2col` offsets, one for each spatial dimension, make it an im2col copy. With
    `multicastMask` it goes to every CTA of the cluster whose bit is set.
  }];
  let arguments = (ins Arg<AnyMemRef, "", [MemWriteAt<0, FullEffect>]>:$dst, NVGPU_MBarrierGroup:$barriers,
                       NVGPU_TensorMapDescriptor:$tensorMapDescriptor, Variadic<Index>:$coordinatesAndOffsets,
                       Optional<Index>:$mbarId, Optional<I16>:$multicastMask, Optional<I1>:$predicate,
                       OptionalAttr<ConfinedAttr<I32Attr, [IntPositive]>>:$im2colOffsetCount);
  let extraClassDeclaration = [{
    ::mlir::OperandRange getCoordinates() { return getCoordinatesAndOffsets().drop_back(offsets()); }
    ::mlir::OperandRange getIm2colOffsets() { return getCoordinatesAndOffsets().take_back(offsets()); }
    size_t offsets() { return getIm2colOffsetCount().value_or(0); }
  }];
  let assemblyFormat = [{
    $tensorMapDescriptor `` custom<Coordinates>($coordinatesAndOffsets, $im2colOffsetCount) `,` $barriers
    (`[` $mbarId^ `]`)? `to` $dst (`multicast_mask` `=` $multicastMask^)? (`,` `predicate` `=` $predicate^)?
    attr-dict `:` type($tensorMapDescriptor) `,` type($barriers) `->` type($dst)
  }];
}

def NVGPU_TmaAsyncStoreOp : NVGPU_CheckedOp<"tma.async.store", [AttrSizedOperandSegments]> {
  let summary = "starts a tensor copy from shared to global memory, in a bulk group";
  let arguments = (ins Arg<AnyMemRef, "", [MemReadAt<0, FullEffect>]>:$src,
                       Arg<NVGPU_TensorMapDescriptor, "", [MemWriteAt<0, FullEffect>]>:$tensorMapDescriptor,
                       Variadic<Index>:$coordinates, Optional<I1>:$predicate);
  let assemblyFormat = [{
    $src `to` $tensorMapDescriptor `[` $coordinates `]` (`,` `predicate` `=` $predicate^)?
    attr-dict `:` type($src) `->` type($tensorMapDescriptor)
  }];
}

//===----------------------------------------------------------------------===//
// Matrix products of a warpgroup
//===----------------------------------------------------------------------===//

def NVGPU_WarpgroupGenerateDescriptorOp : NVGPU_CheckedOp<"warpgroup.generate.descriptor", [MemoryEffects<[MemRead]>]> {
  let summary = "matrix descriptor of a tile in shared memory that tensor copies with that map have put there";
  let arguments = (ins Arg<AnyMemRef, "", [MemRead]>:$tensor, NVGPU_TensorMapDescriptor:$tensorMap);
  let results = (outs NVGPU_WarpgroupMatrixDescriptor:$descriptor);
  let assemblyFormat = [{
    $tensor `,` $tensorMap attr-dict `:` type($tensor) `,` type($tensorMap) `->` type($descriptor)
  }];
}

def NVGPU_WarpgroupMmaOp : NVGPU_CheckedOp<"warpgroup.mma"> {
  let summary = "matrix product of a warpgroup: D = A * B + C, in as many wgmma.mma_async as it takes";
  let description = [{
    A is a matrix descriptor, or a vector: the fragments of A in registers, for each 64 rows and each step of K four
    registers, a row of the vector each. B is a descriptor. Several accumulators share M between them. `transposeA`
    and `transposeB`: the matrix lies MN-major in memory (A as K x M, B as K x N rows); without them K-major.
    `negateA` and `negateB` multiply by -1, `scaleD = false` leaves C out, `satfinite` clamps integer sums. At most
    `waitGroup` (default 0) groups of products are pending afterwards.
  }];
  let arguments = (ins AnyTypeOf<[NVGPU_WarpgroupMatrixDescriptor, AnyVectorOfNonZeroRank]>:$descriptorA,
                       NVGPU_WarpgroupMatrixDescriptor:$descriptorB, Variadic<NVGPU_WarpgroupAccumulator>:$matrixC,
                       OptionalAttr<NVGPU_IntegerAttr>:$waitGroup, OptionalAttr<UnitAttr>:$transposeA,
                       OptionalAttr<UnitAttr>:$transposeB, OptionalAttr<UnitAttr>:$negateA,
                       OptionalAttr<UnitAttr>:$negateB, OptionalAttr<UnitAttr>:$satfinite,
                       DefaultValuedOptionalAttr<BoolAttr, "true">:$scaleD);
  let results = (outs Variadic<NVGPU_WarpgroupAccumulator>:$matrixD);
  let assemblyFormat = [{
    $descriptorA `,` $descriptorB `,` $matrixC attr-dict
    `:` custom<MultiplicandA>(type($descriptorA)) `,` type($descriptorB) `,` custom<Accumulators>(type($matrixC))
    `->` custom<Accumulators>(type($matrixD))
  }];
}

def NVGPU_WarpgroupMmaWaitOp : NVGPU_CheckedOp<"warpgroup.mma.wait", [AllTypesMatch<["accumulator", "result"]>]> {
  let summary = "waits until at most `waitGroup` (default 0) groups of products are pending";
  let description = [{ What comes after it sees the accumulator's new value: uses are of the result. }];
  let arguments = (ins NVGPU_WarpgroupAccumulator:$accumulator, OptionalAttr<NVGPU_IntegerAttr>:$waitGroup);
  let results = (outs NVGPU_WarpgroupAccumulator:$result);
  let assemblyFormat = "$accumulator attr-dict `:` type($accumulator)";
}

def NVGPU_WarpgroupMmaExtractOp : NVGPU_CheckedOp<"warpgroup.mma.extract", [Pure]> {
  let summary = "a thread's elements of 64 rows and some columns of an accumulator";
  let description = [{
    A row of the vector has two neighbours of one row of the matrix. Of each 8 columns there are two rows: the first of the
    matrix's row l / 4 of the warp's 16, and columns 2 * (l % 4) and the next, l the lane; the second 8 rows further down.
    A vector of four rows, of 16 columns, is what `stmatrix` stores as four 8x8 matrices.
  }];
  let arguments = (ins NVGPU_WarpgroupAccumulator:$matrixD, I64Attr:$row, I64Attr:$column);
  let results = (outs AnyVectorOfNonZeroRank:$registers);
  let assemblyFormat = "$matrixD `[` $row `,` $column `]` attr-dict `:` type($matrixD) `->` type($registers)";
}

def NVGPU_WarpgroupMmaStoreOp : NVGPU_CheckedOp<"warpgroup.mma.store"> {
  let summary = "stores an accumulator, each thread its elements; the memref is the warpgroup's tile";
  let arguments = (ins NVGPU_WarpgroupAccumulator:$matrixD, Arg<AnyMemRef, "", [MemWrite]>:$dstMemref);
  let assemblyFormat = "$matrixD `,` $dstMemref attr-dict `:` type($matrixD) `to` type($dstMemref)";
}

def NVGPU_WarpgroupMmaInitAccumulatorOp : NVGPU_CheckedOp<"warpgroup.mma.init.accumulator"> {
  let summary = "an accumulator of zeros";
  let results = (outs NVGPU_WarpgroupAccumulator:$matrixC);
  let assemblyFormat = "attr-dict `->` type($matrixC)";
}

#endif
