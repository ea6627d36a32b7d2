// RUN: lemma-opt %s --pass-pipeline="builtin.module(gpu.module(lower-nvgpu-device{arch=sm_80}))" --verify-diagnostics --split-input-file
//
// What only the lowering of a kernel can refuse: an instruction that the target does not have, and the host's operation.
// One message for one error.

!one = !nvgpu.mbarrier.group<memorySpace = 3>
gpu.module @wait {
  gpu.func @kernel(%parity: i1, %ticks: index) kernel {
    %g = nvgpu.mbarrier.create -> !one
    // expected-error@+1 {{mbarrier.try_wait.parity.shared.b64 is not there on sm_80: it needs sm_90 and up}}
    nvgpu.mbarrier.try_wait.parity %g, %parity, %ticks : !one
    gpu.return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @store {
  gpu.func @kernel(%map: !map, %tile: memref<32x32xf32, 3>, %i: index) kernel {
    // expected-error@+1 {{cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group is not there on sm_80: it needs sm_90 and up}}
    nvgpu.tma.async.store %tile to %map[%i, %i] : memref<32x32xf32, 3> -> !map
    gpu.return
  }
}

// -----

!map = !nvgpu.tensormap.descriptor<tensor = memref<32x32xf32, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @create {
  gpu.func @kernel(%tensor: memref<*xf32>, %i: index) kernel {
    // expected-error@+1 {{makes a tensor map on the host; a kernel takes it as an argument}}
    %map = nvgpu.tma.create.descriptor %tensor box[%i, %i] : memref<*xf32> -> !map
    gpu.return
  }
}
