# SPDX-License-Identifier: Apache-2.0
#
# How every file of the project is compiled: the warning list of the style guide, strict rounding, sanitizers, and the
# definitions by which the program can say that it is not a plain release build.
add_library(ecoi_options INTERFACE)

target_compile_definitions(ecoi_options INTERFACE _POSIX_C_SOURCE=200809L)
target_compile_options(ecoi_options INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
    -Wwrite-strings -Wcast-qual -Wvla -Wundef -Wformat=2 -Wdouble-promotion -Wswitch-enum -Wimplicit-fallthrough
    -ffp-contract=off -ffunction-sections -fdata-sections)
if(NOT ECO_WASM)
    target_link_options(ecoi_options INTERFACE -Wl,--gc-sections -Wl,--as-needed -Wl,-z,relro,-z,now)
endif()
if(ECO_WERROR)
    target_compile_options(ecoi_options INTERFACE -Werror)
endif()

# The name that goes into reports: release, debug, asan, tsan, fuzz.
string(TOLOWER "${CMAKE_BUILD_TYPE}" ECO_BUILD_TYPE)
if(ECO_BUILD_TYPE STREQUAL "debug")
    target_compile_definitions(ecoi_options INTERFACE ECO_DEBUG_BUILD=1)
    # gcc's ranges are coarse without -O2 and coarser through sanitizers: these two then warn of what cannot be, and of
    # messages that are cut on purpose. The release build keeps both.
    if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
        target_compile_options(ecoi_options INTERFACE -Wno-format-truncation -Wno-maybe-uninitialized)
    endif()
endif()

if(ECO_SANITIZE STREQUAL "address")
    set(ECO_BUILD_TYPE asan)
    set(eco_sanitizers -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(ECO_SANITIZE STREQUAL "thread")
    set(ECO_BUILD_TYPE tsan)
    set(eco_sanitizers -fsanitize=thread)
elseif(ECO_SANITIZE STREQUAL "fuzzer")
    if(NOT CMAKE_C_COMPILER_ID STREQUAL "Clang")
        message(FATAL_ERROR "ECO_SANITIZE=fuzzer needs clang: libFuzzer is part of it")
    endif()
    set(ECO_BUILD_TYPE fuzz)
    set(eco_sanitizers -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all)
    target_compile_options(ecoi_options INTERFACE -fsanitize=fuzzer-no-link)
elseif(NOT ECO_SANITIZE STREQUAL "")
    message(FATAL_ERROR "ECO_SANITIZE is '${ECO_SANITIZE}': expected empty, address, thread or fuzzer")
endif()
if(ECO_SANITIZE)
    target_compile_options(ecoi_options INTERFACE ${eco_sanitizers} -fno-omit-frame-pointer -g)
    target_link_options(ecoi_options INTERFACE ${eco_sanitizers})
    target_compile_definitions(ecoi_options INTERFACE ECO_SANITIZED=1)
endif()
