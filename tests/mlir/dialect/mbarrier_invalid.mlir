// RUN: lemma-opt %s --verify-diagnostics --split-input-file

func.func @in_global_memory() {
  // expected-error@+1 {{mbarriers lie in shared memory (memorySpace = #gpu.address_space<workgroup> or 3), not in #gpu.address_space<global>}}
  %g = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>
  return
}

// -----

func.func @none() {
  // expected-error@+1 {{the group has no mbarriers; legal: num_barriers of 1 and up}}
  %g = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 0>
  return
}

// -----

func.func @space_of_operand(%g: !nvgpu.mbarrier.group<memorySpace = 1>, %n: index) {
  // expected-error@+1 {{mbarriers lie in shared memory}}
  nvgpu.mbarrier.init %g, %n : !nvgpu.mbarrier.group<memorySpace = 1>
  return
}

// -----

!two = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @get(%g: !two) {
  // expected-error@+1 {{which of the group's 2 mbarriers? Write [%id] after the group; only a group of one needs none}}
  %0 = nvgpu.mbarrier.get %g : !two -> i32
  return
}

// -----

!two = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @init(%g: !two, %n: index) {
  // expected-error@+1 {{which of the group's 2 mbarriers? Write [%id] after the group; only a group of one needs none}}
  nvgpu.mbarrier.init %g, %n : !two
  return
}

// -----

!two = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @arrive(%g: !two) {
  // expected-error@+1 {{which of the group's 2 mbarriers? Write [%id] after the group; only a group of one needs none}}
  %0 = nvgpu.mbarrier.arrive %g : !two -> !nvgpu.mbarrier.token
  return
}

// -----

!two = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @arrive_nocomplete(%g: !two, %n: index) {
  // expected-error@+1 {{which of the group's 2 mbarriers? Write [%id] after the group; only a group of one needs none}}
  %0 = nvgpu.mbarrier.arrive.nocomplete %g, %n : !two -> !nvgpu.mbarrier.token
  return
}

// -----

!two = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @arrive_expect_tx(%g: !two, %n: index) {
  // expected-error@+1 {{which of the group's 2 mbarriers? Write [%id] after the group; only a group of one needs none}}
  nvgpu.mbarrier.arrive.expect_tx %g, %n : !two
  return
}

// -----

!two = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @test_wait(%g: !two, %t: !nvgpu.mbarrier.token) {
  // expected-error@+1 {{which of the group's 2 mbarriers? Write [%id] after the group; only a group of one needs none}}
  %0 = nvgpu.mbarrier.test.wait %g, %t : !two, !nvgpu.mbarrier.token
  return
}

// -----

!two = !nvgpu.mbarrier.group<memorySpace = 3, num_barriers = 2>
func.func @try_wait(%g: !two, %n: index, %p: i1) {
  // expected-error@+1 {{which of the group's 2 mbarriers? Write [%id] after the group; only a group of one needs none}}
  nvgpu.mbarrier.try_wait.parity %g, %p, %n : !two
  return
}
