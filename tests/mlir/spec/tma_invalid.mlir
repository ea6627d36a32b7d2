// RUN: lemma-opt %s --verify-diagnostics --split-input-file
//
// Values that the parameters of a tensor map have not, and the type that has them all.
// Sections of the description of 2023: "TensorMapDescriptorType".

// expected-error @+3 {{expected ::lemma::nvgpu::TensorMapSwizzleKind to be one of: none, swizzle_32b, swizzle_64b, swizzle_128b}}
// expected-error @+2 {{failed to parse NVGPU_TensorMapDescriptor parameter 'swizzle'}}
func.func private @swizzle(!nvgpu.tensormap.descriptor<tensor = memref<8x8xf32, 3>,
  swizzle = swizzle_256b, l2promo = none, oob = zero, interleave = none>)
