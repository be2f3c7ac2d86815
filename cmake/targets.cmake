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
# Four checks at each use of a pointer would double the objects; AddressSanitizer finds null pointers, too.
set(sanitizers -fsanitize=address -fno-omit-frame-pointer -fsanitize=undefined -fno-sanitize-recover=undefined
               -fno-sanitize=null,alignment,object-size,vptr)
if(MESHWRIGHT_SANITIZE)
  target_link_options(meshwright_flags INTERFACE ${sanitizers})
endif()

# Kinds of compilation of a room's sources; each adds options to those of the build type.
#   plain      runs once a question: optimising it costs minutes of building and saves milliseconds
#   HOT        loops of the search, of fits, of simulated services
#   UNTRUSTED  reads bytes that somebody else wrote: both sanitizers watch it where they are on
# A test's own code is not optimised where sanitizers are on: it compiles in half the time. Sanitized functions and
# others may call each other. The sanitizers change no layout of data, and g++ puts no red zone behind a variable of
# which another object may hold a copy.
set(plain_options "")
set(hot_options "")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(plain_options -O1)
  set(hot_options -O3)
endif()
set(untrusted_options ${plain_options})
set(is_test $<BOOL:$<TARGET_PROPERTY:MESHWRIGHT_IS_TEST>>)
if(MESHWRIGHT_SANITIZE STREQUAL "untrusted")
  list(APPEND untrusted_options ${sanitizers})
  target_compile_options(meshwright_flags INTERFACE $<$<AND:$<COMPILE_LANGUAGE:CXX>,${is_test}>:-O0>)
elseif(MESHWRIGHT_SANITIZE)
  # A test's own code has one of the two.
  target_compile_options(meshwright_flags INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:${sanitizers};$<${is_test}:-O0;-fno-sanitize=undefined>>")
endif()

# The headers that most sources read are parsed once for all sources of a kind, and once for all tests. Code of a
# library and of a program is compiled differently, hence the target's type (OBJECT or EXECUTABLE).
function(meshwright_add_precompiled name type header)
  if(type STREQUAL "OBJECT")
    add_library(${name} OBJECT ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  else()
    add_executable(${name} ${CMAKE_SOURCE_DIR}/cmake/precompiled.cc)
  endif()
  target_link_libraries(${name} PRIVATE meshwright_flags ${ARGN})
  target_precompile_headers(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${CMAKE_SOURCE_DIR}/cmake/${header}>)
endfunction()

if(MESHWRIGHT_PRECOMPILED_HEADERS)
  foreach(kind plain hot untrusted)
    if(kind STREQUAL "plain" OR NOT "${${kind}_options}" STREQUAL "${plain_options}")
      meshwright_add_precompiled(meshwright_precompiled_${kind} OBJECT precompiled.h nlohmann_json::nlohmann_json fmt::fmt)
      target_compile_options(meshwright_precompiled_${kind} PRIVATE ${${kind}_options})
    endif()
  endforeach()
endif()

# Options and precompiled headers of a kind ("plain") for a target.
function(meshwright_compile_as kind target)
  target_compile_options(${target} PRIVATE ${${kind}_options})
  if(MESHWRIGHT_PRECOMPILED_HEADERS)
    target_link_libraries(${target} PRIVATE fmt::fmt)
    target_precompile_headers(${target} REUSE_FROM meshwright_precompiled_${kind})
  endif()
endfunction()

# The static library of one room, meshwright::<name>: meshwright_add_room(<name> libraries...).
# Sources and headers are added by meshwright_room_files in the room and its folders.
function(meshwright_add_room name)
  add_library(meshwright_${name} STATIC)
  add_library(meshwright::${name} ALIAS meshwright_${name})
  if(NOT name STREQUAL "sim") # its records make a batch of 16 as long as 32 sources of another room
    set_target_properties(meshwright_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 32)
  endif()
  target_link_libraries(meshwright_${name} PUBLIC meshwright_flags ${ARGN})
  meshwright_compile_as(plain meshwright_${name})
endfunction()

# The target that compiles a room's sources of a kind. By target, not by source: a source with options of its own is
# compiled alone. Sources of a kind whose options are those of the plain one are compiled by the room's own target.
function(meshwright_target_of_kind result room kind)
  set(target meshwright_${room}_${kind})
  if("${${kind}_options}" STREQUAL "${plain_options}")
    set(target meshwright_${room})
  elseif(NOT TARGET ${target})
    add_library(${target} OBJECT)
    target_link_libraries(${target} PRIVATE $<TARGET_PROPERTY:meshwright_${room},LINK_LIBRARIES>)
    meshwright_compile_as(${kind} ${target})
    target_sources(meshwright_${room} PRIVATE $<TARGET_OBJECTS:${target}>)
  endif()
  set(${result} ${target} PARENT_SCOPE)
endfunction()

# meshwright_room_files(<room> [HOT|UNTRUSTED] name...): name.h (if there) and name.cc (if there) of this
# folder.
function(meshwright_room_files room)
  cmake_parse_arguments(arg "HOT;UNTRUSTED" "" "" ${ARGN})
  set(kind plain)
  if(arg_HOT)
    set(kind hot)
  elseif(arg_UNTRUSTED)
    set(kind untrusted)
  endif()
  foreach(name IN LISTS arg_UNPARSED_ARGUMENTS)
    set(stem ${CMAKE_CURRENT_SOURCE_DIR}/${name})
    if(EXISTS ${stem}.cc)
      meshwright_target_of_kind(target ${room} ${kind})
      target_sources(${target} PRIVATE ${stem}.cc)
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
