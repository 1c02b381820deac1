# SPDX-License-Identifier: Apache-2.0
#
# GPU kernels: src/kernels/gpu/<name>.c is compiled by clang to PTX text (tools/gen_ptx.sh), which is committed as
# src/kernels/gpu/ptx/<name>.ptx. The build embeds the committed text as ecoi_ptx_<name>, so that every machine builds
# the same program, with a clang or without. After a change to a kernel: cmake --build BUILD --target ptx.
file(GLOB ECO_GPU_SOURCES CONFIGURE_DEPENDS src/kernels/gpu/*.c)

# The newest tried first would give another text than the committed one, so 19 comes first.
set(ECO_CLANG "")
foreach(eco_name clang-19 clang-20 clang-21 clang-18 clang-17 clang)
    find_program(eco_clang_${eco_name} ${eco_name})
    mark_as_advanced(eco_clang_${eco_name})
    if(eco_clang_${eco_name} AND NOT ECO_CLANG)
        execute_process(COMMAND ${eco_clang_${eco_name}} -dumpversion OUTPUT_VARIABLE eco_clang_version
            OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        if(eco_clang_version VERSION_GREATER_EQUAL 17)
            set(ECO_CLANG ${eco_clang_${eco_name}})
        endif()
    endif()
endforeach()
if(ECO_GPU_SOURCES)
    if(ECO_CLANG)
        message(STATUS "GPU kernels: the committed PTX is embedded; ${ECO_CLANG} can regenerate it (target ptx)")
    else()
        message(STATUS "GPU kernels: the committed PTX is embedded; no clang 17 or newer was found to check it")
    endif()
endif()

set(ECO_PTX_SOURCES "")
foreach(source IN LISTS ECO_GPU_SOURCES)
    get_filename_component(name ${source} NAME_WE)
    set(text ${PROJECT_SOURCE_DIR}/src/kernels/gpu/ptx/${name}.ptx)
    if(NOT EXISTS ${text})
        if(NOT ECO_CLANG)
            message(FATAL_ERROR "${text} is not there and no clang 17 or newer was found to make it")
        endif()
        message(WARNING "${text} is not there: made in the build folder instead; run the target ptx and commit it")
        file(GLOB eco_gpu_headers CONFIGURE_DEPENDS src/kernels/gpu/*.h src/kernels/*.h)
        set(text ${PROJECT_BINARY_DIR}/ptx/${name}.ptx)
        add_custom_command(OUTPUT ${text}
            COMMAND ${PROJECT_SOURCE_DIR}/tools/gen_ptx.sh ${ECO_CLANG} ${PROJECT_BINARY_DIR}/ptx ${source}
            DEPENDS ${source} ${eco_gpu_headers} ${PROJECT_SOURCE_DIR}/tools/gen_ptx.sh
            COMMENT "Compiling ${name}.c to PTX" VERBATIM)
    endif()
    set(embedded ${PROJECT_BINARY_DIR}/ptx/eco_ptx_${name}.c)
    add_custom_command(OUTPUT ${embedded}
        COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DTEXT=${text} -DOUTPUT=${embedded}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
        DEPENDS ${text} ${PROJECT_SOURCE_DIR}/cmake/embed_text.cmake
        COMMENT "Embedding ${name}.ptx" VERBATIM)
    list(APPEND ECO_PTX_SOURCES ${embedded})
endforeach()

if(ECO_GPU_SOURCES AND ECO_CLANG)
    add_custom_target(ptx
        COMMAND ${PROJECT_SOURCE_DIR}/tools/gen_ptx.sh ${ECO_CLANG} ${PROJECT_SOURCE_DIR}/src/kernels/gpu/ptx
            ${ECO_GPU_SOURCES}
        COMMENT "Regenerating the committed PTX" VERBATIM)
endif()
