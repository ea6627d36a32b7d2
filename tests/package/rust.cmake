# package.rust: rust/main.rs is compiled against liblemma.so, and run. Without rustc a skip that says so.
find_program(rustc rustc PATHS $ENV{HOME}/.cargo/bin)
if(NOT rustc)
  message("SKIPPED: no rustc (Debian: rustc)")
  return()
endif()
file(MAKE_DIRECTORY ${SCRATCH})
execute_process(COMMAND ${rustc} --edition 2021 -L ${LIBRARY_DIR} -C link-arg=-Wl,-rpath,${LIBRARY_DIR} ${SOURCE}
                        -o ${SCRATCH}/rust_api COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${SCRATCH}/rust_api COMMAND_ECHO STDOUT COMMAND_ERROR_IS_FATAL ANY)
