# SPDX-License-Identifier: Apache-2.0
#
# What is installed beside the program: bash completion, and the manual pages of docs/man laid out for man(1). The target
# `man_source` renews the pages' part that is made of --help.
include(GNUInstallDirs)
install(FILES completions/ecocompute.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME ecocompute)

find_program(ECO_AWK awk)
file(GLOB eco_man_pages CONFIGURE_DEPENDS docs/man/*.1.md)
set(eco_man_made "")
if(ECO_AWK)
    foreach(page IN LISTS eco_man_pages)
        get_filename_component(name ${page} NAME)
        string(REGEX REPLACE "\\.md$" "" name ${name})
        set(made ${PROJECT_BINARY_DIR}/man/${name})
        add_custom_command(OUTPUT ${made}
            COMMAND ${ECO_AWK} -f ${PROJECT_SOURCE_DIR}/tools/md_to_man.awk ${page} > ${made}
            DEPENDS ${page} tools/md_to_man.awk VERBATIM)
        list(APPEND eco_man_made ${made})
    endforeach()
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/man)
    add_custom_target(man ALL DEPENDS ${eco_man_made})
    install(FILES ${eco_man_made} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
add_custom_target(man_source COMMAND ${PROJECT_SOURCE_DIR}/tools/gen_man.sh $<TARGET_FILE:ecocompute>
    ${PROJECT_SOURCE_DIR}/docs/man DEPENDS ecocompute VERBATIM)
