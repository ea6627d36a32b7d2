// The nvgpu dialect: its name, enumerations, attributes and types. Operations: ops.td.
//
// One definition takes two vintages of the dialect: the spelling of autumn 2023 and that of LLVM 22. Where a thing has
// two spellings, the printer writes LLVM 22's; the older ones are read by dialect.cc.
//
// Tests: tests/mlir/.
#ifndef LEMMA_NVGPU_DIALECT_TD
#define LEMMA_NVGPU_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def NVGPU_Dialect : Dialect {
  let name = "nvgpu";
  let cppNamespace = "::lemma::nvgpu";
  let summary = "NVIDIA tensor-core operations on memrefs and vectors";
  let description = [{
    Operations of NVIDIA GPUs at the level of memrefs and vectors: matrix products of a warp and of a warpgroup,
    asynchronous copies, mbarriers and tensor maps. Every operation becomes PTX instructions; which shapes and types
    are legal is the catalogue's word, and the verifiers quote it.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 0; // dialect.cc reads older mnemonics too
  let extraClassDeclaration = [{
    void registerTypes();
    // Reads an operation under the name that it had in 2023.
    std::optional<ParseOpHook> getParseOperationHook(::llvm::StringRef name) const override;
    ::mlir::Type parseType(::mlir::DialectAsmParser& parser) const override;
    void printType(::mlir::Type type, ::mlir::DialectAsmPrinter& printer) const override;
  }];
}

class NVGPU_Enum<string name, string summary, list<I32EnumAttrCase> cases> : I32EnumAttr<name, summary, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = "::lemma::nvgpu";
}

def NVGPU_SwizzleKind : NVGPU_Enum<"TensorMapSwizzleKind", "swizzle of a tensor map's boxes in shared memory", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"swizzle_32b", 1>, I32EnumAttrCase<"swizzle_64b", 2>,
    I32EnumAttrCase<"swizzle_128b", 3>]>;
def NVGPU_L2PromoKind : NVGPU_Enum<"TensorMapL2PromoKind", "L2 promotion of a tensor map", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"l2promo_64b", 1>, I32EnumAttrCase<"l2promo_128b", 2>,
    I32EnumAttrCase<"l2promo_256b", 3>]>;
def NVGPU_OobKind : NVGPU_Enum<"TensorMapOOBKind", "what a load puts for elements outside the tensor", [
    I32EnumAttrCase<"zero", 0>, I32EnumAttrCase<"nan", 1>]>;
def NVGPU_InterleaveKind : NVGPU_Enum<"TensorMapInterleaveKind", "interleaved layout of a tensor map's tensor", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"interleave_16b", 1>, I32EnumAttrCase<"interleave_32b", 2>]>;
def NVGPU_RcpRounding : NVGPU_Enum<"RcpRoundingMode", "rounding of a reciprocal", [
    I32EnumAttrCase<"approx", 0>, I32EnumAttrCase<"rn", 1>, I32EnumAttrCase<"rz", 2>, I32EnumAttrCase<"rm", 3>,
    I32EnumAttrCase<"rp", 4>]>;
def NVGPU_BitOp : NVGPU_Enum<"BitOp", "how 1-bit elements are multiplied", [
    I32EnumAttrCase<"xor_popc", 0>, I32EnumAttrCase<"and_popc", 1>]>;
def NVGPU_Layout : NVGPU_Enum<"MatrixLayout", "order of a matrix of mma.sync m8n8k4", [
    I32EnumAttrCase<"row", 0>, I32EnumAttrCase<"col", 1>]>;

// In types and operations the value stands alone; by itself it is #nvgpu<swizzle none>, or, older, #nvgpu.swizzle<none>.
class NVGPU_EnumAttr<EnumInfo kind, string name> : EnumAttr<NVGPU_Dialect, kind, name> {
  let assemblyFormat = "custom<EnumValue>($value)";
}

def NVGPU_SwizzleAttr : NVGPU_EnumAttr<NVGPU_SwizzleKind, "swizzle">;
def NVGPU_L2PromoAttr : NVGPU_EnumAttr<NVGPU_L2PromoKind, "l2promo">;
def NVGPU_OobAttr : NVGPU_EnumAttr<NVGPU_OobKind, "oob">;
def NVGPU_InterleaveAttr : NVGPU_EnumAttr<NVGPU_InterleaveKind, "interleave">;
def NVGPU_RcpRoundingAttr : NVGPU_EnumAttr<NVGPU_RcpRounding, "rcp_rounding_mode">;
def NVGPU_BitOpAttr : NVGPU_EnumAttr<NVGPU_BitOp, "bit_op">;
def NVGPU_LayoutAttr : NVGPU_EnumAttr<NVGPU_Layout, "layout">;

class NVGPU_Type<string name, string typeMnemonic> : TypeDef<NVGPU_Dialect, name> { let mnemonic = typeMnemonic; }

def NVGPU_DeviceAsyncToken : NVGPU_Type<"DeviceAsyncToken", "device.async.token"> {
  let summary = "an asynchronous copy, or a group of them";
}

def NVGPU_MBarrierGroup : NVGPU_Type<"MBarrierGroup", "mbarrier.group"> {
  let summary = "one or more mbarrier objects in shared memory";
  let description = [{ Each is 64 bits, aligned to 8 bytes. Older spelling: `!nvgpu.mbarrier.barrier`. }];
  let parameters = (ins "::mlir::Attribute":$memorySpace, DefaultValuedParameter<"unsigned", "1">:$num_barriers);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NVGPU_MBarrierToken : NVGPU_Type<"MBarrierToken", "mbarrier.token"> {
  let summary = "state of an mbarrier's phase, as an arrival returns it";
}

def NVGPU_TensorMapDescriptor : NVGPU_Type<"TensorMapDescriptor", "tensormap.descriptor"> {
  let summary = "a tensor map: 128 bytes in global, constant or parameter memory";
  let description = [{ `tensor` is a box as it lies in shared memory, outermost dimension first. }];
  let parameters = (ins "::mlir::MemRefType":$tensor, EnumParameter<NVGPU_SwizzleKind>:$swizzle,
                        EnumParameter<NVGPU_L2PromoKind>:$l2promo, EnumParameter<NVGPU_OobKind>:$oob,
                        EnumParameter<NVGPU_InterleaveKind>:$interleave);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NVGPU_WarpgroupMatrixDescriptor : NVGPU_Type<"WarpgroupMatrixDescriptor", "warpgroup.descriptor"> {
  let summary = "a matrix in shared memory, as wgmma.mma_async reads it";
  let description = [{
    A 64-bit register: start address, leading and stride dimension byte offsets, base offset, swizzle mode. Older
    spelling: `!nvgpu.wgmma.descriptor`. `swizzle` is needed only where the generate.descriptor op cannot be seen, as
    for an argument of a loop. In the operand of warpgroup.mma, `tensor` is the matrix as the product has it, M x K or
    K x N, or as it lies in memory.
  }];
  let parameters = (ins "::mlir::MemRefType":$tensor,
                        OptionalParameter<"std::optional<::lemma::nvgpu::TensorMapSwizzleKind>">:$swizzle);
  let assemblyFormat = "`<` struct(params) `>`";
  let builders = [TypeBuilder<(ins "::mlir::MemRefType":$tensor),
                              [{ return $_get($_ctxt, tensor, std::nullopt); }]>];
}

def NVGPU_WarpgroupAccumulator : NVGPU_Type<"WarpgroupAccumulator", "warpgroup.accumulator"> {
  let summary = "an M x N accumulator in the registers of a warpgroup";
  let parameters = (ins "::mlir::VectorType":$fragmented);
  let assemblyFormat = "`<` struct(params) `>`";
}

#endif
