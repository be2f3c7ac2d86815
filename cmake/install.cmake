# What `cmake --install` and the packages hold: program, modules, configs, documents. The program finds
# the rest from where it stands, so that a tree may be moved.
include(GNUInstallDirs)
set(own_libraries lib/meshwright)

# DT_RPATH, not DT_RUNPATH: libraries that an archive carries find each other by the program's.
target_link_options(meshwright PRIVATE -Wl,--disable-new-dtags)
set_target_properties(meshwright PROPERTIES INSTALL_RPATH "$ORIGIN/../${own_libraries}")
install(TARGETS meshwright RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
foreach(module cpu mpi cuda nccl)
  if(TARGET meshwright_module_${module})
    install(TARGETS meshwright_module_${module} LIBRARY DESTINATION ${own_libraries})
  endif()
endforeach()
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/meshwright/configs FILES_MATCHING PATTERN "*.json")
install(FILES README.md CHANGELOG.md LICENSE reports/THIRD_PARTY_NOTICES DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "the meshwright authors <meshwright@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS openmpi-bin)
include(CPack)
