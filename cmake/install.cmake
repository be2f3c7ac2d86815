# Contents of `cmake --install` and of the packages: program, modules, configs, documents. A wheel has the component
# planner. The program finds the rest from where it stands, so that a tree may be moved.
include(GNUInstallDirs)
set(own_libraries lib/meshwright)

# DT_RPATH, not DT_RUNPATH: libraries that an archive carries find each other by the program's.
target_link_options(meshwright PRIVATE -Wl,--disable-new-dtags)
set_target_properties(meshwright PROPERTIES INSTALL_RPATH "$ORIGIN/../${own_libraries}")
install(TARGETS meshwright RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT planner)
foreach(module cpu mpi cuda nccl)
  if(TARGET meshwright_module_${module})
    install(TARGETS meshwright_module_${module} LIBRARY DESTINATION ${own_libraries})
  endif()
endforeach()
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/meshwright/configs COMPONENT planner
        FILES_MATCHING PATTERN "*.json")
install(FILES README.md CHANGELOG.md LICENSE reports/THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

# The program says its own manual page and completions.
set(references "")
function(meshwright_reference form file folder)
  set(made ${CMAKE_BINARY_DIR}/reference/${form}/${file})
  add_custom_command(OUTPUT ${made}
                     COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/reference/${form}
                     COMMAND ${CMAKE_COMMAND} -E env ASAN_OPTIONS=detect_leaks=0 $<TARGET_FILE:meshwright> reference
                             --format ${form} > ${made}
                     DEPENDS meshwright VERBATIM)
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} OPTIONAL)
  set(references ${references} ${made} PARENT_SCOPE)
endfunction()
meshwright_reference(man meshwright.1 man/man1)
meshwright_reference(bash meshwright bash-completion/completions)
meshwright_reference(zsh _meshwright zsh/vendor-completions)
add_custom_target(meshwright_references ALL DEPENDS ${references})
add_dependencies(meshwright_program meshwright_references)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the meshwright authors <meshwright@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
include(CPack)
