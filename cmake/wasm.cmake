# SPDX-License-Identifier: Apache-2.0
#
# The preset `wasm`: the pure modules and wasm/ as one module without imports, for the page (docs/wasm.md). Same warnings
# and same rounding (-ffp-contract=off, cmake/options.cmake) as the program's own build.
set(eco_wasm_sources "")
foreach(module core record arch stats model report jobs)
    file(GLOB sources CONFIGURE_DEPENDS src/${module}/*.c)
    list(APPEND eco_wasm_sources ${sources})
endforeach()
file(GLOB sources CONFIGURE_DEPENDS wasm/*.c)

add_executable(ecocompute_core ${eco_wasm_sources} ${sources})
set_target_properties(ecocompute_core PROPERTIES SUFFIX .wasm POSITION_INDEPENDENT_CODE OFF)
target_include_directories(ecocompute_core PRIVATE include src)
target_link_libraries(ecocompute_core PRIVATE ecoi_options)
target_compile_options(ecocompute_core PRIVATE -Oz) # -O2 is a twelfth larger as it travels and a twentieth faster
# The stack lies below everything else, so that one that overflows traps instead of writing over data. Nothing here
# needs more than a small part of a megabyte; 1 GiB is the most that a hostile report can make a page hold.
target_link_options(ecocompute_core PRIVATE -mexec-model=reactor
    -Wl,--gc-sections,--strip-all,--stack-first,-z,stack-size=1048576,--max-memory=1073741824)
