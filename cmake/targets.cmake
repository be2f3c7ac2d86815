# One interface target carries warnings and sanitizers; one function a kind of target.
add_library(meshwright_flags INTERFACE)
target_include_directories(meshwright_flags INTERFACE ${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
target_compile_definitions(meshwright_flags INTERFACE JSON_DIAGNOSTICS=1)
set(warnings -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion -Wold-style-cast -Wnon-virtual-dtor)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of g++ 12: inside nlohmann/json with JSON_DIAGNOSTICS; at -O3 in std::string; of a class's private
  # parts where a source is compiled in a batch.
  list(APPEND warnings -Wno-array-bounds -Wno-stringop-overread -Wno-restrict -Wno-subobject-linkage)
  if(MESHWRIGHT_SANITIZE)
    list(APPEND warnings -Wno-maybe-uninitialized)  # and in std::regex, where a sanitizer is on
  endif()
endif()
if(MESHWRIGHT_WARNINGS_AS_ERRORS)
  list(APPEND warnings -Werror)
endif()
target_compile_options(meshwright_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:${warnings}>)
if(MESHWRIGHT_SANITIZE)
  # Both sanitizers watch the product. A test's own code has one and is not optimised: it compiles in half the time.
  # Four checks at each use of a pointer would double the objects; AddressSanitizer finds null pointers, too.
  set(undefined -fsanitize=undefined -fno-sanitize-recover=undefined -fno-sanitize=null$<COMMA>alignment$<COMMA>object-size$<COMMA>vptr)
  set(is_test $<BOOL:$<TARGET_PROPERTY:MESHWRIGHT_IS_TEST>>)
  target_compile_options(meshwright_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address;-fno-omit-frame-pointer;$<IF:${is_test},-O0,${undefined}>>")
  target_link_options(meshwright_flags INTERFACE -fsanitize=address ${undefined})
endif()

# The headers that most sources read are parsed once for all rooms, and once for all tests. Code of
# a library and of a program is compiled differently, hence the kind (OBJECT or EXECUTABLE).
function(meshwright_add_precompiled name kind header)
  if(kind STREQUAL "OBJECT")
    add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  else()
    add_executable(${name} ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  endif()
  target_link_libraries(${name} PRIVATE meshwright_flags ${ARGN})
  target_precompile_headers(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/cmake/${header}>)
endfunction()
# Readers, reports and commands run once a question: optimising them costs minutes of building and saves
# milliseconds, with sanitizers half of their compilation. sim, planner and calibrate keep the level of the build type.
set(once_a_question $<$<CONFIG:Release>:-O1>$<$<CONFIG:Debug>:-O0>)
if(MESHWRIGHT_PRECOMPILED_HEADERS)
  meshwright_add_precompiled(meshwright_precompiled OBJECT precompiled.h nlohmann_json::nlohmann_json fmt::fmt)
  meshwright_add_precompiled(meshwright_precompiled_once OBJECT precompiled.h nlohmann_json::nlohmann_json fmt::fmt)
  target_compile_options(meshwright_precompiled_once PRIVATE ${once_a_question})
endif()

# The static library of one room, meshwright::<name>: meshwright_add_room(<name> [ONCE_A_QUESTION] libraries...).
# Sources and headers are added by target_sources in the room and its folders.
function(meshwright_add_room name)
  cmake_parse_arguments(arg "ONCE_A_QUESTION" "" "" ${ARGN})
  add_library(meshwright_${name} STATIC)
  add_library(meshwright::${name} ALIAS meshwright_${name})
  target_link_libraries(meshwright_${name} PUBLIC meshwright_flags ${arg_UNPARSED_ARGUMENTS})
  set(precompiled meshwright_precompiled)
  if(arg_ONCE_A_QUESTION)
    target_compile_options(meshwright_${name} PRIVATE ${once_a_question})
    set(precompiled meshwright_precompiled_once)
  endif()
  if(MESHWRIGHT_PRECOMPILED_HEADERS)
    target_link_libraries(meshwright_${name} PRIVATE fmt::fmt)
    target_precompile_headers(meshwright_${name} REUSE_FROM ${precompiled})
  endif()
endfunction()

# meshwright_room_files(<room> name...): name.h (if there) and name.cc (if there) of this folder.
function(meshwright_room_files room)
  foreach(name IN LISTS ARGN)
    set(stem ${CMAKE_CURRENT_SOURCE_DIR}/${name})
    if(EXISTS ${stem}.cc)
      target_sources(meshwright_${room} PRIVATE ${stem}.cc)
    endif()
    if(EXISTS ${stem}.h)
      target_sources(meshwright_${room} PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR} FILES ${stem}.h)
    endif()
    if(NOT EXISTS ${stem}.cc AND NOT EXISTS ${stem}.h)
      message(FATAL_ERROR "${stem}.{h,cc}: listed in ${CMAKE_CURRENT_LIST_FILE}, but not there")
    endif()
  endforeach()
endfunction()

# Compiler options of a test's own code.
function(meshwright_is_test name)
  set_target_properties(${name} PROPERTIES MESHWRIGHT_IS_TEST ON)
  if(MESHWRIGHT_PRECOMPILED_HEADERS)
    target_link_libraries(${name} PRIVATE fmt::fmt)
    target_precompile_headers(${name} REUSE_FROM meshwright_precompiled_test)
  endif()
endfunction()

# meshwright_add_test(<name> SOURCES a_test.cc ... LIBRARIES meshwright::sim ... [LABELS l])
function(meshwright_add_test name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gmock GTest::gtest_main)
  meshwright_is_test(${name})
  set(labels unit)
  if(arg_LABELS)
    set(labels ${arg_LABELS})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT 600)
endfunction()
