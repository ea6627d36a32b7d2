// RUN: lemma-opt %s --verify-diagnostics --split-input-file
//
// Where the specification's spelling leaves a choice: which mbarrier of several, and what a phase may be.
// Sections of the description of 2023: "nvgpu.mbarrier.*".

!several = !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>, num_barriers = 2>

func.func @which(%barrier: !several, %count: index) {
  // expected-error @+1 {{which of the group's 2 mbarriers? Write [%id] after the group; only a group of one needs none}}
  nvgpu.mbarrier.init %barrier, %count : !several
  return
}

// -----

!barrier = !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>

func.func @phase(%barrier: !barrier, %phase: i32, %ticks: index) { // expected-note {{prior use here}}
  // expected-error @+1 {{use of value '%phase' expects different type than prior uses: 'index' vs 'i32'}}
  nvgpu.mbarrier.try_wait.parity %barrier, %phase, %ticks : !barrier
  return
}

// -----

// expected-error @+1 {{nvgpu has no type 'mbarrier.barriers'}}
func.func @type(%barrier: !nvgpu.mbarrier.barriers<memorySpace = 3>) {
  return
}

// -----

!barrier = !nvgpu.mbarrier.barrier<memorySpace = #gpu.address_space<workgroup>>

func.func @name(%barrier: !barrier) {
  // expected-error @+1 {{custom op 'nvgpu.mbarrier.arrive.no_complete' is unknown}}
  %token = nvgpu.mbarrier.arrive.no_complete %barrier : !barrier -> !nvgpu.mbarrier.token
  return
}
