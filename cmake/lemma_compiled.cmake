# Finds asmjit, for src/vgpu alone: what a kernel executes often is compiled to code of the host by it. Sets LEMMA_COMPILED_FOUND, and
# for what is installed LEMMA_ASMJIT_INSTALLED, the libraries that its archives need.
#
# asmjit's API changes with its versions: one that lacks what the program below calls is left out.

# lemma_use_asmjit(<target> <source>...): where asmjit is found, the target has these sources too, its files may include <asmjit/x86.h>,
# and LEMMA_HAS_COMPILED is defined. That is for the target's own files, and not for headers that others see without it.
function(lemma_use_asmjit target)
  if(LEMMA_COMPILED_FOUND)
    target_sources(${target} PRIVATE ${ARGN})
    target_compile_definitions(${target} PRIVATE LEMMA_HAS_COMPILED ASMJIT_STATIC)
    target_include_directories(${target} SYSTEM PRIVATE ${LEMMA_ASMJIT_INCLUDE})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:${LEMMA_ASMJIT_LIBRARY}> $<BUILD_INTERFACE:rt>)
    foreach(library ${LEMMA_ASMJIT_INSTALLED})
      target_link_libraries(${target} PRIVATE $<INSTALL_INTERFACE:${library}>)
    endforeach()
  endif()
endfunction()

set(LEMMA_COMPILED_FOUND OFF)
set(LEMMA_ASMJIT_INSTALLED "")
if(NOT LEMMA_COMPILED)
  return()
endif()

# The archive, so that what is built here needs no more than glibc. `rt` has shm_open() before glibc 2.34.
find_path(LEMMA_ASMJIT_INCLUDE asmjit/asmjit.h)
find_library(LEMMA_ASMJIT_LIBRARY NAMES libasmjit.a)
set(why "no asmjit (Debian: libasmjit-dev)")
if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(why "it makes code for x86-64 alone")
elseif(LEMMA_ASMJIT_INCLUDE AND LEMMA_ASMJIT_LIBRARY)
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES ${LEMMA_ASMJIT_INCLUDE})
  set(CMAKE_REQUIRED_LIBRARIES ${LEMMA_ASMJIT_LIBRARY} Threads::Threads rt)
  set(CMAKE_REQUIRED_DEFINITIONS -DASMJIT_STATIC)
  check_cxx_source_compiles("#include <asmjit/asmjit.h>
    int main() {
      asmjit::JitRuntime runtime;
      asmjit::CodeHolder code;
      code.init(runtime.environment());
      asmjit::x86::Assembler assembler(&code);
      const asmjit::Label label = assembler.newLabel();
      assembler.bind(label);
      assembler.vpaddd(asmjit::x86::zmm0, asmjit::x86::zmm1, asmjit::x86::zmmword_ptr(asmjit::x86::rdi));
      assembler.ret();
      void (*function)(void*) = nullptr;
      return runtime.add(&function, &code) != asmjit::kErrorOk;
    }" LEMMA_ASMJIT_IS_USABLE)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
  unset(CMAKE_REQUIRED_DEFINITIONS)
  set(LEMMA_COMPILED_FOUND ${LEMMA_ASMJIT_IS_USABLE})
  set(why "${LEMMA_ASMJIT_LIBRARY} is of another version than that of Debian 12")
endif()
if(LEMMA_COMPILED_FOUND)
  set(LEMMA_ASMJIT_INSTALLED asmjit rt)
  message(STATUS "compiled engine: asmjit in ${LEMMA_ASMJIT_LIBRARY}")
elseif(LEMMA_COMPILED STREQUAL "AUTO")
  message(STATUS "compiled engine: left out, ${why}")
else()
  message(FATAL_ERROR "LEMMA_COMPILED=ON, but ${why}.")
endif()
