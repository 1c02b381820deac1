# SPDX-License-Identifier: Apache-2.0
#
# clang 19 for WebAssembly with wasi-libc: Debian's clang-19, lld-19, wasi-libc and libclang-rt-19-dev-wasm32. The C
# library's headers are named by hand: the sysroot alone would let the host's headers be seen too.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang-19)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_SYSROOT /usr)
set(CMAKE_C_FLAGS_INIT "-nostdlibinc -isystem /usr/include/wasm32-wasi")
# A test program could be linked, but not run here.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(ECO_WASM ON)
